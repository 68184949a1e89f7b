"""A search of a game's states, those with new pages first.

`Exploration` collects the pages of a story. The search of a play-test also records how each page
was reached.
"""

import math
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Hashable, Iterator
from time import monotonic
from typing import Any

from textgames.compiled.search import Face
from textgames.errors import InputError
from textgames.processes import work


def clock(waiting: int = 50) -> float:
    """The time that budgets count: CPU seconds of this process and of its engines.

    It hardly depends on the load of the machine. Waiting counts a little, so that a game that
    waits for another program still ends: `waiting` seconds count as one second of work.
    """
    return work() + monotonic() / waiting


class UnlistedError(Exception):
    """The outcomes of a step cannot be listed, for the reason in the message."""


class LostError(Exception):
    """An engine cannot return to a page: the same clicks now show a different one."""


class StateSearch(ABC):
    """Visits states until all are visited or a limit is reached. A subclass records them."""

    # Limit for one action: a page can have more random draws than there is time for.
    max_outcomes: float = math.inf
    samples = 3  # of an action's outcomes, if they cannot be listed

    def __init__(self, game: Any, limit: int, until: float) -> None:
        self.game = game
        self.limit = limit  # states
        self.until = until  # by `clock`
        self.complete = True  # whether every state was visited
        self.why_not = ""  # the first reason why not every state was visited
        self.stochastic = False
        self.visited: set[Hashable] = set()
        self.unlisted: set[tuple[Any, int]] = set()  # actions whose outcomes are a sample
        self._new_pages: deque[Any] = deque()  # states to leave
        self._old_pages: deque[Any] = deque()

    @abstractmethod
    def record(self, before: Any, index: int, chance: float, state: Any) -> bool:
        """Record a step, from None if it is an opening, and return whether it led to a new page."""

    def key(self, state: Hashable) -> Hashable:
        """What identifies a state."""
        return state

    def fail(self, before: Any, index: int, error: InputError) -> None:
        """Handle the error of an action whose page cannot be shown."""
        raise error

    def is_over(self) -> bool:
        return len(self.visited) >= self.limit or clock() > self.until

    def run(self, progress: Callable[[int], None] | None = None) -> None:
        self._follow(None, 0)
        while (waiting := self._new_pages or self._old_pages) and not self.is_over():
            state = waiting.popleft()
            for index in range(len(self.game.look(state).actions)):
                if self.is_over():
                    self._leave_out(self._limit_reached)
                    return
                self._follow(state, index)
            if progress:
                progress(len(self.visited))
        if waiting:
            self._leave_out(self._limit_reached)

    @property
    def _limit_reached(self) -> str:
        count = f"the test visited {len(self.visited):,}"
        return f"not every situation could be visited within the time limit ({count})"

    def _leave_out(self, why: str) -> None:
        self.complete = False
        self.why_not = self.why_not or why

    def _follow(self, before: Any, index: int) -> None:
        try:
            for chance, state in self._outcomes(before, index):
                self.stochastic |= chance < 1
                is_new_page = self.record(before, index, chance, state)
                key = self.key(state)
                if key not in self.visited:
                    self.visited.add(key)
                    (self._new_pages if is_new_page else self._old_pages).append(state)
        except LostError as error:
            self._leave_out(f"the engine {error}")
        except InputError as error:
            self.fail(before, index, error)

    def _outcomes(self, before: Any, index: int) -> Iterator[tuple[float, Any]]:
        """Yield the outcomes of an action, or a sample if they cannot be listed."""
        game = self.game
        outcomes = game.opening() if before is None else game.outcomes(before, index)
        try:
            for number, outcome in enumerate(outcomes, 1):
                yield outcome
                if number >= self.max_outcomes:
                    self._leave_out(f"a click has more than {number:,} random outcomes")
                    return
                if self.is_over():
                    self._leave_out(self._limit_reached)
                    return
        except UnlistedError as error:
            self._leave_out(str(error))
            self.stochastic = True
            self.unlisted.add((before, index))
            state = game.start if before is None else before
            for key in range(self.samples):
                yield 1.0, game.after(state, index, key)


class Exploration(StateSearch):
    """The pages of a story."""

    def __init__(self, game: Any, limit: int, until: float) -> None:
        super().__init__(game, limit, until)
        self.max_outcomes = limit
        self.faces: list[Face] = []  # distinct by text, actions and ending
        self.shown: set[str] = set()  # passages
        self._pages: set[Hashable] = set()

    def key(self, state: Any) -> Hashable:
        key: Hashable = self.game.key_of(state)
        return key

    def record(self, before: Any, index: int, chance: float, state: Any) -> bool:
        self.shown.update(self.game.position_at(state).shown)
        face = self.game.face_at(state)
        page = (face.text, face.actions, face.ending)
        if page in self._pages:
            return False
        self._pages.add(page)
        self.faces.append(face)
        return True
