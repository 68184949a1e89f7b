"""What the commands share that do many jobs: where they are done, the order, and the display."""

from __future__ import annotations

import argparse
import itertools
import os
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from drrn.cli.terminal import positive
from drrn.errors import InputError

if TYPE_CHECKING:
    from drrn.lab.experiments.running import Work
    from drrn.lab.experiments.workers import Crew, Event


def add_crew_options(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--jobs", type=positive, metavar="N", help="jobs side by side (default: as many as cores)"
    )
    command.add_argument("--device", default="cpu", help="where to compute (default: cpu)")
    command.add_argument(
        "--ray", nargs="?", const="", metavar="ADDRESS",
        help="do the jobs on a Ray cluster: HOST:PORT of its head, or auto for the one that this machine is part of "
        "(default: what RAY_ADDRESS names, else a cluster of this machine alone is started)",
    )  # fmt: skip


def crew_of(options: argparse.Namespace) -> Crew:
    """Who does the jobs that a command was asked for."""
    if options.ray is None:
        from drrn.lab.experiments.workers import Processes

        return Processes(options.jobs or _cores())
    from drrn.lab.experiments.cluster import LOCAL, RayCluster

    if options.device != "cpu":
        raise InputError(
            f"--device {options.device} goes without --ray: a cluster's jobs compute on its cores"
        )
    address = options.ray or os.environ.get("RAY_ADDRESS") or LOCAL
    return RayCluster(address, options.jobs or (_cores() if address == LOCAL else None))


def run_jobs(
    works: list[Work], crew: Crew, seconds_a_cost: float, until: float | None = None
) -> list[Event]:
    """Do the jobs, those that can be begun until then, under a display that tells how far they are, and return what
    failed."""
    from drrn.cli.progress import jobs_display
    from drrn.lab.experiments.workers import side_by_side

    if not works:
        return []
    failed = []
    begun_in_time = itertools.takewhile(lambda _: in_time(until), works)
    with jobs_display(works, crew, seconds_a_cost, until) as show:
        for event in side_by_side(begun_in_time, crew):
            show(event)
            if event.kind == "failed":
                failed.append(event)
    return failed


def in_time(until: float | None) -> bool:
    """Whether it is not yet so late, by the monotonic clock."""
    return until is None or time.monotonic() < until


def in_order(works: Iterable[Work]) -> list[Work]:
    """Facts first, since jobs then find the game compiled; then the longest jobs."""
    from drrn.lab.experiments.estimate import work_cost

    return sorted(works, key=lambda work: (work.variant is not None, -work_cost(work)))


def seconds_before(done: Iterable[Work]) -> float:
    """What a unit of cost took, by the records of the jobs that are done."""
    from drrn.lab.experiments.estimate import seconds_a_cost
    from drrn.lab.experiments.folder import Results

    records = ((work, Results(work.root).record(work.game, work.name)) for work in done)
    return seconds_a_cost(
        (work, float(record["seconds"]["whole"])) for work, record in records if record
    )


def failures(failed: list[Event], total: int) -> InputError:
    """What failed, in words."""
    reasons = "".join(f"\n  {event.work.game} {event.work.name}: {event.why}" for event in failed)
    return InputError(
        f"{len(failed)} of {total} jobs failed; the same command tries them again:{reasons}"
    )


def read_setting(text: str, option: str, planned: Iterable[str]) -> tuple[str, Any]:
    """NAME=VALUE as a setting and its value; those that are planned otherwise are refused."""
    from drrn.settings import all_settings

    name, equals, value = text.partition("=")
    if not equals or name not in all_settings():
        raise InputError(
            f'{option} "{text}": write NAME=VALUE, with a name that `drrn train --help` lists'
        )
    if name in planned:
        raise InputError(
            f'{option} "{text}": {name} is what the jobs differ in, or has an option of its own'
        )
    try:
        return name, all_settings()[name].read(value)
    except InputError as error:
        raise InputError(f'{option} "{text}": {error}') from error


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
