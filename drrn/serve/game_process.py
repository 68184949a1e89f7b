"""The process in which a game is played, for all who play it: an episode is its seed and the choices made so far."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any

from drrn.errors import InputError
from drrn.game.contract import Game, Observation
from drrn.game.make import GameSpec
from drrn.game.optional import another, close, ending_of, is_stopped, most_copies_of, title_of
from drrn.serve.asking import answer_questions
from drrn.serve.setting_form import settings_of_form, told_form
from drrn.stories.authored import Explorable
from drrn.stories.twine.script import grouped

MOST_COPIES = 64  # episodes under way; whoever has none left is played again from the start


@dataclass
class _Episode:
    """An episode under way in a copy of the game."""

    game: Game
    seed: int = -1
    taken: list[int] = field(default_factory=list)
    shown: Observation = field(default_factory=lambda: Observation(""))
    total: float = 0.0

    def at(self, seed: int, taken: Sequence[int]) -> None:
        """Bring it to where the choices lead: onward from where it stands, or from the start."""
        if seed != self.seed or list(taken[: len(self.taken)]) != self.taken:
            # in case that the game fails
            self.seed = -1
            self.taken = []
            self.total = 0.0
            self.shown = self.game.reset(seed)
            self.seed = seed
        for index in taken[len(self.taken) :]:
            if not 0 <= index < len(self.shown.actions):
                raise InputError("That action is not there: the story has changed since.")
            before = self.seed
            self.seed = -1
            self.shown = self.game.step(index)
            self.seed = before
            self.taken.append(index)
            self.total += self.shown.reward


class PlayedGame:
    """A game and the copies of it that are being played."""

    def __init__(self, recipe: GameSpec) -> None:
        self.game = recipe.open()
        self.most = min(most_copies_of(self.game), MOST_COPIES)
        self.episodes: OrderedDict[str, _Episode] = OrderedDict()  # the last used one last

    def page(self, key: str, seed: int, taken: Sequence[int]) -> dict[str, Any]:
        """The page that the choices lead to."""
        episode = self._episode(key)
        episode.at(seed, taken)
        shown = episode.shown
        game = episode.game
        return {
            "text": shown.text,
            "actions": list(shown.actions),
            "reward": float(shown.reward),
            "total": episode.total,
            "ended": shown.ended,
            "stopped": is_stopped(game),
            "ending": ending_of(game, shown),
            "title": title_of(game),
        }

    def form(self, paper: bool) -> list[dict[str, Any]]:
        """The settings that the game can be learned with, as a form."""
        return told_form(self.game, paper=paper)

    def settings(self, given: Mapping[str, Any], paper: bool) -> dict[str, Any]:
        """What a form that came back asks for, once it is checked."""
        found = settings_of_form(self.game, given, paper=paper)
        return {"name": self.game.name, "title": title_of(self.game), "settings": found.flat()}

    def _episode(self, key: str) -> _Episode:
        found = self.episodes.pop(key, None)
        if found is None:
            if len(self.episodes) >= self.most:
                found = self.episodes.popitem(last=False)[1]
            else:
                copied = self.game if not self.episodes else another(self.game)
                found = (
                    _Episode(copied) if copied is not None else self.episodes.popitem(last=False)[1]
                )
        self.episodes[key] = found
        return found


def serve_game(connection: Connection[Any, Any]) -> None:
    """Open the game with the first question; answer with pages, and with settings that suit the game."""
    played: PlayedGame | None = None

    def respond(recipe: GameSpec, what: str, *arguments: Any) -> Any:
        nonlocal played
        played = played or PlayedGame(recipe)
        return getattr(played, {"page": "page", "form": "form", "settings": "settings"}[what])(
            *arguments
        )

    answer_questions(connection, respond)


def serve_opening(connection: Connection[Any, Any]) -> None:
    """Open games once, to learn whether they can be played."""
    answer_questions(connection, opened_once)


def opened_once(recipe: GameSpec) -> dict[str, Any]:
    """The title of a game that begins, and what had to be left out of it."""
    game = recipe.open()
    try:
        if game.reset(0).ended:
            raise InputError(
                f"{game.name}: it ends as soon as it begins: there is nothing to choose"
            )
        left_out = grouped(game.problems) if recipe.lenient and isinstance(game, Explorable) else []
        return {
            "title": title_of(game),
            "lenient": recipe.lenient,
            "notes": [f"left out: {line}" for line in left_out],
        }
    finally:
        close(game)
