"""The process that plays a game for everybody, and checks the settings of a run of the game.

An episode is its seed and its moves: indices of actions, which are in the author's order, and new
values of variables.
"""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from textgames.errors import InputError
from textgames.game import contract
from textgames.game.contract import Game, Observation, checked, title_of
from textgames.openers import GameSpec
from textgames_page.products import AGENTS, needed

if TYPE_CHECKING:
    from storytest.playtest.clicks import ClickPath


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
    pages: list[Page] = field(default_factory=list)  # before the first move, and after each

    def play(self, seed: int, moves: Sequence[Move]) -> None:
        """Play to where the moves lead, from the current page if that is on the path."""
        if seed != self.seed or list(moves[: len(self.moves)]) != self.moves:
            self.seed = -1
            self.moves = []
            self.pages = []
            self._add(self.game.reset(seed), 0.0)
        for move in moves[len(self.moves) :]:
            self.seed = -1
            if isinstance(move, int):
                self._step(move)
            else:
                self._set_variables(move)
            self.moves.append(move)
        self.seed = seed

    def _step(self, index: int) -> None:
        if not 0 <= index < len(self.pages[-1].actions):
            raise InputError(f"There is no action {index} on this page. Has the story changed?")
        self._add(self.game.step(index), self.pages[-1].total)

    def _set_variables(self, values: Mapping[str, Any]) -> None:
        page = self.pages[-1]
        if not page.settable or not values.keys() <= page.variables.keys():
            raise InputError("These variables cannot be given other values.")
        game: Any = self.game
        names = _variable_names(game)
        shown = game.set_variables({names[name]: value for name, value in values.items()})
        self._add(shown, page.total - shown.reward)

    def _add(self, observation: Observation, total: float) -> None:
        game = self.game
        page = checked(game, observation)
        self.pages.append(
            Page(
                page.text,
                page.actions,
                page.reward,
                total + page.reward,
                page.ended,
                contract.is_stopped(game),
                contract.ending_of(game, page),
                title_of(game),
                **_author_view(game),
            )
        )


def _variable_names(game: Any) -> dict[str, str]:
    """The variables of a story by their names as the author writes them."""
    from storytest.playtest.coverage import Source

    source = Source(game)
    return {source.name_of(name): name for name in game.position_at(game.state).variables}


def _author_view(game: Game) -> dict[str, Any]:
    """The parts of a `Page` that only the games of stories have."""
    try:
        from storytest.authored import AuthoredGame, VariableSetter
    except ImportError:
        return {}
    if not isinstance(game, AuthoredGame):
        return {"settable": isinstance(game, VariableSetter)}
    position = game.position_at(game.state)
    variables = position.variables
    return {
        "passage": position.passage,
        "variables": {name: variables[cell] for name, cell in _variable_names(game).items()},
        "settable": isinstance(game, VariableSetter),
    }


class GameWorker:
    """Plays a game. Each session has its own copy of it.

    Args:
        spec: How the game is opened.
        copies: Episodes in progress. Others are played again from the start.
    """

    def __init__(self, spec: GameSpec, copies: int = 64) -> None:
        self.game = replace(spec, shuffle=False).open()
        self._copies = min(contract.most_copies_of(self.game), copies)
        self._episodes: OrderedDict[str, _Episode] = OrderedDict()  # last used last

    def pages(self, session: str, seed: int, moves: Sequence[Move], since: int) -> list[Page]:
        """The pages of an episode, from that after `since` moves on."""
        episode = self._episode(session)
        episode.play(seed, moves)
        return episode.pages[since:]

    def locate(self, session: str, path: "ClickPath") -> tuple[int, list[int]]:
        """The seed and the choices of an episode that follows a path."""
        from storytest.playtest.clicks import replay_episode

        episode = self._episode(session)
        episode.seed = -1
        seed, clicks = replay_episode(episode.game, path)
        return seed, [index for _, index in clicks if index is not None]

    def form(self, paper: bool) -> list[dict[str, Any]]:
        """The settings that an agent can learn the game with."""
        with needed(AGENTS):
            from textgames_page.run_form import settings_form

        return settings_form(self.game, paper=paper)

    def config(self, values: Mapping[str, Any], paper: bool) -> dict[str, Any]:
        """Check the values of a form. Returns the name, the title and all settings of the run."""
        with needed(AGENTS):
            from textgames_page.run_form import settings_from

        settings = settings_from(self.game, values, paper=paper)
        title = title_of(self.game)
        return {"name": self.game.name, "title": title, "settings": settings.flat()}

    def _episode(self, session: str) -> _Episode:
        episode = self._episodes.pop(session, None)
        if episode is None and len(self._episodes) < self._copies:
            copy = contract.another(self.game) if self._episodes else self.game
            episode = None if copy is None else _Episode(copy)
        if episode is None:
            episode = self._episodes.popitem(last=False)[1]
        self._episodes[session] = episode
        return episode


class OpeningWorker:
    """Opens games once, to find out whether they can be played."""

    def open(self, spec: GameSpec, characters: int = 3_000) -> tuple[str, str]:
        """The title of a game, and the start of the text of its first page."""
        game = spec.open()
        try:
            page = game.reset(0)
            if page.ended:
                cause = "the game ends on its first page, so there is nothing to choose"
                raise InputError(f"{game.name}: {cause}")
            return title_of(game), page.text[:characters]
        finally:
            contract.close(game)
