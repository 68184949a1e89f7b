"""Many jobs at once: the loop, the processes of this machine, and the order of the jobs."""

import math
import time
import traceback
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from multiprocessing.connection import wait
from typing import Any

import torch

from drrn.errors import InputError
from drrn.lab.experiments.job import Job
from drrn.lab.experiments.plan import cost
from drrn.processes import Service, ServiceError, report

ENDED = ("done", "failed", "lost")


@dataclass(frozen=True)
class Event:
    """A change of a job: "started", "round", "done", "failed", or "lost" if its worker died."""

    job: Job
    kind: str
    rounds: int = 0  # finished
    score: float | None = None  # mean over the seeds after the last round
    seconds: float = 0.0  # since the job was started
    why: str = ""  # it failed


class Workers(AbstractContextManager["Workers"]):
    """Runs jobs at once, on this machine or on a cluster. Closing it stops all running jobs."""

    attempts: int  # how often a job is started if its worker dies each time

    @abstractmethod
    def slots(self) -> int:
        """Return the number of jobs that can run at once at present."""

    @abstractmethod
    def start(self, job: Job) -> None:
        """Start a job in a free slot."""

    @abstractmethod
    def events(self) -> list[Event]:
        """Wait for the next events."""

    @abstractmethod
    def close(self) -> None:
        """Stop all running jobs."""

    def __exit__(self, *_: object) -> None:
        self.close()


def run_all(jobs: Iterable[Job], workers: Workers) -> Iterator[Event]:
    """Run jobs in order, as many at once as there are slots, and yield their events.

    The next job is taken only when a slot is free. A job whose worker died is started again first.
    """
    waiting = iter(jobs)
    again = list[Job]()
    starts = Counter[tuple[str, str]]()
    running = 0
    while True:
        while running < workers.slots() and (job := again.pop() if again else next(waiting, None)):
            running += 1
            starts[job.game, job.name] += 1
            workers.start(job)
            yield Event(job, "started")
        if not running:
            return
        for event in workers.events():
            running -= event.kind in ENDED
            if event.kind == "lost":
                if starts[event.job.game, event.job.name] < workers.attempts:
                    again.append(event.job)
                else:
                    event = replace(event, kind="failed")
            yield event


def events_of(job: Job) -> Iterator[Event]:
    """Run a job; yield an event for each round, and last how it ended."""
    start = time.perf_counter()
    event = Event(job, "started")
    try:
        for finished in job.run():
            score = finished.mean(job.column) if job.column else None
            event = Event(job, "round", finished.number, score, time.perf_counter() - start)
            yield event
        event = replace(event, kind="done")
    except (InputError, OSError) as error:
        event = replace(event, kind="failed", why=str(error))
    except Exception:  # a fault in the code: the other jobs continue
        event = replace(event, kind="failed", why=traceback.format_exc())
    yield replace(event, seconds=time.perf_counter() - start)


class _Runner:
    """Runs jobs in a separate process."""

    def __init__(self) -> None:
        torch.set_num_threads(1)

    def run(self, job: Job) -> None:
        for event in events_of(job):
            report(event)


class Processes(Workers):
    """Processes of this machine, each started when it is first needed."""

    attempts = 1  # what kills a process here, usually lack of memory, would kill the next one

    def __init__(self, count: int) -> None:
        self.count = count
        self.idle: list[Service] = []
        self.running: dict[Service, tuple[Job, float]] = {}  # job and start

    def slots(self) -> int:
        return self.count

    def start(self, job: Job) -> None:
        # One thread each: several would mostly wait for each other.
        threads = {"OMP_NUM_THREADS": "1"}
        service = self.idle.pop() if self.idle else Service(_Runner, environment=threads)
        service.send("run", job)
        self.running[service] = (job, time.perf_counter())

    def events(self) -> list[Event]:
        running: Any = list(self.running)
        ready: Any = wait(running)
        return [event for service in ready if (event := self._event(service))]

    def _event(self, service: Service) -> Event | None:
        job, start = self.running[service]
        seconds = time.perf_counter() - start
        try:
            reply = service.receive()
            event: Event | None = reply.result()
            if event is None or reply.kind == "answer":  # the process has started, or is free
                return None
        except ServiceError as error:
            del self.running[service]
            service.kill()
            hint = "; it may have run out of memory" if error.reason == "died" else ""
            return Event(job, "lost", seconds=seconds, why=f"{error}{hint}")
        if event.kind in ENDED:
            del self.running[service]
            self.idle.append(service)
        return replace(event, seconds=seconds)

    def close(self) -> None:
        for service in [*self.running, *self.idle]:
            service.kill()
        self.running.clear()
        self.idle.clear()


def in_order(jobs: Iterable[Job]) -> list[Job]:
    """Sort jobs: facts first, since they compile the game; then the longest jobs."""

    def key(job: Job) -> float:
        return -cost(job.game, job.variant, job.settings) if job.variant else -math.inf

    return sorted(jobs, key=key)


def event_count(job: Job) -> int:
    """Return the number of events of a job that is not interrupted: start, rounds, end."""
    return 2 + (job.settings.run.rounds if job.variant else 0)
