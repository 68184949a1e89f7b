"""`drrn sweep GAME`: try combinations of settings, and report the best on other seeds."""

import argparse
from pathlib import Path

from drrn.cli.jobs import failure_error, read_settings, run_jobs, workers_for
from drrn.cli.terminal import table, warn
from drrn.errors import InputError
from drrn.files import slug
from drrn.game.make import make
from drrn.lab.experiments.job import Job
from drrn.lab.experiments.plan import seeds_text
from drrn.lab.experiments.results import Results, commit
from drrn.lab.experiments.sweep import Scored, Sweep, changes_text, read_grid, scored, value_text
from drrn.runs.agent import torch_device
from drrn.writing import counted

MAX_LINES = 20  # of the table; sweep.csv has all
MAX_ERRORS = 3  # combinations that are left out with the reason


def run(options: argparse.Namespace) -> None:
    sweep = _sweep(options)
    jobs, errors = sweep.jobs(options.budget, options.choice)
    for message in errors[:MAX_ERRORS]:
        warn(f"skipped: {message}")
    if len(errors) > MAX_ERRORS:
        warn(f"… and {counted(len(errors) - MAX_ERRORS, 'combination')} more")
    with Results(sweep.root).locked("sweep"), workers_for(options) as workers:
        sweep.start()
        failed = run_jobs(jobs, workers, f"selection jobs are done ({seeds_text(sweep.tuning)})")
        tuning = _scores(jobs, options)
        report_jobs = [sweep.job(tuning[0].changes, "report"), sweep.job((), "report")]
        text = f"report jobs are done ({seeds_text(sweep.report)})"
        failed += run_jobs(report_jobs, workers, text)
        report = _scores(report_jobs, options)
        sweep.write_tables(tuning, report)
        _print_table(sweep, tuning, options)
        _print_best(sweep, tuning[0], report)
    if failed:
        raise failure_error(failed, len(jobs) + 2)


def _sweep(options: argparse.Namespace) -> Sweep:
    torch_device(options.device)
    grid = read_grid(options.vary)
    game = make(options.game)
    return Sweep(
        root=options.out or Path("sweeps") / slug(game.name),
        source=options.game,
        game=game,
        grid=grid,
        overrides=read_settings(options.set),
        paper=options.paper,
        tuning=range(options.first_seed, options.first_seed + options.seeds),
        report=range(options.first_report_seed, options.first_report_seed + options.report_seeds),
        commit=commit(),
        device=options.device,
        remote=options.ray is not None,
    )


def _scores(jobs: list[Job], options: argparse.Namespace) -> list[Scored]:
    scores = scored(jobs, options.by, options.measure)
    if not scores:
        raise InputError("no job finished, so there is nothing to choose from; see above why")
    return scores


def _print_table(sweep: Sweep, scores: list[Scored], options: argparse.Namespace) -> None:
    rows = [
        [*(value_text(value) for _, value in each.changes), each.mean, each.deviation]
        for each in scores[:MAX_LINES]
    ]
    print(f"\n{options.measure.replace('_', ' ')} by {options.by}, {seeds_text(sweep.tuning)}:")
    print(table(rows, header=[*sweep.grid.values, "mean", "sd"]))
    if len(scores) > MAX_LINES:
        print(f"… and {len(scores) - MAX_LINES} more in {sweep.root / 'sweep.csv'}")
    if len(scores) > 1 and len({each.mean for each in scores}) == 1:
        warn(f"all have the same {options.measure}; try another --measure or --by")


def _print_best(sweep: Sweep, best: Scored, report: list[Scored]) -> None:
    print(f"\nbest: {changes_text(best.changes)}")
    print(f"  {seeds_text(sweep.tuning)}, used to choose it: {best}")
    for each in sorted(report, key=lambda each: each.changes == ()):
        which = "not used to choose it" if each.changes else "the unchanged recipe"
        print(f"  {seeds_text(sweep.report)}, {which}: {each}")
    print(f"its settings: {sweep.root / 'best.json'}")
