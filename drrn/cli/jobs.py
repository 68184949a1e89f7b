"""Commands that run many jobs: their workers, --set, and a line for each finished job."""

import argparse
import os
from collections.abc import Callable, Iterable, Sequence
from operator import methodcaller
from typing import Any

from drrn.cli.terminal import tracked, warn
from drrn.errors import InputError
from drrn.lab.experiments import workers
from drrn.lab.experiments.job import Job
from drrn.lab.experiments.plan import OWN_OPTIONS
from drrn.lab.experiments.workers import ENDED, Event, Workers
from drrn.processes import cores
from drrn.settings import all_settings
from drrn.writing import visible


def workers_for(options: argparse.Namespace) -> Workers:
    """Return the workers that --jobs, --device and --ray name."""
    if options.ray is None:
        return workers.Processes(options.jobs or cores())
    from drrn.lab.experiments.cluster import LOCAL, RayCluster

    if options.device != "cpu":
        cause = f"--device {options.device} cannot be combined with --ray"
        raise InputError(f"{cause}; clusters use CPUs only")
    address = options.ray or os.environ.get("RAY_ADDRESS") or LOCAL
    return RayCluster(address, options.jobs or (cores() if address == LOCAL else None))


def read_settings(
    texts: Iterable[str], reserved: Sequence[str] = (), option: str = "--set"
) -> dict[str, Any]:
    """Parse NAME=VALUE; reserved settings and those with their own option are refused."""
    settings = {}
    for text in texts:
        name, equals, value = text.partition("=")
        try:
            if not equals or name not in all_settings():
                raise InputError("write NAME=VALUE, with a name that `drrn train --help` lists")
            if name in (*OWN_OPTIONS, *reserved):
                cause = "it differs between jobs, or has its own option"
                raise InputError(f"{name} cannot be set: {cause}")
            settings[name] = all_settings()[name].read(value)
        except InputError as error:
            raise InputError(f'{option} "{text}": {error}') from error
    return settings


def run_jobs(
    jobs: Sequence[Job],
    pool: Workers,
    text: str = "jobs are done",
    is_done: Callable[[Job], bool] = methodcaller("is_done"),
) -> list[Event]:
    """Run those jobs that are not done, and return the events of those that failed.

    `text` is printed after the number of jobs that are done.
    """
    missing = [job for job in jobs if not is_done(job)]
    print(f"{len(jobs) - len(missing)} of {len(jobs)} {text}", flush=True)
    if not missing:
        return []
    print(f"{len(missing)} to run, {pool.slots()} at a time", flush=True)
    events = workers.run_all(workers.in_order(missing), pool)
    count = sum(workers.event_count(job) for job in missing)
    ended = []
    try:
        for event in tracked(events, count, "jobs"):
            if event.kind in ("done", "failed"):
                ended.append(event)
            if event.kind in ENDED:
                print(f"[{len(ended):>3}/{len(missing)}] {_line(event)}", flush=True)
    except KeyboardInterrupt:
        warn("stopped; run the same command again to continue from the last finished rounds")
        raise
    return [event for event in ended if event.kind == "failed"]


def _line(event: Event) -> str:
    """Describe how a job ended."""
    name = f"{event.job.game} {event.job.name}"
    score = "" if event.score is None else f"{event.score:6.2f}"
    why = visible(event.why.strip().splitlines()[-1]) if event.why else ""
    outcome = {"done": "", "failed": f"  FAILED: {why}", "lost": f"  {why}; restarted"}
    return f"{name:<45}{event.seconds:6.0f} s  {score}{outcome[event.kind]}"


def failure_error(failed: list[Event], total: int) -> InputError:
    """Return the error that names the failed jobs."""
    reasons = "".join(f"\n  {event.job.game} {event.job.name}: {event.why}" for event in failed)
    remedy = "run the same command to try them again"
    return InputError(f"{len(failed)} of {total} jobs failed; {remedy}:{reasons}")
