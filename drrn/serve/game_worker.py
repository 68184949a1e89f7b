"""The process that plays a game for everybody, and checks the settings of a run of the game.

An episode is its seed and its moves: indices of actions, which are in the author's order, and new
values of variables.
"""

import os
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from drrn.errors import InputError
from drrn.files import read_toml
from drrn.game import contract
from drrn.game.contract import Game, Observation, checked, title_of
from drrn.game.make import GameSpec
from drrn.registry import is_object
from drrn.runs.config import recommended_settings
from drrn.settings import VECTOR_ENCODERS, Settings, all_settings, recipe, settings_for
from drrn.stories.authored import AuthoredGame, Explorable, Position, VariableSetter
from drrn.stories.playtest.clicks import ClickPath, replay_episode
from drrn.stories.playtest.coverage import Source
from drrn.stories.twine.script import summarise

MAX_COPIES = 64  # episodes in progress; others are played again from the start
MAX_OPENING = 3_000  # characters of the first page that a card of the list may show
FILES = ("vectors", "sentences")  # settings that name a file or code: not available on the page
FILE_ENCODERS = (*VECTOR_ENCODERS, "sentence")  # encoders that need them
TABLE = read_toml(Path(__file__).with_name("server.toml"))
# The group of each setting in the form, in order; the last one is that of all others.
GROUPS = {name: group for group, names in TABLE["groups"].items() for name in names.split()}
OTHERS = list(TABLE["groups"])[-1]
LIMITS: dict[str, float] = {**TABLE["limits"], "workers": max(1, os.cpu_count() or 1)}


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
    passage: str = ""
    variables: Mapping[str, Any] = field(default_factory=dict)
    settable: bool = False  # whether variables can be given other values


Move = int | Mapping[str, Any]


@dataclass
class _Episode:
    game: Game
    seed: int = -1  # -1: not started, or the game raised an exception
    moves: list[Move] = field(default_factory=list)
    page: Observation = field(default_factory=lambda: Observation(""))
    total: float = 0.0

    def replay(self, seed: int, moves: Sequence[Move]) -> None:
        """Play to where the moves lead, from the current page if that is on the path."""
        if seed != self.seed or list(moves[: len(self.moves)]) != self.moves:
            self.seed = -1
            self.moves = []
            self.total = 0.0
            self.page = checked(self.game, self.game.reset(seed))
        for move in moves[len(self.moves) :]:
            self.seed = -1
            if isinstance(move, int):
                self._step(move)
            elif isinstance(self.game, VariableSetter):
                names = _names(self.game)
                self.page = self.game.set_variables({names[name]: move[name] for name in move})
            self.moves.append(move)
        self.seed = seed

    def _step(self, index: int) -> None:
        if not 0 <= index < len(self.page.actions):
            raise InputError("This action no longer exists. The story has changed.")
        self.page = checked(self.game, self.game.step(index))
        self.total += self.page.reward


def _names(game: Any) -> dict[str, str]:
    """Return the variables of a story by their names as the author writes them."""
    source = Source(game)
    return {source.name_of(name): name for name in game.position_at(game.state).variables}


class GameWorker:
    """Plays the game of its first question; each session has its own copy of the game."""

    def __init__(self) -> None:
        self._game: Game | None = None
        self._episodes: OrderedDict[str, _Episode] = OrderedDict()  # last used last

    def page(self, spec: GameSpec, session: str, seed: int, moves: Sequence[Move]) -> Page:
        """Return the page that the moves lead to."""
        episode = self._episode(spec, session)
        episode.replay(seed, moves)
        page = episode.page
        game = episode.game
        position = Position()
        names: dict[str, str] = {}
        if isinstance(game, AuthoredGame):
            position = game.position_at(game.state)
            names = _names(game)
        return Page(
            page.text,
            tuple(page.actions),
            float(page.reward),
            episode.total,
            page.ended,
            contract.is_stopped(episode.game),
            contract.ending_of(episode.game, page),
            title_of(episode.game),
            position.passage,
            {name: position.variables[cell] for name, cell in names.items()},
            isinstance(game, VariableSetter),
        )

    def locate(self, spec: GameSpec, session: str, path: ClickPath) -> tuple[int, list[int]]:
        """Return the seed and the choices of an episode that follows a path."""
        episode = self._episode(spec, session)
        episode.seed = -1
        seed, clicks = replay_episode(episode.game, path)
        return seed, [index for _, index in clicks if index is not None]

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
            self._game = replace(spec, shuffle=False).open()
        return self._game

    def _episode(self, spec: GameSpec, session: str) -> _Episode:
        game = self._open(spec)
        episode = self._episodes.pop(session, None)
        if episode is None and len(self._episodes) < min(contract.most_copies_of(game), MAX_COPIES):
            copy = contract.another(game) if self._episodes else game
            episode = None if copy is None else _Episode(copy)
        if episode is None:
            episode = self._episodes.popitem(last=False)[1]
        self._episodes[session] = episode
        return episode


class OpeningWorker:
    """Opens games once, to find out whether they can be played."""

    def open(self, spec: GameSpec) -> dict[str, Any]:
        """Return the title of a game, and what is left out if it cannot be played otherwise."""
        try:
            return self._open(spec)
        except InputError:
            return self._open(replace(spec, lenient=True))

    def opening(self, spec: GameSpec) -> str:
        """Return the start of the text of the first page."""
        game = spec.open()
        try:
            return game.reset(0).text[:MAX_OPENING]
        finally:
            contract.close(game)

    def _open(self, spec: GameSpec) -> dict[str, Any]:
        game = spec.open()
        try:
            if game.reset(0).ended:
                cause = "the game ends on its first page, so there is nothing to choose"
                raise InputError(f"{game.name}: {cause}")
            problems = game.problems if spec.lenient and isinstance(game, Explorable) else ()
            notes = [f"skipped: {line}" for line in summarise(problems)]
            return {"title": title_of(game), "lenient": spec.lenient, "notes": notes}
        finally:
            contract.close(game)


def settings_form(game: Game, *, paper: bool) -> list[dict[str, Any]]:
    """Return a field for each setting, with the default for this game, by groups."""
    defaults = settings_for(recipe(paper=paper, recommended=_recommended(game)), {}).flat()
    names = [name for name in all_settings() if name not in FILES]
    order = [*GROUPS, *(name for name in names if name not in GROUPS)]
    names.sort(key=order.index)
    return [_field(name, defaults[name]) for name in names]


def _field(name: str, default: Any) -> dict[str, Any]:
    setting = all_settings()[name]
    return {
        **{key: getattr(setting, key) for key in ("name", "optional", "help", "least")},
        "kind": setting.kind.__name__,
        "default": default,
        "choices": [choice for choice in setting.choices if choice not in FILE_ENCODERS],
        "most": LIMITS.get(name, setting.most),
        "group": GROUPS.get(name, OTHERS),
        "label": TABLE["labels"].get(name, name[0].upper() + name[1:].replace("_", " ")),
    }


def settings_from(game: Game, values: Mapping[str, Any], *, paper: bool) -> Settings:
    """Return the settings that a form asks for.

    Raises:
        InputError: A value is wrong, above the limit of the page, or names a file or code.
    """
    _check_no_code(values)
    defaults = recipe(paper=paper, recommended=_recommended(game), given=values)
    settings = settings_for(defaults, values)
    flat = settings.flat()
    _check_no_code(flat)
    for name, limit in LIMITS.items():
        if flat[name] > limit:
            raise InputError(f"{name} is {flat[name]}; the limit on this page is {limit:g}")
    return settings


def _recommended(game: Game) -> dict[str, Any]:
    """Return the settings that the story's TOML recommends; an uploaded one is not trusted."""
    settings = recommended_settings(game)
    return {name: value for name, value in settings.items() if name not in FILES}


def _check_no_code(settings: Mapping[str, Any]) -> None:
    for name, value in settings.items():
        is_code = isinstance(value, str) and (is_object(value) or value in FILE_ENCODERS)
        if is_code or (name in FILES and value is not None):
            raise InputError(f'{name} "{value}" is available only on the command line')
