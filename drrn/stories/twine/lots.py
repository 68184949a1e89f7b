"""Lots: what a story leaves to chance, as a number from 0 up whose odds are known."""

from __future__ import annotations

import math
from typing import Union

Chances = Union[
    int, "tuple[float, ...]"
]  # so many outcomes that are equally likely, or the probability of each


def outcome_of(chances: Chances, uniform: float) -> int:
    """The outcome that a number drawn evenly from 0 to 1 stands for."""
    if isinstance(chances, int):
        return int(uniform * chances)
    for outcome, probability in enumerate(chances):
        uniform -= probability
        if uniform < 0:
            return outcome
    return len(chances) - 1


class EveryLot:
    """A source of chance that gives every sequence of outcomes once, counting up like an odometer."""

    def __init__(self) -> None:
        self.drawn: list[int] = []
        self.chances: list[Chances] = []
        self.at = -1  # lots drawn in the present sequence; -1: none begun

    def again(self) -> bool:
        """Begin the next sequence, if there is one."""
        if self.at >= 0:
            while self.drawn and self.drawn[-1] + 1 == _count(self.chances[-1]):
                self.drawn.pop()
                self.chances.pop()
            if not self.drawn:
                return False
            self.drawn[-1] += 1
        self.at = 0
        return True

    def draw(self, chances: Chances) -> int:
        if self.at == len(self.drawn):  # a lot not met before on this way
            self.drawn.append(0)
            self.chances.append(chances)
        self.at += 1
        return self.drawn[self.at - 1]

    @property
    def probability(self) -> float:
        """Of the present sequence; lots with equal odds divide once, so that nothing is rounded on the way."""
        equal = 1
        given = 1.0
        for chances, outcome in zip(self.chances, self.drawn, strict=True):
            if isinstance(chances, int):
                equal *= chances
            else:
                given *= chances[outcome]
        return given / equal


def _count(chances: Chances) -> int:
    return chances if isinstance(chances, int) else len(chances)


def shares(low: float, high: float) -> tuple[int, tuple[float, ...]]:
    """The whole number that a stretch begins in, and how the stretch is shared among the whole numbers it passes."""
    first = math.floor(low)
    last = math.ceil(high)
    parts = (min(k + 1, high) - max(k, low) for k in range(first, max(last, first + 1)))
    return first, tuple(part / (high - low) for part in parts)
