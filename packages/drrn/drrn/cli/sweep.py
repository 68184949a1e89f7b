"""`drrn sweep GAME --vary NAME=VALUES …`: the best settings, scored on other seeds."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from drrn.cli.jobs import failure_error, follow, run_jobs, workers_for
from drrn.experiments.agents import read_settings, seeds_text, settings_text, value_text
from drrn.experiments.results import commit, locked_folder
from drrn.experiments.space import read_space
from drrn.experiments.sweep import Scored, Sweep
from drrn.runs.agent import torch_device
from textgames.errors import InputError
from textgames.files import slug
from textgames.openers import make
from textgames.terminal import table, warn, warn_about_skipped


def run(options: argparse.Namespace) -> None:
    sweep = _sweep(options)
    with locked_folder(sweep.root, "sweep"), workers_for(options) as workers:
        study = sweep.start()
        skipped: list[str] = []
        done = len(sweep.scored(study))
        text = f"trials are done ({seeds_text(sweep.tuning)})"
        print(f"{done} of at most {sweep.size} {text}; {workers.slots()} at a time", flush=True)
        rest = max(0, sweep.size - done)
        per_trial = 2 + sweep.job({}).rounds
        failed = follow(sweep.run(study, workers, skipped.append), rest, rest * per_trial)
        warn_about_skipped(skipped, most=3)
        tuning = sweep.scored(study)
        if not tuning:
            why = skipped[0] if skipped else "see above why"
            raise InputError(f"no trial finished, so there is nothing to choose from; {why}")
        jobs = [sweep.job(tuning[0].changes, "report"), sweep.job({}, "report")]
        text = f"report jobs are done ({seeds_text(sweep.report)})"
        failed += run_jobs(jobs, workers, text)
        report = [job.result() for job in jobs if job.is_done()]
        sweep.write_tables(tuning, report)
        _print_table(sweep, tuning)
        _print_best(sweep, tuning[0], report)
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
        commit=commit(),
        policy=options.by,
        measure=options.measure,
        search=options.search,
        budget=options.budget,
        choice=options.choice,
        prune=options.prune,
        device=options.device,
        remote=options.ray is not None,
    )


def _print_table(sweep: Sweep, scores: list[Scored], most: int = 20) -> None:
    rows: list[list[Any]] = [
        [*map(value_text, each.changes.values()), each.mean, each.deviation]
        for each in scores[:most]
    ]
    measure = sweep.measure.replace("_", " ")
    print(f"\n{measure} by {sweep.policy}, {seeds_text(sweep.tuning)}:")
    print(table(rows, header=[*sweep.space, "mean", "sd"]))
    if len(scores) > most:
        print(f"… and {len(scores) - most} more in {sweep.root / 'sweep.csv'}")
    if len(scores) > 1 and len({each.mean for each in scores}) == 1:
        warn(f"all have the same {sweep.measure}; try another --measure or --by")


def _print_best(sweep: Sweep, best: Scored, report: Sequence[Scored]) -> None:
    print(f"\nbest: {settings_text(best.changes)}")
    print(f"  {seeds_text(sweep.tuning)}, used to choose it: {best}")
    for each in report:
        which = "not used to choose it" if each.changes else "the unchanged recipe"
        print(f"  {seeds_text(sweep.report)}, {which}: {each}")
    print(f"its settings: {sweep.root / 'best.json'}")
