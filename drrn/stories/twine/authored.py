"""Games with an author's text behind them: the capability "has rules and passages", asked for by name."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Protocol, runtime_checkable

from drrn.errors import InputError
from drrn.game.contract import Game
from drrn.stories.twine.rules import DEFAULT_SET, Rules, read_paraphrases
from drrn.stories.twine.script import Problem
from drrn.stories.twine.states import Exploration
from drrn.stories.twine.story import Story


@runtime_checkable
class Authored(Game, Protocol):
    """A game that was read from a story: its passages, the rules of its rewards, and what could not be played."""

    @property
    def story(self) -> Story: ...
    @property
    def rules(self) -> Rules: ...
    @property
    def problems(self) -> Sequence[Problem]: ...
    @property
    def asked(self) -> Collection[str]:
        """The variables that the player is asked to fill in."""
        ...

    def explore(self, limit: int, progress: Callable[[int], None] | None = None) -> Exploration:
        """Every page that can be reached, up to so many states."""
        ...


def authored(game: Game, purpose: str) -> Authored:
    """The game, if it was read from a story; else a sentence that says what for a story is needed."""
    if isinstance(game, Authored):
        return game
    raise InputError(
        f"{game.name}: it was not read from a story, and {purpose} needs one: give the path of a story"
    )


def paraphrases_of(game: Game, name: str = DEFAULT_SET) -> Mapping[str, str] | None:
    """Original → paraphrase, from the file of that set in the game's rules; None where they have no such set."""
    path = game.rules.paraphrases.get(name) if isinstance(game, Authored) else None
    return read_paraphrases(path) if path is not None else None
