"""A compiled game: all states as arrays, played step by step or thousands of episodes at once.

Many episodes are played in lanes: each step moves all lanes by a few array look-ups, and a lane
plays one episode after another. Every episode that starts is played to its ending or to the step
limit, so that short episodes are not over-represented.
"""

import copy
import hashlib
import operator
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from textgames.arrays import ranges
from textgames.compiled.search import EndingId, first_words
from textgames.game.contract import Observation, check_index
from textgames.game.episodes import CIRCLE

Ints = NDArray[np.intp]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Draw = Callable[[Ints], Ints]

WIDE = 64  # actions of a page beyond which states are not stored as a padded table
SALT = 0x67616D65  # "game": a policy with the same seed draws independently
NOT_PLAYED = "name title raw_states raw_complete live_states search_bytes unreached shuffle".split()


@dataclass(frozen=True)
class StepsTaken:
    """All steps, in order of time."""

    episode: Ints
    state: Ints
    slot: Ints
    successor: Ints
    again: Flags  # whether the episode was in a circle


@dataclass(frozen=True)
class Played:
    """The outcome of each episode."""

    final_reward: Floats  # reward of the ending; 0 if truncated
    total: Floats  # undiscounted return
    steps: Ints
    ending: Ints  # into the game's endings; -1 if truncated
    transitions: StepsTaken | None = None


@dataclass(eq=False)
class Compiled:
    """All states of a game, and the outcomes of their actions, as arrays. It is a game, too.

    An action of a state is a slot. Its possible outcomes are a row. Row 0 is the opening. An
    array named `…first` delimits the arrays after it: the entries of i are first[i] to
    first[i + 1]. A page is what a player sees: a text and its actions. All states of a page list
    its actions in the same order.
    """

    name: str
    title: str
    max_steps: int  # step limit for episodes; not part of the game
    texts: tuple[str, ...]
    actions: tuple[str, ...]
    passages: tuple[str, ...]  # "" in games without passages
    endings: tuple[EndingId, ...]

    page_text: Ints  # [P] into texts
    page_hypertext: Flags  # [P]
    page_first: Ints  # [P + 1]
    page_action: Ints  # into actions

    page: Ints  # [S]
    passage: Ints  # [S] into passages
    reward: Floats  # [S] for arriving
    ending_at: Ints  # [S] into endings; -1 where the game continues
    first: Ints  # [S + 1]
    row: Ints  # [slots]

    row_first: Ints  # [R + 1]
    successor: Ints  # [outcomes] a state
    probability: Floats  # [outcomes]

    raw_states: int  # (page, all variables); a lower bound unless `raw_complete`
    raw_complete: bool
    live_states: int  # (page, variables that may still matter), before merging
    search_bytes: int
    unreached: tuple[str, ...]  # passages

    shuffle: bool = True  # actions are shown in a new order each time
    most_copies: ClassVar[int] = 10**9  # copies share the arrays
    training: ClassVar[Mapping[str, Any]] = {}

    def __repr__(self) -> str:
        counts = f"{len(self.page):,} states, {len(self.endings)} endings"
        return f"<Compiled {self.name!r}: {counts}>"

    def __post_init__(self) -> None:
        self._random = random.Random()
        self._state = -1
        self._slots: list[int] = []

    # --- arrays

    def __len__(self) -> int:
        return len(self.page)

    @cached_property
    def text(self) -> Ints:
        """Text of each state."""
        return self.page_text[self.page]

    @cached_property
    def action(self) -> Ints:
        """Action of each slot."""
        return self.by_state(self.page_action)

    @cached_property
    def count(self) -> Ints:
        """Number of actions of each state."""
        return np.diff(self.first)

    @cached_property
    def ended(self) -> Flags:
        ended: Flags = self.count == 0
        return ended

    @cached_property
    def start(self) -> Floats:
        """Probability that an episode starts in each state."""
        opening = self.row_outcomes(0)
        return totals(self.successor[opening], self.probability[opening], len(self))

    @cached_property
    def slot_state(self) -> Ints:
        """State of each slot."""
        return np.repeat(np.arange(len(self)), self.count)

    @cached_property
    def slot_groups(self) -> tuple[Ints, Ints, Ints] | None:
        """Groups of slots with the same state and row: (group of slots, states, rows).

        None unless there are less than half as many groups as slots. In parser games most commands
        do the same.
        """
        rows = len(self.row_first)
        pairs, group = np.unique(self.slot_state * rows + self.row, return_inverse=True)
        if 2 * len(pairs) >= len(self.row):
            return None
        return group, pairs // rows, pairs % rows

    @cached_property
    def page_actions(self) -> Ints:
        """Actions of each page, padded with -1: [P, most actions]."""
        counts = np.diff(self.page_first)
        padded = np.full((len(counts), max(int(counts.max()), 1)), -1)
        padded[np.arange(padded.shape[1]) < counts[:, None]] = self.page_action
        return padded

    def outcomes(self, slot: int) -> slice:
        """The range of a slot's outcomes in `successor` and `probability`."""
        return self.row_outcomes(int(self.row[slot]))

    def row_outcomes(self, row: int) -> slice:
        return slice(int(self.row_first[row]), int(self.row_first[row + 1]))

    def label(self, state: int) -> str:
        """The passage of a state, or the first words of its text if it has none."""
        return self.passages[self.passage[state]] or first_words(self.texts[self.text[state]])

    def by_state(self, of_page_action: NDArray[Any]) -> NDArray[Any]:
        """Expand values of page actions (in the order of `page_action`) to slots."""
        return of_page_action[ranges(self.page_first[self.page], self.count)]

    @cached_property
    def fingerprint(self) -> str:
        """Hash of the texts and arrays."""
        digest = hashlib.sha256()
        for name in [part.name for part in fields(self) if part.name not in NOT_PLAYED]:
            value = getattr(self, name)
            content = value.tobytes() if isinstance(value, np.ndarray) else repr(value).encode()
            digest.update(name.encode() + content)
        return digest.hexdigest()

    # --- one episode

    def another(self) -> "Compiled":
        """A copy with its own state and random generator. The arrays are shared."""
        twin = copy.copy(self)
        twin.__post_init__()
        return twin

    def reset(self, seed: int | None = None) -> Observation:
        if seed is not None:
            self._random = random.Random(f"game {operator.index(seed)}")  # salted, as in all games
        return self._arrive(0)

    def step(self, index: int) -> Observation:
        check_index(index, len(self._slots))
        return self._arrive(int(self.row[self._slots[index]]))

    @property
    def ending(self) -> str | None:
        """Name of the ending that was reached (in a story, the passage), or None."""
        number = int(self.ending_at[self._state]) if self._state >= 0 else -1
        return self.endings[number].passage if number >= 0 else None

    @property
    def state(self) -> int:
        """The state of the episode, -1 before its start."""
        return self._state

    @property
    def slots(self) -> Sequence[int]:
        """The slots of the page, in the order of its actions."""
        return self._slots

    def go_to(self, state: int) -> Observation:
        """Continue the episode in a state, with its actions in the author's order."""
        self._state = state
        self._slots = list(range(int(self.first[state]), int(self.first[state + 1])))
        return self.observation(state, self._slots)

    def _arrive(self, row: int) -> Observation:
        outcomes = self.row_outcomes(row)
        outcome = 0
        if outcomes.stop - outcomes.start > 1:
            cumulative = np.cumsum(self.probability[outcomes])[:-1]
            outcome = int(np.searchsorted(cumulative, self._random.random(), side="right"))
        self._state = int(self.successor[outcomes.start + outcome])
        self._slots = list(range(int(self.first[self._state]), int(self.first[self._state + 1])))
        if self.shuffle:
            self._random.shuffle(self._slots)
        return self.observation(self._state, self._slots)

    def observation(self, state: int, slots: Sequence[int]) -> Observation:
        """The page of a state, with its slots in the given order."""
        actions = tuple(self.actions[self.action[slot]] for slot in slots)
        return Observation(self.texts[self.text[state]], actions, float(self.reward[state]))

    # --- many episodes

    def play(
        self,
        policy: Floats | None,
        episodes: int,
        *,
        seed: int,
        record: bool = False,
        again: Floats | None = None,
        lanes: int = 10_000,
        most_visits: int = 100_000_000,
    ) -> Played:
        """Play many episodes at once.

        Args:
            policy: The probability of each slot. None plays randomly.
            episodes: How many to play.
            seed: Determines all episodes.
            record: Whether to return every transition.
            again: The probability of each slot on a page where the episode is in a circle (see
                `episodes.CIRCLE`), if it differs from `policy`.
            lanes: The largest number of episodes at once.
            most_visits: The largest product of lanes and pages with `again`: a byte each.
        """
        random = np.random.default_rng([SALT, seed])
        count = min(lanes, episodes)
        if again is not None:
            count = min(count, max(1, most_visits // len(self.page_text)))
        choose = _chooser(self, policy, random, again)
        arrive = arrivals(self, random)
        running = Lanes(self, arrive, episodes, count)
        steps: list[tuple[Ints | Flags, ...]] = []
        while running.start_and_finish():
            circle = np.zeros(running.state.size, bool) if again is None else running.visit()
            slot = choose(running.state + len(self) * circle)
            successor = arrive(self.row[slot])
            if record:  # copies, since lanes change these arrays in place
                episode = running.episode.copy()
                steps.append((episode, running.state, slot, successor.copy(), circle))
            running.move(successor)
        played = running.played
        return replace(played, transitions=_steps_taken(steps)) if record else played


class Lanes:
    """Running episodes, and the outcomes of finished ones."""

    def __init__(self, game: Compiled, arrive: Draw, episodes: int, lanes: int) -> None:
        self.game = game
        self.arrive = arrive
        self.lanes = lanes
        self.episode = np.arange(lanes)
        self.steps = np.zeros(lanes, int)
        self.total = np.zeros(lanes)
        self.number = np.arange(lanes)  # stays with a lane when others are removed
        self.state = arrive(np.zeros(lanes, int))
        self.started = lanes
        self.episodes = episodes
        steps = np.zeros(episodes, int)
        self.played = Played(np.zeros(episodes), np.zeros(episodes), steps, np.full(episodes, -1))

    def start_and_finish(self) -> bool:
        """Record finished episodes and start new ones. Returns False when none are left."""
        while True:
            over = (self.game.ended[self.state] | (self.steps >= self.game.max_steps)).nonzero()[0]
            if not over.size:
                return bool(self.state.size)
            self._record(over)
            self._restart(over)

    def move(self, successor: Ints) -> None:
        self.state = successor
        self.total += self.game.reward[successor]
        self.steps += 1

    def visit(self) -> Flags:
        """Count each lane's page, and return whether its episode is in a circle."""
        starts = (self.steps == 0) | (self.game.reward[self.state] > 0)
        self.visits[self.number[starts]] = 0
        here = self.number, self.game.page[self.state]
        circle: Flags = self.visits[here] >= CIRCLE
        self.visits[here] += ~circle
        return circle

    @cached_property
    def visits(self) -> NDArray[np.uint8]:
        """Visits of each page since the last positive reward of each lane, [lanes, P]."""
        return np.zeros((self.lanes, len(self.game.page_text)), np.uint8)

    def _record(self, over: Ints) -> None:
        episode = self.episode[over]
        state = self.state[over]
        reward = np.where(self.game.ended[state], self.game.reward[state], 0.0)
        self.played.final_reward[episode] = reward
        self.played.total[episode] = self.total[over]
        self.played.steps[episode] = self.steps[over]
        self.played.ending[episode] = self.game.ending_at[state]

    def _restart(self, over: Ints) -> None:
        again, idle = np.split(over, [min(over.size, self.episodes - self.started)])
        self.episode[again] = np.arange(self.started, self.started + again.size)
        self.started += again.size
        self.steps[again] = 0
        self.total[again] = 0.0
        self.state[again] = self.arrive(np.zeros(again.size, int))
        if idle.size:  # no more episodes to start: remove the lanes
            for name in ("number", "episode", "state", "steps", "total"):
                setattr(self, name, np.delete(getattr(self, name), idle))


def _steps_taken(steps: list[tuple[Ints | Flags, ...]]) -> StepsTaken:
    empty = (*[np.zeros(0, int)] * 4, np.zeros(0, bool))
    return StepsTaken(*map(np.concatenate, zip(*(steps or [empty]), strict=True)))


def _chooser(
    game: Compiled, policy: Floats | None, random: np.random.Generator, again: Floats | None
) -> Draw:
    """The function from states to slots. With `again`, state i in a circle is S + i."""
    first = game.first
    count = game.count
    if policy is None:
        if again is not None:
            raise TypeError("a policy for circles needs probabilities of slots")
        return lambda state: (
            first[state] + (random.random(state.size) * count[state]).astype(np.intp)
        )
    tables = [policy] if again is None else [policy, again]
    by = _by_sums if int(count.max(initial=0)) > WIDE else _by_table
    return by(game, [_cumulative(game, table) for table in tables], random)


def _cumulative(game: Compiled, probabilities: Floats) -> Floats:
    """Cumulative probabilities within each state, [slots]."""
    sums = np.cumsum(probabilities)
    before = np.concatenate([[0.0], sums])[game.first[:-1]]  # [S] sum of earlier states
    within: Floats = sums - before[game.slot_state]
    return within


def _by_table(game: Compiled, sums: Sequence[Floats], random: np.random.Generator) -> Draw:
    """For narrow pages: a row for each state, in which the last action has the bound 2."""
    inner = np.ones(len(game.row), bool)
    inner[game.first[1:][~game.ended] - 1] = False
    cells = np.arange(game.page_actions.shape[1]) < game.count[:, None] - 1
    bounds = np.full((len(sums), *cells.shape), 2.0, np.float32)
    for table, within in zip(bounds, sums, strict=True):
        table[cells] = within[inner]
    bounds = bounds.reshape(-1, cells.shape[1])
    first = np.tile(game.first[:-1], len(sums))

    def choose(state: Ints) -> Ints:
        number = random.random(state.size, np.float32)[:, None]
        # the first bound above the random number
        slot: Ints = first[state] + (bounds.take(state, axis=0) <= number).argmin(axis=1)
        return slot

    return choose


def _by_sums(game: Compiled, sums: Sequence[Floats], random: np.random.Generator) -> Draw:
    """For wide pages: one sorted array of sums. Those of state i are between i and i + 1."""
    slots = len(game.row)
    numbers = range(len(sums))
    starts = [number * len(game) + game.slot_state for number in numbers]
    ends = np.concatenate([starts[n] + np.minimum(sums[n], 1.0) for n in numbers])
    last = np.concatenate([n * slots + game.first[1:] - 1 for n in numbers])

    def choose(state: Ints) -> Ints:
        slot = np.searchsorted(ends, state + random.random(state.size), side="right")
        within: Ints = np.minimum(slot, last[state]) % slots
        return within

    return choose


def arrivals(game: Compiled, random: np.random.Generator) -> Draw:
    """The function from rows to randomly drawn successor states."""
    counts = np.diff(game.row_first)
    only = np.where(counts > 1, -1, game.successor[game.row_first[:-1]])
    last = game.row_first[1:] - 1
    cumulative = np.cumsum(game.probability)
    # the sums of row r lie between r and r + 1
    cumulative += np.repeat(np.arange(len(counts)) - (cumulative[last] - 1.0), counts)

    def arrive(row: Ints) -> Ints:
        state: Ints = only[row]
        open_rows = (state < 0).nonzero()[0]
        if open_rows.size:
            rows = row[open_rows]
            outcome = np.searchsorted(cumulative, rows + random.random(rows.size), side="right")
            state[open_rows] = game.successor[np.minimum(outcome, last[rows])]
        return state

    return arrive


def totals(index: Ints, amount: Floats | Flags, size: int) -> Floats:
    """Sum the amounts of each index from 0 to size - 1."""
    sums: Floats = np.bincount(index, amount, size).astype(np.float64, copy=False)
    return sums
