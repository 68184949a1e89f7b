"""Evaluate how well replicas play, by each policy; softmax has the same α as in training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from drrn.game.episodes import Summary, mean_and_sd, summarise
from drrn.playing.policies import Rollouts, policy_of
from drrn.settings import POLICIES

EVALUATE = 3  # purpose of a random generator; 1 and 2 are those of training


@dataclass(frozen=True)
class Evaluation:
    """How one replica played after a round, by one policy."""

    replica: int
    round: int
    policy: str
    summary: Summary

    @property
    def measures(self) -> dict[str, float]:
        """The means over the episodes, by name."""
        return {
            "final_reward": self.summary.mean_final_reward,
            "return": self.summary.mean_return,
            "steps": self.summary.mean_steps,
            "stopped": self.stopped,
        }

    @property
    def stopped(self) -> float:
        """The share of episodes that the step limit truncated."""
        return 1 - sum(self.summary.endings.values()) / self.summary.episodes


def evaluate(
    rollouts: Rollouts,
    policies: Sequence[str],
    alpha: float,
    episodes: int,
    seeds: Sequence[int],
    number: int = 0,
) -> list[Evaluation]:
    """Play episodes with each replica by each policy; unknown words count for nothing.

    Args:
        rollouts: The game and the model.
        policies: Names of `settings.POLICIES`.
        alpha: α of softmax.
        episodes: How many each replica plays by each policy.
        seeds: The seed of each replica.
        number: The round, which is part of the seed.
    """
    evaluations = []
    for name in policies:
        policy = policy_of(name, alpha)
        purpose = EVALUATE + POLICIES.index(name)
        generators = [np.random.default_rng([seed, purpose, number]) for seed in seeds]
        for replica, played in enumerate(rollouts.play(episodes, policy, generators)):
            evaluations.append(Evaluation(replica, number, name, summarise(played)))
    return evaluations


def mean_and_deviation(
    evaluations: Sequence[Evaluation], policy: str, measure: str = "mean_final_reward"
) -> tuple[float, float]:
    """Return the mean and standard deviation of a measure of `Summary` over replicas."""
    scores = [getattr(e.summary, measure) for e in evaluations if e.policy == policy]
    return mean_and_sd(scores)


def pays_on_the_way(evaluations: Sequence[Evaluation]) -> bool:
    """Return whether returns differ from final rewards, so that both are worth showing."""
    return any(abs(e.summary.mean_return - e.summary.mean_final_reward) > 1e-9 for e in evaluations)
