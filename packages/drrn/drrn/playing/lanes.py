"""Games played side by side: each lane plays one episode after another on its own copy."""

import functools
import logging
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from textgames.errors import InputError
from textgames.game.contract import (
    Game,
    Observation,
    another,
    checked,
    close,
    ending_of,
    is_stopped,
    most_copies_of,
)
from textgames.openers import GameSpec, failure_of_user
from textgames.processes import Service, ServiceError, refuse
from textgames.watchdog import watched

log = logging.getLogger("textgames")


@dataclass(frozen=True, slots=True)
class LanePage:
    """The page of a lane, the name of its ending, and whether the game truncated the episode."""

    observation: Observation
    ending: str | None
    stopped: bool


class LocalLanes:
    """Lanes in this process: the game's own copies, or more openings of it, or the game alone.

    Games start and step together. Answers are in the order of the given lanes.

    Args:
        game: The game.
        spec: How it was opened, or None if it was given as an object.
        openings: The number of lanes of a game that is opened by name and cannot copy itself.
    """

    def __init__(self, game: Game, spec: GameSpec | None = None, openings: int = 16) -> None:
        self.game = game
        copy = another(game)
        self._open = spec.open if spec and copy is None else functools.partial(another, game)
        self.most = openings if spec else 1  # number of lanes
        if copy is not None:
            self.most = most_copies_of(game)
        self._opened: list[Game] = []
        self._finalizer = weakref.finalize(self, _close_and_report, self._opened)
        self._games = {0: game if copy is None else self._own(copy)}
        self._steps: dict[int, int] = {}  # of the lanes' episodes

    def reset(self, lanes: Sequence[int], seeds: Sequence[int]) -> list[LanePage]:
        """Start a new episode in each lane. Returns the first pages."""
        self._steps |= dict.fromkeys(lanes, 0)
        games = [self._game(lane) for lane in lanes]
        return [_page(game, game.reset(seed)) for game, seed in zip(games, seeds, strict=True)]

    def step(self, lanes: Sequence[int], actions: Sequence[int]) -> list[LanePage]:
        """Take the action with that index in each lane. Returns the next pages."""
        pages = []
        for lane, index in zip(lanes, actions, strict=True):
            game = self._games[lane]
            self._steps[lane] += 1
            pages.append(_page(game, game.step(index), self._steps[lane]))
        return pages

    def close(self) -> None:
        """Close the copies. Garbage collection does it, too, and only reports a failure."""
        self._finalizer.detach()
        if failure := _close(self._opened):
            raise InputError(failure)

    def _game(self, lane: int) -> Game:
        if lane not in self._games:
            self._games[lane] = self._own(self._open())
        return self._games[lane]

    def _own(self, game: Game | None) -> Game:
        """Check that a game is new: one that another lane plays would mix their episodes."""
        if game is None or any(game is each for each in (self.game, *self._opened)):
            cause = "another(), or its factory, must return a new game each time"
            raise InputError(f"{self.game.name}: {cause}")
        self._opened.append(game)
        return game


def _page(game: Game, observation: Observation, step: int = 0) -> LanePage:
    observation = checked(game, observation, step)
    stopped = bool(observation.actions) and is_stopped(game)
    return LanePage(observation, ending_of(game, observation), stopped)


def _close(games: list[Game]) -> str:
    """Close games. Returns the last failure."""
    failure = ""
    while games:
        game = games.pop()
        try:
            close(game)
        except BaseException as error:
            failure = failure_of_user(error) or f"{game.name} was not closed: {error}"
    return failure


def _close_and_report(games: list[Game]) -> None:
    if failure := _close(games):
        log.error("%s", failure)


class SpecLanes(LocalLanes):
    """Lanes of a game that a worker process opens and closes."""

    def __init__(self, spec: GameSpec) -> None:
        with _users_code():
            super().__init__(spec.open(), spec)
        self._opened.append(self.game)

    def close(self) -> None:
        """Close what `LocalLanes.close` has not closed; called when the process ends."""
        self._finalizer()

    def count(self) -> int:
        return self.most

    def call(self, method: str, *arguments: Any) -> Any:
        """Call a method of `LocalLanes`."""
        with _users_code():
            return getattr(LocalLanes, method)(self, *arguments)


@contextmanager
def _users_code() -> Iterator[None]:
    """Turn exceptions of a game's code into an `InputError`; end a call that does not return."""
    try:
        with watched(refuse):
            yield
    except BaseException as error:
        if message := failure_of_user(error):
            raise InputError(message) from error
        raise


class PooledLanes:
    """Lanes in worker processes, for slow games. Results do not depend on their number."""

    def __init__(self, spec: GameSpec, workers: int) -> None:
        self.source = spec.source
        self.services = [Service(SpecLanes, spec) for _ in range(workers)]
        questions = [service.send("count") for service in self.services]
        for service, question in zip(self.services, questions, strict=True):
            self.most: int = self._answer(service, question)

    def reset(self, lanes: Sequence[int], seeds: Sequence[int]) -> list[LanePage]:
        return self._ask("reset", lanes, seeds)

    def step(self, lanes: Sequence[int], actions: Sequence[int]) -> list[LanePage]:
        return self._ask("step", lanes, actions)

    def close(self) -> None:
        """Close the games of all processes."""
        for service in self.services:
            self._answer(service, service.send("call", "close"))

    def _ask(self, method: str, lanes: Sequence[int], numbers: Sequence[int]) -> list[LanePage]:
        """Ask all processes at once. Process i plays the lanes with remainder i."""
        count = len(self.services)
        questions = []
        for number, service in enumerate(self.services):
            share = [at for at, lane in enumerate(lanes) if lane % count == number]
            if share:
                own_lanes = [lanes[at] // count for at in share]
                question = service.send("call", method, own_lanes, [numbers[at] for at in share])
                questions.append((service, question, share))
        pages: dict[int, LanePage] = {}
        for service, question, share in questions:
            pages.update(zip(share, self._answer(service, question), strict=True))
        return [pages[at] for at in range(len(lanes))]

    def _answer(self, service: Service, question: int) -> Any:
        try:
            return service.answer(question)
        except ServiceError as error:
            if error.reason == "raised":
                message = f"the game failed in a worker process:\n{error.details}"
                raise RuntimeError(message) from error
            cause = f"{self.source}: stepping the game failed: {error}"
            raise InputError(f"{cause}; it may have run out of memory") from error


Lanes = LocalLanes | PooledLanes


def lanes_of(game: Game, spec: GameSpec | None, workers: int, history: int) -> Lanes:
    """Lanes in this process, or in worker processes, which open the game by its name."""
    own = replace(spec, history=history) if spec else None
    if workers == 1:
        return LocalLanes(game, own)
    if own is None or own.source.startswith("__main__:"):
        cause = "workers open the game by its name"
        raise InputError(f"{game.name}: {cause}; give it as a name or as module:factory")
    return PooledLanes(own, workers)
