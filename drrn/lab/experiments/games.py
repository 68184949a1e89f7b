"""The games of the experiments; a message names those that are not installed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from drrn.errors import InputError
from drrn.game.contract import Game
from drrn.game.make import BUILT_IN, absolute_name, make
from drrn.lab.experiments.plan import ADDED, ENCODED, PAPER, PARSED, PLAN, Variant

Warn = Callable[[str], None]
SuiteFiles = Mapping[str, Path | None]  # files of games that no suite includes, by suite

STORIES = "stories"  # the games of the paper's experiments


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
    for suite, source in PLAN["suite_games"]:
        if "{file}" in source and files.get(suite) is None:
            warn(f"{suite} is left out: name the file of a game with --{suite} FILE")
            continue
        name = f"{suite}:{source.format(file=files.get(suite))}"
        try:
            yield GameToRun(absolute_name(name), make(name), extra=True)
        except InputError as error:
            warn(f"{name} is left out: {error}")
