"""What replicas played, as arrays of ids: whole episodes, and the scale of their rewards."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce

import numpy as np
from numpy.typing import NDArray

from drrn.learning.equations import BackwardOrder, monte_carlo
from drrn.learning.menus import Menus
from drrn.text import Ids, State


@dataclass(frozen=True)
class Steps:
    """Whole episodes of one replica, step after step; an episode without a step is left out."""

    states: Ids  # [N] text ids of the pages
    actions: Menus  # of the pages [N], in menu order
    taken: Ids  # [N] index among the actions
    probabilities: NDArray[np.float64]  # [N] μ of the action taken, when it was taken
    rewards: NDArray[np.float64]  # [N] on arriving at the next page
    last: NDArray[np.bool_]  # [N] the last step of its episode
    end_states: Ids  # [E] the final page of each episode
    end_actions: Menus  # [E] empty at an ending; a truncated episode has actions and bootstraps

    def __len__(self) -> int:
        return len(self.states)

    @staticmethod
    def join(parts: Sequence[Steps]) -> Steps:
        """Return the episodes of one or more parts, one part after the other."""
        columns = {
            name: np.concatenate([getattr(part, name) for part in parts])
            for name in ("states", "taken", "probabilities", "rewards", "last", "end_states")
        }
        actions = reduce(Menus.joined, [part.actions for part in parts])
        end_actions = reduce(Menus.joined, [part.end_actions for part in parts])
        return Steps(actions=actions, end_actions=end_actions, **columns)

    @cached_property
    def best_return(self) -> float:
        """The largest undiscounted return from any step."""
        none = np.zeros(len(self))
        return float(monte_carlo(BackwardOrder.of(self.last), self.rewards, none, 1.0).max())

    @property
    def returns(self) -> list[float]:
        """The undiscounted return of each episode."""
        episode: Ids = np.cumsum(self.last) - self.last
        return [float(total) for total in np.bincount(episode, self.rewards)]

    def scaled(self, factor: float) -> Steps:
        """Return the episodes with their rewards multiplied."""
        return replace(self, rewards=self.rewards * factor)

    def renumbered(self, states: Callable[[Ids], Ids], actions: Callable[[Ids], Ids]) -> Steps:
        """Return the episodes with other ids of texts, which two functions return."""
        return replace(
            self,
            states=states(self.states),
            actions=replace(self.actions, actions=actions(self.actions.actions)),
            end_states=states(self.end_states),
            end_actions=replace(self.end_actions, actions=actions(self.end_actions.actions)),
        )


SPREAD = 40.0  # of returns in the paper's games: their endings pay from -20 to 20, or 30


class RewardScale:
    """Scales rewards so that returns spread over about forty, for which α and η were chosen.

    The factor is a power of two, which changes no digit: π ∝ exp(40 α Q / spread), about.
    """

    def __init__(self, replicas: int) -> None:
        # Smallest and largest return of each replica so far, 0 included.
        self.low = [0.0] * replicas
        self.high = [0.0] * replicas

    @property
    def factors(self) -> list[float]:
        return [self.factor(replica) for replica in range(len(self.low))]

    def factor(self, replica: int) -> float:
        """Return the factor on the replica's rewards; 1 until a return differs from 0."""
        spread = self.high[replica] - self.low[replica]
        return 2.0 ** round(math.log2(SPREAD / spread)) if spread > 0 else 1.0

    def update(self, replica: int, returns: Sequence[float]) -> float:
        """Take in the returns of episodes; return how much the factor grew, usually 1."""
        before = self.factor(replica)
        self.low[replica] = min([self.low[replica], *returns])
        self.high[replica] = max([self.high[replica], *returns])
        return self.factor(replica) / before

    def state(self) -> State:
        return {"low": self.low, "high": self.high}

    def restore(self, state: State) -> None:
        self.low = list(state["low"])
        self.high = list(state["high"])
