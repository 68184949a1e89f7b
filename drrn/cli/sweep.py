"""`drrn sweep GAME`: try combinations of settings, and report the best on seeds that it was not chosen on."""

from __future__ import annotations

import argparse
import dataclasses
import re
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from drrn.cli.jobs import (
    add_crew_options,
    crew_of,
    failures,
    in_order,
    read_setting,
    run_jobs,
    seconds_before,
)
from drrn.cli.terminal import POLICIES, counted, positive, table
from drrn.errors import InputError
from drrn.game.make import make
from drrn.lab.experiments.grid import OWN_OPTION, read_grid
from drrn.lab.experiments.variants import in_words
from drrn.writing import visible

if TYPE_CHECKING:
    from drrn.lab.experiments.running import Work
    from drrn.lab.experiments.sweep import Scored, Sweep
    from drrn.lab.experiments.workers import Crew, Event

DESCRIPTION = """\
Try combinations of settings on some seeds, choose the best, and report it on seeds that it was not chosen on, beside
the recipe as it is.

  drrn sweep long-watch --vary alpha=0.5,1,2 hidden=50..200:50 learning_rate=log:1e-4..1e-2:3
  drrn sweep long-watch --vary alpha=0.5..3:0.25 trace=0..1:0.1 --budget 20     twenty of them, chosen at random
  drrn sweep long-watch --vary alpha=0.5..3:0.25 trace=0..1:0.1 --budget 30m    as many as begin within 30 minutes

A combination is a job: all its seeds learn at once. No job is done twice; a sweep that was cut goes on where it was."""
SHOWN = 20  # combinations in the table; sweep.csv has all
SAID = 3  # combinations that were left out, with the reason


def add_command(commands: Any) -> None:
    command = commands.add_parser(
        "sweep", help="try combinations of settings, and report the best on other seeds", description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    command.add_argument(
        "game", metavar="GAME", help="a name, the path of a story or its .toml, or module:factory"
    )
    command.add_argument(
        "--vary", nargs="+", action="extend", required=True, metavar="NAME=VALUES",
        help="a setting of `drrn train`, and its values: a list (0.1,0.5,1), a range (50..200:50), or so many numbers "
        "a constant factor apart (log:1e-4..1e-1:4)",
    )  # fmt: skip
    command.add_argument(
        "--set",
        nargs="+",
        action="extend",
        default=[],
        metavar="NAME=VALUE",
        help="a setting for all jobs",
    )
    command.add_argument(
        "--paper", action="store_true", help="the paper's settings, not the strong recipe's"
    )
    command.add_argument(
        "--budget",
        type=_budget,
        metavar="N",
        help="jobs to choose by, or minutes to begin them in, such as 30m",
    )
    command.add_argument(
        "--choice", type=int, default=0, metavar="N", help="seed of the random choice (default: 0)"
    )
    command.add_argument(
        "--seeds",
        type=positive,
        default=3,
        metavar="N",
        help="number of seeds to choose by (default: 3)",
    )
    command.add_argument(
        "--first-seed",
        type=int,
        default=1000,
        metavar="N",
        help="the first of them (default: 1000)",
    )
    command.add_argument(
        "--report-seeds",
        type=positive,
        default=5,
        metavar="N",
        help="number of seeds to report on (default: 5)",
    )
    command.add_argument(
        "--first-report-seed",
        type=int,
        default=0,
        metavar="N",
        help="the first of them (default: 0)",
    )
    command.add_argument(
        "--by",
        choices=POLICIES,
        default="softmax",
        help="the policy to choose by (default: softmax)",
    )
    command.add_argument(
        "--measure", choices=("final_reward", "return"), default="final_reward",
        help="the score of an episode (default: final_reward)",
    )  # fmt: skip
    command.add_argument(
        "--out", type=Path, metavar="FOLDER", help="the folder of results (default: sweeps/GAME)"
    )
    add_crew_options(command)
    command.set_defaults(run=run)


@dataclasses.dataclass(frozen=True)
class Budget:
    """How much is tried: so many jobs, or as many as can be begun within so many minutes."""

    jobs: int | None = None
    minutes: float | None = None


def _budget(text: str) -> Budget:
    minutes = re.fullmatch(r"(\d{1,6}(?:\.\d{1,6})?)m(in)?", text)
    if minutes and float(minutes[1]) > 0:
        return Budget(minutes=float(minutes[1]))
    if text.isdecimal() and 0 < len(text) <= 12 and int(text) > 0:
        return Budget(jobs=int(text))
    raise argparse.ArgumentTypeError(
        f"{text[:20]} is neither a number of jobs, such as 50, nor of minutes, such as 30m"
    )


def run(options: argparse.Namespace) -> None:
    from drrn.lab.experiments.folder import Results

    sweep = _sweep(options)
    budget = options.budget or Budget()
    works, refused = sweep.tried(
        budget.jobs, at_random=budget.minutes is not None, seed=options.choice
    )
    _say_refused(refused)
    with Results(sweep.root).locked("sweep"), crew_of(options) as crew:
        sweep.begin()
        try:
            failed = _tuned(sweep, works, crew, budget)
            tried = _scored(works, options)
            best = sweep.work(tried[0].variant.changes, "report")
            plain = sweep.work((), "report")
            failed += _done([best, plain], crew, f"jobs to report are done ({sweep.report})")
        except KeyboardInterrupt:
            print(
                "stopped: the same command goes on from the last finished rounds", file=sys.stderr
            )
            raise
        _tell(sweep, tried, _scored([best, plain], options), options)
    if failed:
        raise failures(failed, len(works) + 2)


def _sweep(options: argparse.Namespace) -> Sweep:
    from drrn.lab.experiments.provenance import commit
    from drrn.lab.experiments.sweep import Seeds, Sweep
    from drrn.runs.agent import torch_device

    torch_device(options.device)
    grid = read_grid(options.vary)
    game = make(options.game)
    given = dict(read_setting(text, "--set", OWN_OPTION) for text in options.set)
    seeds = (
        Seeds(options.first_seed, options.seeds),
        Seeds(options.first_report_seed, options.report_seeds),
    )
    root = options.out or Path("sweeps") / re.sub(r"[^\w.-]+", "-", game.name)
    where = {"device": options.device, "elsewhere": options.ray is not None}
    return Sweep(root, options.game, game, grid, given, options.paper, *seeds, commit(), **where)


def _tuned(sweep: Sweep, works: list[Work], crew: Crew, budget: Budget) -> list[Event]:
    """Do the jobs to choose by, as far as the budget goes."""
    words = f"jobs to choose by are done ({sweep.tuning})"
    if budget.minutes is None:
        return _done(works, crew, words)
    return _done(works, crew, words, time.monotonic() + 60 * budget.minutes)


def _done(works: list[Work], crew: Crew, words: str, until: float | None = None) -> list[Event]:
    """Do what is missing of the works, those that can be begun in time; what failed comes back."""
    from drrn.lab.experiments.running import is_done

    there = [is_done(work) for work in works]
    done, missing = (
        [work for work, is_there in zip(works, there, strict=True) if is_there == wanted]
        for wanted in (True, False)
    )
    print(f"{len(done)} of {len(works)} {words}", flush=True)
    planned = (
        in_order(missing) if until is None else missing
    )  # the order is by chance where there may be no end
    return run_jobs(planned, crew, seconds_before(done), until)


def _scored(works: list[Work], options: argparse.Namespace) -> list[Scored]:
    from drrn.lab.experiments.sweep import scored

    found = scored(works, options.by, options.measure)
    if not found:
        raise InputError(
            "no job came to its end, so there is nothing to choose from: see above why"
        )
    return found


def _tell(
    sweep: Sweep, tried: list[Scored], reported: list[Scored], options: argparse.Namespace
) -> None:
    """The table, and the best by seeds that it was not chosen on."""
    from drrn.lab.experiments.sweep import write_tables

    write_tables(sweep, tried, reported)
    names = list(sweep.grid.values)
    rows = [
        [*(in_words(value) for _, value in one.variant.changes), one.mean, one.deviation]
        for one in tried[:SHOWN]
    ]
    print(f"\n{options.measure.replace('_', ' ')} by {options.by}, {sweep.tuning}:")
    print(table(rows, header=[*names, "mean", "sd"]))
    if len(tried) > SHOWN:
        print(f"… and {len(tried) - SHOWN} more in {sweep.root / 'sweep.csv'}")
    if len(tried) > 1 and len({one.mean for one in tried}) == 1:
        _say(
            f"all of them score the same {options.measure}: does --measure or --by of another kind tell them apart?"
        )
    best = tried[0]
    print(f"\nbest: {best.variant.said()}")
    print(f"  {sweep.tuning}, which it was chosen on: {_score(best)}")
    for one in sorted(reported, key=lambda one: one.variant.changes == ()):
        which = "the recipe as it is" if one.variant.changes == () else "which it was not chosen on"
        print(f"  {sweep.report}, {which}: {_score(one)}")
    print(f"settings of the best: {sweep.root / 'best.json'}")


def _score(one: Scored) -> str:
    return f"{one.mean:.2f} ± {one.deviation:.2f}"


def _say_refused(refused: list[str]) -> None:
    for sentence in refused[:SAID]:
        _say(sentence)
    if len(refused) > SAID:
        _say(f"… and {counted(len(refused) - SAID, 'combination')} more")


def _say(sentence: str) -> None:
    print(visible(sentence), file=sys.stderr)
