"""Where a way is decided: the steps at which chance must be kind, and the one after which an ending is likeliest."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from drrn.compiled.chain import Chain, uniform
from drrn.compiled.game import Compiled
from drrn.compiled.graph import Flags
from drrn.stories.playtest.clicks import ClickPath

LEAST_RISE = 1.5  # times as likely as before: a smaller rise decides nothing

Outcome = tuple[float, int]  # a chance, and the state that it leads to


@dataclass(frozen=True)
class DecidingStep:
    """The step of a way at which its goal becomes most times as likely in random play."""

    number: int  # from 1
    action: str
    by_chance: bool  # of the action's outcome; else by the choice of the action
    before: float  # how likely random play comes to the goal
    after: float


def with_deciding_chances(compiled: Compiled, path: ClickPath) -> ClickPath:
    """The path with chances below 1 at those steps alone where chance decides whether its later actions can follow."""
    chances = [min(1.0, sum(chance for chance, _ in kind)) for _, _, kind in _along(compiled, path)]
    return replace(path, chances=tuple(chances)) if len(chances) == len(path) else path


def deciding_step(compiled: Compiled, path: ClickPath, goal: Flags) -> DecidingStep | None:
    """The step that decides most of a way to some states; None where every step decides a little."""
    odds = Chain(compiled, uniform(compiled)).value(goal.astype(float))
    odds[goal] = 1.0
    found = []
    for number, (state, outcomes, kind) in enumerate(_along(compiled, path), 1):
        chosen = sum(chance * odds[after] for chance, after in outcomes)
        action = path.actions[number - 1]
        arrived = odds[kind[0][1]]
        found.append(DecidingStep(number, action, False, float(odds[state]), float(chosen)))
        found.append(DecidingStep(number, action, True, float(chosen), float(arrived)))
    most = max(found, key=_rise, default=None)
    return most if most is not None and _rise(most) >= LEAST_RISE else None


def _rise(step: DecidingStep) -> float:
    return step.after / step.before if step.before > 0 else 0.0


def _along(
    compiled: Compiled, path: ClickPath
) -> Iterator[tuple[int, list[Outcome], list[Outcome]]]:
    """Each state on a path, what its action can lead to, and which of that leads on along the path."""
    ahead = _Ahead(compiled, path)
    state = next((int(one) for one in np.flatnonzero(compiled.start) if ahead.can(int(one), 0)), -1)
    for number in range(len(path)) if state >= 0 else ():
        outcomes = ahead.steps(state, number)
        kind = [(chance, after) for chance, after in outcomes if ahead.can(after, number + 1)]
        yield state, outcomes, kind
        state = kind[0][1]


class _Ahead:
    """Whether the rest of a path can be taken from a state, if chance is kind."""

    def __init__(self, compiled: Compiled, path: ClickPath) -> None:
        self.compiled = compiled
        self.path = path
        self.known: dict[tuple[int, int], bool] = {}

    def steps(self, state: int, number: int) -> list[Outcome]:
        """What the action of a number on the path leads to from a state."""
        compiled = self.compiled
        for slot in range(int(compiled.first[state]), int(compiled.first[state + 1])):
            if compiled.actions[compiled.action[slot]] == self.path.actions[number]:
                outcomes = compiled.outcomes(slot)
                successors = compiled.successor[outcomes]
                chances = compiled.probability[outcomes]
                return [
                    (float(chance), int(after))
                    for after, chance in zip(successors, chances, strict=True)
                ]
        return []

    def can(self, state: int, number: int) -> bool:
        if number == len(self.path):
            return bool(self.compiled.texts[self.compiled.text[state]] == self.path.comes_to)
        if (state, number) not in self.known:
            found = any(self.can(after, number + 1) for _, after in self.steps(state, number))
            self.known[state, number] = found
        return self.known[state, number]
