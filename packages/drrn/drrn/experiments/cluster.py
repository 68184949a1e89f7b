"""Jobs on a Ray cluster, with the same rows as on one machine.

All machines of the cluster must share the folder of the results, as for other users of Ray. A job
whose worker died is started again, and continues after its last saved round.
"""

import contextlib
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
from drrn.experiments.workers import Event, Workers, events_of
from drrn.runs.config import versions
from textgames import registry
from textgames.errors import InputError, require

LOCAL = "local"  # the address of a cluster of this machine alone, started and ended by the command
REMEDY = "name the HOST:PORT of a cluster that this machine has joined (ray start), or no address"


class RayCluster(Workers):
    """The workers of a Ray cluster, each with one core.

    Args:
        address: HOST:PORT, "auto", or LOCAL.
        count: The largest number of jobs at once. Of a local cluster, its number of cores.
        memory: The size of a local cluster's object store, in bytes.
    """

    attempts = 4

    def __init__(self, address: str, count: int | None = None, memory: int = 512 * 2**20) -> None:
        super().__init__()
        self.count = count
        self.resources = contextlib.ExitStack()
        self.ray = require("ray")
        check_connection(address)
        os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
        options: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
        if address == LOCAL:
            # Its sockets need a short path, and its processes may end later.
            short = TemporaryDirectory("", "drrn-ray-", "/tmp", ignore_cleanup_errors=True)
            folder = self.resources.enter_context(short)
            options |= {"include_dashboard": False, "_node_ip_address": "127.0.0.1"}
            options |= {"num_cpus": count, "object_store_memory": memory, "_temp_dir": folder}
        self.resources.callback(self.ray.shutdown)
        try:
            self.ray.init(address=address, **options)
        except (ConnectionError, RuntimeError) as error:  # such as another version of Ray
            raise InputError(f"--ray {address}: no usable cluster ({error}); {REMEDY}") from error
        # Ray does not retry: `run` starts lost jobs again.
        one_core = self.ray.remote(num_cpus=1, max_retries=0, num_returns="streaming")
        self.run_remotely = one_core(run_job)

    def slots(self) -> int:
        cores = max(1, int(self.ray.cluster_resources().get("CPU", 0)))  # a cluster may grow
        return min(cores, self.count or cores)

    def start(self, job: Job) -> Any:
        absolute: Any = job  # a dataclass
        absolute = replace(absolute, root=job.root.resolve())
        return self.run_remotely.remote(absolute, versions(), Path.cwd(), registry.trusted())

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
        job: The job. Its root is absolute.
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
    elif not job.root.is_dir():
        why = f"the machine {platform.node()} does not share the folder {job.root}"
        yield Event(job, "failed", why=why)
    else:
        with contextlib.suppress(OSError):
            os.chdir(folder)
        yield from events_of(job)


def check_connection(address: str, seconds: float = 5.0) -> None:
    """Raise an InputError if nothing listens there. Ray would wait, then end the process."""
    if address in (LOCAL, "auto"):
        return
    match = re.fullmatch(r"\[?([^/]+?)\]?:([0-9]{1,5})", address)
    if not match:
        raise InputError(f'--ray "{address}": not the address of a cluster; {REMEDY}')
    try:
        socket.create_connection((match[1], int(match[2])), seconds).close()
    except (OSError, OverflowError) as error:
        raise InputError(f"--ray {address}: nothing answers there ({error}); {REMEDY}") from error
