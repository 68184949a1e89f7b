"""Jobs on a Ray cluster, with the same rows and the same folder of results as on one machine.

A job is done in a folder of its worker's own, and its files come back: machines need not share a disk. They come back
on the way, too, so that what was finished by then outlives a lost worker, and this process.
"""

from __future__ import annotations

import contextlib
import math
import os
import platform
import re
import socket
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from drrn.errors import InputError, require
from drrn.lab.experiments.folder import Results
from drrn.lab.experiments.provenance import versions
from drrn.lab.experiments.running import Work
from drrn.lab.experiments.workers import ENDED, Crew, Event, Said, outcomes
from drrn.processes import Worker, temporary_folder

LOCAL = "local"  # the address of a cluster of this machine alone, which is started and ended with the command
REACHED_WITHIN = 5.0  # seconds for a connection to the address
ANSWERED_WITHIN = 60.0  # seconds for the cluster to answer
KEPT_EVERY = 60.0  # seconds between the moments of a job that are kept in the folder of results
LAST_PORT = 65535
STORE = 512 * 2**20  # bytes of a local cluster's object store

CURE = "give the HOST:PORT of a cluster that this machine is part of (ray start), or none for one of its own"

Files = dict[str, bytes]  # by their path in the folder of results


@dataclass
class Task:
    """A job that the cluster was given."""

    work: Work
    since: float


class RayCluster(Crew):
    """The workers of a Ray cluster, each with one core; or of one that is started here, with so many of them."""

    attempts = 4

    def __init__(self, address: str, count: int | None = None) -> None:
        self.address = address
        self.count = count
        self.tasks: dict[Any, Task] = {}  # by the stream of what its worker says
        self.own = contextlib.ExitStack()
        self.folder: Path | None = None  # a local cluster's own, with all that it writes
        self.ray = require("ray", "ray")
        check_reached(address)  # now: where no job is left, the cluster is never joined
        self.do: Any = None  # a job, as a task of Ray's; none before the cluster is needed
        self.ours = False  # whether the cluster was joined here
        self.cores = 1
        self.counted = -math.inf

    def places(self) -> int:
        """The cluster's cores, counted anew every second: it may grow and shrink."""
        if self.do is None:
            self._join()
        if time.perf_counter() > self.counted + 1:
            self.cores = max(1, int(self.ray.cluster_resources().get("CPU", 0)))
            self.counted = time.perf_counter()
        return min(self.cores, self.count or self.cores)

    def begin(self, work: Work) -> None:
        begun = files_of(work.root, Results(work.root).work(work.game, work.name))
        stream = self.do.remote(work, begun, versions(), Path.cwd(), self.folder)
        self.tasks[stream] = Task(work, time.perf_counter())

    def events(self) -> list[Event]:
        streams = list(self.tasks)
        self.ray.wait(streams, num_returns=1)
        ready, _ = self.ray.wait(
            streams, num_returns=len(streams), timeout=0
        )  # all that came meanwhile
        return [event for stream in ready if (event := self._next_event(stream))]

    def close(self) -> None:
        for stream in self.tasks:
            with contextlib.suppress(Exception):  # its worker may be gone already
                self.ray.cancel(stream, force=True)
        self.tasks.clear()
        if self.ours:
            self.ray.shutdown()
        self.own.close()

    def _join(self) -> None:
        """Join the cluster when it is first needed."""
        if not self.ray.is_initialized():
            self.ours = True
            self._connect()
        one_core = self.ray.remote(
            num_cpus=1, max_retries=0, num_returns="streaming"
        )  # what is lost, we begin again
        self.do = one_core(job_elsewhere)

    def _connect(self) -> None:
        os.environ["RAY_USAGE_STATS_ENABLED"] = "0"  # nobody else is told of it
        quiet = {"log_to_driver": False, "logging_level": "ERROR", "include_dashboard": False}
        if self.address != LOCAL:
            check_address(self.address)
            self.ray.init(address=self.address, **{**quiet, "include_dashboard": None})
            return
        self.folder = self.own.enter_context(temporary_folder("ray"))
        here = {"num_cpus": self.count, "object_store_memory": STORE, "_temp_dir": str(self.folder)}
        self.ray.init(address=LOCAL, **here, **quiet, _node_ip_address="127.0.0.1")

    def _next_event(self, stream: Any) -> Event | None:
        """What a worker said next; None where it was nothing to tell."""
        task = self.tasks[stream]
        try:
            (kind, rounds, score, why), files = self.ray.get(next(stream))
        except (StopIteration, self.ray.exceptions.RayError) as error:
            failed = isinstance(
                error, self.ray.exceptions.RayTaskError
            )  # a fault of ours, not of the machine's
            kind = "failed" if failed else "lost"
            rounds = 0
            score = None
            files = {}
            why = str(error) if failed else f"its worker was lost ({type(error).__name__})"
        if kind == "started":  # it may have waited until then
            task.since = time.perf_counter()
            return None
        Results(task.work.root).receive(task.work.game, task.work.name, files)
        if kind in ENDED:
            del self.tasks[stream]
        return Event(task.work, kind, rounds, score, time.perf_counter() - task.since, why)


def job_elsewhere(
    work: Work, begun: Files, wanted: Mapping[str, str], folder: Path, place: Path | None = None
) -> Iterator[tuple[Said, Files]]:
    """Do a job in a Ray worker: what it says, and now and then its files as they are by then. `folder` is where the
    command was given, `place` where temporary files go."""
    import torch

    torch.set_num_threads(1)
    yield ("started", 0, None, ""), {}
    if other := [
        f"{name} {found}, not {wanted[name]}"
        for name, found in versions().items()
        if found != wanted[name]
    ]:
        why = f"the worker on {platform.node()} has {', '.join(other)}: install there what is installed here"
        yield ("failed", 0, None, why), {}
        return
    with contextlib.suppress(OSError):
        os.chdir(folder)  # where a game of the user's own may lie
    with temporary_folder("job", place) as root:
        write_files(root, begun)
        yield from _with_files(replace(work, root=root))


def _with_files(work: Work) -> Iterator[tuple[Said, Files]]:
    results = Results(work.root)
    kept = time.perf_counter()
    for said in outcomes(work):
        over = said[0] in ENDED
        files = Files()
        if over or time.perf_counter() > kept + KEPT_EVERY:
            files = files_of(work.root, results.work(work.game, work.name))
            kept = time.perf_counter()
        if over:
            files |= files_of(work.root, results.root / "rows")
        yield said, files


def files_of(root: Path, folder: Path) -> Files:
    """The files in a folder of the root, by their path from there; none where there is no such folder."""
    found = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in found}


def write_files(root: Path, files: Files) -> None:
    for name, data in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)


def check_reached(address: str) -> None:
    """Refuse what is no address, or one where nobody answers; it takes seconds at most."""
    if address in (LOCAL, "auto"):
        return
    host, colon, port = address.rpartition(":")
    if not colon or "/" in host or not re.fullmatch(r"[0-9]{1,5}", port) or int(port) > LAST_PORT:
        raise InputError(f'--ray "{address}": not the address of a cluster: {CURE}')
    try:
        socket.create_connection((host.strip("[]"), int(port)), REACHED_WITHIN).close()
    except OSError as error:
        raise InputError(f"--ray {address}: nobody answers there ({error}): {CURE}") from error


def check_address(address: str) -> None:
    """Refuse an address where no cluster answers. Ray itself would wait for minutes, and end the process."""
    check_reached(address)
    asking = Worker(_ask, address)
    try:
        answered = asking.connection.poll(ANSWERED_WITHIN)
        why = (
            asking.connection.recv()
            if answered
            else f"no answer within {ANSWERED_WITHIN:.0f} seconds"
        )
    except (EOFError, OSError):
        why = "what answers is no Ray of this version"
    finally:
        asking.stop()
    if why:
        raise InputError(f"--ray {address}: no cluster to work with ({why}): {CURE}")


def _ask(connection: Connection[Any, Any], address: str) -> None:
    """Try to join the cluster, in a process that can be ended; say what went wrong, or nothing."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # what Ray logs is for its developers
    ray = require("ray", "ray")

    try:
        ray.init(address=address, log_to_driver=False, logging_level="ERROR")
        connection.send("")
    except Exception as error:
        connection.send((str(error).strip() or type(error).__name__).splitlines()[0])
