"""A compiled game under a policy: what is left is chance, and what to expect of it is linear equations."""

from __future__ import annotations

import numpy as np

from drrn.games.graph import Flags, Floats, Ints, StateGraph, ranges, totals

PRECISION = 1e-12
PATIENCE = 3_000  # rounds after which a series is called slow
DENSE = 4_000  # states up to which equations are solved; of more, a slow series is summed on
WINDOW = 16  # rounds over which to see how fast the series shrinks
MOST_ROUNDS = 1_000_000


def uniform(graph: StateGraph) -> Floats:
    """The probability of each slot where every action is as likely."""
    return (1.0 / np.maximum(graph.count, 1))[graph.slot_state]


def softmax(graph: StateGraph, q: Floats, scale: float = 1.0) -> Floats:
    """The probability of each slot in proportion to exp(scale · q), with a q for each slot."""
    states = graph.slot_state
    most = np.full(len(graph), -np.inf)
    np.maximum.at(most, states, scale * q)
    weight = np.exp(scale * q - most[states])
    shares: Floats = weight / totals(states, weight, len(graph))[states]
    return shares


class Chain:
    """Steps from state to state, each with its chance; `start` has the chance of each state to be the first."""

    def __init__(self, graph: StateGraph, probabilities: Floats) -> None:
        taken = np.flatnonzero(probabilities > 0)
        rows = graph.row[taken]
        counts = np.diff(graph.row_first)[rows]
        outcomes, slots = ranges(graph.row_first[rows], counts), np.repeat(taken, counts)
        self.origin: Ints = graph.slot_state[slots]
        self.successor: Ints = graph.successor[outcomes]
        self.chance: Floats = probabilities[slots] * graph.probability[outcomes]
        self.start, self.ended = graph.start, graph.ended

    def leads_to(self, target: Flags) -> Flags:
        """The states from which the target can be reached."""
        found: Flags = target.copy()
        while not found[(before := self.origin[found[self.successor]])].all():
            found[before] = True
        return found

    def visits(self, rounds: int = MOST_ROUNDS) -> Floats:
        """How often each state is expected to be visited. Where no ending can be reached any more, only the first
        arrival counts, for what follows goes on for ever. Only so many rounds (steps) count."""
        steps = (self.leads_to(self.ended) & ~self.ended & self.reached())[self.origin]
        return series(self.start, self.origin[steps], self.successor[steps], self.chance[steps], rounds)

    def reached(self) -> Flags:
        """The states that can be reached from the start."""
        found: Flags = self.start > 0
        while not found[(after := self.successor[found[self.origin]])].all():
            found[after] = True
        return found

    def value(
        self, pay: Floats, discount: float = 1.0, worth: Floats | None = None, rounds: int = MOST_ROUNDS
    ) -> Floats:
        """The expected sum of what arrivals pay in so many steps, for each state; where `worth` is a number, play stops
        with that.

        Undiscounted, it is infinite where play can go on for ever among states that pay.
        """
        worth = np.where(self.ended, 0.0, np.nan if worth is None else worth)
        if discount == 1.0:
            worth = np.where(np.isnan(worth) & self._for_nothing(pay), 0.0, worth)
            endless = ~self.leads_to(~np.isnan(worth))
            worth[endless] = np.copysign(np.inf, pay[endless].min(initial=0.0))
            for limit in (np.inf, -np.inf):
                worth[self.leads_to(worth == limit) & np.isnan(worth)] = limit
        go_on = np.isnan(worth)
        steps = go_on[self.origin]
        origin, successor, chance = self.origin[steps], self.successor[steps], self.chance[steps]
        at_once = chance * (pay + discount * np.where(go_on, 0.0, worth))[successor]
        paid = series(totals(origin, at_once, len(worth)), successor, origin, discount * chance, rounds)
        return np.where(go_on, paid, worth)

    def _for_nothing(self, pay: Floats) -> Flags:
        """The states from which play goes on for ever without paying."""
        found: Flags = ~self.ended
        while (leave := found[self.origin] & ~(found & (pay == 0))[self.successor]).any():
            found[self.origin[leave]] = False
        return found


def series(first: Floats, source: Ints, target: Ints, weight: Floats, rounds: int = MOST_ROUNDS) -> Floats:
    """first + A·first + A²·first + …, where A takes weight · x[source] to target; at most so many terms.

    Most are soon summed. Those of loops that are hardly ever left are not, and are solved as equations instead.
    """
    total, done = _summed(first, source, target, weight, min(rounds, PATIENCE))
    if done or rounds <= PATIENCE:
        return total
    places = np.union1d(source, target)
    if len(places) > DENSE:
        return _summed(first, source, target, weight, rounds)[0]
    matrix = np.eye(len(places))
    np.subtract.at(matrix, (np.searchsorted(places, target), np.searchsorted(places, source)), weight)
    solved: Floats = first.copy()
    solved[places] = np.linalg.solve(matrix, first[places])
    return solved


def _summed(first: Floats, source: Ints, target: Ints, weight: Floats, rounds: int) -> tuple[Floats, bool]:
    """The sum of the series' terms, and whether the rest is too small to matter."""
    term, earlier = first, float("inf")
    total: Floats = first.copy()
    for number in range(1, rounds + 1):
        term = totals(target, weight * term[source], len(first))
        total += term
        if number % WINDOW == 0:
            now = float(np.abs(term).max())
            if now == 0 or (now < earlier and WINDOW * now / (1 - now / earlier) < PRECISION * np.abs(total).max()):
                return total, True
            earlier = now
    return total, False
