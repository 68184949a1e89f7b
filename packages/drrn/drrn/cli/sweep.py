"""`drrn sweep GAME --vary NAME=VALUES …`: the best settings, scored on other seeds."""

import argparse
from pathlib import Path
from typing import Any

from drrn.experiments.agents import read_settings, seeds_text, settings_text, value_text
from drrn.experiments.results import locked_folder
from drrn.experiments.sweep import Scored, Sweep, read_space
from drrn.runs.agent import torch_device
from textgames.errors import InputError
from textgames.files import slug
from textgames.openers import make
from textgames.processes import cores
from textgames.terminal import table, warn


def run(options: argparse.Namespace) -> None:
    sweep = _sweep(options)
    with locked_folder(sweep.root, "sweep"):
        study = sweep.start()
        done = sum(trial.state.is_finished() for trial in study.trials)
        print(f"{done} of {len(study.trials)} trials are done ({seeds_text(sweep.tuning)})")
        sweep.run(study, options.jobs or cores(), _print_trial)
        scores = sweep.scored(study)
        if not scores:
            reasons = [trial.user_attrs.get("reason", "") for trial in study.trials]
            raise InputError(f"no trial finished, so there is nothing to choose from: {reasons[0]}")
        sweep.write_tables(scores)
        _print_table(sweep, scores)
        best = scores[0]
        print(f"\nbest: {settings_text(best.changes)}")
        print(f"  {seeds_text(sweep.tuning)}, used to choose it: {best}")
        seeds = seeds_text(sweep.report)
        print(f"  {seeds}, not used to choose it: {sweep.reported(study, best.changes)}")
        print(f"  {seeds}, the unchanged recipe: {sweep.reported(study, {})}")
        print(f"its settings: {sweep.root / 'best.json'}")


def _sweep(options: argparse.Namespace) -> Sweep:
    torch_device(options.device)
    space = read_space(options.vary)
    return Sweep(
        root=options.out or Path("sweeps") / slug(make(options.game).name),
        source=options.game,
        space=space,
        overrides=read_settings(options.set),
        paper=options.paper,
        tuning=range(options.first_seed, options.first_seed + options.seeds),
        report=range(options.first_report_seed, options.first_report_seed + options.report_seeds),
        policy=options.by,
        measure=options.measure,
        search=options.search,
        budget=options.budget,
        choice=options.choice,
        device=options.device,
    )


def _print_trial(study: Any, trial: Any) -> None:
    score = f"{trial.value:.2f}" if trial.state.name == "COMPLETE" else "FAILED, see above"
    reason = trial.user_attrs.get("reason")
    seconds = trial.duration.total_seconds()
    text = f"skipped: {reason}" if reason else f"{seconds:6.0f} s  {score}"
    print(f"[{trial.number + 1:>3}] {settings_text(trial.params):<45}{text}", flush=True)


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
