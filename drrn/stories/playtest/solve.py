"""Exact answers from a compiled game: probabilities, best play, shortest paths, traps, lengths."""

from __future__ import annotations

import heapq
import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from drrn.compiled.chain import Chain, uniform
from drrn.compiled.game import Compiled, Flags, Ints
from drrn.compiled.memoryless import best_memoryless
from drrn.compiled.search import EndingId
from drrn.compiled.solve import Score, best, one_slot, policy_score, random_play
from drrn.errors import InputError
from drrn.stories.playtest.clicks import ClickPath
from drrn.stories.playtest.findings import Estimate, Play
from drrn.text import ranges

MIN_RISE = 1.5  # a step that makes its goal less than 1.5 times as likely is not decisive

Outcome = tuple[float, int]  # probability, state
T = TypeVar("T")


@dataclass(frozen=True)
class Solution:
    """Exact play of a compiled game."""

    compiled: Compiled
    random: Play
    best: Play
    memoryless: Play | None
    random_endings: dict[EndingId, float]  # probabilities
    best_endings: dict[EndingId, float]
    traps: dict[str, ClickPath]  # passages, or first words, of states that reach no ending
    trap_states: int


def solve(compiled: Compiled, *, returns: bool = False) -> Solution:
    """Solve a compiled game; `returns` adds the highest return and the best memoryless policy."""
    random_score = random_play(compiled)
    solution = best(compiled)
    best_score = policy_score(compiled, one_slot(compiled, solution.slot))
    memoryless = None
    best_return = None
    if returns:
        best_return = _best_return(compiled)
        final_reward = Estimate(best_memoryless(compiled).score)
        memoryless = Play(final_reward, _best_return(compiled, memoryless=True), None)
    is_trap = ~Chain(compiled, uniform(compiled)).leads_to(compiled.ended)
    return Solution(
        compiled,
        random=_play(random_score, random_score.final_reward, _exact(random_score.total)),
        best=_play(best_score, solution.score, best_return),
        memoryless=memoryless,
        random_endings=_by_ending(compiled, random_score),
        best_endings=_by_ending(compiled, best_score),
        traps=_traps(compiled, is_trap),
        trap_states=int(is_trap.sum()),
    )


def _play(score: Score, final_reward: float, returns: Estimate | None) -> Play:
    return Play(Estimate(final_reward), returns, _exact(score.steps), Estimate(score.trapped))


def _exact(number: float) -> Estimate | None:
    return Estimate(float(number)) if math.isfinite(number) else None


def _best_return(compiled: Compiled, memoryless: bool = False) -> Estimate | None:
    try:
        solution = best_memoryless(compiled, 1.0) if memoryless else best(compiled, 1.0)
    except InputError:  # a loop that pays
        return None
    return _exact(solution.score)


def _by_ending(compiled: Compiled, score: Score) -> dict[EndingId, float]:
    total: defaultdict[EndingId, float] = defaultdict(float)
    for place, probability in zip(compiled.endings, score.endings.tolist(), strict=True):
        total[place] += probability
    return dict(total)


class ShortestPaths:
    """Shortest paths from the start to every state, assuming favourable draws."""

    def __init__(self, compiled: Compiled) -> None:
        self.compiled = compiled
        # Nearest states first, each with the slot and the probability by which it is reached.
        self.states: dict[int, tuple[int, float] | None] = {
            int(state): None for state in np.flatnonzero(compiled.start)
        }
        queue = list(self.states)
        for state in queue:
            for slot in range(int(compiled.first[state]), int(compiled.first[state + 1])):
                for chance, successor in _outcomes(compiled, slot):
                    if successor not in self.states:
                        self.states[successor] = (slot, chance)
                        queue.append(successor)

    def path(self, state: int) -> ClickPath:
        """Return the path to a state, with the probability of each step."""
        text = self.compiled.texts[self.compiled.text[state]]
        steps = []
        while (step := self.states[state]) is not None:
            steps.append(step)
            state = int(self.compiled.slot_state[step[0]])
        return _path(self.compiled, steps[::-1], text)

    def to_first(self, label: Callable[[int], T | None]) -> dict[T, ClickPath]:
        """Return the path to the nearest state of each label; None is no label."""
        paths: dict[T, ClickPath] = {}
        for state in self.states:
            name = label(state)
            if name is not None and name not in paths:
                paths[name] = self.path(state)
        return paths

    def to_endings(self) -> dict[EndingId, ClickPath]:
        """Return the path to each ending."""
        endings = [*self.compiled.endings, None]  # -1, a state that has not ended, is the last
        paths = self.to_first(lambda state: endings[self.compiled.ending_at[state]])
        return {key: with_deciding_chances(self.compiled, path) for key, path in paths.items()}

    def to_passages(self) -> dict[str, ClickPath]:
        """Return the path to each passage."""
        names = self.compiled.passages
        return self.to_first(lambda state: names[self.compiled.passage[state]])

    def to_any(self, states: Collection[int]) -> ClickPath | None:
        """Return the path to the nearest of some states; None if none of them is reachable."""
        nearest = next((state for state in self.states if state in states), None)
        if nearest is None:
            return None
        return with_deciding_chances(self.compiled, self.path(nearest))


def _traps(compiled: Compiled, is_trap: Flags) -> dict[str, ClickPath]:
    if not is_trap.any():
        return {}
    label = compiled.label
    return ShortestPaths(compiled).to_first(lambda state: label(state) if is_trap[state] else None)


def _outcomes(compiled: Compiled, slot: int) -> Iterator[Outcome]:
    outcomes = compiled.outcomes(slot)
    chances = compiled.probability[outcomes].tolist()
    yield from zip(chances, compiled.successor[outcomes].tolist(), strict=True)


def _path(compiled: Compiled, steps: list[tuple[int, float]], text: str) -> ClickPath:
    """Return the path of slots, each with its probability."""
    actions = tuple(compiled.actions[compiled.action[slot]] for slot, _ in steps)
    return ClickPath(actions, (), None, tuple(chance for _, chance in steps), text)


def link_pairs(compiled: Compiled) -> set[tuple[str, str]]:
    """Return the passages of all pairs of consecutive pages."""
    counts = np.diff(compiled.row_first)[compiled.row]
    outcomes = ranges(compiled.row_first[compiled.row], counts)
    origins = np.repeat(compiled.passage[compiled.slot_state], counts)
    targets = compiled.passage[compiled.successor[outcomes]]
    pairs = np.unique(np.column_stack([origins, targets]), axis=0)
    return {(compiled.passages[one], compiled.passages[other]) for one, other in pairs}


def longer_than(compiled: Compiled, steps: int) -> ClickPath | None:
    """Return the path of a game that has not ended after `steps`; None if every game has."""
    layers = [np.flatnonzero((compiled.start > 0) & ~compiled.ended)]
    for _ in range(steps):
        is_reached = np.zeros(len(compiled), bool)
        for state in layers[-1]:
            for row in np.unique(compiled.row[compiled.first[state] : compiled.first[state + 1]]):
                outcomes = slice(compiled.row_first[row], compiled.row_first[row + 1])
                is_reached[compiled.successor[outcomes]] = True
        layers.append(np.flatnonzero(is_reached & ~compiled.ended))
        if not len(layers[-1]):
            return None
    last = int(layers[-1][0])
    text = compiled.texts[compiled.text[last]]
    path: list[tuple[int, float]] = []
    for layer in layers[-2::-1]:
        slot, chance = _step_to(compiled, layer, last)
        path.append((slot, chance))
        last = int(compiled.slot_state[slot])
    return _path(compiled, path[::-1], text)


def _step_to(compiled: Compiled, states: Ints, target: int) -> tuple[int, float]:
    """Return the first slot of some states that can lead to a target, with its probability."""
    for state in states:
        for slot in range(int(compiled.first[state]), int(compiled.first[state + 1])):
            for chance, successor in _outcomes(compiled, slot):
                if successor == target:
                    return slot, chance
    raise AssertionError("every state of a layer has a predecessor in the layer before")


@dataclass(frozen=True)
class WalkthroughStep:
    """A page and its best action; `chance` is the probability of the next page."""

    state: int
    passage: str
    text: str
    action: str | None  # None: the episode has ended
    chance: float


def walkthrough(compiled: Compiled) -> list[WalkthroughStep]:
    """Return the most likely course of best play; it stops early if the best is never to end."""
    slots = best(compiled).slot
    origins = _likeliest(compiled, slots)
    ends = [state for state in origins if compiled.ended[state]]
    state = ends[0] if ends else next(reversed(origins))
    steps = []
    chance = 1.0
    while True:
        text = compiled.texts[compiled.text[state]]
        action = None
        if not compiled.ended[state]:
            action = compiled.actions[compiled.action[slots[state]]]
        steps.append(WalkthroughStep(state, compiled.label(state), text, action, chance))
        origin = origins[state]
        if origin is None:
            return steps[::-1]
        state, chance = origin


def _likeliest(compiled: Compiled, slots: Ints) -> dict[int, tuple[int, float] | None]:
    """Return the states of a policy, likeliest first, with the state before and the probability."""
    origins: dict[int, tuple[int, float] | None] = {}
    heap: list[tuple[float, int, tuple[int, float] | None]] = [
        (-math.log(compiled.start[state]), int(state), None)
        for state in np.flatnonzero(compiled.start)
    ]
    while heap:
        cost, state, origin = heapq.heappop(heap)
        if state in origins:
            continue
        origins[state] = origin
        if compiled.ended[state]:
            continue
        for chance, successor in _outcomes(compiled, int(slots[state])):
            if successor not in origins:
                heapq.heappush(heap, (cost - math.log(chance), successor, (state, chance)))
    return origins


@dataclass(frozen=True)
class DecidingStep:
    """The step of a path that raises the probability of its goal in random play most."""

    number: int  # from 1
    action: str
    by_chance: bool  # by the outcome of the action; else by its choice
    before: float
    after: float

    @property
    def rise(self) -> float:
        return self.after / self.before if self.before > 0 else 0.0


def deciding_step(
    compiled: Compiled, path: ClickPath, endings: Collection[EndingId]
) -> DecidingStep | None:
    """Return the step that decides most on the path to some endings; None if no step stands out."""
    is_goal = np.array([place in endings for place in compiled.endings] + [False])
    goal = is_goal[compiled.ending_at]  # -1, a state that has not ended, is the last
    odds = Chain(compiled, uniform(compiled)).value(goal.astype(float))
    odds[goal] = 1.0
    steps = []
    for number, (state, outcomes, favourable) in enumerate(_along(compiled, path), 1):
        chosen = float(sum(chance * odds[after] for chance, after in outcomes))
        action = path.actions[number - 1]
        steps.append(DecidingStep(number, action, False, float(odds[state]), chosen))
        steps.append(DecidingStep(number, action, True, chosen, float(odds[favourable[0][1]])))
    top = max(steps, key=lambda step: step.rise, default=None)
    return top if top is not None and top.rise >= MIN_RISE else None


def with_deciding_chances(compiled: Compiled, path: ClickPath) -> ClickPath:
    """Return the path with chances below 1 only where a draw decides if the path can continue."""
    chances = []
    for _, _, favourable in _along(compiled, path):
        chances.append(min(1.0, sum(chance for chance, _ in favourable)))
    return replace(path, chances=tuple(chances)) if len(chances) == len(path) else path


def _along(
    compiled: Compiled, path: ClickPath
) -> Iterator[tuple[int, list[Outcome], list[Outcome]]]:
    """Yield each state of a path, the outcomes of its action, and those that allow the rest."""
    cache: dict[tuple[int, int], bool] = {}

    def outcomes_of(state: int, number: int) -> list[Outcome]:
        for slot in range(int(compiled.first[state]), int(compiled.first[state + 1])):
            if compiled.actions[compiled.action[slot]] == path.actions[number]:
                return list(_outcomes(compiled, slot))
        return []

    def is_possible(state: int, number: int) -> bool:
        if number == len(path):
            return bool(compiled.texts[compiled.text[state]] == path.comes_to)
        key = (state, number)
        if key not in cache:
            outcomes = outcomes_of(state, number)
            cache[key] = any(is_possible(after, number + 1) for _, after in outcomes)
        return cache[key]

    starts = map(int, np.flatnonzero(compiled.start))
    state = next((start for start in starts if is_possible(start, 0)), None)
    for number in range(len(path)) if state is not None else ():
        assert state is not None
        outcomes = outcomes_of(state, number)
        favourable = [(chance, s) for chance, s in outcomes if is_possible(s, number + 1)]
        yield state, outcomes, favourable
        state = favourable[0][1]
