"""What replicas played, as arrays of ids: whole episodes, transitions, and the scale of rewards."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from drrn.learning.equations import BackwardOrder, monte_carlo, n_step_rewards
from drrn.learning.menus import Menus
from drrn.text import Ids, State


@dataclass(frozen=True)
class Transitions:
    """N transitions (s, A, a, r, s', A'); an ending has no next actions."""

    states: Ids  # [N]
    actions: Menus  # of N pages, in menu order
    taken: Ids  # [N] index among the actions
    rewards: NDArray[np.float32]  # [N] sums of n-step rewards
    discounts: NDArray[np.float32]  # [N] γⁿ, the factor on the next state's value
    next_states: Ids  # [N]
    next_actions: Menus  # of N pages

    def __len__(self) -> int:
        return len(self.states)

    def scaled(self, factor: float) -> Transitions:
        """Return the transitions with their rewards multiplied."""
        return replace(self, rewards=self.rewards * np.float32(factor))


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

    @cached_property
    def best_return(self) -> float:
        """The largest undiscounted return from any step."""
        none = np.zeros(len(self))
        return float(monte_carlo(BackwardOrder.of(self.last), self.rewards, none, 1.0).max())

    def scaled(self, factor: float) -> Steps:
        """Return the episodes with their rewards multiplied."""
        return replace(self, rewards=self.rewards * factor)

    def transitions(self, discount: float, n_steps: int) -> Transitions:
        """Return a transition for each step, with n-step rewards."""
        episode: Ids = np.cumsum(self.last) - self.last
        rewards, end, count = n_step_rewards(episode, self.rewards, discount, n_steps)
        # Pages are numbered through the steps, then through the ends of the episodes.
        after = np.where(self.last[end], len(self) + episode[end], end + 1)
        menus = self.actions.joined(self.end_actions)
        return Transitions(
            states=self.states,
            actions=menus[: len(self)],
            taken=self.taken,
            rewards=rewards.astype(np.float32),
            discounts=(discount**count).astype(np.float32),
            next_states=np.concatenate([self.states, self.end_states])[after],
            next_actions=menus[after],
        )

    def renumbered(self, states: Ids, actions: Ids) -> Steps:
        """Return the episodes with new text ids: state i becomes `states[i]`."""
        return replace(
            self,
            states=states[self.states],
            actions=replace(self.actions, actions=actions[self.actions.actions]),
            end_states=states[self.end_states],
            end_actions=replace(self.end_actions, actions=actions[self.end_actions.actions]),
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
