"""What more processes, and a cluster, give: the same jobs by one process, by several, and by workers of Ray; then, on
paper, all published experiments and a sweep on up to a thousand cores.

    python benchmarks/scale.py [--jobs 4] [--rounds 20] [--processes 1 2] [--ray 2] [--write docs/scale.md]

Small jobs (a round of one episode) tell what a job costs beside its learning; jobs of 20 rounds what is gained. Beside
the seconds by the clock stand those of all processors, of this process and all that it began (Linux): on a busy machine
they alone mean something. What is on paper follows from the seconds in the records of results/rows, each job on one
core, the longest first.
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
from drrn.files import write_atomically
from drrn.lab.experiments.cluster import LOCAL, RayCluster, run_job
from drrn.lab.experiments.job import Job
from drrn.lab.experiments.results import GAME, versions
from drrn.lab.experiments.sweep import Seeds, Sweep, read_grid
from drrn.lab.experiments.workers import Event, Processes, Workers, run_all
from drrn.lab.reports.claims import with_block

SMALL = {"rounds": 1, "episodes_per_round": 1, "evaluation_episodes": 1}
SMALL_JOBS = 16
CORES = (1, 2, 4, 16, 64, 256, 1000)
ROWS = Path(__file__).parent.parent / "results" / "rows"


def works_of(root: Path, count: int, given: dict[str, Any], seeds: int = 5) -> list[Job]:
    """So many jobs of a sweep over The Long Watch by the paper's recipe."""
    grid = read_grid([f"alpha=0.1..{count / 10}:0.1"])
    game = drrn.make("long-watch")
    sweep = Sweep(
        root, "long-watch", game, grid, given, True, Seeds(1000, seeds), Seeds(0, 1), "benchmark"
    )
    return [sweep.job(changes) for changes in grid.in_order()]


def processor_seconds() -> float:
    """Seconds that processors have spent on this process and on all that it began, those that ended included."""
    spent, parents = {}, {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = path.read_text().rpartition(")")[2].split()
            pid = int(path.parent.name)
            parents[pid], spent[pid] = int(fields[1]), sum(map(int, fields[11:15]))
    ours = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in ours} - ours:
        ours |= more
    return sum(spent[pid] for pid in ours) / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Moment:
    """A moment by the clock, and by the processors' seconds."""

    clock: float
    spent: float

    @classmethod
    def now(cls) -> Moment:
        return cls(time.perf_counter(), processor_seconds())

    def __sub__(self, other: Moment) -> Moment:
        return Moment(self.clock - other.clock, self.spent - other.spent)


def moments(works: Sequence[Job], crew: Workers | None) -> Iterator[Moment]:
    """When each job was done, since the beginning; without a crew they are done here, one after another."""
    start = Moment.now()
    if crew is None:
        for work in works:
            list(work.run())
            yield Moment.now() - start
        return
    for event in run_all(works, crew):
        assert event.kind != "failed", event.why
        if event.kind == "done":
            yield Moment.now() - start


@dataclass(frozen=True)
class Found:
    """What was measured of a crew."""

    name: str
    first: Moment  # the beginning, until the first small job is done
    small: float  # processor seconds of a small job
    whole: Moment  # all jobs worth doing


def measured(name: str, crew: Workers | None, workers: int, options: argparse.Namespace) -> Found:
    with tempfile.TemporaryDirectory() as folder, crew or nullcontext():
        small = list(moments(works_of(Path(folder, "small"), SMALL_JOBS, SMALL), crew))
        begun = small[workers - 1]  # by then each worker has begun
        whole = list(
            moments(works_of(Path(folder, "whole"), options.jobs, {"rounds": options.rounds}), crew)
        )[-1]
    return Found(name, small[0], (small[-1].spent - begun.spent) / (SMALL_JOBS - workers), whole)


def measured_table(found: list[Found], options: argparse.Namespace) -> str:
    lines = [
        f"| done by | started after | a small job | overhead a job | {options.jobs} jobs of {options.rounds} rounds |",
        "| --- | --- | --- | --- | --- |",
    ]
    for one in found:
        more = 1000 * (one.small - found[0].small)
        overhead = "" if one is found[0] else f"{more:.0f} ms" if more >= 1 else "none"
        first, whole = (f"{m.spent:.1f} s ({m.clock:.1f} s)" for m in (one.first, one.whole))
        lines.append(f"| {one.name} | {first} | {1000 * one.small:.0f} ms | {overhead} | {whole} |")
    return "\n".join(lines)


def seeds_measured(options: argparse.Namespace) -> tuple[str, float]:
    """How long a job of one seed takes beside one of five, which learn as one: the middle of three."""
    took = {}
    with tempfile.TemporaryDirectory() as folder:
        for seeds in (1, 5):
            works = works_of(Path(folder, str(seeds)), 3, {"rounds": options.rounds}, seeds)
            ends = [0.0, *(moment.spent for moment in moments(works, None))]
            took[seeds] = statistics.median(b - a for a, b in itertools.pairwise(ends))
    share = took[1] / took[5]
    sentence = f"A job of one seed took {took[1]:.1f} s, one of five seeds {took[5]:.1f} s: the share is {share:.2f}."
    return sentence, share


def many_events(job: Job, *_: Any) -> Iterator[Any]:
    """Yield many events, and do nothing."""
    yield Event(job, "started"), {}
    for number in range(1000):
        yield Event(job, "round", number, 0.0), {}
    yield Event(job, "done", 1000, 0.0), {}


def event_measured() -> str:
    """What an event of Ray's takes this process, and how large the files are that a job sends back."""
    with tempfile.TemporaryDirectory() as folder, RayCluster(LOCAL, 1) as crew:
        works = works_of(Path(folder), 3, SMALL)
        first, *others = works
        said = list(run_job(first, {}, versions(), Path.cwd()))
        crew.slots()
        crew.run_remotely = crew.ray.remote(num_cpus=1, max_retries=0, num_returns="streaming")(
            many_events
        )
        start = time.process_time()
        events = len(list(run_all(others, crew)))
        each = 1000 * (time.process_time() - start) / events
    size = sum(map(len, said[-1][1].values())) / 1000
    return f"An event of Ray's takes the command {each:.2f} ms; a job sends back {size:.0f} KB."


def published() -> list[float]:
    """The seconds of every published job."""
    records = (json.loads(path.read_text()) for path in ROWS.glob("*/*.json"))
    return sorted((float(r["seconds"]["whole"]) for r in records if r["job"] != GAME), reverse=True)


def makespan(seconds: Sequence[float], cores: int, overhead: float) -> float:
    """When the last job is done, where each free core takes the longest job that is left."""
    free = [0.0] * min(cores, len(seconds))
    for one in sorted(seconds, reverse=True):
        heapq.heappush(free, heapq.heappop(free) + one + overhead)
    return max(free)


def paper_table(start: float, overhead: float, share: float) -> str:
    """All published jobs, the same with a job for each of five seeds, and a sweep of a thousand jobs."""
    jobs = published()
    apart = [one * share for one in jobs for _ in range(5)]
    sweep, of_sweep = [statistics.median(jobs)] * 1000, statistics.median(jobs)
    lines = [
        "| cores | published jobs | speed-up | a job for each seed | speed-up | sweep of 1,000 jobs | speed-up |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    alone = (sum(jobs), sum(jobs), 1001 * of_sweep)
    for cores in CORES:
        ends = [start + makespan(one, cores, overhead) for one in (jobs, apart, sweep)]
        ends[2] += of_sweep + overhead  # the best of the sweep is reported when all of it is done
        cells = [
            f"{_told(end)} | {whole / end:.1f}" for end, whole in zip(ends, alone, strict=True)
        ]
        lines.append(f"| {cores:,} | {' | '.join(cells)} |")
    longest = f"{len(jobs)} jobs, {_told(sum(jobs))} of one core; the longest takes {_told(jobs[0])}, the median "
    return (
        "\n".join(lines)
        + f"\n\n{longest}{of_sweep:.0f} s: no more than {sum(jobs) / jobs[0]:.1f} times as fast."
    )


def _told(seconds: float) -> str:
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
    found = [measured("this process", None, 1, options)]
    for count in options.processes:
        found.append(
            measured(f"{count} process{'es' * (count > 1)}", Processes(count), count, options)
        )
    for count in options.ray:
        found.append(measured(f"Ray, {count} workers", RayCluster(LOCAL, count), count, options))
    sentence, share = seeds_measured(options)
    last = found[-1]
    blocks = {
        "measured": f"{measured_table(found, options)}\n\n{sentence} {event_measured()}",
        "paper": paper_table(last.first.spent, max(0.0, last.small - found[0].small), share),
    }
    for name, block in blocks.items():
        print(f"\n{block}")
        if options.write:
            write_atomically(options.write, with_block(options.write, name, block)[1].encode())


if __name__ == "__main__":
    main()
