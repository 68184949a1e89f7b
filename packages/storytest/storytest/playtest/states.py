"""The search of a play-test: visits every state of a story while its budget lasts."""

import math
from collections.abc import Hashable

from storytest.playtest.budget import Meter
from storytest.playtest.clicks import ClickPath
from storytest.playtest.evidence import Arrival, Evidence, arrival_of
from storytest.search import StateSearch
from textgames.errors import InputError
from textgames.game.contract import Game

OVERTIME = 3  # × the part of a budget, which the search of a small story may spend in addition

Origin = tuple[Hashable, int, float]  # state, index of the action, probability


class Search(StateSearch):
    """Visits states and records as evidence what it meets, and the clicks that lead there.

    A search that cannot be complete ends early, because games find more for the same cost.

    Args:
        game: The game.
        evidence: Where to record.
        meter: The budget.
        until: The part of the budget after which the search ends.
        early: The part of its own share after which a search ends that cannot be complete.
        enough: The number of states after which it ends if half of them brought no new page.
    """

    max_outcomes = 300.0

    def __init__(
        self,
        game: Game,
        evidence: Evidence,
        meter: Meter,
        until: float,
        *,
        early: float = 0.3,
        enough: int = 20_000,
    ) -> None:
        super().__init__(game, meter.budget.states, math.inf)
        self.evidence = evidence
        self.meter = meter
        self.start = meter.spent
        self.last = until
        share = until - self.start
        self.overtime = until + OVERTIME * share
        self.early = math.inf if evidence.forbidden else self.start + early * share
        self.enough = enough
        self.origins: dict[Hashable, Origin | None] = {}  # how each state was reached
        self.arrivals: dict[Hashable, Arrival] = {}
        # Successors with their probabilities, of each action of each state (None: the opening).
        self.rows: dict[Hashable, dict[int, dict[Hashable, float]]] = {}
        self.last_news = 0  # number of states when a new page was last seen

    def is_over(self) -> bool:
        """Stop if most states brought no new page, unless a condition must be checked in all.

        A small story is exact on a busy machine, too: its states are counted, not its time.
        """
        count = len(self.visited)
        spent = self.meter.spent
        if count < min(self.meter.budget.least_states, self.limit) and spent < self.overtime:
            return False
        if count >= self.limit or spent > self.last:
            return True
        if spent > self.early and (self.why_not or self._takes_too_long(spent)):
            return True
        return not self.evidence.forbidden and count >= max(self.enough, 2 * self.last_news)

    def _takes_too_long(self, spent: float) -> bool:
        """Whether the states that wait cost more than twice what is left."""
        waiting = len(self._new_pages) + len(self._old_pages)
        cost = (spent - self.start) / max(1, len(self.visited) - waiting)
        return cost * waiting > 2 * (self.last - spent)

    def fail(self, before: Hashable, index: int, error: InputError) -> None:
        """Record the error. The search continues elsewhere."""
        if before is None:
            raise error
        arrival = self.arrivals[before]
        path = self._path(before)
        actions = (*path.actions, arrival.page.actions[index])
        failing = ClickPath(actions, (*path.choices, index))
        self.evidence.add_error(f"{arrival.position.passage}: {error}", lambda: failing)

    def record(self, before: Hashable, index: int, chance: float, state: Hashable) -> bool:
        self.meter.clicks += 1
        if state not in self.origins:
            self.arrivals[state] = arrival_of(self.game, self.game.look(state), state)
            self.origins[state] = None if before is None else (before, index, chance)
        origin = self.arrivals[before] if before is not None else None
        now = self.arrivals[state]
        is_new_page = self.evidence.arrive(origin, index, now, lambda: self._path(state))
        if (before, index) not in self.unlisted:
            row = self.rows.setdefault(before, {}).setdefault(index, {})
            row[state] = row.get(state, 0.0) + chance
        if is_new_page:
            self.last_news = len(self.origins)
        return is_new_page

    def _path(self, state: Hashable) -> ClickPath:
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
        """How likely a step leads to where the next action, or the last page, follows."""
        state, index, chance = origin
        successors = self.rows.get(state, {}).get(index, {})
        if len(successors) < 2:
            return chance
        favourable = 0.0
        for successor, probability in successors.items():
            arrival = self.arrivals[successor]
            if arrival.key == last.key if action is None else action in arrival.page.actions:
                favourable += probability
        return min(1.0, max(favourable, chance))
