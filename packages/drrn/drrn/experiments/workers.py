"""Many jobs at once: in processes of this machine, or on a Ray cluster."""

import contextlib
import os
import platform
import re
import socket
import time
import traceback
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

import torch

from drrn.experiments.job import Job
from drrn.runs.config import versions
from textgames import registry
from textgames.errors import InputError, require
from textgames.processes import Service, ServiceError, report, temporary_folder

ENDED = ("done", "failed", "lost")
LOCAL = "local"  # the address of a cluster of this machine alone, started and ended by the command
REMEDY = "name the HOST:PORT of a cluster that this machine has joined (ray start), or no address"


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


class RayCluster(Workers):
    """The workers of a Ray cluster, each with one core.

    All machines share the folder of results. A job whose worker is lost is started again, and
    continues after its last finished round.

    Args:
        address: HOST:PORT, "auto", or LOCAL.
        count: The largest number of jobs at once. Of a local cluster, its number of cores.
        memory: The size of a local cluster's object store, in bytes.
    """

    attempts = 4

    def __init__(self, address: str, count: int | None = None, memory: int = 512 * 2**20) -> None:
        super().__init__()
        self.address = address
        self.count = count
        self.memory = memory
        self.resources = contextlib.ExitStack()
        self.ray = require("ray")
        check_connection(address)  # even if no job is left and the cluster is never joined
        self.run_remotely: Any = None  # Ray's task, once the cluster is joined

    def slots(self) -> int:
        """The number of cores. A cluster grows and shrinks."""
        if self.run_remotely is None:
            self._join()
        cores = max(1, int(self.ray.cluster_resources().get("CPU", 0)))
        return min(cores, self.count or cores)

    def start(self, job: Job) -> Any:
        return self.run_remotely.remote(job, versions(), Path.cwd(), registry.trusted())

    def wait(self) -> Iterator[tuple[Any, Event]]:
        streams = list(self.running)
        self.ray.wait(streams, num_returns=1)
        ready, _ = self.ray.wait(streams, num_returns=len(streams), timeout=0)
        for stream in ready:
            if stream in self.running and (event := self._next_event(stream)):
                yield stream, event

    def cancel(self, handle: Any) -> None:
        with contextlib.suppress(Exception):  # its worker may be dead already
            self.ray.cancel(handle, force=True)

    def close(self) -> None:
        super().close()
        self.resources.close()

    def _join(self) -> None:
        if not self.ray.is_initialized():
            os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
            quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
            if self.address == LOCAL:
                folder = self.resources.enter_context(temporary_folder("ray"))
                quiet |= {"include_dashboard": False, "_node_ip_address": "127.0.0.1"}
                quiet |= {"num_cpus": self.count, "object_store_memory": self.memory}
                quiet["_temp_dir"] = str(folder)
            self.resources.callback(self.ray.shutdown)
            self.ray.init(address=self.address, **quiet)
        # Ray does not retry: `run` starts lost jobs again.
        one_core = self.ray.remote(num_cpus=1, max_retries=0, num_returns="streaming")
        self.run_remotely = one_core(run_job)

    def _next_event(self, stream: Any) -> Event | None:
        job, _ = self.running[stream]
        try:
            event: Event = self.ray.get(next(stream))
        except self.ray.exceptions.RayTaskError as error:  # a fault in the code
            return Event(job, "failed", why=str(error))
        except (StopIteration, self.ray.exceptions.RayError) as error:
            return Event(job, "lost", why=f"its worker was lost ({type(error).__name__})")
        if event.kind == "started":  # it may have waited for a core until now
            self.running[stream] = (job, time.perf_counter())
            return None
        return event


def run_job(
    job: Job, required: Mapping[str, str], folder: Path, names: Sequence[str] = ()
) -> Iterator[Event]:
    """Run a job in a Ray worker, and yield its events.

    Args:
        job: The job.
        required: The versions of packages that the worker must have.
        folder: Where the command was run, and where the user's own games may be.
        names: The Python code that the command trusts.
    """
    registry.trust(*names)
    torch.set_num_threads(1)
    yield Event(job, "started")
    if other := [f"{name} {own}" for name, own in versions().items() if own != required[name]]:
        needed = ", ".join(f"{name} {version}" for name, version in required.items())
        why = f"the worker on {platform.node()} has {', '.join(other)}, but the job needs {needed}"
        yield Event(job, "failed", why=why)
        return
    with contextlib.suppress(OSError):
        os.chdir(folder)
    yield from events_of(job)


def check_connection(address: str, seconds: float = 5.0) -> None:
    """Raise an InputError if nothing listens at the address."""
    if address in (LOCAL, "auto"):
        return
    match = re.fullmatch(r"\[?([^/]+?)\]?:([0-9]{1,5})", address)
    if not match:
        raise InputError(f'--ray "{address}": not the address of a cluster; {REMEDY}')
    try:
        socket.create_connection((match[1], int(match[2])), seconds).close()
    except (OSError, OverflowError) as error:
        raise InputError(f"--ray {address}: nothing answers there ({error}); {REMEDY}") from error


def in_order(jobs: Iterable[Job]) -> list[Job]:
    """The longest jobs first."""
    return sorted(jobs, key=lambda job: -job.cost)


def event_count(job: Job) -> int:
    """The number of events of a job that is not interrupted: start, rounds, end."""
    return 2 + job.rounds
