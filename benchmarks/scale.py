"""Measure the same jobs in one process, in several and on workers of Ray; estimate them on a thousand cores.

    python benchmarks/scale.py [--jobs 4] [--rounds 20] [--processes 1 2] [--ray 2] [--write results/notes/scale.md]

Small jobs (a round of one episode) measure the overhead of a job; jobs of 20 rounds measure the gain. Wall-clock seconds
are printed with the CPU seconds of this process and its children (Linux), which are the ones to compare on a busy
machine. The estimate uses the seconds in the records of results/rows, each job on one core, the longest first.
"""

from __future__ import annotations

import argparse
import heapq
import itertools
import json
import os
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

import drrn
from drrn.experiments.cluster import LOCAL, RayCluster
from drrn.experiments.job import Job
from drrn.experiments.sweep import Sweep, read_space
from drrn.experiments.workers import Event, Processes, Workers
from lab.experiments.results import GAME
from lab.reports.report import with_blocks
from textgames.files import write_atomically

SMALL = {"rounds": 1, "episodes_per_round": 1, "evaluation_episodes": 1}
SMALL_JOBS = 16
CORES = (1, 2, 4, 16, 64, 256, 1000)
ROWS = Path(__file__).parent.parent / "results" / "rows"


def sweep_jobs(root: Path, count: int, settings: dict[str, Any], seeds: int = 5) -> list[Any]:
    """Return jobs of a sweep over The Long Watch with the paper's recipe."""
    values = [number / 10 for number in range(1, count + 1)]
    root.mkdir(exist_ok=True)
    space = read_space([f"alpha={','.join(map(str, values))}"])
    game = drrn.make("long-watch")
    tuning = range(1000, 1000 + seeds)
    sweep = Sweep(root, "long-watch", game, space, settings, True, tuning, range(1))
    return [sweep.job({"alpha": value}) for value in values]


def processor_seconds() -> float:
    """Return the CPU seconds of this process and its children, including those that have ended."""
    spent = {}
    parents = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = path.read_text().rpartition(")")[2].split()
            pid = int(path.parent.name)
            parents[pid] = int(fields[1])
            spent[pid] = sum(map(int, fields[11:15]))
    ours = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in ours} - ours:
        ours |= more
    return sum(spent[pid] for pid in ours) / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Moment:
    """A point in time, in wall-clock and in CPU seconds."""

    clock: float
    spent: float

    @classmethod
    def now(cls) -> Moment:
        return cls(time.perf_counter(), processor_seconds())

    def __sub__(self, other: Moment) -> Moment:
        return Moment(self.clock - other.clock, self.spent - other.spent)


def finish_times(jobs: Sequence[Job], workers: Workers | None) -> Iterator[Moment]:
    """Yield the time at which each job is done; without workers, jobs run here one after another."""
    start = Moment.now()
    if workers is None:
        for job in jobs:
            list(job.run())
            yield Moment.now() - start
        return
    for event in workers.run(jobs):
        assert event.kind != "failed", event.why
        if event.kind == "done":
            yield Moment.now() - start


@dataclass(frozen=True)
class Measurement:
    """How long jobs take on some workers."""

    name: str
    first: Moment  # until the first small job is done
    small: float  # processor seconds of a small job
    whole: Moment  # all long jobs


def measure(
    name: str, workers: Workers | None, count: int, options: argparse.Namespace
) -> Measurement:
    with tempfile.TemporaryDirectory() as folder, workers or nullcontext():
        jobs = sweep_jobs(Path(folder, "small"), SMALL_JOBS, SMALL)
        small = list(finish_times(jobs, workers))
        start = small[count - 1]  # every worker has started by then
        jobs = sweep_jobs(Path(folder, "whole"), options.jobs, {"rounds": options.rounds})
        *_, whole = finish_times(jobs, workers)
    seconds = (small[-1].spent - start.spent) / (SMALL_JOBS - count)
    return Measurement(name, small[0], seconds, whole)


def measured_table(measurements: list[Measurement], options: argparse.Namespace) -> str:
    lines = [
        f"| done by | started after | a small job | overhead a job | {options.jobs} jobs of {options.rounds} rounds |",
        "| --- | --- | --- | --- | --- |",
    ]
    for one in measurements:
        more = 1000 * (one.small - measurements[0].small)
        overhead = f"{more:.0f} ms" if more >= 1 else "none"
        if one is measurements[0]:
            overhead = ""
        first, whole = (f"{m.spent:.1f} s ({m.clock:.1f} s)" for m in (one.first, one.whole))
        lines.append(f"| {one.name} | {first} | {1000 * one.small:.0f} ms | {overhead} | {whole} |")
    return "\n".join(lines)


def measure_seeds(options: argparse.Namespace) -> tuple[str, float]:
    """Compare a job of one seed with one of five, which are trained together: medians of three."""
    seconds = {}
    with tempfile.TemporaryDirectory() as folder:
        for seeds in (1, 5):
            jobs = sweep_jobs(Path(folder, str(seeds)), 3, {"rounds": options.rounds}, seeds)
            ends = [0.0, *(moment.spent for moment in finish_times(jobs, None))]
            seconds[seeds] = statistics.median(b - a for a, b in itertools.pairwise(ends))
    share = seconds[1] / seconds[5]
    sentence = f"A job of one seed took {seconds[1]:.1f} s, one of five seeds {seconds[5]:.1f} s: the share is {share:.2f}."
    return sentence, share


def many_events(job: Job, *_: Any) -> Iterator[Any]:
    """Yield many events, and do nothing."""
    yield Event(job, "started")
    for number in range(1000):
        yield Event(job, "round", number, 0.0)
    yield Event(job, "done", 1000, 0.0)


def measure_event() -> str:
    """Measure the time of an event of Ray's in this process."""
    with tempfile.TemporaryDirectory() as folder, RayCluster(LOCAL, 1) as cluster:
        jobs = sweep_jobs(Path(folder), 2, SMALL)
        remote = cluster.ray.remote(num_cpus=1, max_retries=0, num_returns="streaming")
        cluster.run_remotely = remote(many_events)
        start = time.process_time()
        events = len(list(cluster.run(jobs)))
        each = 1000 * (time.process_time() - start) / events
    return f"An event of Ray's takes the command {each:.2f} ms."


def published() -> list[float]:
    """Return the seconds of every published job, the longest first."""
    records = (json.loads(path.read_text()) for path in ROWS.glob("*/*.json"))
    return sorted((float(r["seconds"]["whole"]) for r in records if r["job"] != GAME), reverse=True)


def makespan(seconds: Sequence[float], cores: int, overhead: float) -> float:
    """Return when the last job is done if each free core takes the longest remaining job."""
    free = [0.0] * min(cores, len(seconds))
    for one in sorted(seconds, reverse=True):
        heapq.heappush(free, heapq.heappop(free) + one + overhead)
    return max(free)


def paper_table(start: float, overhead: float, share: float) -> str:
    """Return the table of all published jobs, of one job per seed, and of a sweep of a thousand jobs."""
    jobs = published()
    apart = [one * share for one in jobs for _ in range(5)]
    of_sweep = statistics.median(jobs)
    sweep = [of_sweep] * 1000
    lines = [
        "| cores | published jobs | speed-up | a job for each seed | speed-up | sweep of 1,000 jobs | speed-up |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    alone = (sum(jobs), sum(jobs), 1001 * of_sweep)
    for cores in CORES:
        ends = [start + makespan(one, cores, overhead) for one in (jobs, apart, sweep)]
        ends[2] += of_sweep + overhead  # the best of the sweep is reported when all of it is done
        cells = [
            f"{_duration(end)} | {whole / end:.1f}" for end, whole in zip(ends, alone, strict=True)
        ]
        lines.append(f"| {cores:,} | {' | '.join(cells)} |")
    longest = f"{len(jobs)} jobs, {_duration(sum(jobs))} of one core; the longest takes {_duration(jobs[0])}, the median "
    return (
        "\n".join(lines)
        + f"\n\n{longest}{of_sweep:.0f} s: no more than {sum(jobs) / jobs[0]:.1f} times as fast."
    )


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--processes", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--ray", type=int, nargs="*", default=[2])
    parser.add_argument(
        "--write", type=Path, help="a page that has <!-- measured --> and <!-- paper --> blocks"
    )
    options = parser.parse_args()
    torch.set_num_threads(1)
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    measurements = [measure("this process", None, 1, options)]
    for count in options.processes:
        name = f"{count} process{'es' * (count > 1)}"
        measurements.append(measure(name, Processes(count), count, options))
    for count in options.ray:
        workers = RayCluster(LOCAL, count)
        measurements.append(measure(f"Ray, {count} workers", workers, count, options))
    sentence, share = measure_seeds(options)
    last = measurements[-1]
    blocks = {
        "measured": f"{measured_table(measurements, options)}\n\n{sentence} {measure_event()}",
        "paper": paper_table(last.first.spent, max(0.0, last.small - measurements[0].small), share),
    }
    for name, block in blocks.items():
        print(f"\n{block}")
        if options.write:
            write_atomically(options.write, with_blocks(options.write, {name: block}).encode())


if __name__ == "__main__":
    main()
