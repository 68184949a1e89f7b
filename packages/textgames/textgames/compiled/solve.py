"""Exact solutions of a compiled game: the best policy, and the score of any policy.

In all functions, `discount` None means the final reward: what the ending pays, and 0 for an endless
episode. A number means the return at that discount. Episodes have no step limit unless it is given.
"""

from dataclasses import dataclass

import numpy as np

from textgames.compiled.chain import Chain, uniform
from textgames.compiled.game import Compiled, Flags, Floats, Ints, totals
from textgames.errors import InputError

CLOSE = 1e-9  # difference of values below which actions count as equally good


@dataclass(frozen=True)
class Solution:
    """A solved game: values of states, Q-values of slots, and a best slot (-1 in endings)."""

    score: float  # at the start
    value: Floats  # [S]
    q: Floats  # [slots]
    slot: Ints  # [S]

    def __repr__(self) -> str:
        return f"<Solution of {len(self.value):,} states, score {self.score:.2f}>"


@dataclass(frozen=True)
class Score:
    """The expected score of a policy."""

    final_reward: float
    total: float  # undiscounted return
    steps: float
    endings: Floats  # probability of each
    trapped: float  # probability of reaching a state from which no ending can be reached


def random_play(graph: Compiled, max_steps: int | None = None) -> Score:
    """The score of random play."""
    return policy_score(graph, uniform(graph), max_steps)


def policy_score(graph: Compiled, probabilities: Floats, max_steps: int | None = None) -> Score:
    """The score of a policy, given the probability of each slot.

    With `max_steps`, episodes are truncated. The final reward of a truncated episode is 0.
    """
    chain = Chain(graph, probabilities)
    visits = chain.visits(max_steps)
    at_end = np.where(graph.ended, visits, 0.0)
    lost = ~chain.leads_to(graph.ended)
    if max_steps is None:
        trapped = float(visits[lost].sum())
        total = at_start(graph, chain.value(graph.reward))
        steps = np.inf if trapped > 0 else float(visits[~graph.ended].sum())
    else:
        trapped = float(chain.visits()[lost].sum()) if lost.any() else 0.0
        total = float((visits - graph.start) @ graph.reward)
        truncated = 1.0 - float(at_end.sum())
        steps = float((visits - at_end).sum()) - truncated  # no step follows the last page
    final_reward = float(at_end @ graph.reward)
    endings = totals(graph.ending_at[graph.ended], visits[graph.ended], len(graph.endings))
    return Score(final_reward, total, steps, endings, trapped)


def policy_value(graph: Compiled, probabilities: Floats, discount: float | None = None) -> float:
    """The value of a policy at the start."""
    gamma = 1.0 if discount is None else discount
    value = Chain(graph, probabilities).value(pays(graph, discount), gamma)
    return at_start(graph, value, discount)


def best(graph: Compiled, discount: float | None = None, *, sweeps: int = 3_000) -> Solution:
    """The best possible score of a compiled game, to 1e-9, and a policy that reaches it.

    Value iteration from below, with staying in a loop for ever as an option worth 0. Without this
    option, a loop would appear to postpone a bad ending.

    Args:
        graph: The compiled game.
        discount: None for the final reward, a number for the return at that discount.
        sweeps: The number of sweeps after which the return counts as unbounded.

    Raises:
        InputError: The discount is not between 0 and 1, or the return is unbounded.

    Example:
        >>> textgames.best(textgames.compile_game(textgames.make("long-watch"))).score
    """
    if discount is not None and not 0 <= discount <= 1:
        raise InputError(f"the discount is {discount}; it must be between 0 and 1")
    pay = pays(graph, discount)
    gamma = 1.0 if discount is None else discount
    choices = _Choices(graph, pay, gamma)
    value = choices.lowest()
    for sweep in range(1, sweeps):
        better = choices.improved(value)
        done = np.abs(better - value).max() <= 1e-12 * max(1.0, np.abs(better).max())
        value = better
        # where loops are slow, the exact value of the greedy policy is far ahead of the sweeps
        if done or sweep % 100 == 0:
            slot = choices.greedy(value)
            worth = choices.value_of(one_slot(graph, slot), ~choices.sound)
            value = worth if done else np.maximum(value, worth)
            if np.abs(choices.improved(value) - value).max() <= CLOSE / 10:
                break
    else:
        raise InputError(
            f"{graph.name}: the return is unbounded, since a loop pays; use a discount below 1"
        )
    value = np.where(choices.sound, value, -np.inf)
    return Solution(at_start(graph, value, discount), value, choices.q(value), slot)


def pays(graph: Compiled, discount: float | None) -> Floats:
    """The reward of each state. Without a discount, that of endings alone."""
    return np.where(graph.ended, graph.reward, 0.0) if discount is None else graph.reward


def at_start(graph: Compiled, value: Floats, discount: float | None = 1.0) -> float:
    """The mean value over the opening's outcomes, endings included."""
    first = np.flatnonzero(graph.start)
    if discount is None:
        value = np.where(graph.ended, graph.reward, value)
    return float(graph.start[first] @ value[first])


def slot_values(graph: Compiled, worth: Floats) -> Floats:
    """The expected worth of each slot's outcomes."""
    rows = np.add.reduceat(graph.probability * worth[graph.successor], graph.row_first[:-1])
    return rows[graph.row]


def one_slot(graph: Compiled, slot: Ints) -> Floats:
    """The probabilities of a deterministic policy."""
    probabilities = np.zeros(len(graph.row))
    probabilities[slot[slot >= 0]] = 1.0
    return probabilities


class _Choices:
    """The choices of each state during value iteration.

    In a state of `stay`, play can continue for ever at no cost. From a state that is not `sound`,
    no policy is certain to end or to stay. If steps cost something, its value has no lower bound.
    """

    def __init__(self, graph: Compiled, pay: Floats, gamma: float) -> None:
        self.graph = graph
        self.pay = pay
        self.gamma = gamma
        self.stay = self._stay() if gamma == 1 else np.zeros(len(graph), bool)
        self.sound = self._sound() if gamma == 1 else np.ones(len(graph), bool)
        self.allowed = self._always(self.sound)
        self.allowed &= self.sound[graph.slot_state]

    def q(self, value: Floats) -> Floats:
        return slot_values(self.graph, self.pay + self.gamma * value)

    def improved(self, value: Floats) -> Floats:
        better = np.where(self.stay, 0.0, -np.inf)
        np.maximum.at(better, self.graph.slot_state, np.where(self.allowed, self.q(value), -np.inf))
        return np.where(self.sound & ~self.graph.ended, better, 0.0)

    def lowest(self) -> Floats:
        """A value that can be reached: random play among allowed slots, until staying."""
        counts = totals(self.graph.slot_state, self.allowed, len(self.graph))
        by_chance = self.allowed / np.maximum(counts, 1)[self.graph.slot_state]
        return self.value_of(by_chance, self.stay)

    def greedy(self, value: Floats) -> Ints:
        """A best slot of each state that leads closer to an ending, or to staying."""
        good = self.allowed & (self.q(value) >= value[self.graph.slot_state] - CLOSE)
        settled = self.stay & (value <= CLOSE)
        if self.gamma < 1:
            return self._first_of(good)
        stays = self._always(self.stay & (self.pay == 0))
        slot = self._first_of(stays & settled[self.graph.slot_state])
        near = self.graph.ended | settled | ~self.sound
        while True:
            nearer = self._first_of(good & ~near[self.graph.slot_state] & ~self._always(~near))
            if (nearer < 0).all():
                return slot
            slot = np.where(nearer >= 0, nearer, slot)
            near = near | (nearer >= 0)

    def value_of(self, probabilities: Floats, stopped: Flags) -> Floats:
        """The value of a policy that stops in some states, and where it is not sound."""
        worth = np.where(stopped | ~self.sound, 0.0, np.nan)
        return Chain(self.graph, probabilities).value(self.pay, self.gamma, worth)

    def _stay(self) -> Flags:
        """The states where play can continue for ever at no cost."""
        states: Flags = ~self.graph.ended
        while True:
            leave = states & (self._first_of(self._always(states & (self.pay == 0))) < 0)
            if not leave.any():
                return states
            states = states & ~leave

    def _sound(self) -> Flags:
        """The states from which some policy is certain to end or to stay."""
        sound = np.ones(len(self.graph), bool)
        while True:
            allowed = self._always(sound) & sound[self.graph.slot_state]
            chain = Chain(self.graph, allowed.astype(float))
            reached = chain.leads_to(self.graph.ended | self.stay)
            if (reached == sound).all():
                return sound
            sound = reached

    def _always(self, states: Flags) -> Flags:
        """The slots whose outcomes are all among the states."""
        rows = np.logical_and.reduceat(states[self.graph.successor], self.graph.row_first[:-1])
        return rows[self.graph.row]

    def _first_of(self, slots: Flags) -> Ints:
        """The first of some slots in each state, -1 if it has none of them."""
        chosen = np.flatnonzero(slots)[::-1]
        slot = np.full(len(self.graph), -1)
        slot[self.graph.slot_state[chosen]] = chosen
        return slot
