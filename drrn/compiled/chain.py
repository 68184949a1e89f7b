"""The Markov chain of a compiled game under a policy: expected visits and values, by linear equations."""

from __future__ import annotations

import numpy as np

from drrn.compiled.graph import Flags, Floats, Ints, StateGraph, totals
from drrn.compiled.linear import MOST_TERMS, series
from drrn.text import ranges


def uniform(graph: StateGraph) -> Floats:
    """The probability of each slot where every action is as likely."""
    return (1.0 / np.maximum(graph.count, 1))[graph.slot_state]


def softmax_of_slots(graph: StateGraph, q: Floats, scale: float = 1.0) -> Floats:
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
        states = graph.slot_state
        rows = graph.row
        if graph.deeds is not None:
            deed, states, rows = graph.deeds
            probabilities = totals(deed, probabilities, len(states))
        taken = np.flatnonzero(probabilities > 0)
        rows = rows[taken]
        counts = np.diff(graph.row_first)[rows]
        outcomes = ranges(graph.row_first[rows], counts)
        slots = np.repeat(taken, counts)
        self.origin: Ints = states[slots]
        self.successor: Ints = graph.successor[outcomes]
        self.chance: Floats = probabilities[slots] * graph.probability[outcomes]
        self.start = graph.start
        self.ended = graph.ended

    def leads_to(self, target: Flags) -> Flags:
        """The states from which the target can be reached."""
        found: Flags = target.copy()
        while not found[(before := self.origin[found[self.successor]])].all():
            found[before] = True
        return found

    def visits(self, steps: int | None = None) -> Floats:
        """How often each state is expected to be visited, in so many steps or for as long as it takes. In the long run,
        of states from which no ending can be reached only the first arrival counts: what follows goes on for ever."""
        go_on = self.reached() & ~self.ended
        if steps is None:
            go_on &= self.leads_to(self.ended)
        arrows = go_on[self.origin]
        terms = MOST_TERMS if steps is None else steps
        return series(
            self.start, self.origin[arrows], self.successor[arrows], self.chance[arrows], terms
        )

    def reached(self) -> Flags:
        """The states that can be reached from the start."""
        found: Flags = self.start > 0
        while not found[(after := self.successor[found[self.origin]])].all():
            found[after] = True
        return found

    def value(
        self,
        pay: Floats,
        discount: float = 1.0,
        worth: Floats | None = None,
        terms: int = MOST_TERMS,
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
        origin = self.origin[steps]
        successor = self.successor[steps]
        chance = self.chance[steps]
        at_once = chance * (pay + discount * np.where(go_on, 0.0, worth))[successor]
        at_once = totals(origin, at_once, len(worth))
        paid = series(at_once, successor, origin, discount * chance, terms, backwards=True)
        return np.where(go_on, paid, worth)

    def _for_nothing(self, pay: Floats) -> Flags:
        """The states from which play goes on for ever without paying."""
        found: Flags = ~self.ended
        while (leave := found[self.origin] & ~(found & (pay == 0))[self.successor]).any():
            found[self.origin[leave]] = False
        return found
