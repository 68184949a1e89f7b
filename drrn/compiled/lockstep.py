"""A vector environment over a compiled game: each step moves many episodes at once, by a few look-ups in arrays.

A lane plays one episode after another. Episodes are numbered as they begin, and every one that began is played to its
end or to the step limit, so that short ones do not count for more than long ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from drrn.compiled.graph import Flags, Floats, Ints, StateGraph

AT_ONCE = 10_000
MOST_SHOWN = (
    100_000_000  # lanes times texts, a byte each, where texts that were shown are remembered
)
WIDE = 64  # actions of a page, beyond which states are not laid side by side
SALT = 0x67616D65  # "game": a policy seeded with the same number is independent of it

Draw = Callable[[Ints], Ints]

# A policy by what pages show: text ids [E] and action ids [E, most actions], -1 where a page has no more → the index of
# the action to take [E].
PagePolicy = Callable[[Ints, Ints], Ints]
# None is uniformly random; an array has the probability of each slot.
SlotPolicy = PagePolicy | Floats | None


@dataclass(frozen=True)
class StepsTaken:
    """Every step taken, in the order of time: from a state by a slot to a state, in an episode."""

    episode: Ints
    state: Ints
    slot: Ints
    successor: Ints
    again: Flags  # whether the episode had shown the state's text before, where the policy asks for that


@dataclass(frozen=True)
class Played:
    """What became of each episode."""

    final_reward: Floats  # of the ending; 0 where the limit stopped the episode
    total: Floats  # the return, undiscounted
    steps: Ints
    ending: Ints  # into the graph's endings; -1: stopped by the limit
    transitions: StepsTaken | None = None


def play_in_lockstep(
    graph: StateGraph,
    policy: SlotPolicy,
    episodes: int,
    *,
    seed: int,
    max_steps: int | None = None,
    at_once: int = AT_ONCE,
    record: bool = False,
    again: Floats | None = None,
) -> Played:
    """Play so many episodes; the seed makes all of them. With `record`, every transition is kept. `again` has the
    probability of each slot on a page whose text the episode has shown before, where that differs from the policy's."""
    chance = np.random.default_rng([SALT, seed])
    count = min(
        at_once, episodes, episodes if again is None else max(1, MOST_SHOWN // len(graph.texts))
    )
    choose = _choices(graph, policy, chance, again)
    arrive = arrivals(graph, chance)
    lanes = _Lanes(
        graph, arrive, episodes, count, graph.max_steps if max_steps is None else max_steps
    )
    shown = None if again is None else _Shown(graph, count)
    taken: list[tuple[Ints | Flags, ...]] = []
    while lanes.playing():
        seen = np.zeros(lanes.state.size, bool) if shown is None else shown.before(lanes)
        slot = choose(lanes.state if shown is None else lanes.state + len(graph) * seen)
        arrived = arrive(graph.row[slot])
        if record:
            taken.append(
                (lanes.episode.copy(), lanes.state, slot, arrived.copy(), seen)
            )  # what lanes change in place
        lanes.move(arrived)
    return replace(lanes.played, transitions=_steps_taken(taken)) if record else lanes.played


class _Lanes:
    """Episodes under way, and the record of those that are over."""

    def __init__(
        self, graph: StateGraph, arrive: Draw, episodes: int, lanes: int, limit: int
    ) -> None:
        self.graph = graph
        self.arrive = arrive
        self.limit = limit
        self.episode = np.arange(lanes)
        self.steps = np.zeros(lanes, int)
        self.total = np.zeros(lanes)
        self.number = np.arange(lanes)  # of each lane, which it keeps while others go
        self.state = arrive(np.zeros(lanes, int))
        self.begun = lanes
        self.episodes = episodes
        self.played = Played(
            np.zeros(episodes), np.zeros(episodes), np.zeros(episodes, int), np.full(episodes, -1)
        )
        opening = graph.successor[: graph.row_first[1]]
        self.may_end_at_once = bool(graph.ended[opening].any()) or limit == 0

    def playing(self) -> bool:
        """Record what is over and begin anew in its place; False when there is nothing left to play."""
        while (
            over := (self.graph.ended[self.state] | (self.steps >= self.limit)).nonzero()[0]
        ).size:
            self._record(over)
            self._begin_anew(over)
            if not self.may_end_at_once:
                break
        return bool(self.state.size)

    def move(self, arrived: Ints) -> None:
        self.state = arrived
        self.total += self.graph.reward[arrived]
        self.steps += 1

    def _record(self, over: Ints) -> None:
        episode = self.episode[over]
        state = self.state[over]
        played = self.played
        ended = self.graph.ended[state]
        played.final_reward[episode] = np.where(ended, self.graph.reward[state], 0.0)
        played.total[episode], played.steps[episode] = self.total[over], self.steps[over]
        played.ending[episode] = self.graph.ending_at[state]

    def _begin_anew(self, over: Ints) -> None:
        again, idle = np.split(over, [min(over.size, self.episodes - self.begun)])
        self.episode[again] = np.arange(self.begun, self.begun + again.size)
        self.begun += again.size
        self.steps[again], self.total[again] = 0, 0.0
        self.state[again] = self.arrive(np.zeros(again.size, int))
        if idle.size:  # no more to begin: the lanes grow fewer
            left = np.ones(self.state.size, bool)
            left[idle] = False
            self.number = self.number[left]
            self.episode = self.episode[left]
            self.state = self.state[left]
            self.steps = self.steps[left]
            self.total = self.total[left]


class _Shown:
    """Which texts the episode of each lane has shown."""

    def __init__(self, graph: StateGraph, lanes: int) -> None:
        self.text = graph.text
        self.table = np.zeros((lanes, len(graph.texts)), bool)

    def before(self, lanes: _Lanes) -> Flags:
        """Whether the text that each lane shows was shown before; from now on it was."""
        self.table[lanes.number[lanes.steps == 0]] = False  # a new episode
        here = lanes.number, self.text[lanes.state]
        seen: Flags = self.table[here]
        self.table[here] = True
        return seen


def _choices(
    graph: StateGraph, policy: SlotPolicy, chance: np.random.Generator, again: Floats | None = None
) -> Draw:
    """From states to the slots that a policy takes there; with `again`, state i on a text shown before is S + i."""
    first = graph.first
    count = graph.count
    if again is not None and not isinstance(policy, np.ndarray):
        raise TypeError("what is done on a page shown before goes with probabilities of slots only")
    if policy is None:
        return lambda state: (
            first[state] + (chance.random(state.size) * count[state]).astype(np.intp)
        )
    if not callable(policy):
        if int(count.max(initial=0)) > WIDE:
            return _by_sums(graph, [policy] if again is None else [policy, again], chance)
        bounds = _bounds(graph, policy)  # [S, most actions]
        if again is not None:
            bounds = np.concatenate([bounds, _bounds(graph, again)])
            first = np.tile(first[:-1], 2)

        def by_table(state: Ints) -> Ints:
            drawn = chance.random(state.size, np.float32)[:, None]
            slot: Ints = first[state] + (bounds.take(state, axis=0) <= drawn).argmin(
                axis=1
            )  # the first that is above
            return slot

        return by_table
    choose = policy

    def by_page(state: Ints) -> Ints:
        page = graph.page[state]
        index = np.asarray(choose(graph.page_text[page], graph.page_actions[page]))
        if ((index < 0) | (index >= count[state])).any():
            raise IndexError("the policy chose an action that the page does not have")
        return first[state] + index

    return by_page


def _bounds(graph: StateGraph, probabilities: Floats) -> NDArray[np.float32]:
    """The chance of an action before the second, third … of each state; past the last, 2, which no draw reaches."""
    reached = np.cumsum(probabilities)
    before = np.concatenate([[0.0], reached])[graph.first[:-1]]  # [S] of all the states before
    bounds = np.full((len(graph), graph.page_actions.shape[1]), 2.0, np.float32)
    places = np.arange(bounds.shape[1]) < graph.count[:, None] - 1
    inner = np.ones(len(graph.row), bool)
    inner[graph.first[1:][~graph.ended] - 1] = False
    bounds[places] = (reached - before[graph.slot_state])[inner]
    return bounds


def _by_sums(graph: StateGraph, tables: Sequence[Floats], chance: np.random.Generator) -> Draw:
    """The same where a page is wide, in one row of sums: those of state i lie between i and i + 1."""
    ends = []
    slots = len(graph.row)
    for number, probabilities in enumerate(tables):
        reached = np.cumsum(probabilities)
        before = np.concatenate([[0.0], reached])[graph.first[:-1]][graph.slot_state]
        ends.append(number * len(graph) + graph.slot_state + np.minimum(reached - before, 1.0))
    sums = np.concatenate(ends)
    last = np.concatenate([n * slots + graph.first[1:] - 1 for n in range(len(tables))])

    def by_sums(state: Ints) -> Ints:
        slot = np.searchsorted(sums, state + chance.random(state.size), side="right")
        within: Ints = np.minimum(slot, last[state]) % slots
        return within

    return by_sums


def arrivals(graph: StateGraph, chance: np.random.Generator) -> Draw:
    """From rows to the states that chance makes of them."""
    many = np.diff(graph.row_first) > 1
    only = np.where(many, -1, graph.successor[graph.row_first[:-1]])
    reached = np.cumsum(graph.probability)  # a row's outcomes lie between its number and the next
    reached += np.repeat(
        np.arange(len(many)) - (reached[graph.row_first[1:] - 1] - 1.0), np.diff(graph.row_first)
    )
    last = graph.row_first[1:] - 1

    def arrive(row: Ints) -> Ints:
        state: Ints = only[row]
        open_rows = (state < 0).nonzero()[0]
        if open_rows.size:
            drawn = row[open_rows]
            place = np.searchsorted(reached, drawn + chance.random(drawn.size), side="right")
            state[open_rows] = graph.successor[np.minimum(place, last[drawn])]
        return state

    return arrive


def _steps_taken(taken: list[tuple[Ints | Flags, ...]]) -> StepsTaken:
    nothing = (*[np.zeros(0, int)] * 4, np.zeros(0, bool))
    return StepsTaken(*map(np.concatenate, zip(*(taken or [nothing]), strict=True)))
