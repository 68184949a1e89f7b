"""Exhaustive search of a game that lists its outcomes: every state with all its variables, and the way to each."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Hashable
from typing import Any

from drrn.authoring.clicks import ClickPath
from drrn.authoring.sightings import Arrival, Sightings, ending_key
from drrn.errors import InputError
from drrn.games.contract import Game, Observation
from drrn.games.enumerable import Enumerable
from drrn.games.hosted.stage import LostError, UnlistedError
from drrn.games.stories.position import Position

MOST_STATES = 100_000

Progress = Callable[[int], None]


class _Search:
    """A breadth-first search: the states met, and from where each was first reached."""

    def __init__(self, game: Any, sightings: Sightings, until: float) -> None:
        self.game, self.sightings, self.until = game, sightings, until
        self.came_from: dict[Hashable, tuple[Hashable, int, float] | None] = {}
        self.arrivals: dict[Hashable, Arrival] = {}
        self.queue: deque[Hashable] = deque()

    def whole(self, progress: Progress | None) -> bool:
        """Search until all states were left; False where time or the number of states did not suffice."""
        for chance, state in self.game.opening():
            self._meet(None, 0, chance, state)
        while self.queue:
            state = self.queue.popleft()
            for index in range(len(self.arrivals[state].shown.actions)):
                if not self._follow(state, index):
                    return False
            if progress:
                progress(len(self.came_from))
        return True

    def _follow(self, state: Hashable, index: int) -> bool:
        try:
            for chance, successor in self.game.outcomes(state, index):
                self._meet(state, index, chance, successor)
                if time.monotonic() > self.until or len(self.came_from) > MOST_STATES:
                    return False
        except InputError as error:  # the page cannot be told, and the search goes on elsewhere
            passage = self.arrivals[state].position.passage
            action = self.arrivals[state].shown.actions[index]
            path = self._path(state)
            self.sightings.throw(
                f"{passage}: {error}", lambda: ClickPath((*path.actions, action), (*path.choices, index), comes_to="")
            )
        return True

    def _meet(self, before: Hashable, index: int, chance: float, state: Hashable) -> None:
        if state not in self.came_from:
            self.came_from[state] = None if before is None else (before, index, chance)
            self.arrivals[state] = self._arrival(state)
            self.queue.append(state)
        come = self.arrivals[before] if before is not None else None
        self.sightings.arrive(come, index, self.arrivals[state], lambda: self._path(state))

    def _arrival(self, state: Hashable) -> Arrival:
        shown: Observation = self.game.look(state)
        position = self.game.position_at(state) if hasattr(self.game, "position_at") else Position()
        named = getattr(self.game, "ending_at", None)
        name = named(state) if named else None
        return Arrival(shown, position, None if shown.actions else ending_key(name, position, shown))

    def _path(self, state: Hashable) -> ClickPath:
        """The clicks by which a state was first reached."""
        text = self.arrivals[state].shown.text
        steps = []
        while (step := self.came_from[state]) is not None:
            before, index, chance = step
            steps.append((self.arrivals[before].shown.actions[index], index, chance))
            state = before
        steps.reverse()
        actions, choices = tuple(step[0] for step in steps), tuple(step[1] for step in steps)
        return ClickPath(actions, choices, None, tuple(step[2] for step in steps), text)


def search_exhaustively(game: Game, sightings: Sightings, until: float, progress: Progress | None = None) -> None:
    """Meet every state while there is time; `complete` says whether there was."""
    if not isinstance(game, Enumerable):
        return
    search = _Search(game, sightings, until)
    try:
        sightings.complete = search.whole(progress)
    except (InputError, LostError, UnlistedError):  # it was compiled, but not all of it can be told a second time
        sightings.complete = False
    finally:
        sightings.states = max(sightings.states, len(search.came_from))
