"""The process that plays a game for everybody. An episode is its seed and the actions chosen."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from drrn.errors import InputError
from drrn.game.contract import Game, Observation
from drrn.game.make import GameSpec
from drrn.game.optional import another, close, ending_of, is_stopped, most_copies_of, title_of
from drrn.serve.forms import settings_form, settings_from
from drrn.stories.authored import Explorable
from drrn.stories.twine.script import summarise

MAX_COPIES = 64  # episodes in progress; others are played again from the start


@dataclass(frozen=True)
class Page:
    """A page of an episode."""

    text: str = ""
    actions: tuple[str, ...] = ()
    reward: float = 0.0
    total: float = 0.0  # undiscounted return so far
    ended: bool = False
    stopped: bool = False  # the game cannot continue although it has not ended
    ending: str | None = None
    title: str = ""  # of the game


@dataclass
class _Episode:
    game: Game
    seed: int = -1  # -1: not started, or the game raised an exception
    choices: list[int] = field(default_factory=list)
    page: Observation = field(default_factory=lambda: Observation(""))
    total: float = 0.0

    def replay(self, seed: int, choices: Sequence[int]) -> None:
        """Play to where the choices lead, from the current page if that is on the path."""
        if seed != self.seed or list(choices[: len(self.choices)]) != self.choices:
            self.seed = -1
            self.choices = []
            self.total = 0.0
            self.page = self.game.reset(seed)
        for index in choices[len(self.choices) :]:
            if not 0 <= index < len(self.page.actions):
                raise InputError("This action does not exist: the story has changed.")
            self.seed = -1
            self.page = self.game.step(index)
            self.choices.append(index)
            self.total += self.page.reward
        self.seed = seed


class GameWorker:
    """Plays the game of its first question; each session has its own copy of the game."""

    def __init__(self) -> None:
        self._game: Game | None = None
        self._episodes: OrderedDict[str, _Episode] = OrderedDict()  # last used last

    def page(self, spec: GameSpec, session: str, seed: int, choices: Sequence[int]) -> Page:
        """Return the page that the choices lead to."""
        episode = self._episode(spec, session)
        episode.replay(seed, choices)
        page = episode.page
        return Page(
            page.text,
            tuple(page.actions),
            float(page.reward),
            episode.total,
            page.ended,
            is_stopped(episode.game),
            ending_of(episode.game, page),
            title_of(episode.game),
        )

    def form(self, spec: GameSpec, paper: bool) -> list[dict[str, Any]]:
        """Return the settings that an agent can learn the game with."""
        return settings_form(self._open(spec), paper=paper)

    def config(self, spec: GameSpec, values: Mapping[str, Any], paper: bool) -> dict[str, Any]:
        """Check the values of a form; return the name, the title and all settings of the run."""
        game = self._open(spec)
        settings = settings_from(game, values, paper=paper)
        return {"name": game.name, "title": title_of(game), "settings": settings.flat()}

    def _open(self, spec: GameSpec) -> Game:
        if self._game is None:
            self._game = spec.open()
        return self._game

    def _episode(self, spec: GameSpec, session: str) -> _Episode:
        game = self._open(spec)
        episode = self._episodes.pop(session, None)
        if episode is None and len(self._episodes) < min(most_copies_of(game), MAX_COPIES):
            copy = another(game) if self._episodes else game
            episode = None if copy is None else _Episode(copy)
        if episode is None:
            episode = self._episodes.popitem(last=False)[1]
        self._episodes[session] = episode
        return episode


class OpeningWorker:
    """Opens games once, to find out whether they can be played."""

    def open(self, spec: GameSpec) -> dict[str, Any]:
        """Return the title of a game, and what is left out to play it."""
        game = spec.open()
        try:
            if game.reset(0).ended:
                raise InputError(f"{game.name}: the game ends on its first page: nothing to choose")
            problems = game.problems if spec.lenient and isinstance(game, Explorable) else ()
            notes = [f"left out: {line}" for line in summarise(problems)]
            return {"title": title_of(game), "lenient": spec.lenient, "notes": notes}
        finally:
            close(game)
