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
from typing import Any

import torch

from drrn import registry
from drrn.errors import InputError, require
from drrn.files import inside, write
from drrn.lab.experiments.job import Job
from drrn.lab.experiments.workers import ENDED, Event, Workers, events_of
from drrn.processes import Service, ServiceError, temporary_folder
from drrn.runs.config import versions

LOCAL = "local"  # the address of a cluster of this machine alone, started and ended by the command
CONNECTION_SECONDS = 5.0
ANSWER_SECONDS = 60.0
SAVE_SECONDS = 60.0  # between the times at which a running job sends its files
OBJECT_STORE = 512 * 2**20  # bytes, of a local cluster
REMEDY = "name the HOST:PORT of a cluster that this machine has joined (ray start), or no address"

Files = dict[str, bytes]  # by their path in the folder of results


class RayCluster(Workers):
    """The workers of a Ray cluster, each with one core.

    Args:
        address: HOST:PORT, "auto", or LOCAL.
        count: The largest number of jobs at once; of a local cluster, its number of cores.
    """

    attempts = 4

    def __init__(self, address: str, count: int | None = None) -> None:
        self.address = address
        self.count = count
        self.tasks: dict[Any, tuple[Job, float]] = {}  # by Ray's stream of events: job and start
        self.resources = contextlib.ExitStack()
        self.folder: Path | None = None  # of a local cluster: everything that it writes
        self.ray = require("ray", "ray")
        check_connection(address)  # even if no job is left and the cluster is never joined
        self.run_remotely: Any = None  # Ray's task, once the cluster is joined
        self.cores = 1
        self.count_time = -math.inf

    def slots(self) -> int:
        """Return the number of cores, counted again every second: a cluster grows and shrinks."""
        if self.run_remotely is None:
            self._join()
        if time.perf_counter() > self.count_time + 1:
            self.cores = max(1, int(self.ray.cluster_resources().get("CPU", 0)))
            self.count_time = time.perf_counter()
        return min(self.cores, self.count or self.cores)

    def start(self, job: Job) -> None:
        files = read_files(job.root, job.folder)
        place = (Path.cwd(), self.folder)
        stream = self.run_remotely.remote(job, files, versions(), *place, registry.trusted())
        self.tasks[stream] = (job, time.perf_counter())

    def events(self) -> list[Event]:
        streams = list(self.tasks)
        self.ray.wait(streams, num_returns=1)
        ready, _ = self.ray.wait(streams, num_returns=len(streams), timeout=0)
        return [event for stream in ready if (event := self._next_event(stream))]

    def close(self) -> None:
        for stream in self.tasks:
            with contextlib.suppress(Exception):  # its worker may be dead already
                self.ray.cancel(stream, force=True)
        self.tasks.clear()
        self.resources.close()

    def _join(self) -> None:
        if not self.ray.is_initialized():
            os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
            quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
            if self.address == LOCAL:
                self.folder = self.resources.enter_context(temporary_folder("ray"))
                quiet |= {"include_dashboard": False, "_node_ip_address": "127.0.0.1"}
                quiet |= {"num_cpus": self.count, "object_store_memory": OBJECT_STORE}
                quiet["_temp_dir"] = str(self.folder)
            else:
                check_cluster(self.address)
            self.resources.callback(self.ray.shutdown)
            self.ray.init(address=self.address, **quiet)
        # Ray does not retry: `run_all` starts lost jobs again.
        one_core = self.ray.remote(num_cpus=1, max_retries=0, num_returns="streaming")
        self.run_remotely = one_core(run_job)

    def _next_event(self, stream: Any) -> Event | None:
        job, start = self.tasks[stream]
        files = Files()
        event: Event
        try:
            event, files = self.ray.get(next(stream))
        except self.ray.exceptions.RayTaskError as error:  # a fault in the code
            event = Event(job, "failed", why=str(error))
        except (StopIteration, self.ray.exceptions.RayError) as error:
            event = Event(job, "lost", why=f"its worker was lost ({type(error).__name__})")
        if event.kind == "started":  # it may have waited for a core until now
            self.tasks[stream] = (job, time.perf_counter())
            return None
        job.results.receive(job.game, job.name, files)
        if event.kind in ENDED:
            del self.tasks[stream]
        return replace(event, job=job, seconds=time.perf_counter() - start)


def run_job(
    job: Job,
    files: Files,
    required: Mapping[str, str],
    folder: Path,
    temporary: Path | None = None,
    names: Sequence[str] = (),
) -> Iterator[tuple[Event, Files]]:
    """Run a job in a Ray worker; yield events, and from time to time the job's files.

    `files` are those of an interrupted run, `required` the versions of packages that the worker
    must have; `folder` is where the command was run, and where the user's own games may be;
    `names` is the Python code that the command trusts.
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
    with temporary_folder("job", temporary) as root:
        for name, data in files.items():
            write(inside(root, name), data)
        last = time.perf_counter()
        for event in events_of(replace(job, root=root)):
            files = Files()
            if event.kind in ENDED or time.perf_counter() > last + SAVE_SECONDS:
                files = read_files(root, event.job.folder)
                last = time.perf_counter()
            if event.kind in ENDED:
                files |= read_files(root, root / "rows")
            yield event, files


def read_files(root: Path, folder: Path) -> Files:
    """Return the files in a folder by their path from the root."""
    paths = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in paths}


def check_connection(address: str) -> None:
    """Raise an InputError if nothing listens at the address; takes a few seconds at most."""
    if address in (LOCAL, "auto"):
        return
    match = re.fullmatch(r"\[?([^/]+?)\]?:([0-9]{1,5})", address)
    if not match:
        raise InputError(f'--ray "{address}": not the address of a cluster; {REMEDY}')
    try:
        socket.create_connection((match[1], int(match[2])), CONNECTION_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise InputError(f"--ray {address}: nothing answers there ({error}); {REMEDY}") from error


def check_cluster(address: str) -> None:
    """Raise an InputError if no cluster answers. Ray itself would wait, then end the process."""
    check_connection(address)
    try:
        with Service(_join_cluster, address, quiet=True) as service:
            service.open(ANSWER_SECONDS)
    except (ServiceError, InputError) as error:
        died = isinstance(error, ServiceError) and error.reason == "died"
        why = "it is not a Ray cluster, or of another Ray version" if died else error
        raise InputError(f"--ray {address}: no usable cluster ({why}); {REMEDY}") from error


def _join_cluster(address: str) -> None:
    """Join a cluster; called in a separate process."""
    ray = require("ray", "ray")
    ray.init(address=address, log_to_driver=False, logging_level="ERROR")
