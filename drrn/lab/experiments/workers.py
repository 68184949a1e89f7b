"""Many jobs at once: the loop, the processes of this machine, and an estimate of the time left."""

from __future__ import annotations

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
from drrn.lab.experiments.plan import SEEDS, cost
from drrn.processes import Service, ServiceError, report
from drrn.settings import PAPER

ENDED = ("done", "failed", "lost")


@dataclass(frozen=True)
class Event:
    """A change of a job: "started", "round", "done", "failed", or "lost" if its worker died."""

    job: Job
    kind: str
    rounds: int = 0  # finished
    score: float | None = None  # mean over the seeds after the last round, by softmax
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
            score = finished.mean("softmax_final_reward")
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


# --- The time left

SECONDS = 5.5  # of a unit of cost on one core of a machine of 2025
START = 0.2  # cost of a job before its first round, and again after its last
WEIGHT = 2.0  # of what is known in advance, in units of cost
USUAL = PAPER.run.rounds * PAPER.run.episodes_per_round


def job_cost(job: Job) -> float:
    """Return a job's relative duration; the facts of a game take a few seconds."""
    if job.variant is None:
        return 0.0
    run = job.settings.run
    seeds = run.replicas / SEEDS.get(job.variant.group, PAPER.run.replicas)
    usual = cost(job.game, job.variant, job.settings)
    rounds = usual * run.rounds * run.episodes_per_round / USUAL * (0.3 + 0.7 * seeds)
    return START + rounds + START


def in_order(jobs: Iterable[Job]) -> list[Job]:
    """Sort jobs: facts first, since they compile the game; then the longest jobs."""
    return sorted(jobs, key=lambda job: (job.variant is not None, -job_cost(job)))


class Estimate:
    """An estimate of the time left: jobs have costs, measurements turn them into seconds."""

    def __init__(self, jobs: Iterable[Job], slots: int) -> None:
        self.slots = slots  # jobs at once; it may change
        self.costs = {(job.game, job.name): job_cost(job) for job in jobs if job.variant}
        self.done: dict[tuple[str, str], tuple[float, float]] = {}  # cost so far, seconds

    def update(self, event: Event) -> None:
        key = (event.job.game, event.job.name)
        whole = self.costs.get(key, 0.0)
        if event.kind == "round":
            share = event.rounds / event.job.settings.run.rounds
            self.done[key] = (START + share * (whole - 2 * START), event.seconds)
        elif event.kind == "done":
            self.done[key] = (whole, event.seconds)
        elif event.kind == "lost":  # it starts again
            self.done.pop(key, None)
        elif event.kind == "failed":
            self.costs.pop(key, None)
            self.done.pop(key, None)

    def seconds_left(self) -> float:
        """Return the seconds until all jobs are done; at least those of the longest job."""
        left = [whole - self.done.get(key, (0.0,))[0] for key, whole in self.costs.items()]
        return self._rate() * max(sum(left) / max(1, self.slots), max(left, default=0.0))

    def _rate(self) -> float:
        """Return the duration of a unit of cost."""
        seconds = WEIGHT * SECONDS + sum(seconds for _, seconds in self.done.values())
        return seconds / (WEIGHT + sum(costs for costs, _ in self.done.values()))


def time_left_text(seconds: float) -> str:
    if seconds < 90:
        return f"about {max(1, round(seconds))} s left"
    return f"about {round(seconds / 60)} min left"
