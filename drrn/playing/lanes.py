"""Games that are under way side by side: a lane plays one episode after another on a copy of the game."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from drrn.errors import InputError
from drrn.game.contract import Game, Observation, checked
from drrn.game.make import GameSpec
from drrn.game.optional import another, close, ending_of, is_stopped, most_copies_of

COPIES = 16  # of a game that was opened by its name and cannot copy itself


@dataclass(frozen=True, slots=True)
class Seen:
    """What a lane shows: the page, the name of its ending if it is one, and whether the game stopped there itself."""

    observation: Observation
    ending: str | None
    stopped: bool


class Lanes(Protocol):
    """So many games at once; those that begin or step together are named by lane, and answer in that order."""

    most: int  # lanes

    def begin(self, lanes: Sequence[int], seeds: Sequence[int]) -> list[Seen]:
        """The first page of a new episode in each lane."""

    def step(self, lanes: Sequence[int], places: Sequence[int]) -> list[Seen]:
        """Take the action at a place in each lane."""


class LocalLanes:
    """Lanes in this process: by the game's own copies; else by opening it anew by its name; else the game alone."""

    def __init__(self, game: Game, recipe: GameSpec | None = None) -> None:
        """`recipe` is how the game was opened, if it was opened by its name; an object that was given has none."""
        self.game = game
        self.recipe = recipe
        first = another(game)
        self.copies = first is not None
        self.most = most_copies_of(game) if self.copies else COPIES if recipe else 1
        self._games: dict[int, Game] = {}
        self._made: list[Game] = []
        self.close = weakref.finalize(self, _close, self._made)  # at the latest when this is gone
        self._games[0] = game if first is None else self._own(first)

    def begin(self, lanes: Sequence[int], seeds: Sequence[int]) -> list[Seen]:
        games = [self._game(lane) for lane in lanes]
        return [self._seen(game, game.reset(seed)) for game, seed in zip(games, seeds, strict=True)]

    def step(self, lanes: Sequence[int], places: Sequence[int]) -> list[Seen]:
        games = [self._games[lane] for lane in lanes]
        return [
            self._seen(game, game.step(place)) for game, place in zip(games, places, strict=True)
        ]

    def _game(self, lane: int) -> Game:
        if lane not in self._games:
            made = another(self.game) if self.copies or self.recipe is None else self.recipe.open()
            if made is None:
                raise InputError(f"{self.game.name}: another() gave a game before, and now None")
            self._games[lane] = self._own(made)
        return self._games[lane]

    def _own(self, made: Game) -> Game:
        """A copy that was made here; one that is another lane's game would mix their episodes."""
        if made is self.game or any(made is game for game in self._made):
            how = "another()" if self.copies or self.recipe is None else self.recipe.source
            raise InputError(
                f"{self.game.name}: {how} must give a new game each time, and gave the same one twice"
            )
        self._made.append(made)
        return made

    def _seen(self, game: Game, observation: Observation) -> Seen:
        observation = checked(game, observation)
        return Seen(
            observation,
            ending_of(game, observation),
            bool(observation.actions) and is_stopped(game),
        )


def _close(games: Sequence[Game]) -> None:
    for game in games:
        close(game)
