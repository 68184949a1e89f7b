"""Many jobs at once: the loop, the processes of this machine, and the order of the jobs."""

import time
import traceback
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

import torch

from drrn.experiments.job import Job
from textgames.errors import InputError
from textgames.processes import Service, ServiceError, report

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

    attempts = 1  # how often a job is started if its worker dies each time
    running: dict[Any, tuple[Job, float]]  # job and start, by what `start` returned

    def __init__(self) -> None:
        self.running = {}

    @abstractmethod
    def slots(self) -> int:
        """The number of jobs that can run at once at present."""

    @abstractmethod
    def start(self, job: Job) -> Any:
        """Start a job in a free slot, and return its handle."""

    @abstractmethod
    def wait(self) -> Iterable[tuple[Any, Event]]:
        """Wait for the next events of running jobs. Each is given with the handle of its job."""

    @abstractmethod
    def cancel(self, handle: Any) -> None:
        """Stop a running job."""

    def run(self, jobs: Iterable[Job]) -> Iterator[Event]:
        """Run jobs in order, as many at once as there are slots, and yield their events.

        The next job is taken only when a slot is free. A job whose worker died is started again
        first.
        """
        waiting = iter(jobs)
        again = list[Job]()
        starts = Counter[Path]()
        while True:
            while len(self.running) < self.slots():
                job = again.pop() if again else next(waiting, None)
                if job is None:
                    break
                starts[job.folder] += 1
                self.running[self.start(job)] = (job, time.perf_counter())
                yield Event(job, "started")
            if not self.running:
                return
            for handle, event in self.wait():
                if handle not in self.running:  # stopped since
                    continue
                job, start = self.running[handle]
                if event.kind in ENDED:
                    del self.running[handle]
                if event.kind == "lost" and starts[job.folder] < self.attempts:
                    again.append(job)
                elif event.kind == "lost":
                    event = replace(event, kind="failed")
                yield replace(event, job=job, seconds=time.perf_counter() - start)

    def stop(self, job: Job) -> None:
        """Stop a running job. No further event of it follows."""
        for handle in [each for each, (own, _) in self.running.items() if own is job]:
            del self.running[handle]
            self.cancel(handle)

    def close(self) -> None:
        """Stop all running jobs."""
        for handle in self.running:
            self.cancel(handle)
        self.running.clear()

    def __exit__(self, *_: object) -> None:
        self.close()


def events_of(job: Job) -> Iterator[Event]:
    """Run a job. Yields an event for each round, and last how it ended."""
    event = Event(job, "started")
    try:
        for finished in job.run():
            score = finished.mean(job.column) if job.column else None
            event = Event(job, "round", finished.number, score)
            yield event
        event = replace(event, kind="done")
    except (InputError, OSError) as error:
        event = replace(event, kind="failed", why=str(error))
    except Exception:  # a fault in the code: the other jobs continue
        event = replace(event, kind="failed", why=traceback.format_exc())
    yield event


class _Runner:
    """Runs jobs in a separate process."""

    def __init__(self) -> None:
        torch.set_num_threads(1)

    def run(self, job: Job) -> None:
        for event in events_of(job):
            report(event)


class Processes(Workers):
    """Processes of this machine, each started when it is first needed.

    A lost job is not started again: what kills a process here is usually lack of memory.
    """

    def __init__(self, count: int) -> None:
        super().__init__()
        self.count = count
        self.idle: list[Service] = []

    def slots(self) -> int:
        return self.count

    def start(self, job: Job) -> Service:
        # One thread each: several would mostly wait for each other.
        threads = {"OMP_NUM_THREADS": "1"}
        service = self.idle.pop() if self.idle else Service(_Runner, environment=threads)
        service.send("run", job)
        return service

    def wait(self) -> Iterator[tuple[Service, Event]]:
        running: Any = list(self.running)
        services: Sequence[Any] = wait(running)
        for service in services:
            if service in self.running and (event := self._event(service)):
                yield service, event

    def _event(self, service: Service) -> Event | None:
        job, _ = self.running[service]
        try:
            reply = service.receive()
            event: Event | None = reply.result()
        except ServiceError as error:
            service.kill()
            hint = "; it may have run out of memory" if error.reason == "died" else ""
            return Event(job, "lost", why=f"{error}{hint}")
        if event is None or reply.kind == "answer":  # the process has started, or is free
            return None
        if event.kind in ENDED:
            self.idle.append(service)
        return event

    def cancel(self, handle: Service) -> None:
        handle.kill()

    def close(self) -> None:
        super().close()
        for service in self.idle:
            service.kill()
        self.idle.clear()


def in_order(jobs: Iterable[Job]) -> list[Job]:
    """The longest jobs first."""
    return sorted(jobs, key=lambda job: -job.cost)
