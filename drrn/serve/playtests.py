"""Play-tests of the page: started, watched, stopped; the last result of each game is saved.

Also the facts of a game: a few numbers that a process computes, if that is quick.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypedDict

from drrn.errors import InputError
from drrn.files import home
from drrn.processes import Service, ServiceError
from drrn.serve.game_worker import MAX_MEMORY
from drrn.serve.http import FAILURE, RequestError, log
from drrn.serve.library import GameEntry
from drrn.serve.playtest_worker import Facts, PlayTestWorker, TestResult
from drrn.serve.runs import read_json, write_json

MAX_RUNNING = 2
MAX_ALIVE = 3  # idle processes that can be asked about maps
MAX_RESULTS = 20  # in memory
EXTRA_SECONDS = 60  # for opening and solving the story, beyond the time of the test
QUESTION_SECONDS = 60
FACTS_SECONDS = 15
RETRY_SECONDS = 60.0  # after which facts that took too long are tried again
MAX_FACTS = 2  # processes at once
TOO_LONG = f"Counting its pages takes more than {FACTS_SECONDS} seconds; the play-test has longer."


def results_folder() -> Path:
    """Return the folder with the last result of each game."""
    return home() / "serve" / "tests"


class PlayTestPayload(TypedDict):
    """A play-test as the page gets it."""

    id: str
    game: str
    status: str
    seconds: float | None
    elapsed: float
    progress: str
    error: str | None
    report: dict[str, Any] | None
    map: bool
    svg: bool


@dataclass
class PlayTest:
    """A play-test: running, done, or read from its file. One thread talks to its process."""

    id: str
    entry: GameEntry
    seconds: float | None
    status: str = "running"  # running, done or failed
    progress: str = "opening the story"
    error: str | None = None
    result: TestResult | None = None
    elapsed: float | None = None  # None while it runs
    start: float = field(default_factory=time.monotonic)
    service: Service | None = None
    is_interruptible: bool = False
    stopping: bool = False
    thread: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1))

    def as_json(self, *, report: bool = False) -> PlayTestPayload:
        elapsed = time.monotonic() - self.start if self.elapsed is None else self.elapsed
        return {
            "id": self.id,
            "game": self.entry.id,
            "status": self.status,
            "seconds": self.seconds,
            "elapsed": round(elapsed, 2),
            "progress": self.progress,
            "error": self.error,
            "report": self.result["report"] if report and self.result else None,
            "map": self.result is not None,
            "svg": self.result is not None,
        }

    def run(self) -> None:
        """Run the test; called in the thread."""
        assert self.seconds is not None
        try:
            service = self._start()
            service.answer(0)
            self.is_interruptible = True
            if self.stopping:
                service.interrupt()
            timeout = self.seconds + EXTRA_SECONDS
            question = service.send("test", self.seconds)
            self.result = service.answer(question, timeout, self._report)
            self.status = "done"
        except InputError as error:
            self._fail(str(error))
        except ServiceError as error:
            self._fail(_explain(error, "play-test"))
        except Exception as error:
            log.error("a play-test failed", exc_info=error)
            self._fail(FAILURE)
        self.elapsed = time.monotonic() - self.start
        self.progress = ""
        if self.status == "done":
            self._save()

    def _report(self, progress: str) -> None:
        self.progress = progress
        if self.stopping and self.service is not None:
            self.service.interrupt()

    def _fail(self, sentence: str) -> None:
        self.error = sentence
        self.status = "failed"
        self.end()

    def _start(self) -> Service:
        if self.service is None:
            self.service = Service(PlayTestWorker, self.entry.spec, memory=MAX_MEMORY)
        return self.service

    def _save(self) -> None:
        path = results_folder() / f"{self.entry.id}.json"
        data = {
            "id": self.id,
            "source": self.entry.spec.source,
            "seconds": self.seconds,
            "elapsed": self.elapsed,
            "result": self.result,
        }
        try:
            write_json(path, data)
        except (OSError, InputError) as error:
            log.error("%s: the result was not saved: %s", path, error)

    def ask(self, method: str, *arguments: Any, timeout: float) -> Any:
        """Ask the process about the story; start it if necessary. Called in the thread."""
        try:
            return self._start().ask(method, *arguments, timeout=timeout)
        except ServiceError as error:
            if error.reason != "raised":
                self.end()
            sentence = _explain(error, "question")
            raise RequestError(500 if sentence == FAILURE else 503, sentence) from error

    def stop(self) -> None:
        """Interrupt the test, which then returns what it has found."""
        self.stopping = True
        if self.status == "running" and self.is_interruptible and self.service is not None:
            self.service.interrupt()

    def end(self) -> None:
        """End the process; called in the thread."""
        service = self.service
        self.service = None
        if service is not None:
            service.kill()

    def close(self) -> None:
        """End the process and the thread."""
        if self.service is not None:
            self.service.process.kill()
        self.thread.submit(self.end)
        self.thread.shutdown(wait=False)


def _explain(error: ServiceError, what: str) -> str:
    """Return a sentence for users; log the details of exceptions."""
    if error.reason == "timeout":
        return f"The {what} took too long and was stopped."
    if error.reason == "died":
        return f"The process of the {what} died; it may have run out of memory."
    log.error("a worker process failed:\n%s", error.details)
    return FAILURE


class PlayTests:
    """The last play-test of each game."""

    def __init__(self) -> None:
        self.by_id: dict[str, PlayTest] = {}  # last used last

    def __getitem__(self, id: str) -> PlayTest:  # noqa: A002
        test = self.by_id.get(id)
        if test is None:
            raise RequestError(404, "This play-test no longer exists: run it again.")
        return test

    def start(self, entry: GameEntry, seconds: float) -> PlayTest:
        """Start a test; it replaces earlier tests of the game."""
        running = [test for test in self.by_id.values() if test.status == "running"]
        if any(test.entry.id == entry.id for test in running):
            raise RequestError(409, "This story is being tested.")
        if len(running) >= MAX_RUNNING:
            raise RequestError(429, f"{MAX_RUNNING} play-tests are running: try again later.")
        self.forget(entry)
        test = PlayTest(secrets.token_urlsafe(9), entry, seconds)
        self._add(test)
        test.thread.submit(test.run)
        return test

    def of(self, entry: GameEntry) -> list[PlayTest]:
        """Return the tests of a game, the newest first; the saved one if there is no other."""
        tests = [test for test in self.by_id.values() if test.entry.id == entry.id]
        if not tests and (saved := _read_result(entry)):
            self._add(saved)
            tests = [saved]
        return tests[::-1]

    async def ask(self, test: PlayTest, method: str, *arguments: Any) -> Any:
        """Ask the process of a finished test; end those that were not used for long."""
        if test.status == "running":
            raise RequestError(409, "The play-test is running.")
        self.by_id[test.id] = self.by_id.pop(test.id, test)
        alive = [each for each in self.by_id.values() if each.service and each.status != "running"]
        for other in alive[: max(0, len(alive) - MAX_ALIVE)]:
            other.thread.submit(other.end)
        return await _in_thread(test, method, *arguments, timeout=QUESTION_SECONDS)

    def _add(self, test: PlayTest) -> None:
        """Add a test; drop the oldest results, which are read again from their files."""
        ended = [each for each in self.by_id.values() if each.status != "running"]
        for each in ended[: max(0, len(ended) - MAX_RESULTS)]:
            self.by_id.pop(each.id).close()
        self.by_id[test.id] = test

    def forget(self, entry: GameEntry) -> None:
        """Drop the tests of a game."""
        for test in [test for test in self.by_id.values() if test.entry.id == entry.id]:
            self.by_id.pop(test.id).close()

    def close(self) -> None:
        for test in self.by_id.values():
            test.close()


async def _in_thread(test: PlayTest, method: str, *arguments: Any, timeout: float) -> Any:
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(
        test.thread, lambda: test.ask(method, *arguments, timeout=timeout)
    )


def _read_result(entry: GameEntry) -> PlayTest | None:
    """Return the saved test of a game; None if there is none, or it belongs to another story."""
    data = read_json(results_folder() / f"{entry.id}.json")
    try:
        if data is None or data["source"] != entry.spec.source:
            return None
        test = PlayTest(str(data["id"]), entry, data["seconds"], "done", "")
        test.result = data["result"]
        test.elapsed = data["elapsed"]
        return test
    except (KeyError, TypeError):
        return None


GameFacts = tuple[Facts | None, str | None]  # the facts, or why there are none


class FactsTable:
    """The facts of games. A timeout is tried again later, an error of the story is not."""

    def __init__(self) -> None:
        self._cache: dict[str, tuple[GameFacts, float]] = {}  # with the time until they are valid
        self._tasks: dict[str, asyncio.Task[GameFacts]] = {}
        self._tests: dict[str, PlayTest] = {}
        self._turn = asyncio.Semaphore(MAX_FACTS)

    async def of(self, entry: GameEntry) -> GameFacts:
        """Return the facts of a game; simultaneous requests share one process."""
        facts, until = self._cache.get(entry.id, ((None, None), 0.0))
        if time.monotonic() < until:
            return facts
        if entry.id not in self._tasks:
            task = self._tasks[entry.id] = asyncio.create_task(self._compute(entry))
            task.add_done_callback(lambda _: self._tasks.pop(entry.id, None))
        return await asyncio.shield(self._tasks[entry.id])  # the first client may disconnect

    async def _compute(self, entry: GameEntry) -> GameFacts:
        async with self._turn:
            test = self._tests[entry.id] = PlayTest("", entry, None, "done", "")
            until = float("inf")
            facts: GameFacts
            try:
                facts = (await _in_thread(test, "facts", timeout=FACTS_SECONDS), None)
            except InputError as error:
                facts = (None, f"Its states cannot all be counted. {error}")
            except RequestError:
                facts = (None, TOO_LONG)
                until = time.monotonic() + RETRY_SECONDS
            finally:
                self._tests.pop(entry.id).close()
        self._cache[entry.id] = (facts, until)
        return facts

    def forget(self, entry: GameEntry) -> None:
        """Drop the facts of a removed game."""
        if task := self._tasks.pop(entry.id, None):
            task.cancel()
        self._cache.pop(entry.id, None)

    def close(self) -> None:
        """End all processes."""
        for test in list(self._tests.values()):
            test.close()
