"""Jobs side by side: one loop for whoever does them, and the processes of this machine that can. A job that fails
leaves the others alone."""

from __future__ import annotations

import os
import time
import traceback
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection, wait
from typing import Any

from drrn.errors import InputError
from drrn.lab.experiments.running import Work, run
from drrn.processes import Worker

Said = tuple[
    str, int, float | None, str
]  # of a job under way: kind of event, rounds finished, score, why
ENDED = ("done", "failed", "lost")


@dataclass(frozen=True)
class Event:
    """What became of a job: "started", "round", "done", "failed", or "lost", with its worker."""

    work: Work
    kind: str
    rounds: int = 0  # finished
    score: float | None = None  # the last round's mean over seeds, by softmax
    seconds: float = 0.0  # since it was started
    why: str = ""


class Crew(ABC):
    """Who does jobs side by side: processes of this machine, or a cluster. Leaving it ends all that is under way."""

    attempts: int  # how often a job is begun whose worker is lost each time

    @abstractmethod
    def places(self) -> int:
        """Jobs that can be under way at once, as things stand."""

    @abstractmethod
    def begin(self, work: Work) -> None:
        """Begin a job; there is a place for it."""

    @abstractmethod
    def events(self) -> list[Event]:
        """Wait until something happened, and tell it."""

    @abstractmethod
    def close(self) -> None:
        """End all that is under way."""

    def __enter__(self) -> Crew:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def side_by_side(works: Iterable[Work], crew: Crew) -> Iterator[Event]:
    """Do the works in order, as many at a time as there are places, and tell what happens. The next work is asked for
    only when there is a place for it; one whose worker was lost is begun again before any other."""
    waiting = iter(works)
    again = list[Work]()
    begun = Counter[tuple[str, str]]()
    under_way = 0
    while True:
        while under_way < crew.places() and (work := again.pop() if again else next(waiting, None)):
            under_way += 1
            begun[work.game, work.name] += 1
            crew.begin(work)
            yield Event(work, "started")
        if not under_way:
            return
        for event in crew.events():
            under_way -= event.kind in ENDED
            if event.kind == "lost":
                if begun[event.work.game, event.work.name] < crew.attempts:
                    again.append(event.work)
                else:
                    event = replace(event, kind="failed")
            yield event


def outcomes(work: Work) -> Iterator[Said]:
    """Do the work: what there is to say of each round, and last how it ended."""
    from drrn.playing.evaluation import mean_and_deviation

    number = 0
    score = None
    try:
        for finished in run(work):
            number = finished.number
            score = mean_and_deviation(finished.evaluations, "softmax")[0]
            yield "round", number, score, ""
    except (InputError, OSError) as error:
        yield "failed", number, score, str(error)
    except Exception:  # a fault of ours: told whole, and the other jobs go on
        yield "failed", number, score, traceback.format_exc()
    else:
        yield "done", number, score, ""


class JobWorker(Worker):
    """A process that does one job after another."""

    def __init__(self) -> None:
        super().__init__(_serve)
        self.work: Work | None = None
        self.since = 0.0

    def begin(self, work: Work) -> None:
        self.work = work
        self.since = time.perf_counter()
        self.connection.send(work)

    def next_event(self) -> Event:
        """The next event that the process sends; or that it died."""
        assert self.work is not None
        work = self.work
        seconds = time.perf_counter() - self.since
        try:
            kind, rounds, score, why = self.connection.recv()
        except (EOFError, OSError):
            self.process.join()
            kind = "lost"
            rounds = 0
            score = None
            why = f"its process died (exit code {self.process.exitcode}); was there memory enough?"
        if kind in ENDED:
            self.work = None
        return Event(work, kind, rounds, score, seconds, why)


class Processes(Crew):
    """So many processes of this machine, each begun when it is first needed."""

    attempts = 1  # what kills a process here, want of memory above all, would kill the next one

    def __init__(self, count: int) -> None:
        self.count = count
        self.workers: list[JobWorker] = []

    def places(self) -> int:
        return self.count

    def begin(self, work: Work) -> None:
        idle = next((worker for worker in self.workers if worker.work is None), None)
        if idle is None:
            os.environ["OMP_NUM_THREADS"] = (
                "1"  # for the process; more threads mostly wait for each other
            )
            self.workers.append(idle := JobWorker())
        idle.begin(work)

    def events(self) -> list[Event]:
        busy: dict[Any, JobWorker] = {
            worker.connection: worker for worker in self.workers if worker.work
        }
        heard = [
            (worker := busy[connection], worker.next_event()) for connection in wait(list(busy))
        ]
        for worker in [worker for worker, event in heard if event.kind == "lost"]:
            worker.stop()
            self.workers.remove(worker)
        return [event for _, event in heard]

    def close(self) -> None:
        for worker in self.workers:
            worker.stop()
        self.workers.clear()


def _serve(connection: Connection[Any, Any]) -> None:
    import torch

    torch.set_num_threads(1)
    while True:
        try:
            for said in outcomes(connection.recv()):
                connection.send(said)
        except (EOFError, OSError):  # nobody is left who asks
            return
