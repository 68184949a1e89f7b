"""Exact solutions of a compiled game: the best policy by value iteration, and what any given policy scores.

Throughout, `discount` None asks for the final reward: what the ending pays, and nothing for a game that never ends. A
number asks for the return at that discount. A step limit is no part of the game and plays no part, unless it is given.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from drrn.compiled.chain import Chain, uniform
from drrn.compiled.graph import Flags, Floats, Ints, StateGraph, totals
from drrn.compiled.linear import PRECISION
from drrn.errors import InputError

CLOSE = 1e-9  # actions whose values differ by less are as good
MOST_SWEEPS = 3_000


@dataclass(frozen=True)
class Solution:
    """A solved game: the value of each state, the Q-value of each slot, and a best slot (-1 where it has ended)."""

    score: float  # at the start
    value: Floats  # [S]
    q: Floats  # [slots]
    slot: Ints  # [S]


@dataclass(frozen=True)
class Score:
    """The expected score of a policy."""

    final_reward: float
    total: float  # the return, undiscounted
    steps: float
    endings: Floats  # how likely each is
    trapped: float  # how likely play comes to where no ending can be reached


def random_play(graph: StateGraph, max_steps: int | None = None) -> Score:
    """What uniformly random play scores."""
    return policy_score(graph, uniform(graph), max_steps)


def policy_score(graph: StateGraph, probabilities: Floats, max_steps: int | None = None) -> Score:
    """What a policy scores that takes each slot with the given probability; with `max_steps`, as a loop that stops
    there would see it: a stopped episode's final reward is 0."""
    if max_steps is not None:
        return _stopped_score(graph, probabilities, max_steps)
    chain = Chain(graph, probabilities)
    visits = chain.visits()
    lost = ~chain.leads_to(graph.ended)
    at_end = np.where(graph.ended, visits, 0.0)
    trapped = float(visits[lost].sum())
    return Score(
        final_reward=float(at_end @ graph.reward),
        total=at_start(graph, chain.value(graph.reward)),
        steps=np.inf if trapped > 0 else float(visits[~graph.ended].sum()),
        endings=totals(graph.ending_at[graph.ended], visits[graph.ended], len(graph.endings)),
        trapped=trapped,
    )


def _stopped_score(graph: StateGraph, probabilities: Floats, max_steps: int) -> Score:
    chain = Chain(graph, probabilities)
    visits = chain.visits(max_steps)
    at_end = np.where(graph.ended, visits, 0.0)
    stopped = 1.0 - float(at_end.sum())
    return Score(
        final_reward=float(at_end @ graph.reward),
        total=float((visits - graph.start) @ graph.reward),
        steps=float((visits - at_end).sum()) - stopped,  # where it was stopped, it made no step
        endings=totals(graph.ending_at[graph.ended], visits[graph.ended], len(graph.endings)),
        trapped=_trapped(graph, chain),
    )


def _trapped(graph: StateGraph, chain: Chain) -> float:
    """How likely play comes to where no ending can be reached; where there is no such place, nothing is computed."""
    lost = ~chain.leads_to(graph.ended)
    return float(chain.visits()[lost].sum()) if lost.any() else 0.0


def policy_value(graph: StateGraph, probabilities: Floats, discount: float | None = None) -> float:
    """What a policy is worth at the start: its final reward, or its return at a discount."""
    value = Chain(graph, probabilities).value(
        pays(graph, discount), 1.0 if discount is None else discount
    )
    return at_start(graph, value, discount)


def best(graph: StateGraph, discount: float | None = None) -> Solution:
    """The best possible score of a compiled game (`score`), to 1e-9, and a policy that reaches it.

    Without a discount it is the final reward, with one the return at that discount. It is found by value iteration from
    below, with staying in a loop for ever as an option worth 0: otherwise a loop would seem to put off a bad ending.
    """
    if discount is not None and not 0 <= discount <= 1:
        raise InputError(f"the discount is {discount}; it must lie between 0 and 1")
    pay = pays(graph, discount)
    gamma = 1.0 if discount is None else discount
    choices = _Choices(graph, pay, gamma)
    value = choices.lowest()
    for sweep in range(1, MOST_SWEEPS):
        better = choices.improved(value)
        done = np.abs(better - value).max() <= PRECISION * max(1.0, np.abs(better).max())
        value = better
        if (
            done or sweep % 100 == 0
        ):  # where loops are slow, a policy's own worth runs far ahead of the sweeps
            slot = choices.greedy(value)
            worth = choices.worth_of(slot)
            value = worth if done else np.maximum(value, worth)
            if np.abs(choices.improved(value) - value).max() <= CLOSE / 10:
                break
    else:
        raise InputError(
            f"{graph.name}: its return has no upper bound, since a loop pays: give a discount below 1"
        )
    value = np.where(choices.sound, value, -np.inf)
    return Solution(at_start(graph, value, discount), value, choices.q(value), slot)


def pays(graph: StateGraph, discount: float | None) -> Floats:
    """The reward of arriving in each state; without a discount, that of endings alone."""
    return np.where(graph.ended, graph.reward, 0.0) if discount is None else graph.reward


def at_start(graph: StateGraph, value: Floats, discount: float | None = 1.0) -> float:
    """The mean value over the opening's outcomes; a game that ends there at once pays its final reward."""
    first = np.flatnonzero(graph.start)
    if discount is None:
        value = np.where(graph.ended, graph.reward, value)
    return float(graph.start[first] @ value[first])


def slot_values(graph: StateGraph, worth: Floats) -> Floats:
    """The mean of what each slot's outcomes are worth."""
    rows = np.add.reduceat(graph.probability * worth[graph.successor], graph.row_first[:-1])
    return rows[graph.row]


def one_slot(graph: StateGraph, slot: Ints) -> Floats:
    """The probabilities of a policy that takes one slot in each state."""
    probabilities = np.zeros(len(graph.row))
    probabilities[slot[slot >= 0]] = 1.0
    return probabilities


class _Choices:
    """The states' choices, as value iteration sees them.

    In a state of `stay` one can go on for ever for nothing. From a state that is not `sound`, no play is sure to end
    or to stay, and with each step costing something, its value has no lower bound.
    """

    def __init__(self, graph: StateGraph, pay: Floats, gamma: float) -> None:
        self.graph = graph
        self.pay = pay
        self.gamma = gamma
        self.stay = self._stay() if gamma == 1 else np.zeros(len(graph), bool)
        self.sound = self._sound() if gamma == 1 else np.ones(len(graph), bool)
        self.allowed = self._always(self.sound)
        self.allowed &= self.sound[graph.slot_state]

    def q(self, value: Floats) -> Floats:
        """What each slot is worth."""
        return slot_values(self.graph, self.pay + self.gamma * value)

    def improved(self, value: Floats) -> Floats:
        better = np.where(self.stay, 0.0, -np.inf)
        np.maximum.at(better, self.graph.slot_state, np.where(self.allowed, self.q(value), -np.inf))
        return np.where(self.sound & ~self.graph.ended, better, 0.0)

    def lowest(self) -> Floats:
        """A value that can be had: by chance among what is allowed, until one can stay."""
        counts = totals(self.graph.slot_state, self.allowed, len(self.graph))
        by_chance = self.allowed / np.maximum(counts, 1)[self.graph.slot_state]
        return self._value(by_chance, self.stay)

    def worth_of(self, slot: Ints) -> Floats:
        return self._value(one_slot(self.graph, slot), ~self.sound)

    def greedy(self, value: Floats) -> Ints:
        """A slot for each state that is as good as any and gets nearer to an end, or to where staying is best."""
        good = self.allowed & (self.q(value) >= value[self.graph.slot_state] - CLOSE)
        settled = self.stay & (value <= CLOSE)
        slot = self._first_of(
            self._always(self.stay & (self.pay == 0)) & settled[self.graph.slot_state]
        )
        if self.gamma < 1:
            return self._first_of(good)
        near = self.graph.ended | settled | ~self.sound
        while True:
            nearer = self._first_of(good & ~near[self.graph.slot_state] & self._sometimes(near))
            if (nearer < 0).all():
                return slot
            slot = np.where(nearer >= 0, nearer, slot)
            near = near | (nearer >= 0)

    def _value(self, probabilities: Floats, stopped: Flags) -> Floats:
        worth = np.where(stopped | ~self.sound, 0.0, np.nan)
        return Chain(self.graph, probabilities).value(self.pay, self.gamma, worth)

    def _stay(self) -> Flags:
        """The states where one can go on for ever for nothing."""
        found: Flags = ~self.graph.ended
        while (leave := found & (self._first_of(self._always(found & (self.pay == 0))) < 0)).any():
            found = found & ~leave
        return found

    def _sound(self) -> Flags:
        """The states from which some play is sure to come to an end, or to where it can stay."""
        sound = np.ones(len(self.graph), bool)
        while True:
            allowed = self._always(sound) & sound[self.graph.slot_state]
            reached = Chain(self.graph, allowed.astype(float)).leads_to(
                self.graph.ended | self.stay
            )
            if (reached == sound).all():
                return sound
            sound = reached

    def _always(self, states: Flags) -> Flags:
        """The slots all of whose outcomes are among the states."""
        return np.logical_and.reduceat(states[self.graph.successor], self.graph.row_first[:-1])[
            self.graph.row
        ]

    def _sometimes(self, states: Flags) -> Flags:
        return np.logical_or.reduceat(states[self.graph.successor], self.graph.row_first[:-1])[
            self.graph.row
        ]

    def _first_of(self, slots: Flags) -> Ints:
        """The first of some slots in each state; -1 where it has none of them."""
        chosen = np.flatnonzero(slots)[::-1]
        found = np.full(len(self.graph), -1)
        found[self.graph.slot_state[chosen]] = chosen
        return found
