"""The run that the options of `drrn train` ask for: a new one, or one that goes on."""

from __future__ import annotations

import argparse
import datetime
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from drrn.cli.show import open_named, states_progress
from drrn.compiled.compile import MOST_STATES
from drrn.errors import InputError
from drrn.lab.experiments.tuned import suiting
from drrn.settings import STRONG_CHANGES, Settings, all_settings, recipe_name, settings_for
from drrn.settings import recipe as chosen_recipe

if TYPE_CHECKING:
    from drrn.game.contract import Game
    from drrn.runs.record import Run
    from drrn.runs.train import Trainer

LONGER = "rounds"  # the one setting that may be another when a run goes on, and counts


@contextmanager
def new_run(options: argparse.Namespace) -> Iterator[tuple[Trainer, Run]]:
    """A new run: a trainer, and the folder that it is kept in, locked."""
    from drrn.runs.agent import (
        torch_device,
    )  # PyTorch takes a second to import: the other commands do without
    from drrn.runs.record import Run
    from drrn.runs.train import Trainer

    device, (game, recipe) = torch_device(options.device), open_named(options)
    settings, paper = _settings(options, game)
    progress = states_progress(MOST_STATES)
    trainer = Trainer(
        game, settings, device, recipe=recipe, threads=options.threads, progress=progress
    )
    trainer.settings_from = recipe_name(paper=paper)
    begun = Run.begin(options.out or _new_folder(f"{game.name}-{settings.model.name}"), trainer)
    with begun.locked():
        yield trainer, begun


def _settings(options: argparse.Namespace, game: Game) -> tuple[Settings, bool]:
    """What the run learns with, and whether by the paper's recipe."""
    (config, paper), given = _config(options.config, paper=options.paper), _given(options)
    if not paper:  # what the recipe holds, it decides anew beside what is given here
        config = {
            name: value
            for name, value in config.items()
            if name not in STRONG_CHANGES or STRONG_CHANGES[name] != value
        }
    base = chosen_recipe(paper=paper, recommended=suiting(game), given={**config, **given})
    return settings_for({**base, **config}, given), paper


def _new_folder(name: str) -> Path:
    moment = datetime.datetime.now().strftime("%Y%m%d-%H%M%S")
    plain = re.sub(r"[^\w.-]+", "-", name)
    return Path("runs") / f"{plain}-{moment}"


@contextmanager
def resumed_run(options: argparse.Namespace) -> Iterator[tuple[Trainer, Run]]:
    """A run that goes on: it keeps its game and its settings, but for those that leave results as they are and for the
    number of rounds."""
    from drrn.runs.loading import resumed
    from drrn.runs.record import Run

    if options.game is not None:
        raise InputError(f"a resumed run keeps its game: leave out {options.game}")
    given = _given(options)
    free = {
        name: value
        for name, value in given.items()
        if all_settings()[name].same_results or name == LONGER
    }
    others = [
        name
        for name in ("paper", "out", "config", "lenient", "encoding", "outside")
        if getattr(options, name)
    ]
    for name in (*others, *(name for name in given if name not in free)):
        raise InputError(f"a resumed run keeps its settings: leave out {flag_of(name)}")
    progress = states_progress(MOST_STATES)
    more = {"threads": options.threads, "progress": progress, "changes": free}
    begun = Run(options.resume)
    with begun.locked():
        trainer = resumed(options.resume, device=options.device, **more)
        begun.keep_settings(trainer)
        yield trainer, begun


def _config(path: Path | None, *, paper: bool) -> tuple[dict[str, Any], bool]:
    """The settings in the config.json of another run, and whether they are beside the paper's recipe: a run's own comes
    with it, and one that does not say which it was is older than the strong one."""
    if path is None:
        return {}, paper
    from drrn.runs.record import read_json

    path = path / "config.json" if path.is_dir() else path
    config = read_json(path, f"{path}: no such file")
    found = config.get("settings", config) if isinstance(config, dict) else None
    if not isinstance(found, dict):
        raise InputError(
            f'{path}: it must be a run\'s config.json, or settings as {{"name": value}}'
        )
    if "settings" not in config:
        return found, paper
    if paper and config.get("recipe") == "strong":
        raise InputError(
            f"{path}: its settings are those of the strong recipe: leave out --paper, or --config"
        )
    return found, config.get("recipe") != "strong"


def _given(options: argparse.Namespace) -> dict[str, Any]:
    """The settings that stand on the command line."""
    return {name: value for name, value in vars(options).items() if name in all_settings()}


def flag_of(name: str) -> str:
    """The option of a setting."""
    return f"--{name.replace('_', '-')}"
