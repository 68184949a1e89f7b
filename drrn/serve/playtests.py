"""Play-tests under way and done: each in a process of its own; the newest report of each game outlives the server."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from drrn.errors import InputError
from drrn.files import home
from drrn.processes import Worker
from drrn.serve.answers import Refusal, log
from drrn.serve.asking import quiet_worker
from drrn.serve.library import GameEntry
from drrn.serve.playtest_process import STOP, serve_playtest

MOST_RUNNING = 2
MOST_ALIVE = 3  # processes that are kept for questions about maps
MOST_KEPT = 20  # reports in memory
MARGIN = 60  # seconds that a test may take beyond its own, to open the story and to solve it
QUESTION_SECONDS = 60
FOUND = ("report", "map", "svg", "page", "seen")  # what a process finds, and what is kept of it


def reports_folder() -> Path:
    """Where the newest report of each game is kept."""
    return home() / "serve" / "tests"


@dataclass
class PlayTestJob:
    """A play-test: under way, done, or read from where it was kept."""

    id: str
    entry: GameEntry
    seconds: float | None
    status: str = "running"  # running, done or failed
    progress: str = "opening the story"
    error: str | None = None
    report: dict[str, Any] | None = None
    map: dict[str, Any] | None = None
    svg: str | None = None
    page: str | None = None  # the report in HTML
    seen: list[dict[str, Any]] | None = None  # the places of a map of what was seen
    elapsed: float | None = None  # of one that is over
    begun: float = field(default_factory=time.monotonic)
    worker: Worker | None = None
    ready: bool = False  # whether the process can be told to stop
    stopping: bool = False
    thread: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1))

    def told(self, *, report: bool) -> dict[str, Any]:
        """As the page gets it."""
        elapsed = time.monotonic() - self.begun if self.elapsed is None else self.elapsed
        return {
            "id": self.id, "game": self.entry.id, "status": self.status, "seconds": self.seconds,
            "elapsed": round(elapsed, 2), "progress": self.progress, "error": self.error,
            "report": self.report if report else None, "map": self.map is not None, "svg": self.svg is not None,
        }  # fmt: skip

    def run(self) -> None:
        """Follow the process until it has told what it found. In a thread."""
        assert self.seconds is not None
        try:
            self.worker = quiet_worker(serve_playtest, self.entry.recipe, self.seconds)
            self._follow(self.begun + self.seconds + MARGIN)
        except (EOFError, OSError):
            self._fail("The process of the play-test died: it may have needed too much memory.")
        except Exception as error:
            log.error("a play-test failed", exc_info=error)
            self._fail("The play-test failed; what it was stands in the terminal.")

    def _follow(self, until: float) -> None:
        assert self.worker is not None
        while self.worker.connection.poll(max(0.0, until - time.monotonic())):
            kind, told = self.worker.connection.recv()
            if kind == "ready":
                self.ready = True
                if self.stopping:
                    self.stop()
                continue
            if kind == "progress":
                self.progress = told
                continue
            self.elapsed = time.monotonic() - self.begun
            if kind == "failed":
                self._fail(told)
                return
            self._found(told)
            self.progress = ""
            self.status = "done"
            self._keep()
            return
        self._fail("The play-test took too long and was given up.")

    def _found(self, told: dict[str, Any]) -> None:
        for name in FOUND:
            setattr(self, name, told[name])

    def _fail(self, why: str) -> None:
        self.elapsed = time.monotonic() - self.begun
        self.status = "failed"
        self.progress = ""
        self.error = why
        self.end()

    def _keep(self) -> None:
        path = reports_folder() / f"{self.entry.id}.json"
        kept: dict[str, Any] = {"id": self.id}
        kept |= {
            "source": self.entry.recipe.source,
            "seconds": self.seconds,
            "elapsed": self.elapsed,
        }
        kept |= {name: getattr(self, name) for name in FOUND}
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            unfinished = path.with_suffix(f".{self.id}.tmp")
            unfinished.write_text(json.dumps(kept, ensure_ascii=False), encoding="utf-8")
            unfinished.replace(path)
        except OSError as error:
            log.error("%s: the report could not be kept: %s", path, error.strerror)

    def ask(self, question: tuple[Any, ...], seconds: float) -> Any:
        """Ask the process about the map; one that is gone is begun anew. In the thread."""
        if self.worker is None:
            self.worker = quiet_worker(serve_playtest, self.entry.recipe, None)
        try:
            self.worker.connection.send(question)
            if self.worker.connection.poll(seconds):
                kind, told = self.worker.connection.recv()
                if kind == "refused":
                    raise InputError(told)
                if kind == "failed":
                    log.error("a worker process failed:\n%s", told)
                    raise Refusal(500, "This failed; what it was stands in the terminal.")
                return told
        except (EOFError, OSError):
            pass
        self.end()
        raise Refusal(503, f"This took longer than {seconds:g} seconds, or its process died.")

    def stop(self) -> None:
        """Have the report of what was found so far."""
        self.stopping = True
        if (
            self.status == "running"
            and self.ready
            and self.worker is not None
            and self.worker.process.pid
        ):
            os.kill(self.worker.process.pid, STOP)

    def end(self) -> None:
        """End the process."""
        worker = self.worker
        self.worker = None
        if worker is not None:
            worker.process.kill()
            worker.stop()


class PlayTests:
    """All play-tests: the newest of each game."""

    def __init__(self) -> None:
        self.jobs: dict[str, PlayTestJob] = {}  # by id, the newest last

    def __getitem__(self, id: str) -> PlayTestJob:  # noqa: A002
        found = self.jobs.get(id)
        if found is None:
            raise Refusal(404, "This play-test is not there any more: run it again.")
        return found

    def begin(self, entry: GameEntry, seconds: float) -> PlayTestJob:
        """Begin a test; those of the same game that are over give way."""
        running = [job for job in self.jobs.values() if job.status == "running"]
        if any(job.entry.id == entry.id for job in running):
            raise Refusal(409, "This story is being tested already.")
        if len(running) >= MOST_RUNNING:
            raise Refusal(
                429, f"{MOST_RUNNING} play-tests are running already: try again when one is done."
            )
        self.forget(entry)
        self._drop_old()
        job = PlayTestJob(secrets.token_urlsafe(9), entry, seconds)
        self.jobs[job.id] = job
        job.thread.submit(job.run)
        return job

    def of(self, entry: GameEntry) -> list[PlayTestJob]:
        """The tests of a game, the newest first; that which was kept, where there is none."""
        found = [job for job in self.jobs.values() if job.entry.id == entry.id]
        if not found and (kept := _kept(entry)):
            self._drop_old()
            self.jobs[kept.id] = kept
            found = [kept]
        return found[::-1]

    async def ask(self, job: PlayTestJob, *question: Any, seconds: float = QUESTION_SECONDS) -> Any:
        """Ask the process of a test that is over; of those kept for questions, the longest unused is ended."""
        if job.status == "running":
            raise Refusal(409, "The play-test is still running.")
        self.jobs[job.id] = self.jobs.pop(job.id, job)  # the last used one last
        alive = [
            other for other in self.jobs.values() if other.worker and other.status != "running"
        ]
        for other in alive[: max(0, len(alive) - MOST_ALIVE)]:
            other.thread.submit(other.end)
        return await asyncio.get_running_loop().run_in_executor(
            job.thread, job.ask, question, seconds
        )

    def _drop_old(self) -> None:
        """Of tests that are over, only the last used stay in memory; what was kept is read again when asked for."""
        over = [job for job in self.jobs.values() if job.status != "running"]
        for job in over[: max(0, len(over) - MOST_KEPT)]:
            del self.jobs[job.id]
            close_job(job)

    def forget(self, entry: GameEntry) -> None:
        """Drop a game's tests that are in memory, and end their processes."""
        for job in [job for job in self.jobs.values() if job.entry.id == entry.id]:
            del self.jobs[job.id]
            close_job(job)

    def close(self) -> None:
        for job in self.jobs.values():
            close_job(job)


def close_job(job: PlayTestJob) -> None:
    """End a test's process at once, and its thread with it."""
    if job.worker is not None:
        job.worker.process.kill()
    job.thread.submit(job.end)
    job.thread.shutdown(wait=False)


def _kept(entry: GameEntry) -> PlayTestJob | None:
    """The report that was kept of a game; None where there is none, or that of another story."""
    try:
        kept = json.loads((reports_folder() / f"{entry.id}.json").read_text(encoding="utf-8"))
        if kept["source"] != entry.recipe.source:
            return None
        job = PlayTestJob(str(kept["id"]), entry, kept["seconds"], "done", "")
        job._found(kept)
        job.elapsed = kept["elapsed"]
        return job
    except (OSError, ValueError, KeyError, TypeError):
        return None
