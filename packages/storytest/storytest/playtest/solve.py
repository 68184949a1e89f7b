"""Exact answers from a compiled game: probabilities, best play, shortest paths, traps, lengths."""

import itertools
import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from storytest.playtest.clicks import ClickPath
from storytest.playtest.evidence import Shares
from storytest.playtest.findings import LOOP, Play, Problem, Statistics
from textgames.compiled.chain import Chain, uniform
from textgames.compiled.game import Compiled, Flags, Floats, Ints
from textgames.compiled.search import EndingId
from textgames.compiled.solve import best, one_slot, policy_score
from textgames.errors import InputError
from textgames.estimate import Estimate
from textgames.game.contract import Game

Step = tuple[int, float]  # a slot, and the probability of the outcome that it had
T = TypeVar("T")


@dataclass(frozen=True)
class Solution:
    """Exact play of a compiled game."""

    compiled: Compiled
    random: Play
    best: Play
    shares: dict[str, Shares]  # by random and best play
    traps: list[Problem]  # pages that reach no ending; if there is none, not the start either


def solve(compiled: Compiled, *, returns: bool = False) -> Solution:
    """Solve a compiled game, with `returns` also for the return."""
    solution = best(compiled)
    random_play, random_shares = exact_play(compiled, uniform(compiled))
    best_play, best_shares = exact_play(compiled, one_slot(compiled, solution.slot))
    best_return = _best_return(compiled) if returns else None
    chain = Chain(compiled, uniform(compiled))
    is_trap = ~chain.leads_to(compiled.ended)
    is_loop = is_trap
    if is_trap.all():  # no page ends the story, but one may lead back to its start
        starts = compiled.passage[compiled.start > 0]
        is_loop = ~chain.leads_to(np.isin(compiled.passage, starts))
    return Solution(
        compiled,
        random=random_play,
        best=replace(best_play, final_reward=Estimate(solution.score), returns=best_return),
        shares={"random": random_shares, "best": best_shares},
        traps=_traps(compiled, is_loop),
    )


def exact_play(compiled: Compiled, probabilities: Floats) -> tuple[Play, Shares]:
    """The scores of a policy and its endings, given the probability of each slot."""
    score = policy_score(compiled, probabilities)
    reward = Estimate(score.final_reward)
    play = Play(reward, _exact(score.total), _exact(score.steps), Estimate(score.trapped))
    shares = map(Estimate, score.endings.tolist())
    return play, dict(zip(compiled.endings, shares, strict=True))


def statistics_of(game: Game, compiled: Compiled) -> Statistics:
    """The size of a compiled game, and whether its actions are part of its texts."""
    sizes = np.diff(compiled.page_first)
    is_hypertext = set(compiled.page_hypertext[sizes > 0].tolist())
    kinds = ["choice"] * (False in is_hypertext) + ["hypertext"] * (True in is_hypertext)
    is_stochastic = (np.diff(compiled.row_first) > 1).any()
    return Statistics(
        kind=str(getattr(game, "kind", None) or " & ".join(kinds) or "choice"),
        transitions="stochastic" if is_stochastic else "deterministic",
        pages=len(np.unique(compiled.page_text)),
        actions=len(np.unique(compiled.page_action)),
        most_actions=int(sizes.max()),
    )


def _exact(number: float) -> Estimate | None:
    return Estimate(float(number)) if math.isfinite(number) else None


def _best_return(compiled: Compiled) -> Estimate | None:
    try:
        solution = best(compiled, 1.0)
    except InputError:  # a loop that pays
        return None
    return _exact(solution.score)


def _slots(compiled: Compiled, state: int) -> range:
    return range(int(compiled.first[state]), int(compiled.first[state + 1]))


def _outcomes(compiled: Compiled, slot: int) -> list[tuple[float, int]]:
    outcomes = compiled.outcomes(slot)
    chances = compiled.probability[outcomes].tolist()
    return list(zip(chances, compiled.successor[outcomes].tolist(), strict=True))


def _path(compiled: Compiled, steps: list[Step], text: str) -> ClickPath:
    """The path of some steps, with chances below 1 only where a draw decides what follows."""
    actions = tuple(compiled.actions[compiled.action[slot]] for slot, _ in steps)
    choices = tuple(int(slot - compiled.first[compiled.slot_state[slot]]) for slot, _ in steps)
    chances = []
    for (slot, chance), following in itertools.zip_longest(steps, actions[1:]):
        favourable = 0.0
        for probability, after in _outcomes(compiled, slot):
            offered = (compiled.actions[compiled.action[one]] for one in _slots(compiled, after))
            is_last = following is None and compiled.texts[compiled.text[after]] == text
            favourable += probability * (is_last or following in offered)
        chances.append(min(1.0, max(chance, favourable)))
    return ClickPath(actions, choices, None, tuple(chances), text)


class ShortestPaths:
    """Shortest paths from the start to every state, assuming favourable draws.

    Args:
        compiled: The game.
        policy: The slot that a player takes in each state; all of them if it is missing.
    """

    def __init__(self, compiled: Compiled, policy: Ints | None = None) -> None:
        self.compiled = compiled
        # Nearest states first, each with the step to it.
        starts = np.flatnonzero(compiled.start).tolist()
        self.states: dict[int, Step | None] = dict.fromkeys(starts)
        queue = list(starts)
        for state in queue:
            slots: Sequence[int] = _slots(compiled, state)
            if policy is not None and slots:
                slots = [int(policy[state])]
            for slot in slots:
                for chance, after in _outcomes(compiled, slot):
                    if after not in self.states:
                        self.states[after] = (slot, chance)
                        queue.append(after)

    def path(self, state: int) -> ClickPath:
        """The path to a state, with the probability of each step."""
        text = self.compiled.texts[self.compiled.text[state]]
        steps = []
        while (step := self.states[state]) is not None:
            steps.append(step)
            state = int(self.compiled.slot_state[step[0]])
        return _path(self.compiled, steps[::-1], text)

    def to_first(self, label: Callable[[int], T | None]) -> dict[T, ClickPath]:
        """The path to the nearest state of each label, where None is no label."""
        paths: dict[T, ClickPath] = {}
        for state in self.states:
            name = label(state)
            if name is not None and name not in paths:
                paths[name] = self.path(state)
        return paths

    def to_endings(self) -> dict[EndingId, ClickPath]:
        """The path to each ending."""
        endings = [*self.compiled.endings, None]  # -1, a state that has not ended, is the last
        return self.to_first(lambda state: endings[self.compiled.ending_at[state]])

    def to_passages(self) -> dict[str, ClickPath]:
        """The path to each passage."""
        names = self.compiled.passages
        return self.to_first(lambda state: names[self.compiled.passage[state]])

    def to_any(self, states: Collection[int]) -> ClickPath | None:
        """The path to the nearest of some states, if one of them is reachable."""
        nearest = next((state for state in self.states if state in states), None)
        return None if nearest is None else self.path(nearest)


def _traps(compiled: Compiled, is_trap: Flags) -> list[Problem]:
    if not is_trap.any():
        return []
    label = compiled.label
    paths = ShortestPaths(compiled).to_first(lambda s: label(s) if is_trap[s] else None)
    what = "a loop without a way out: no ending is reachable from here"
    return [Problem(LOOP, what, name, None, path, "warning") for name, path in paths.items()]


def link_pairs(compiled: Compiled) -> set[tuple[str, str]]:
    """The passages of all pairs of consecutive pages."""
    chain = Chain(compiled, uniform(compiled))
    passages = [compiled.passage[chain.origin], compiled.passage[chain.successor]]
    pairs = np.unique(np.column_stack(passages), axis=0)
    return {(compiled.passages[one], compiled.passages[other]) for one, other in pairs}


def longer_than(compiled: Compiled, steps: int) -> ClickPath | None:
    """The path of a game that has not ended after `steps`, if there is one."""
    chain = Chain(compiled, uniform(compiled))
    continuing = [~compiled.ended]  # states that have not ended after 0, 1, … more steps
    for _ in range(steps):
        states = np.zeros(len(compiled), bool)
        states[chain.origin[continuing[-1][chain.successor]]] = True
        continuing.append(states)
    starts = np.flatnonzero((compiled.start > 0) & continuing.pop())
    if not len(starts):
        return None
    state = int(starts[0])
    path: list[Step] = []
    for states in reversed(continuing):
        slots = _slots(compiled, state)
        outcomes = ((slot, *outcome) for slot in slots for outcome in _outcomes(compiled, slot))
        slot, chance, state = next(outcome for outcome in outcomes if states[outcome[2]])
        path.append((slot, chance))
    return _path(compiled, path, compiled.texts[compiled.text[state]])


@dataclass(frozen=True)
class WalkthroughStep:
    """A page and its best action."""

    state: int
    passage: str
    text: str
    action: str | None  # None: the episode has ended
    chance: float  # of the next page


def walkthrough(compiled: Compiled) -> list[WalkthroughStep]:
    """The shortest course of best play. It stops early if the best is never to end."""
    best_slot = best(compiled).slot
    ended = compiled.ended
    paths = ShortestPaths(compiled, best_slot)
    state = next((state for state in paths.states if ended[state]), next(reversed(paths.states)))
    course = []
    chance = 1.0
    while True:
        text = compiled.texts[compiled.text[state]]
        action = None if ended[state] else compiled.actions[compiled.action[best_slot[state]]]
        course.append(WalkthroughStep(state, compiled.label(state), text, action, chance))
        step = paths.states[state]
        if step is None:
            return course[::-1]
        chance = step[1]
        state = int(compiled.slot_state[step[0]])
