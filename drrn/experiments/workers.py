"""Jobs run in parallel by worker processes; one that fails or dies leaves the others alone."""

from __future__ import annotations

import contextlib
import os
import time
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any

from drrn.errors import InputError
from drrn.experiments.running import Work, run
from drrn.processes import Worker


@dataclass(frozen=True)
class Event:
    """What became of a job: "started", "round", "done" or "failed"."""

    work: Work
    kind: str
    rounds: int = 0  # finished
    score: float | None = None  # the last round's mean over seeds, by softmax
    seconds: float = 0.0  # since it was started
    why: str = ""


class JobWorker(Worker):
    """A process that does one job after another."""

    def __init__(self) -> None:
        super().__init__(_serve)
        self.work: Work | None = None
        self.since = 0.0

    def begin(self, work: Work) -> Event:
        self.work, self.since = work, time.perf_counter()
        self.connection.send(work)
        return Event(work, "started")

    def next_event(self) -> Event:
        """The next event that the process sends; or that it died."""
        assert self.work is not None
        seconds = time.perf_counter() - self.since
        try:
            kind, rounds, score, why = self.connection.recv()
        except (EOFError, OSError):
            self.process.join()
            kind, rounds, score = "failed", 0, None
            why = f"its process died (exit code {self.process.exitcode}); was there memory enough?"
        return Event(self.work, kind, rounds, score, seconds, why)


def side_by_side(works: Sequence[Work], count: int) -> Iterator[Event]:
    """Do the works in order, so many at a time, and tell what happens; leaving the loop ends all of them."""
    os.environ["OMP_NUM_THREADS"] = "1"  # for the workers; more threads mostly wait for each other
    waiting = list(reversed(works))
    workers: list[JobWorker] = []
    try:
        for _ in range(min(count, len(works))):
            workers.append(JobWorker())
            yield workers[-1].begin(waiting.pop())
        while busy := {worker.connection: worker for worker in workers if worker.work}:
            for connection in wait(list(busy)):
                worker = busy[connection]  # type: ignore[index]
                event = worker.next_event()
                yield event
                if event.kind in ("done", "failed"):
                    worker.work = None
                    if not worker.process.is_alive():
                        workers[workers.index(worker)] = worker = JobWorker() if waiting else worker
                    if waiting:
                        yield worker.begin(waiting.pop())
    finally:
        for worker in workers:
            worker.stop()


def _serve(connection: Connection[Any, Any]) -> None:
    import torch

    torch.set_num_threads(1)
    while True:
        try:
            work = connection.recv()
        except (EOFError, OSError):
            return
        with contextlib.suppress(BrokenPipeError):
            connection.send(_outcome(work, connection))


def _outcome(work: Work, connection: Connection[Any, Any]) -> tuple[str, int, float | None, str]:
    """Do the work, send an event for each round, and return how it ended."""
    from drrn.playing.evaluation import mean_and_deviation

    number, score = 0, None
    try:
        for finished in run(work):
            number, score = finished.number, mean_and_deviation(finished.evaluations, "softmax")[0]
            connection.send(("round", number, score, ""))
    except (InputError, OSError) as error:
        return "failed", number, score, str(error)
    except Exception:  # a fault of ours: told whole, and the other jobs go on
        return "failed", number, score, traceback.format_exc()
    return "done", number, score, ""
