"""What more processes, and a cluster, give: the same jobs by one process, by several, and by workers of Ray; then, on
paper, all published experiments and a sweep on up to a thousand cores.

    python benchmarks/scale.py [--jobs 4] [--processes 1 2] [--ray 2] [--write docs/scale.md]

Small jobs (a round of one episode) tell what a job costs beside its learning; jobs of 20 rounds what is gained. What is
on paper follows from the seconds in the records of results/rows, each job on one core, the longest first.
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
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import torch

import drrn
from drrn.experiments.cluster import LOCAL, RayCluster
from drrn.experiments.folder import GAME
from drrn.experiments.grid import read_grid
from drrn.experiments.running import Work, run
from drrn.experiments.sweep import Seeds, Sweep
from drrn.experiments.workers import Crew, Processes, side_by_side
from drrn.reports.marked import with_block
from drrn.training.tensor_file import write_whole

SMALL = {"rounds": 1, "episodes_per_round": 1, "evaluation_episodes": 1}
SMALL_JOBS = 24
CORES = (1, 2, 4, 16, 64, 256, 1000)
ROWS = Path(__file__).parent.parent / "results" / "rows"


def works_of(root: Path, count: int, given: dict[str, Any], seeds: int = 5) -> list[Work]:
    """So many jobs of a sweep over The Long Watch by the paper's recipe."""
    grid = read_grid([f"alpha=0.1..{count / 10}:0.1"])
    game = drrn.make("long-watch")
    sweep = Sweep(root, "long-watch", game, grid, given, True, Seeds(1000, seeds), Seeds(0, 1), "benchmark")
    return [sweep.work(changes) for changes in grid.in_order()]


def moments(works: Sequence[Work], crew: Crew | None) -> Iterator[float]:
    """When each job was done, in seconds; without a crew they are done here, one after another."""
    start = time.perf_counter()
    if crew is None:
        for work in works:
            for _ in run(work):
                pass
            yield time.perf_counter() - start
        return
    for event in side_by_side(works, crew):
        assert event.kind != "failed", event.why
        if event.kind == "done":
            yield time.perf_counter() - start


def measured(name: str, crew: Crew | None, workers: int, jobs: int) -> dict[str, Any]:
    """The beginning, a small job, and jobs worth doing, with one crew."""
    with tempfile.TemporaryDirectory() as folder, crew or nullcontext():
        small = list(moments(works_of(Path(folder, "small"), SMALL_JOBS, SMALL), crew))
        later = small[workers:]  # those of workers that had begun
        a_job = workers * (later[-1] - small[workers - 1]) / len(later)
        whole = list(moments(works_of(Path(folder, "whole"), jobs, {}), crew))[-1]
    return {"name": name, "workers": workers, "first": small[0], "small": a_job, "whole": whole}


def measured_table(found: list[dict[str, Any]], jobs: int) -> str:
    here = found[0]
    lines = [
        f"| done by | first small job after | a small job | overhead a job | {jobs} jobs | speed-up |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for one in found:
        overhead = "" if one is here else f"{1000 * (one['small'] - here['small']):.0f} ms"
        gained = here["whole"] / one["whole"]
        times = f"{one['first']:.1f} s | {1000 * one['small']:.0f} ms | {overhead} | {one['whole']:.1f} s"
        lines.append(f"| {one['name']} | {times} | {gained:.2f} |")
    return "\n".join(lines)


def seeds_table() -> tuple[str, float]:
    """How long a job of one seed takes beside one of five, which learn as one: the middle of three."""
    took = {}
    with tempfile.TemporaryDirectory() as folder:
        for seeds in (1, 5):
            works = works_of(Path(folder, str(seeds)), 3, {}, seeds)
            ends = [0.0, *moments(works, None)]
            took[seeds] = statistics.median(b - a for a, b in itertools.pairwise(ends))
    share = took[1] / took[5]
    sentence = f"A job of one seed took {took[1]:.1f} s, one of five seeds {took[5]:.1f} s: the share is {share:.2f}."
    return sentence, share


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
        cells = [f"{_told(end)} | {whole / end:.1f}" for end, whole in zip(ends, alone, strict=True)]
        lines.append(f"| {cores:,} | {' | '.join(cells)} |")
    longest = f"{len(jobs)} jobs, {_told(sum(jobs))} of one core; the longest takes {_told(jobs[0])}, the median "
    return "\n".join(lines) + f"\n\n{longest}{of_sweep:.0f} s: no more than {sum(jobs) / jobs[0]:.1f} times as fast."


def _told(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--processes", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--ray", type=int, nargs="*", default=[2])
    parser.add_argument("--write", type=Path, help="a page that has <!-- measured --> and <!-- paper --> blocks")
    options = parser.parse_args()
    torch.set_num_threads(1)
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    found = [measured("this process", None, 1, options.jobs)]
    for count in options.processes:
        found.append(measured(f"{count} process{'es' * (count > 1)}", Processes(count), count, options.jobs))
    for count in options.ray:
        found.append(measured(f"Ray, {count} workers", RayCluster(LOCAL, count), count, options.jobs))
    sentence, share = seeds_table()
    last = found[-1]
    blocks = {
        "measured": f"{measured_table(found, options.jobs)}\n\n{sentence}",
        "paper": paper_table(last["first"], max(0.0, last["small"] - found[0]["small"]), share),
    }
    for name, block in blocks.items():
        print(f"\n{block}")
        if options.write:
            write_whole(options.write, [with_block(options.write, name, block)[1].encode()])


if __name__ == "__main__":
    main()
