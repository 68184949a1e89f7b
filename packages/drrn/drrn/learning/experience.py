"""What replicas played, as arrays of ids: whole episodes, and the scale of their rewards."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from drrn.learning.equations import BackwardOrder, monte_carlo
from drrn.learning.menus import Menus
from drrn.text import State
from textgames.arrays import Ids


@dataclass(frozen=True)
class Steps:
    """Whole episodes of one replica, step after step, without those that have no step.

    An episode of n steps has n + 1 pages. The last one has no actions if it is an ending. A
    truncated episode has actions there and bootstraps.
    """

    page_states: Ids  # [N + E] text ids of the pages of all episodes, in the order of play
    page_actions: Menus  # [N + E] their actions, in menu order
    taken: Ids  # [N] index among the actions
    probabilities: NDArray[np.float64]  # [N] μ of the action taken, when it was taken
    rewards: NDArray[np.float64]  # [N] on arriving at the next page
    last: NDArray[np.bool_]  # [N] the last step of its episode

    def __len__(self) -> int:
        return len(self.last)

    @cached_property
    def page(self) -> Ids:
        """The page of each step [N]. The page after it is the next one."""
        return np.arange(len(self.last)) + np.cumsum(self.last) - self.last

    @property
    def states(self) -> Ids:
        """The text id of each step's page, [N]."""
        return self.page_states[self.page]

    @property
    def actions(self) -> Menus:
        """The menu of each step's page, [N]."""
        return self.page_actions[self.page]

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
        """The episodes with their rewards multiplied."""
        return replace(self, rewards=self.rewards * factor)

    def renumbered(self, states: Callable[[Ids], Ids], actions: Callable[[Ids], Ids]) -> Steps:
        """The episodes with other ids of texts, which two functions return."""
        menus = replace(self.page_actions, actions=actions(self.page_actions.actions))
        return replace(self, page_states=states(self.page_states), page_actions=menus)


def reward_factor(spread: float, usual: float = 40.0) -> float:
    """The power of two that brings a spread of returns close to the usual one."""
    return float(2.0 ** round(math.log2(usual / spread))) if spread > 0 else 1.0


class RewardScale:
    """Scales rewards so that returns span about 40, the range in the paper's games.

    α and η were chosen for this range. The factor is a power of two, which changes no digit.
    """

    def __init__(self, replicas: int) -> None:
        # Smallest and largest return of each replica so far, 0 included.
        self.low = [0.0] * replicas
        self.high = [0.0] * replicas

    @property
    def factors(self) -> list[float]:
        return [self.factor(replica) for replica in range(len(self.low))]

    def factor(self, replica: int) -> float:
        """The factor on the replica's rewards, 1 until a return differs from 0."""
        return reward_factor(self.high[replica] - self.low[replica])

    def update(self, replica: int, returns: Sequence[float]) -> float:
        """Take in the returns of episodes, and return how much the factor grew, usually 1."""
        before = self.factor(replica)
        self.low[replica] = min([self.low[replica], *returns])
        self.high[replica] = max([self.high[replica], *returns])
        return self.factor(replica) / before

    def state(self) -> State:
        return {"low": self.low, "high": self.high}

    def restore(self, state: State) -> None:
        self.low = list(state["low"])
        self.high = list(state["high"])
