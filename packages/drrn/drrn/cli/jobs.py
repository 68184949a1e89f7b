"""What the commands that run many jobs share: workers, progress, failures."""

import argparse
import os
from collections.abc import Callable, Iterable, Sequence
from operator import methodcaller
from typing import TypeVar

from drrn.experiments import workers
from drrn.experiments.job import Job
from drrn.experiments.workers import Event, Workers, in_order
from textgames.errors import InputError
from textgames.processes import cores
from textgames.progress import tracked
from textgames.terminal import warn
from textgames.wording import visible

AnyJob = TypeVar("AnyJob", bound=Job)


def workers_for(options: argparse.Namespace) -> Workers:
    """The workers that --jobs, --device and --ray name."""
    if options.ray is None:
        return workers.Processes(options.jobs or cores())
    from drrn.experiments.cluster import LOCAL, RayCluster

    if options.device != "cpu":
        cause = f"--device {options.device} cannot be combined with --ray"
        raise InputError(f"{cause}; clusters use CPUs only")
    address = options.ray or os.environ.get("RAY_ADDRESS") or LOCAL
    return RayCluster(address, options.jobs or (cores() if address == LOCAL else None))


def run_jobs(
    jobs: Sequence[AnyJob],
    pool: Workers,
    text: str = "jobs are done",
    is_done: Callable[[AnyJob], bool] = methodcaller("is_done"),
) -> list[Event]:
    """Run those jobs that are not done, and return the events of those that failed.

    `text` is printed after the number of jobs that are done.
    """
    missing = [job for job in jobs if not is_done(job)]
    print(f"{len(jobs) - len(missing)} of {len(jobs)} {text}", flush=True)
    if not missing:
        return []
    print(f"{len(missing)} to run, {pool.slots()} at a time", flush=True)
    count = sum(2 + job.rounds for job in missing)  # start, rounds, end
    return follow(pool.run(in_order(missing)), len(missing), count)


def follow(events: Iterable[Event], jobs: int, count: int) -> list[Event]:
    """Print how each job ends, and return the events of those that failed.

    Args:
        events: The events of the jobs.
        jobs: The number of jobs.
        count: The number of events, about.
    """
    failed = []
    ended = 0
    try:
        for event in tracked(events, count, "jobs"):
            if event.kind in ("started", "round"):
                continue
            ended += event.kind != "lost"
            print(f"[{ended:>3}/{jobs}] {_line(event)}", flush=True)
            if event.kind == "failed":
                failed.append(event)
    except KeyboardInterrupt:
        warn("stopped; run the same command again to continue from the last finished rounds")
        raise
    return failed


def _line(event: Event) -> str:
    """How a job ended."""
    name = f"{event.job.game} {event.job.name}"
    score = "" if event.score is None else f"{event.score:6.2f}"
    why = visible(event.why.strip().splitlines()[-1]) if event.why else ""
    outcomes = {
        "failed": f"  FAILED: {why}",
        "lost": f"  {why}; restarted",
        "pruned": "  ended early",
    }
    return f"{name:<45}{event.seconds:6.0f} s  {score}{outcomes.get(event.kind, '')}"


def failure_error(failed: Sequence[Event], total: int) -> InputError:
    """The error that names the failed jobs."""
    reasons = "".join(f"\n  {event.job.game} {event.job.name}: {event.why}" for event in failed)
    remedy = "run the same command to try them again"
    return InputError(f"{len(failed)} of {total} jobs failed; {remedy}:{reasons}")
