"""Many episodes of a compiled game at once: each step moves all of them by a few array look-ups.

A lane plays one episode after another. Every episode that starts is played to its ending or to the
step limit, so that short episodes are not over-represented.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from drrn.compiled.graph import Flags, Floats, Ints, StateGraph

LANES = 10_000
MAX_SEEN_TABLE = 100_000_000  # bytes: lanes times texts
WIDE = 64  # actions of a page; beyond this, states are not stored as a padded table
SALT = 0x67616D65  # "game": a policy with the same seed draws independently

Draw = Callable[[Ints], Ints]
# Text ids [E] and padded action ids [E, most actions] → index of the action to take [E].
PagePolicy = Callable[[Ints, Ints], Ints]
# None is uniformly random; an array has the probability of each slot.
SlotPolicy = PagePolicy | Floats | None


@dataclass(frozen=True)
class StepsTaken:
    """All steps, in order of time."""

    episode: Ints
    state: Ints
    slot: Ints
    successor: Ints
    again: Flags  # whether the episode had shown the state's text before


@dataclass(frozen=True)
class Played:
    """The outcome of each episode."""

    final_reward: Floats  # reward of the ending; 0 if truncated
    total: Floats  # undiscounted return
    steps: Ints
    ending: Ints  # into the graph's endings; -1 if truncated
    transitions: StepsTaken | None = None


def play_in_lockstep(
    graph: StateGraph,
    policy: SlotPolicy,
    episodes: int,
    *,
    seed: int,
    max_steps: int | None = None,
    at_once: int = LANES,
    record: bool = False,
    again: Floats | None = None,
) -> Played:
    """Play many episodes at once.

    Args:
        policy: A function of pages, the probability of each slot, or None for random play.
        episodes: How many to play.
        seed: Determines all episodes.
        max_steps: Truncates episodes (default: the game's step limit).
        at_once: Number of lanes.
        record: Whether to return every transition.
        again: The probability of each slot on a page whose text the episode has shown before, if it
            differs from `policy`.
    """
    random = np.random.default_rng([SALT, seed])
    lane_limit = episodes if again is None else max(1, MAX_SEEN_TABLE // len(graph.texts))
    count = min(at_once, episodes, lane_limit)
    choose = _chooser(graph, policy, random, again)
    arrive = arrivals(graph, random)
    limit = graph.max_steps if max_steps is None else max_steps
    lanes = _Lanes(graph, arrive, episodes, count, limit)
    seen_texts = None if again is None else _SeenTexts(graph, count)
    steps: list[tuple[Ints | Flags, ...]] = []
    while lanes.start_and_finish():
        if seen_texts is None:
            repeated = np.zeros(lanes.state.size, bool)
            slot = choose(lanes.state)
        else:
            repeated = seen_texts.update(lanes)
            slot = choose(lanes.state + len(graph) * repeated)
        successor = arrive(graph.row[slot])
        if record:  # copies, since lanes change these arrays in place
            steps.append((lanes.episode.copy(), lanes.state, slot, successor.copy(), repeated))
        lanes.move(successor)
    return replace(lanes.played, transitions=_steps_taken(steps)) if record else lanes.played


class _Lanes:
    """Running episodes, and the outcomes of finished ones."""

    def __init__(
        self, graph: StateGraph, arrive: Draw, episodes: int, lanes: int, limit: int
    ) -> None:
        self.graph = graph
        self.arrive = arrive
        self.limit = limit
        self.episode = np.arange(lanes)
        self.steps = np.zeros(lanes, int)
        self.total = np.zeros(lanes)
        self.number = np.arange(lanes)  # stays with a lane when others are removed
        self.state = arrive(np.zeros(lanes, int))
        self.started = lanes
        self.episodes = episodes
        steps = np.zeros(episodes, int)
        self.played = Played(np.zeros(episodes), np.zeros(episodes), steps, np.full(episodes, -1))
        opening = graph.successor[: graph.row_first[1]]
        self.may_end_at_once = bool(graph.ended[opening].any()) or limit == 0

    def start_and_finish(self) -> bool:
        """Record finished episodes and start new ones; return False when none are left."""
        while True:
            over = (self.graph.ended[self.state] | (self.steps >= self.limit)).nonzero()[0]
            if not over.size:
                break
            self._record(over)
            self._restart(over)
            if not self.may_end_at_once:
                break
        return bool(self.state.size)

    def move(self, successor: Ints) -> None:
        self.state = successor
        self.total += self.graph.reward[successor]
        self.steps += 1

    def _record(self, over: Ints) -> None:
        episode = self.episode[over]
        state = self.state[over]
        reward = np.where(self.graph.ended[state], self.graph.reward[state], 0.0)
        self.played.final_reward[episode] = reward
        self.played.total[episode] = self.total[over]
        self.played.steps[episode] = self.steps[over]
        self.played.ending[episode] = self.graph.ending_at[state]

    def _restart(self, over: Ints) -> None:
        again, idle = np.split(over, [min(over.size, self.episodes - self.started)])
        self.episode[again] = np.arange(self.started, self.started + again.size)
        self.started += again.size
        self.steps[again] = 0
        self.total[again] = 0.0
        self.state[again] = self.arrive(np.zeros(again.size, int))
        if idle.size:  # no more episodes to start: remove the lanes
            running = np.ones(self.state.size, bool)
            running[idle] = False
            self.number = self.number[running]
            self.episode = self.episode[running]
            self.state = self.state[running]
            self.steps = self.steps[running]
            self.total = self.total[running]


class _SeenTexts:
    """The texts that each lane's episode has shown."""

    def __init__(self, graph: StateGraph, lanes: int) -> None:
        self.text = graph.text
        self.table = np.zeros((lanes, len(graph.texts)), bool)

    def update(self, lanes: _Lanes) -> Flags:
        """Return whether each lane's text was shown before, and mark it as shown."""
        self.table[lanes.number[lanes.steps == 0]] = False  # a new episode
        here = lanes.number, self.text[lanes.state]
        repeated: Flags = self.table[here]
        self.table[here] = True
        return repeated


def _chooser(
    graph: StateGraph, policy: SlotPolicy, random: np.random.Generator, again: Floats | None
) -> Draw:
    """Return the function from states to slots; with `again`, repeated state i is S + i."""
    first = graph.first
    count = graph.count
    if again is not None and not isinstance(policy, np.ndarray):
        raise TypeError("a policy for repeated pages needs probabilities of slots")
    if policy is None:
        return lambda state: (
            first[state] + (random.random(state.size) * count[state]).astype(np.intp)
        )
    if callable(policy):
        return _by_page(graph, policy)
    tables = [policy] if again is None else [policy, again]
    if int(count.max(initial=0)) > WIDE:
        return _by_sums(graph, tables, random)
    return _by_table(graph, tables, random)


def _by_page(graph: StateGraph, policy: PagePolicy) -> Draw:
    def choose(state: Ints) -> Ints:
        page = graph.page[state]
        index = np.asarray(policy(graph.page_text[page], graph.page_actions[page]))
        if ((index < 0) | (index >= graph.count[state])).any():
            raise IndexError("the policy chose an action that the page does not have")
        return graph.first[state] + index

    return choose


def _by_table(graph: StateGraph, tables: Sequence[Floats], random: np.random.Generator) -> Draw:
    bounds = np.concatenate([_bounds(graph, probabilities) for probabilities in tables])
    first = np.tile(graph.first[:-1], len(tables))

    def choose(state: Ints) -> Ints:
        number = random.random(state.size, np.float32)[:, None]
        # the first bound above the random number
        slot: Ints = first[state] + (bounds.take(state, axis=0) <= number).argmin(axis=1)
        return slot

    return choose


def _bounds(graph: StateGraph, probabilities: Floats) -> NDArray[np.float32]:
    """Cumulative probabilities of each state's actions [S, most actions]; 2 for the last one."""
    cumulative = np.cumsum(probabilities)
    offset = np.concatenate([[0.0], cumulative])[graph.first[:-1]]  # [S] sum of earlier states
    bounds = np.full((len(graph), graph.page_actions.shape[1]), 2.0, np.float32)
    inner = np.ones(len(graph.row), bool)
    inner[graph.first[1:][~graph.ended] - 1] = False
    cells = np.arange(bounds.shape[1]) < graph.count[:, None] - 1
    bounds[cells] = (cumulative - offset[graph.slot_state])[inner]
    return bounds


def _by_sums(graph: StateGraph, tables: Sequence[Floats], random: np.random.Generator) -> Draw:
    """For wide pages: one sorted array of sums; those of state i are between i and i + 1."""
    ends = []
    slots = len(graph.row)
    for number, probabilities in enumerate(tables):
        cumulative = np.cumsum(probabilities)
        offset = np.concatenate([[0.0], cumulative])[graph.first[:-1]][graph.slot_state]
        ends.append(number * len(graph) + graph.slot_state + np.minimum(cumulative - offset, 1.0))
    sums = np.concatenate(ends)
    last = np.concatenate([n * slots + graph.first[1:] - 1 for n in range(len(tables))])

    def choose(state: Ints) -> Ints:
        slot = np.searchsorted(sums, state + random.random(state.size), side="right")
        within: Ints = np.minimum(slot, last[state]) % slots
        return within

    return choose


def arrivals(graph: StateGraph, random: np.random.Generator) -> Draw:
    """Return the function from rows to randomly rows successor states."""
    counts = np.diff(graph.row_first)
    only = np.where(counts > 1, -1, graph.successor[graph.row_first[:-1]])
    last = graph.row_first[1:] - 1
    cumulative = np.cumsum(graph.probability)
    # the sums of row r lie between r and r + 1
    cumulative += np.repeat(np.arange(len(counts)) - (cumulative[last] - 1.0), counts)

    def arrive(row: Ints) -> Ints:
        state: Ints = only[row]
        open_rows = (state < 0).nonzero()[0]
        if open_rows.size:
            rows = row[open_rows]
            outcome = np.searchsorted(cumulative, rows + random.random(rows.size), side="right")
            state[open_rows] = graph.successor[np.minimum(outcome, last[rows])]
        return state

    return arrive


def _steps_taken(steps: list[tuple[Ints | Flags, ...]]) -> StepsTaken:
    empty = (*[np.zeros(0, int)] * 4, np.zeros(0, bool))
    return StepsTaken(*map(np.concatenate, zip(*(steps or [empty]), strict=True)))
