"""Games that experiments are run on, where nobody names them; what is not installed is left out with a sentence."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from drrn.errors import InputError, require
from drrn.game.contract import Game
from drrn.game.make import BUILT_IN, absolute_name, make
from drrn.lab.experiments.added import ADDED, ENCODED, ENCODERS, PARSED
from drrn.lab.experiments.folder import make_folder
from drrn.lab.experiments.plan import PAPER
from drrn.lab.experiments.variants import Added, Variant
from drrn.suites.catalogue import SUITES
from drrn.suites.choice import names_a_suite

Say = Callable[[str], None]

STORIES = "stories"  # what the paper's experiments are run on

# One game of each kind, small enough for a few minutes: rooms, ingredients and things as few as make a game of it, and
# a fixed set of variations, so that what is learned is how to play these, not how to play any. The answer to the last
# action is left out of the text: a room and what one holds tell all that matters, in far fewer texts.
SMALL = "includeDoors=0&text=look,inventory&copies=2"
TWX_GAMES = (
    f"twx:coin?numLocations=8&numDistractorItems=0&{SMALL}&variations=5&max_steps=30",
    f"twx:cooking?numLocations=1&numIngredients=1&numDistractorItems=0&{SMALL}&variations=3&max_steps=25",
    f"twx:commonsense?numLocations=1&numItemsToPutAway=1&{SMALL}&variations=10&max_steps=20",
)
SCIENCE = "scienceworld:lifespan-longest-lived?simplifications=easy&max_steps=10&copies=1"
COIN_LEVEL = 5
COIN_SEED = 1
COIN = (
    f"tw-coin_collector-level{COIN_LEVEL}-seed{COIN_SEED}"  # what TextWorld makes, as tw-make would
)
FILE_OPTIONS = (
    "?max_steps=20&copies=1"  # one environment keeps all lists of actions that were found
)


@dataclass(frozen=True)
class GameToRun:
    """A game to be run, and what opens it again."""

    source: str
    game: Game
    asked: bool = False  # by name
    brought: bool = False  # by an experiment that has games of its own

    def is_for(self, variant: Variant, name: str) -> bool:
        """Whether a job is run on it: what was asked for by name, all jobs are; else those that it is there for."""
        if self.asked:
            return True
        return (
            isinstance(variant, Added)
            if self.brought
            else variant not in ENCODERS or name in ENCODED
        )

    @property
    def suite(self) -> bool:
        return names_a_suite(self.source)


@dataclass(frozen=True)
class SuiteFiles:
    """Files of games that no suite has built in."""

    textworld: Path | None = None  # None: one is made, where TextWorld is installed
    jericho: Path | None = None
    made_in: Path = Path()  # the folder for what is made


def experiment_games(
    asked: Sequence[str], only: Collection[str], files: SuiteFiles, say: Say
) -> Iterator[GameToRun]:
    """The games that were asked for by name, or those that the experiments need."""
    for name in asked:
        yield from (replace(opened, asked=True) for opened in _named(name))
    if asked:
        return
    kinds = {_kind(name) for name in only} or {STORIES}
    if STORIES in kinds:
        yield from _stories(say)
    elif "encoders" in kinds:
        yield from _encoded(say)
    if "parser" in kinds:
        yield from (GameToRun(name, make(name), brought=True) for name in PARSED)
    if "suites" in kinds:
        yield from suite_games(files, say)


def _kind(name: str) -> str:
    """The experiment with games of its own that a name is of, or belongs to as a job; else stories are its games."""
    for experiment, jobs in {**ADDED, "encoders": ENCODERS}.items():
        if name == experiment or any(name == job.name for job in jobs):
            return experiment
    return STORIES


def _named(name: str) -> Iterator[GameToRun]:
    if name in ("built-in", "paper"):
        yield from (
            GameToRun(story, make(story)) for story in (BUILT_IN if name == "built-in" else PAPER)
        )
    else:
        yield GameToRun(absolute_name(name), make(name))


def _stories(say: Say) -> Iterator[GameToRun]:
    """The paper's games, where they are installed, and the built-in stories."""
    try:
        yield from list(_named("paper"))
    except InputError as error:
        say(f"only the built-in stories are run: {error}")
    yield from _named("built-in")


def _encoded(say: Say) -> Iterator[GameToRun]:
    """The games that encoders are compared on."""
    try:
        yield from [GameToRun(story, make(story)) for story in ENCODED]
    except InputError as error:
        say(f"encoders are left out: {error}")


def suite_games(files: SuiteFiles, say: Say) -> Iterator[GameToRun]:
    """A game of each suite that is installed."""
    for source in TWX_GAMES:
        yield from _of_suite(source, say)
    if file := files.textworld or _made_coin(files.made_in, say):
        yield from _of_suite(f"textworld:{file}{FILE_OPTIONS}", say)
    yield from _of_suite(SCIENCE, say)
    if files.jericho is None:
        say("Jericho is left out: name the file of a game that it knows by --jericho FILE")
    else:
        yield from _of_suite(f"jericho:{files.jericho}{FILE_OPTIONS}", say)


def _of_suite(source: str, say: Say) -> Iterator[GameToRun]:
    try:
        yield GameToRun(absolute_name(source), make(source), brought=True)
    except InputError as error:
        say(f"{source} is left out: {error}")


def _made_coin(folder: Path, say: Say) -> Path | None:
    """A coin collector that TextWorld makes, once; None, and a sentence, where it cannot."""
    path = folder / f"{COIN}.z8"
    if path.exists():
        return path
    if not SUITES["textworld"].installed:
        say(
            "TextWorld's coin collector is left out: pip install 'drrn[textworld]', or name a file by --textworld FILE"
        )
        return None
    textworld = require("textworld", "textworld")
    challenges = require("textworld.challenges", "textworld")
    options = textworld.GameOptions()
    options.seeds = COIN_SEED
    options.path = str(path)
    make_folder(folder)
    textworld.generator.compile_game(
        challenges.coin_collector.make({"level": COIN_LEVEL}, options), options
    )
    return path
