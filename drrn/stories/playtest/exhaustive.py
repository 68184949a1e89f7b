"""Exhaustive search of a game that lists its outcomes: every state with all its variables, new pages first."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any

from drrn.errors import InputError
from drrn.game.contract import Game, Observation
from drrn.game.enumerable import Enumerable
from drrn.stories.authored import Position
from drrn.stories.hosted.stage import LostError, UnlistedError
from drrn.stories.playtest.clicks import ClickPath
from drrn.stories.playtest.sightings import Arrival, Sightings, ending_key

MOST_STATES = 100_000
# of one action that are looked at, and how long at most
MOST_OUTCOMES = 300
OUTCOME_SECONDS = 1.0
SAMPLES = 3  # of what an action leads to, where that cannot be listed
ENOUGH = 20_000  # states after which it is asked whether more would bring anything new

Progress = Callable[[int], None]


class _Search:
    """A breadth-first search: the states met, and from where each was first reached."""

    def __init__(self, game: Any, sightings: Sightings, until: float) -> None:
        self.game = game
        self.sightings = sightings
        self.until = until
        self.came_from: dict[Hashable, tuple[Hashable, int, float] | None] = {}
        self.arrivals: dict[Hashable, Arrival] = {}
        self.led_to: dict[
            tuple[Hashable, int], dict[Hashable, float]
        ] = {}  # by chance, where a step has several ends
        self.fresh: deque[Hashable] = deque()  # states to leave whose page is new
        self.known: deque[Hashable] = deque()  # and those whose page was seen before
        self.listed = True  # whether all outcomes could be
        self.last_news = 0  # how many states there were when something new was met

    def whole(self, progress: Progress | None) -> bool:
        """Search until all states were left; False where time or the number of states did not suffice."""
        for chance, state in self._bounded(self.game.opening()):
            self._meet(None, 0, chance, state)
        while self.fresh or self.known:
            state = (self.fresh or self.known).popleft()
            if not self._is_worth_it():
                return False
            for index in range(len(self.arrivals[state].shown.actions)):
                if not self._follow(state, index):
                    return False
            if progress:
                progress(len(self.came_from))
        return self.listed

    def _follow(self, state: Hashable, index: int) -> bool:
        try:
            for chance, successor in self._outcomes(state, index):
                self._meet(state, index, chance, successor)
                if time.monotonic() > self.until or len(self.came_from) > MOST_STATES:
                    return False
        except LostError:
            self.listed = False
        except InputError as error:  # the page cannot be told, and the search goes on elsewhere
            passage = self.arrivals[state].position.passage
            action = self.arrivals[state].shown.actions[index]
            path = self._path(state)
            self.sightings.throw(
                f"{passage}: {error}",
                lambda: ClickPath((*path.actions, action), (*path.choices, index), comes_to=""),
            )
        return time.monotonic() <= self.until

    def _outcomes(self, state: Hashable, index: int) -> Iterator[tuple[float, Hashable]]:
        """What chance can make of an action; some of it, where that cannot be listed."""
        try:
            yield from self._bounded(self.game.outcomes(state, index))
        except UnlistedError:
            self.listed = False
            for key in range(SAMPLES):
                yield 1.0, self.game.after(state, index, key)

    def _bounded(
        self, outcomes: Iterable[tuple[float, Hashable]]
    ) -> Iterator[tuple[float, Hashable]]:
        """The first of the outcomes: a page can draw more lots than there is time for."""
        until = min(self.until, time.monotonic() + OUTCOME_SECONDS)
        for number, outcome in enumerate(outcomes):
            yield outcome
            if number + 1 >= MOST_OUTCOMES or time.monotonic() > until:
                self.listed = False
                return

    def _meet(self, before: Hashable, index: int, chance: float, state: Hashable) -> None:
        new = None
        if state not in self.came_from:
            self.came_from[state] = None if before is None else (before, index, chance)
            self.arrivals[state] = self._arrival(state)
            new = state
        come = self.arrivals[before] if before is not None else None
        known = self._met()
        fresh = self.sightings.arrive(come, index, self.arrivals[state], lambda: self._path(state))
        if new is not None:
            (self.fresh if fresh else self.known).append(state)
        if before is not None and chance < 1:
            self.led_to.setdefault((before, index), {})[state] = chance
        if known != self._met():
            self.last_news = len(self.came_from)

    def _met(self) -> tuple[int, ...]:
        """How much was met that a report tells of."""
        seen = self.sightings
        return len(seen.passages), len(seen.links), len(seen.endings), len(seen.errors), seen.values

    def _is_worth_it(self) -> bool:
        """Whether to go on: not where most of the states met brought nothing new, and nothing is to be proven."""
        if self.sightings.forbidden:
            return True
        return len(self.came_from) < max(ENOUGH, 2 * self.last_news)

    def _arrival(self, state: Hashable) -> Arrival:
        shown: Observation = self.game.look(state)
        position = self.game.position_at(state) if hasattr(self.game, "position_at") else Position()
        if shown.actions:
            return Arrival(shown, position)
        named = getattr(self.game, "ending_at", None)  # which it says of endings alone
        return Arrival(
            shown, position, ending_key(named(state) if named else None, position, shown)
        )

    def _decides(
        self, step: tuple[Hashable, int, float], wanted: str | None, last: Arrival
    ) -> float:
        """How likely a step leads to where the next action can be taken; 1 where chance decides nothing."""
        ends = self.led_to.get(step[:2])
        if ends is None:
            return step[2]
        kind = sum(
            chance for end, chance in ends.items() if _leads_on(self.arrivals[end], wanted, last)
        )
        return min(1.0, max(kind, step[2]))

    def _path(self, state: Hashable) -> ClickPath:
        """The clicks by which a state was first reached."""
        last = self.arrivals[state]
        text = self.arrivals[state].shown.text
        steps: list[tuple[str, int, float]] = []
        while (step := self.came_from[state]) is not None:
            before, index = step[:2]
            wanted = steps[-1][0] if steps else None
            steps.append(
                (
                    self.arrivals[before].shown.actions[index],
                    index,
                    self._decides(step, wanted, last),
                )
            )
            state = before
        steps.reverse()
        actions = tuple(step[0] for step in steps)
        choices = tuple(step[1] for step in steps)
        return ClickPath(actions, choices, None, tuple(step[2] for step in steps), text)


def _leads_on(arrival: Arrival, wanted: str | None, last: Arrival) -> bool:
    """Whether an action is offered there; None: whether it is the same page."""
    return arrival.key == last.key if wanted is None else wanted in arrival.shown.actions


def search_exhaustively(
    game: Game, sightings: Sightings, until: float, progress: Progress | None = None
) -> None:
    """Meet every state while there is time; `complete` says whether there was."""
    if not isinstance(game, Enumerable):
        return
    search = _Search(game, sightings, until)
    try:
        sightings.complete = search.whole(progress)
    except (
        InputError,
        LostError,
        UnlistedError,
    ):  # it was compiled, but not all of it can be told a second time
        sightings.complete = False
    finally:
        sightings.states = max(sightings.states, len(search.came_from))
