"""The Markov chain of a compiled game under a policy: expected visits and values."""

from __future__ import annotations

import numpy as np

from drrn.compiled.game import Compiled, Flags, Floats, Ints, totals
from drrn.compiled.linear import MAX_TERMS, series
from drrn.text import ranges


def uniform(graph: Compiled) -> Floats:
    """Return the probability of each slot under random play."""
    return (1.0 / np.maximum(graph.count, 1))[graph.slot_state]


def softmax_of_slots(graph: Compiled, q: Floats, scale: float = 1.0) -> Floats:
    """Return the probability of each slot, proportional to exp(scale · q)."""
    states = graph.slot_state
    largest = np.full(len(graph), -np.inf)
    np.maximum.at(largest, states, scale * q)
    weight = np.exp(scale * q - largest[states])
    probabilities: Floats = weight / totals(states, weight, len(graph))[states]
    return probabilities


class Chain:
    """Transitions between states with their probabilities, and the start distribution."""

    def __init__(self, graph: Compiled, probabilities: Floats) -> None:
        states = graph.slot_state
        rows = graph.row
        if graph.slot_groups is not None:
            group, states, rows = graph.slot_groups
            probabilities = totals(group, probabilities, len(states))
        possible = np.flatnonzero(probabilities > 0)
        rows = rows[possible]
        counts = np.diff(graph.row_first)[rows]
        outcomes = ranges(graph.row_first[rows], counts)
        slots = np.repeat(possible, counts)
        self.origin: Ints = states[slots]
        self.successor: Ints = graph.successor[outcomes]
        self.chance: Floats = probabilities[slots] * graph.probability[outcomes]
        self.start = graph.start
        self.ended = graph.ended

    def leads_to(self, target: Flags) -> Flags:
        """Return the states from which the target can be reached."""
        states: Flags = target.copy()
        while not states[(before := self.origin[states[self.successor]])].all():
            states[before] = True
        return states

    def reached(self) -> Flags:
        """Return the states that can be reached from the start."""
        states: Flags = self.start > 0
        while not states[(after := self.successor[states[self.origin]])].all():
            states[after] = True
        return states

    def visits(self, steps: int | None = None) -> Floats:
        """Return the expected number of visits of each state.

        Without a number of steps, a state from which no ending can be reached counts only its first
        visit, since play never leaves such states.
        """
        continues = self.reached() & ~self.ended
        if steps is None:
            continues &= self.leads_to(self.ended)
        arrows = continues[self.origin]
        terms = MAX_TERMS if steps is None else steps
        chance = self.chance[arrows]
        return series(self.start, self.origin[arrows], self.successor[arrows], chance, terms)

    def value(
        self,
        pay: Floats,
        discount: float = 1.0,
        worth: Floats | None = None,
        terms: int = MAX_TERMS,
    ) -> Floats:
        """Return the expected sum of what arrivals pay, for each state.

        Where `worth` is a number, play stops with that value. Undiscounted, the sum is infinite
        where play can continue for ever among states that pay.
        """
        worth = np.where(self.ended, 0.0, np.nan if worth is None else worth)
        if discount == 1.0:
            worth = np.where(np.isnan(worth) & self._unpaid_forever(pay), 0.0, worth)
            endless = ~self.leads_to(~np.isnan(worth))
            worth[endless] = np.copysign(np.inf, pay[endless].min(initial=0.0))
            for limit in (np.inf, -np.inf):
                worth[self.leads_to(worth == limit) & np.isnan(worth)] = limit
        continues = np.isnan(worth)
        steps = continues[self.origin]
        origin = self.origin[steps]
        successor = self.successor[steps]
        chance = self.chance[steps]
        immediate = chance * (pay + discount * np.where(continues, 0.0, worth))[successor]
        immediate = totals(origin, immediate, len(worth))
        total = series(immediate, successor, origin, discount * chance, terms, backwards=True)
        return np.where(continues, total, worth)

    def _unpaid_forever(self, pay: Floats) -> Flags:
        """Return the states from which play continues for ever without paying."""
        states: Flags = ~self.ended
        while (leave := states[self.origin] & ~(states & (pay == 0))[self.successor]).any():
            states[self.origin[leave]] = False
        return states
