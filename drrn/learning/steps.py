"""Whole episodes as arrays of ids, step after step, and the transitions that follow from them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from drrn.learning.menus import Menus
from drrn.learning.replay import Transitions
from drrn.learning.returns import Backwards, monte_carlo
from drrn.text import Ids


@dataclass(frozen=True)
class Steps:
    """Whole episodes of one replica, step after step: what was shown, what was taken and how probable that was.

    An episode whose first page is an ending has no step, and leaves no trace.
    """

    states: Ids  # [N] text ids of the pages
    actions: Menus  # of the pages [N], as shown
    taken: Ids  # [N] a place among the actions
    probabilities: NDArray[np.float64]  # [N] μ, of the action taken, when it was taken
    rewards: NDArray[np.float64]  # [N] for arriving on the next page
    last: NDArray[np.bool_]  # [N] whether the episode is over after this step
    end_states: Ids  # [E] the page that each episode came to rest on, in the order of the episodes
    end_actions: (
        Menus  # [E] empty at an ending; a stopped episode still has actions, so it bootstraps
    )

    def __len__(self) -> int:
        return len(self.states)

    @cached_property
    def best_return(self) -> float:
        """The largest sum of rewards that followed a step."""
        followed = monte_carlo(Backwards.of(self.last), self.rewards, np.zeros(len(self)), 1.0)
        return float(followed.max())

    def transitions(self, discount: float, n_steps: int) -> Transitions:
        """Every step, with the rewards of `n_steps` steps, or of those before the end."""
        episode: Ids = np.cumsum(self.last) - self.last
        rewards, end, counted = n_step_rewards(episode, self.rewards, discount, n_steps)
        after = np.where(
            self.last[end], len(self) + episode[end], end + 1
        )  # where episodes' ends follow the steps
        menus = self.actions.joined(self.end_actions)
        return Transitions(
            states=self.states,
            actions=menus[: len(self)],
            taken=self.taken,
            rewards=rewards.astype(np.float32),
            discounts=(discount**counted).astype(np.float32),
            next_states=np.concatenate([self.states, self.end_states])[after],
            next_actions=menus[after],
        )


def last_steps(episode: Ids) -> NDArray[np.bool_]:
    """Of steps in the order of their episodes: which are the last of their episode."""
    return np.append(episode[1:] != episode[:-1], True)[: len(episode)]


def n_step_rewards(
    episode: Ids, reward: NDArray[np.float64], discount: float, n_steps: int
) -> tuple[NDArray[np.float64], Ids, Ids]:
    """Of steps in the order of their episodes: the rewards of n steps, those before the end; the last that counts; how
    many those are."""
    count = len(episode)
    ends = np.flatnonzero(last_steps(episode))
    last = np.repeat(ends, np.diff(ends, prepend=-1))  # the last step of each step's episode
    rewards = np.zeros(count)
    at = np.arange(count)
    end = np.minimum(at + n_steps - 1, last)
    for k in range(int((end - at).max(initial=-1)) + 1):
        within = at[at + k <= end]
        rewards[within] += discount**k * reward[within + k]
    return rewards, end, end - at + 1
