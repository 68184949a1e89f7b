"""Commands that run many jobs: their options, and the progress display."""

from __future__ import annotations

import argparse
import itertools
import os
import sys
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from drrn.cli.terminal import positive
from drrn.errors import InputError
from drrn.settings import all_settings
from drrn.writing import visible

if TYPE_CHECKING:
    from drrn.lab.experiments.job import Job
    from drrn.lab.experiments.workers import Event, Workers

STOPPED = "stopped: run the same command again to continue from the last finished rounds"


def add_workers_options(command: argparse.ArgumentParser) -> None:
    """Add --jobs, --device and --ray."""
    command.add_argument(
        "--jobs", type=positive, metavar="N", help="jobs at once (default: the number of cores)"
    )
    command.add_argument("--device", default="cpu", help="where to compute (default: cpu)")
    command.add_argument(
        "--ray",
        nargs="?",
        const="",
        metavar="ADDRESS",
        help="run the jobs on a Ray cluster: HOST:PORT of its head, or auto for the one that this "
        "machine is part of (default: RAY_ADDRESS, or else a new cluster of this machine alone)",
    )


def workers_for(options: argparse.Namespace) -> Workers:
    """Return the workers that the options name."""
    if options.ray is None:
        from drrn.lab.experiments import workers

        return workers.Processes(options.jobs or _cores())
    from drrn.lab.experiments.cluster import LOCAL, RayCluster

    if options.device != "cpu":
        raise InputError(
            f"--device {options.device} cannot be combined with --ray: clusters compute on CPUs"
        )
    address = options.ray or os.environ.get("RAY_ADDRESS") or LOCAL
    return RayCluster(address, options.jobs or (_cores() if address == LOCAL else None))


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def add_set_option(command: argparse.ArgumentParser, note: str = "") -> None:
    """Add --set."""
    command.add_argument(
        "--set",
        nargs="+",
        action="extend",
        default=[],
        metavar="NAME=VALUE",
        help=f"a setting of all jobs, as of `drrn train`, such as rounds=2{note}",
    )


def read_settings(texts: Iterable[str], reserved: Iterable[str]) -> dict[str, Any]:
    """Parse the values of --set; reserved settings are refused."""
    settings = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or name not in all_settings():
            raise InputError(
                f'--set "{text}": write NAME=VALUE, with a name that `drrn train --help` lists'
            )
        if name in reserved:
            raise InputError(
                f'--set "{text}": {name} differs between the jobs, or has its own option'
            )
        try:
            settings[name] = all_settings()[name].read(value)
        except InputError as error:
            raise InputError(f'--set "{text}": {error}') from error
    return settings


def run_jobs(
    jobs: list[Job], workers: Workers, finished: list[Job], until: float | None = None
) -> list[Event]:
    """Run jobs with a progress display, and return the events of those that failed.

    Args:
        jobs: The jobs, in order.
        workers: Where they run.
        finished: Earlier jobs, to estimate the time left.
        until: No job is started after this time of the monotonic clock.
    """
    from drrn.lab.experiments.workers import run_all, seconds_per_cost

    if not jobs:
        return []
    failed = []
    in_time = itertools.takewhile(lambda _: is_before(until), jobs)
    with Display(jobs, workers, seconds_per_cost(finished), until) as display:
        for event in run_all(in_time, workers):
            display.update(event)
            if event.kind == "failed":
                failed.append(event)
    return failed


def is_before(until: float | None) -> bool:
    return until is None or time.monotonic() < until


def failure_error(failed: list[Event], total: int) -> InputError:
    """Return the error that names the failed jobs."""
    reasons = "".join(f"\n  {event.job.game} {event.job.name}: {event.why}" for event in failed)
    return InputError(
        f"{len(failed)} of {total} jobs failed; run the same command to try them again:{reasons}"
    )


class Display:
    """Progress of jobs: a live table on a terminal with rich, else a line for each finished job."""

    def __init__(
        self, jobs: list[Job], workers: Workers, seconds: float, until: float | None = None
    ) -> None:
        from drrn.lab.experiments.workers import Estimate

        self.total = len(jobs)
        self.finished = 0
        self.workers = workers
        self.until = until
        self.estimate = Estimate(jobs, workers.slots(), seconds)
        self.running: dict[str, tuple[Event, float]] = {}  # by name: last event, start
        self.live: Any = None

    def __enter__(self) -> Display:
        if sys.stdout.isatty():
            try:
                from rich.live import Live

                self.live = Live(get_renderable=self._table, refresh_per_second=2, transient=True)
                self.live.start()
            except ImportError:
                pass
        if self.total and not self.live:
            print(f"{self._time_left()}, {self.workers.slots()} at a time", flush=True)
        return self

    def __exit__(self, *_: object) -> None:
        if self.live:
            self.live.stop()

    def update(self, event: Event) -> None:
        self.estimate.update(event)
        name = f"{event.job.game} {event.job.name}"
        if event.kind in ("done", "failed", "lost"):
            self.running.pop(name, None)
            self.finished += event.kind != "lost"
            self._print(event, name)
        else:
            start = self.running[name][1] if name in self.running else time.perf_counter()
            self.running[name] = (event, start)

    def _print(self, event: Event, name: str) -> None:
        score = "" if event.score is None else f"  {event.score:6.2f}"
        why = visible(event.why.strip().splitlines()[-1]) if event.why else ""
        outcome = {"done": "", "failed": f"  FAILED: {why}", "lost": f"  {why}: started again"}
        left = self._time_left() if self.finished < self.total else "all done"
        total = f"/{self.total}" if self.until is None else ""
        count = f"[{self.finished:>3}{total}]"
        line = f"{count} {name:<45}{event.seconds:6.0f} s{score}{outcome[event.kind]}  {left}"
        if self.live:
            self.live.console.print(line, highlight=False, markup=False)
        else:
            print(line, flush=True)

    def _table(self) -> Any:
        """Return the live table, rendered twice a second."""
        from rich.console import Group
        from rich.table import Table

        table = Table(box=None)
        for column in ("running", "round", "score", "seconds"):
            table.add_column(column, justify="left" if column == "running" else "right")
        for name, (event, start) in list(self.running.items()):
            job = event.job
            rounds = f"{event.rounds}/{job.settings.run.rounds}" if job.variant else ""
            score = "" if event.score is None else f"{event.score:.2f}"
            table.add_row(name, rounds, score, f"{time.perf_counter() - start:.0f}")
        return Group(f"\n{self.finished} of {self.total} jobs done, {self._time_left()}", table)

    def _time_left(self) -> str:
        from drrn.lab.experiments.workers import time_left_text

        self.estimate.slots = self.workers.slots()  # a cluster grows and shrinks
        seconds = self.estimate.seconds_left()
        if self.until is not None:  # jobs that were started in time are finished
            remaining = max(0.0, self.until - time.monotonic())
            seconds = min(seconds, remaining + self.estimate.seconds_per_job())
        return time_left_text(seconds)
