"""Search of all states of a game that lists its outcomes, new pages first."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any

from drrn.errors import InputError
from drrn.game.contract import Game
from drrn.game.enumerable import Enumerable
from drrn.stories.authored import AuthoredGame, Position
from drrn.stories.hosted.stage import LostError, UnlistedError
from drrn.stories.playtest.clicks import ClickPath
from drrn.stories.playtest.evidence import Arrival, Evidence

MAX_STATES = 100_000
MAX_OUTCOMES = 300  # of one action
OUTCOME_SECONDS = 1.0  # for the outcomes of one action
SAMPLES = 3  # of an action's outcomes, if they cannot be listed
ENOUGH = 20_000  # states after which the search stops once it finds nothing new

Origin = tuple[Hashable, int, float]  # state, index of the action, probability


def search_states(
    game: Game, evidence: Evidence, until: float, progress: Callable[[int], None] | None = None
) -> None:
    """Visit every state while there is time; set `evidence.complete` if all were visited."""
    if not isinstance(game, Enumerable):
        return
    search = _Search(game, evidence, until)
    try:
        evidence.complete = search.run(progress or (lambda _: None))
    except (InputError, LostError, UnlistedError):  # a page could not be shown a second time
        evidence.complete = False
    finally:
        evidence.states = max(evidence.states, len(search.origins))


class _Search:
    """A breadth-first search."""

    def __init__(self, game: Any, evidence: Evidence, until: float) -> None:
        self.game = game
        self.evidence = evidence
        self.until = until
        self.origins: dict[Hashable, Origin | None] = {}  # how each state was first reached
        self.arrivals: dict[Hashable, Arrival] = {}
        # Successors with their probabilities, of actions with several outcomes.
        self.outcomes: dict[tuple[Hashable, int], dict[Hashable, float]] = {}
        self.new_pages: deque[Hashable] = deque()  # states to leave
        self.old_pages: deque[Hashable] = deque()
        self.is_listed = True  # whether all outcomes could be listed
        self.last_news = 0  # number of states when something new was last seen

    def run(self, progress: Callable[[int], None]) -> bool:
        """Return whether every state was visited."""
        for chance, state in self._bounded(self.game.opening()):
            self._visit(None, 0, chance, state)
        while self.new_pages or self.old_pages:
            state = (self.new_pages or self.old_pages).popleft()
            if not self._is_worthwhile():
                return False
            for index in range(len(self.arrivals[state].page.actions)):
                if not self._follow(state, index):
                    return False
            progress(len(self.origins))
        return self.is_listed

    def _is_worthwhile(self) -> bool:
        """Stop if most states brought nothing new, unless a condition must be checked in all."""
        if self.evidence.forbidden:
            return True
        return len(self.origins) < max(ENOUGH, 2 * self.last_news)

    def _follow(self, state: Hashable, index: int) -> bool:
        """Visit the outcomes of an action; return False if time or states have run out."""
        try:
            for chance, successor in self._outcomes(state, index):
                self._visit(state, index, chance, successor)
                if time.monotonic() > self.until or len(self.origins) > MAX_STATES:
                    return False
        except LostError:
            self.is_listed = False
        except InputError as error:  # the page cannot be shown; the search continues elsewhere
            arrival = self.arrivals[state]
            path = self._path(state)
            actions = (*path.actions, arrival.page.actions[index])
            failing = ClickPath(actions, (*path.choices, index))
            self.evidence.add_error(f"{arrival.position.passage}: {error}", lambda: failing)
        return time.monotonic() <= self.until

    def _outcomes(self, state: Hashable, index: int) -> Iterator[tuple[float, Hashable]]:
        """Yield the outcomes of an action; a sample, if they cannot be listed."""
        try:
            yield from self._bounded(self.game.outcomes(state, index))
        except UnlistedError:
            self.is_listed = False
            for key in range(SAMPLES):
                yield 1.0, self.game.after(state, index, key)

    def _bounded(
        self, outcomes: Iterable[tuple[float, Hashable]]
    ) -> Iterator[tuple[float, Hashable]]:
        """Yield the first outcomes: a page can have more random draws than there is time for."""
        until = min(self.until, time.monotonic() + OUTCOME_SECONDS)
        for number, outcome in enumerate(outcomes, 1):
            yield outcome
            if number >= MAX_OUTCOMES or time.monotonic() > until:
                self.is_listed = False
                return

    def _visit(self, before: Hashable, index: int, chance: float, state: Hashable) -> None:
        is_new_state = state not in self.origins
        if is_new_state:
            self.origins[state] = None if before is None else (before, index, chance)
            self.arrivals[state] = self._arrival(state)
        origin = self.arrivals[before] if before is not None else None
        size = self.evidence.size
        now = self.arrivals[state]
        is_new_page = self.evidence.arrive(origin, index, now, lambda: self._path(state))
        if is_new_state:
            (self.new_pages if is_new_page else self.old_pages).append(state)
        if before is not None and chance < 1:
            self.outcomes.setdefault((before, index), {})[state] = chance
        if size != self.evidence.size:
            self.last_news = len(self.origins)

    def _arrival(self, state: Hashable) -> Arrival:
        page = self.game.look(state)
        is_story = isinstance(self.game, AuthoredGame)
        position = self.game.position_at(state) if is_story else Position()
        ending_at = None if page.actions else getattr(self.game, "ending_at", None)
        return Arrival(page, position, ending_at(state) if ending_at else None)

    def _path(self, state: Hashable) -> ClickPath:
        """Return the clicks by which a state was first reached."""
        last = self.arrivals[state]
        actions: list[str] = []
        choices: list[int] = []
        chances: list[float] = []
        while (origin := self.origins[state]) is not None:
            chances.append(self._chance(origin, actions[-1] if actions else None, last))
            state, index, _ = origin
            actions.append(self.arrivals[state].page.actions[index])
            choices.append(index)
        for steps in (actions, choices, chances):
            steps.reverse()
        return ClickPath(tuple(actions), tuple(choices), None, tuple(chances), last.page.text)

    def _chance(self, origin: Origin, action: str | None, last: Arrival) -> float:
        """Return how likely a step leads to where the next action, or the last page, follows."""
        state, index, chance = origin
        successors = self.outcomes.get((state, index))
        if successors is None:
            return chance
        favourable = 0.0
        for successor, probability in successors.items():
            arrival = self.arrivals[successor]
            if arrival.key == last.key if action is None else action in arrival.page.actions:
                favourable += probability
        return min(1.0, max(favourable, chance))
