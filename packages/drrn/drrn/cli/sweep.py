"""`drrn sweep GAME --vary NAME=VALUES …`: the best settings, scored on other seeds."""

import argparse
from pathlib import Path
from typing import Any

from drrn.cli.jobs import failure_error, follow, run_jobs, workers_for
from drrn.experiments.agents import read_settings, seeds_text, settings_text, value_text
from drrn.experiments.results import locked_folder
from drrn.experiments.sweep import Sweep, SweepJob, read_space
from drrn.runs.agent import torch_device
from textgames.errors import InputError
from textgames.files import slug
from textgames.openers import make
from textgames.terminal import table, warn


def run(options: argparse.Namespace) -> None:
    sweep = _sweep(options)
    with locked_folder(sweep.root, "sweep"), workers_for(options) as workers:
        study = sweep.start()
        done = len(sweep.finished(study))
        text = f"trials are done ({seeds_text(sweep.tuning)})"
        print(f"{done} of at most {sweep.size} {text}; {workers.slots()} at a time", flush=True)
        rest = max(0, sweep.size - done)
        per_trial = 2 + sweep.job({}).rounds
        failed = follow(sweep.run(study, workers), rest, rest * per_trial)
        tuning = sweep.finished(study)
        if not tuning:
            raise InputError("no trial finished, so there is nothing to choose from; see above why")
        jobs = [sweep.job(tuning[0].changes, "report"), sweep.job({}, "report")]
        failed += run_jobs(jobs, workers, f"report jobs are done ({seeds_text(sweep.report)})")
        report = [job for job in jobs if job.is_done()]
        sweep.write_tables([*tuning, *report])
        _print_table(sweep, tuning)
        print(f"\nbest: {settings_text(tuning[0].changes)}")
        for job in [tuning[0], *report]:
            _print_score(job)
        print(f"its settings: {sweep.root / 'best.json'}")
    if failed:
        raise failure_error(failed, sweep.size + len(jobs))


def _sweep(options: argparse.Namespace) -> Sweep:
    torch_device(options.device)
    space = read_space(options.vary)
    game = make(options.game)
    return Sweep(
        root=options.out or Path("sweeps") / slug(game.name),
        source=options.game,
        game=game,
        space=space,
        overrides=read_settings(options.set),
        paper=options.paper,
        tuning=range(options.first_seed, options.first_seed + options.seeds),
        report=range(options.first_report_seed, options.first_report_seed + options.report_seeds),
        column=f"{options.by}_{options.measure}",
        search=options.search,
        budget=options.budget,
        choice=options.choice,
        prune=options.prune,
        device=options.device,
    )


def _print_table(sweep: Sweep, jobs: list[SweepJob], most: int = 20) -> None:
    rows: list[list[Any]] = [
        [*map(value_text, job.changes.values()), *job.score()] for job in jobs[:most]
    ]
    print(f"\n{sweep.column.replace('_', ' ')}, {seeds_text(sweep.tuning)}:")
    print(table(rows, header=[*sweep.space, "mean", "sd"]))
    if len(jobs) > most:
        print(f"… and {len(jobs) - most} more in {sweep.root / 'sweep.csv'}")
    if len(jobs) > 1 and len({job.score()[0] for job in jobs}) == 1:
        warn("all have the same score; try another --measure or --by")


def _print_score(job: SweepJob) -> None:
    which = "used to choose it" if job.part == "tuning" else "not used to choose it"
    which = which if job.changes else "the unchanged recipe"
    mean, deviation = job.score()
    print(f"  {seeds_text(job.settings.run.seeds)}, {which}: {mean:.2f} ± {deviation:.2f}")
