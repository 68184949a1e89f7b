"""`drrn sweep GAME`: try combinations of settings, and report the best on other seeds."""

from __future__ import annotations

import argparse
import re
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from drrn.cli.jobs import (
    STOPPED,
    add_set_option,
    add_workers_options,
    failure_error,
    read_settings,
    run_jobs,
    workers_for,
)
from drrn.cli.terminal import POLICIES, counted, positive, table
from drrn.errors import InputError
from drrn.files import slug
from drrn.game.make import make
from drrn.writing import visible

if TYPE_CHECKING:
    from drrn.lab.experiments.job import Job
    from drrn.lab.experiments.sweep import Scored, Sweep
    from drrn.lab.experiments.workers import Event, Workers

DESCRIPTION = """\
Try combinations of settings on some seeds, choose the best, and report it on other seeds, compared
with the unchanged recipe.

  drrn sweep long-watch --vary alpha=0.5,1,2 hidden=50..200:50 learning_rate=log:1e-4..1e-2:3
  drrn sweep long-watch --vary alpha=0.5..3:0.25 trace=0..1:0.1 --budget 20
  drrn sweep long-watch --vary alpha=0.5..3:0.25 trace=0..1:0.1 --budget 30m

The first tries all combinations, the second a random sample of 20, the third as many as start in 30
minutes. A combination is a job: all its seeds are trained at once. No job runs twice; an
interrupted sweep continues."""
MAX_LINES = 20  # of the table; sweep.csv has all
MAX_ERRORS = 3  # combinations that are left out with the reason


@dataclass(frozen=True)
class Budget:
    """A number of jobs, or the minutes in which jobs are started."""

    jobs: int | None = None
    minutes: float | None = None

    @staticmethod
    def read(text: str) -> Budget:
        minutes = re.fullmatch(r"(\d{1,6}(?:\.\d{1,6})?)m(in)?", text)
        if minutes and float(minutes[1]) > 0:
            return Budget(minutes=float(minutes[1]))
        if text.isdecimal() and 0 < len(text) <= 12 and int(text) > 0:
            return Budget(jobs=int(text))
        raise argparse.ArgumentTypeError(
            f"{text[:20]} is neither a number of jobs, such as 50, nor of minutes, such as 30m"
        )


def add_command(commands: Any) -> None:
    command = commands.add_parser(
        "sweep",
        help="try combinations of settings, and report the best on other seeds",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument(
        "game", metavar="GAME", help="a name, the path of a story or its .toml, or module:factory"
    )
    command.add_argument(
        "--vary",
        nargs="+",
        action="extend",
        required=True,
        metavar="NAME=VALUES",
        help="a setting of `drrn train` and its values: a list (0.1,0.5,1), a range (50..200:50), "
        "or a geometric range with a number of values (log:1e-4..1e-1:4)",
    )
    add_set_option(command)
    command.add_argument(
        "--paper", action="store_true", help="the paper's settings, not the strong recipe's"
    )
    command.add_argument(
        "--budget", type=Budget.read, metavar="N", help="jobs, or minutes to start them in (30m)"
    )
    _add_seed_options(command)
    measures = ("final_reward", "return")
    command.add_argument(
        "--by", choices=POLICIES, default="softmax", help="the policy to choose by (softmax)"
    )
    command.add_argument(
        "--measure", choices=measures, default=measures[0], help="the score (final_reward)"
    )
    command.add_argument(
        "--out", type=Path, metavar="FOLDER", help="the folder of results (default: sweeps/GAME)"
    )
    add_workers_options(command)
    command.set_defaults(run=run)


def _add_seed_options(command: argparse.ArgumentParser) -> None:
    seeds: dict[str, tuple[Any, int, str]] = {
        "--choice": (int, 0, "seed of the random sample"),
        "--seeds": (positive, 3, "number of seeds to choose by"),
        "--first-seed": (int, 1000, "the first of them"),
        "--report-seeds": (positive, 5, "number of seeds to report on"),
        "--first-report-seed": (int, 0, "the first of them"),
    }
    for name, (kind, default, text) in seeds.items():
        help_text = f"{text} (default: {default})"
        command.add_argument(name, type=kind, default=default, metavar="N", help=help_text)


def run(options: argparse.Namespace) -> None:
    from drrn.lab.experiments.results import Results

    sweep = _sweep(options)
    budget = options.budget or Budget()
    at_random = budget.minutes is not None
    jobs, errors = sweep.jobs(budget.jobs, at_random=at_random, seed=options.choice)
    for message in errors[:MAX_ERRORS]:
        _warn(message)
    if len(errors) > MAX_ERRORS:
        _warn(f"… and {counted(len(errors) - MAX_ERRORS, 'combination')} more")
    with Results(sweep.root).locked("sweep"), workers_for(options) as workers:
        sweep.start()
        try:
            until = None if budget.minutes is None else time.monotonic() + 60 * budget.minutes
            failed = _run(jobs, workers, f"jobs to choose by are done ({sweep.tuning})", until)
            tuning = _scores(jobs, options)
            report_jobs = [sweep.job(tuning[0].changes, "report"), sweep.job((), "report")]
            failed += _run(report_jobs, workers, f"jobs to report are done ({sweep.report})")
        except KeyboardInterrupt:
            print(STOPPED, file=sys.stderr)
            raise
        report = _scores(report_jobs, options)
        sweep.write_tables(tuning, report)
        _print_table(sweep, tuning, options)
        _print_best(sweep, tuning[0], report)
    if failed:
        raise failure_error(failed, len(jobs) + 2)


def _sweep(options: argparse.Namespace) -> Sweep:
    from drrn.lab.experiments.results import commit
    from drrn.lab.experiments.sweep import OWN_OPTIONS, Seeds, Sweep, read_grid
    from drrn.runs.agent import torch_device

    torch_device(options.device)
    grid = read_grid(options.vary)
    game = make(options.game)
    return Sweep(
        root=options.out or Path("sweeps") / slug(game.name),
        source=options.game,
        game=game,
        grid=grid,
        overrides=read_settings(options.set, OWN_OPTIONS),
        paper=options.paper,
        tuning=Seeds(options.first_seed, options.seeds),
        report=Seeds(options.first_report_seed, options.report_seeds),
        commit=commit(),
        device=options.device,
        remote=options.ray is not None,
    )


def _run(jobs: list[Job], workers: Workers, text: str, until: float | None = None) -> list[Event]:
    """Run those jobs that are not done, and return the events of those that failed."""
    from drrn.lab.experiments.workers import in_order

    done = {job.name for job in jobs if job.is_done()}
    finished = [job for job in jobs if job.name in done]
    missing = [job for job in jobs if job.name not in done]
    print(f"{len(finished)} of {len(jobs)} {text}", flush=True)
    # With a time limit the random order decides which jobs are run.
    return run_jobs(in_order(missing) if until is None else missing, workers, finished, until)


def _scores(jobs: list[Job], options: argparse.Namespace) -> list[Scored]:
    from drrn.lab.experiments.sweep import scored

    scores = scored(jobs, options.by, options.measure)
    if not scores:
        raise InputError("no job was finished, so there is nothing to choose from: see above")
    return scores


def _print_table(sweep: Sweep, scores: list[Scored], options: argparse.Namespace) -> None:
    from drrn.lab.experiments.sweep import value_text

    rows = [
        [*(value_text(value) for _, value in each.changes), each.mean, each.deviation]
        for each in scores[:MAX_LINES]
    ]
    print(f"\n{options.measure.replace('_', ' ')} by {options.by}, {sweep.tuning}:")
    print(table(rows, header=[*sweep.grid.values, "mean", "sd"]))
    if len(scores) > MAX_LINES:
        print(f"… and {len(scores) - MAX_LINES} more in {sweep.root / 'sweep.csv'}")
    if len(scores) > 1 and len({each.mean for each in scores}) == 1:
        _warn(f"all have the same {options.measure}: try another --measure or --by")


def _print_best(sweep: Sweep, best: Scored, report: list[Scored]) -> None:
    from drrn.lab.experiments.sweep import changes_text

    print(f"\nbest: {changes_text(best.changes)}")
    print(f"  {sweep.tuning}, used for the choice: {_score(best)}")
    for each in sorted(report, key=lambda each: each.changes == ()):
        which = "not used for the choice" if each.changes else "the unchanged recipe"
        print(f"  {sweep.report}, {which}: {_score(each)}")
    print(f"settings of the best: {sweep.root / 'best.json'}")


def _score(scores: Scored) -> str:
    return f"{scores.mean:.2f} ± {scores.deviation:.2f}"


def _warn(message: str) -> None:
    print(visible(message), file=sys.stderr)
