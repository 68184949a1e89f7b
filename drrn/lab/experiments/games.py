"""The games of the experiments; a message names those that are not installed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from drrn.errors import InputError, require
from drrn.game.contract import Game
from drrn.game.make import BUILT_IN, absolute_name, is_suite, make
from drrn.lab.experiments.plan import ADDED, ENCODED, ENCODERS, PAPER, PARSED, Added, Variant
from drrn.lab.experiments.results import make_folder
from drrn.suites.catalogue import SUITES

Warn = Callable[[str], None]

STORIES = "stories"  # the games of the paper's experiments

# One game of each kind, solvable in a few minutes: few rooms, ingredients and things, and a fixed
# set of variations, so that an agent learns to play these, not any. The text leaves out the answer
# to the last action: the room and the inventory suffice, and there are far fewer texts.
SMALL = "includeDoors=0&text=look,inventory&copies=2"
TWX_GAMES = (
    f"twx:coin?numLocations=8&numDistractorItems=0&{SMALL}&variations=5&max_steps=30",
    f"twx:cooking?numLocations=1&numIngredients=1&numDistractorItems=0&{SMALL}"
    "&variations=3&max_steps=25",
    f"twx:commonsense?numLocations=1&numItemsToPutAway=1&{SMALL}&variations=10&max_steps=20",
)
SCIENCE = "scienceworld:lifespan-longest-lived?simplifications=easy&max_steps=10&copies=1"
COIN_LEVEL = 5
COIN_SEED = 1
COIN = f"tw-coin_collector-level{COIN_LEVEL}-seed{COIN_SEED}"  # the name that tw-make gives it
FILE_OPTIONS = "?max_steps=20&copies=1"  # one copy shares all lists of actions


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
            return isinstance(variant, Added)
        return variant not in ENCODERS or name in ENCODED

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
    for experiment, variants in {**ADDED, "encoders": ENCODERS}.items():
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
    for source in _suite_sources(files, warn):
        try:
            yield GameToRun(absolute_name(source), make(source), extra=True)
        except InputError as error:
            warn(f"{source} is left out: {error}")


def _suite_sources(files: SuiteFiles, warn: Warn) -> Iterator[str]:
    yield from TWX_GAMES
    if file := files.textworld or _coin_collector(files.folder, warn):
        yield f"textworld:{file}{FILE_OPTIONS}"
    yield SCIENCE
    if files.jericho is None:
        warn("Jericho is left out: name the file of a game that it supports with --jericho FILE")
    else:
        yield f"jericho:{files.jericho}{FILE_OPTIONS}"


def _coin_collector(folder: Path, warn: Warn) -> Path | None:
    """Return a game that TextWorld generates, once; None if TextWorld is not installed."""
    path = folder / f"{COIN}.z8"
    if path.exists():
        return path
    if not SUITES["textworld"].installed:
        warn(
            "TextWorld's coin collector is left out: pip install 'drrn[textworld]', or name a file "
            "with --textworld FILE"
        )
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
