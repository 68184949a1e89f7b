"""Jobs on a Ray cluster, with the same rows and the same folder of results as on one machine.

A worker runs a job in a temporary folder and sends its files back, so machines need not share a
disk. It also sends them during the job, so that finished rounds outlive the worker and this
process.
"""

import contextlib
import math
import os
import platform
import re
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from drrn.experiments.job import Job
from drrn.experiments.results import Files, read_files, receive
from drrn.experiments.workers import ENDED, Event, Workers, events_of
from drrn.runs.config import versions
from textgames import registry
from textgames.errors import InputError, require
from textgames.files import inside, write
from textgames.processes import Service, ServiceError

LOCAL = "local"  # the address of a cluster of this machine alone, started and ended by the command
REMEDY = "name the HOST:PORT of a cluster that this machine has joined (ray start), or no address"


class RayCluster(Workers):
    """The workers of a Ray cluster, each with one core.

    Args:
        address: HOST:PORT, "auto", or LOCAL.
        count: The largest number of jobs at once. Of a local cluster, its number of cores.
        save_seconds: The time between the moments at which a running job sends its files.
        memory: The size of a local cluster's object store, in bytes.
    """

    attempts = 4

    def __init__(
        self,
        address: str,
        count: int | None = None,
        *,
        save_seconds: float = 60.0,
        memory: int = 512 * 2**20,
    ) -> None:
        super().__init__()
        self.address = address
        self.count = count
        self.save_seconds = save_seconds
        self.memory = memory
        self.resources = contextlib.ExitStack()
        self.folder: Path | None = None  # of a local cluster: everything that it writes
        self.ray = require("ray")
        check_connection(address)  # even if no job is left and the cluster is never joined
        self.run_remotely: Any = None  # Ray's task, once the cluster is joined
        self.cores = 1
        self.count_time = -math.inf

    def slots(self) -> int:
        """The number of cores, counted again every second, since a cluster grows and shrinks."""
        if self.run_remotely is None:
            self._join()
        if time.perf_counter() > self.count_time + 1:
            self.cores = max(1, int(self.ray.cluster_resources().get("CPU", 0)))
            self.count_time = time.perf_counter()
        return min(self.cores, self.count or self.cores)

    def start(self, job: Job) -> Any:
        files = read_files(job.root, job.folder)
        how = (Path.cwd(), self.folder, registry.trusted(), self.save_seconds)
        return self.run_remotely.remote(job, files, versions(), *how)

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
                # its sockets need a short path, and its processes may end later
                folder = TemporaryDirectory("", "drrn-ray-", "/tmp", ignore_cleanup_errors=True)
                self.folder = Path(self.resources.enter_context(folder))
                quiet |= {"include_dashboard": False, "_node_ip_address": "127.0.0.1"}
                quiet |= {"num_cpus": self.count, "object_store_memory": self.memory}
                quiet["_temp_dir"] = str(self.folder)
            else:
                check_cluster(self.address)
            self.resources.callback(self.ray.shutdown)
            self.ray.init(address=self.address, **quiet)
        # Ray does not retry: `run` starts lost jobs again.
        one_core = self.ray.remote(num_cpus=1, max_retries=0, num_returns="streaming")
        self.run_remotely = one_core(run_job)

    def _next_event(self, stream: Any) -> Event | None:
        job, _ = self.running[stream]
        files = Files()
        event: Event
        try:
            event, files = self.ray.get(next(stream))
        except self.ray.exceptions.RayTaskError as error:  # a fault in the code
            event = Event(job, "failed", why=str(error))
        except (StopIteration, self.ray.exceptions.RayError) as error:
            event = Event(job, "lost", why=f"its worker was lost ({type(error).__name__})")
        if event.kind == "started":  # it may have waited for a core until now
            self.running[stream] = (job, time.perf_counter())
            return None
        receive(job.root, job.folder, files)
        return event


def run_job(
    job: Job,
    files: Files,
    required: Mapping[str, str],
    folder: Path,
    temporary: Path | None = None,
    names: Sequence[str] = (),
    save_seconds: float = 60.0,
) -> Iterator[tuple[Event, Files]]:
    """Run a job in a Ray worker. Yields events, and from time to time the job's files.

    Args:
        job: The job.
        files: The files of an interrupted run.
        required: The versions of packages that the worker must have.
        folder: Where the command was run, and where the user's own games may be.
        temporary: Where the worker writes.
        names: The Python code that the command trusts.
        save_seconds: The time after which the files are sent again.
    """
    registry.trust(*names)
    torch.set_num_threads(1)
    yield Event(job, "started"), {}
    if other := [f"{name} {own}" for name, own in versions().items() if own != required[name]]:
        needed = ", ".join(f"{name} {version}" for name, version in required.items())
        why = f"the worker on {platform.node()} has {', '.join(other)}, but the job needs {needed}"
        yield Event(job, "failed", why=why), {}
        return
    with contextlib.suppress(OSError):
        os.chdir(folder)
    with TemporaryDirectory("", "drrn-job-", temporary) as scratch:
        root = Path(scratch)
        for name, data in files.items():
            write(inside(root, name), data)
        here: Any = job  # a dataclass
        last = time.perf_counter()
        for event in events_of(replace(here, root=root)):
            files = Files()
            if event.kind in ENDED:
                files = read_files(root, root)
            elif time.perf_counter() > last + save_seconds:
                files = read_files(root, event.job.folder)
                last = time.perf_counter()
            yield event, files


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


def check_cluster(address: str, seconds: float = 60.0) -> None:
    """Raise an InputError if no cluster answers. Ray itself would wait, then end the process."""
    check_connection(address)
    try:
        with Service(_join_cluster, address, quiet=True) as service:
            service.open(seconds)
    except (ServiceError, InputError) as error:
        died = isinstance(error, ServiceError) and error.reason == "died"
        why = "it is not a Ray cluster, or of another Ray version" if died else error
        raise InputError(f"--ray {address}: no usable cluster ({why}); {REMEDY}") from error


def _join_cluster(address: str) -> None:
    """Join a cluster, in a separate process."""
    ray = require("ray")
    ray.init(address=address, log_to_driver=False, logging_level="ERROR")
