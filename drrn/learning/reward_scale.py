"""Rewards in units that suit the settings: α and η were chosen for returns that spread over about forty.

Where a run asks for `alpha_relative`, what is learned from is multiplied by a power of two that brings the spread of
the returns met so far near forty: π ∝ exp(40 α Q / spread), about. A power of two leaves every digit as it was.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from drrn.learning.learner import Experience
from drrn.learning.replay import Transitions
from drrn.learning.steps import Steps
from drrn.text import State

SPREAD = 40.0  # of the paper's games: their endings pay from -20 to 20, or 30


class RewardScale:
    """For each replica, the smallest and largest return met so far, 0 included, and what rewards are multiplied by."""

    def __init__(self, replicas: int) -> None:
        self.low = [0.0] * replicas
        self.high = [0.0] * replicas

    @property
    def factors(self) -> list[float]:
        return [self.factor(replica) for replica in range(len(self.low))]

    def factor(self, replica: int) -> float:
        """What the replica's rewards are multiplied by; 1 before any return has differed from 0."""
        spread = self.high[replica] - self.low[replica]
        return 2.0 ** round(math.log2(SPREAD / spread)) if spread > 0 else 1.0

    def meet(self, replica: int, returns: Sequence[float]) -> float:
        """Take in the returns of episodes; what was told before must now be multiplied by this, mostly 1."""
        before = self.factor(replica)
        self.low[replica] = min([self.low[replica], *returns])
        self.high[replica] = max([self.high[replica], *returns])
        return self.factor(replica) / before

    def state(self) -> State:
        return {"low": self.low, "high": self.high}

    def restore(self, state: State) -> None:
        self.low = list(state["low"])
        self.high = list(state["high"])


@dataclass(frozen=True)
class ScaledExperience:
    """What a replica played, its rewards multiplied."""

    played: Experience
    factor: float

    def transitions(self, discount: float, n_steps: int) -> Transitions:
        found = self.played.transitions(discount, n_steps)
        return replace(found, rewards=found.rewards * found.rewards.dtype.type(self.factor))

    def steps(self) -> Steps:
        found = self.played.steps()
        return replace(found, rewards=found.rewards * self.factor)


def in_units(
    scale: RewardScale,
    replica: int,
    played: Experience,
    returns: Sequence[float],
    users: Sequence[object],
) -> Experience:
    """What a replica played, in the units that it is learned in. Its returns may change those; then whoever was told
    before is asked to rescale (a learner of one's own that cannot goes on as it is)."""
    change = scale.meet(replica, returns)
    for user in users if change != 1 else ():
        rescale = getattr(user, "rescale", None)
        if rescale is not None:
            rescale(replica, change)
    return ScaledExperience(played, scale.factor(replica))
