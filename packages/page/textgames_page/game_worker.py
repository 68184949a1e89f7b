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
            else:
                game: Any = self.game  # a `VariableSetter`: its page was `settable`
                names = _variable_names(game)
                self.page = game.set_variables({names[name]: move[name] for name in move})
            self.moves.append(move)
        self.seed = seed

    def _step(self, index: int) -> None:
        if not 0 <= index < len(self.page.actions):
            raise InputError("This action no longer exists. The story has changed.")
        self.page = checked(self.game, self.game.step(index))
        self.total += self.page.reward


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
    """Plays the game of its first question. Each session has its own copy of the game.

    Args:
        copies: Episodes in progress. Others are played again from the start.
    """

    def __init__(self, copies: int = 64) -> None:
        self._copies = copies
        self._game: Game | None = None
        self._episodes: OrderedDict[str, _Episode] = OrderedDict()  # last used last

    def page(self, spec: GameSpec, session: str, seed: int, moves: Sequence[Move]) -> Page:
        """The page that the moves lead to."""
        episode = self._episode(spec, session)
        episode.replay(seed, moves)
        page = episode.page
        game = episode.game
        return Page(
            page.text,
            tuple(page.actions),
            float(page.reward),
            episode.total,
            page.ended,
            contract.is_stopped(game),
            contract.ending_of(game, page),
            title_of(game),
            **_author_view(game),
        )

    def locate(self, spec: GameSpec, session: str, path: "ClickPath") -> tuple[int, list[int]]:
        """The seed and the choices of an episode that follows a path."""
        from storytest.playtest.clicks import replay_episode

        episode = self._episode(spec, session)
        episode.seed = -1
        seed, clicks = replay_episode(episode.game, path)
        return seed, [index for _, index in clicks if index is not None]

    def form(self, spec: GameSpec, paper: bool) -> list[dict[str, Any]]:
        """The settings that an agent can learn the game with."""
        with needed(AGENTS):
            from textgames_page.run_form import settings_form

        return settings_form(self._open(spec), paper=paper)

    def config(self, spec: GameSpec, values: Mapping[str, Any], paper: bool) -> dict[str, Any]:
        """Check the values of a form. Returns the name, the title and all settings of the run."""
        with needed(AGENTS):
            from textgames_page.run_form import settings_from

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
        most = min(contract.most_copies_of(game), self._copies)
        if episode is None and len(self._episodes) < most:
            copy = contract.another(game) if self._episodes else game
            episode = None if copy is None else _Episode(copy)
        if episode is None:
            episode = self._episodes.popitem(last=False)[1]
        self._episodes[session] = episode
        return episode


class OpeningWorker:
    """Opens games once, to find out whether they can be played."""

    def open(self, spec: GameSpec) -> dict[str, Any]:
        """The title of a game, and what is left out if it cannot be played otherwise."""
        try:
            return self._open(spec)
        except InputError:
            return self._open(replace(spec, lenient=True))

    def opening(self, spec: GameSpec, characters: int = 3_000) -> str:
        """The start of the text of the first page."""
        game = spec.open()
        try:
            return game.reset(0).text[:characters]
        finally:
            contract.close(game)

    def _open(self, spec: GameSpec) -> dict[str, Any]:
        game = spec.open()
        try:
            if game.reset(0).ended:
                cause = "the game ends on its first page, so there is nothing to choose"
                raise InputError(f"{game.name}: {cause}")
            notes = _notes(game) if spec.lenient else []
            return {"title": title_of(game), "lenient": spec.lenient, "notes": notes}
        finally:
            contract.close(game)


def _notes(game: Game) -> list[str]:
    """What is left out of a story, so that it can be played."""
    from storytest.authored import Explorable
    from storytest.twine.script import summarise

    problems = game.problems if isinstance(game, Explorable) else ()
    return [f"skipped: {line}" for line in summarise(problems)]
