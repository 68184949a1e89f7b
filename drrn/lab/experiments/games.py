"""The games of the experiments; a message names those that are not installed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from drrn.errors import InputError, require
from drrn.files import make_folder
from drrn.game.contract import Game
from drrn.game.make import BUILT_IN, absolute_name, is_suite, make
from drrn.lab.experiments.plan import ADDED, ENCODED, PAPER, PARSED, PLAN, Variant
from drrn.suites.catalogue import SUITES

Warn = Callable[[str], None]

STORIES = "stories"  # the games of the paper's experiments
COIN_LEVEL = 5
COIN_SEED = 1
COIN = f"tw-coin_collector-level{COIN_LEVEL}-seed{COIN_SEED}"  # the name that tw-make gives it


@dataclass(frozen=True)
class GameToRun:
    """A game, and what opens it again."""

    source: str
    game: Game
    requested: bool = False  # by name
    extra: bool = False  # of an experiment with separate games

    def runs(self, variant: Variant, name: str) -> bool:
        """Return whether a variant is trained on it; on a requested game, all variants are."""
        if self.requested:
            return True
        if self.extra:
            return variant.group in ADDED
        return variant.group != "encoders" or name in ENCODED

    @property
    def suite(self) -> bool:
        return is_suite(self.source)


@dataclass(frozen=True)
class SuiteFiles:
    """Files of games that no suite includes."""

    textworld: Path | None = None  # None: one is generated if TextWorld is installed
    jericho: Path | None = None
    folder: Path = Path()  # for generated games


def experiment_games(
    names: Sequence[str], only: Collection[str], files: SuiteFiles, warn: Warn
) -> Iterator[GameToRun]:
    """Yield the named games; without names, the games that the experiments (`only`) need."""
    for name in names:
        sources = {"built-in": BUILT_IN, "paper": PAPER}.get(name, [absolute_name(name)])
        yield from (GameToRun(each, make(each), requested=True) for each in sources)
    if names:
        return
    kinds = {_kind(name) for name in only} or {STORIES}
    if STORIES in kinds:
        yield from _opened(PAPER, "only the built-in stories are run", warn)
        yield from _opened(BUILT_IN, "", warn)
    elif "encoders" in kinds:
        yield from _opened(ENCODED, "encoders are left out", warn)
    if "parser" in kinds:
        yield from (GameToRun(name, make(name), extra=True) for name in PARSED)
    if "suites" in kinds:
        yield from suite_games(files, warn)


def _kind(name: str) -> str:
    """Return the experiment with separate games that a name belongs to; else STORIES."""
    for experiment, variants in ADDED.items():
        if name == experiment or any(name == variant.name for variant in variants):
            return experiment
    return STORIES


def _opened(names: Iterable[str], consequence: str, warn: Warn) -> Iterator[GameToRun]:
    """Yield all games, or none if one of them is missing."""
    try:
        yield from [GameToRun(name, make(name)) for name in names]
    except InputError as error:
        warn(f"{consequence}: {error}")


def suite_games(files: SuiteFiles, warn: Warn) -> Iterator[GameToRun]:
    """Yield a game of each installed suite."""
    paths = {"textworld": files.textworld or _coin_collector(files.folder, warn)}
    paths["jericho"] = files.jericho
    if files.jericho is None:
        warn("Jericho is left out: name the file of a game that it supports with --jericho FILE")
    for template in PLAN["suite_games"]:
        suite = template.partition(":")[0]
        if suite in paths and paths[suite] is None:
            continue
        source = template.format(**paths)
        try:
            yield GameToRun(absolute_name(source), make(source), extra=True)
        except InputError as error:
            warn(f"{source} is left out: {error}")


def _coin_collector(folder: Path, warn: Warn) -> Path | None:
    """Return a game that TextWorld generates, once; None if TextWorld is not installed."""
    path = folder / f"{COIN}.z8"
    if path.exists():
        return path
    if not SUITES["textworld"].installed:
        cure = "pip install 'drrn[textworld]', or name a file with --textworld FILE"
        warn(f"TextWorld's coin collector is left out: {cure}")
        return None
    textworld = require("textworld", "textworld")
    challenges = require("textworld.challenges", "textworld")
    options = textworld.GameOptions()
    options.seeds = COIN_SEED
    options.path = str(path)
    make_folder(folder)
    game = challenges.coin_collector.make({"level": COIN_LEVEL}, options)
    textworld.generator.compile_game(game, options)
    return path
