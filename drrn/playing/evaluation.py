"""Evaluate how well replicas play, by each policy; softmax has the same α as in training."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from drrn.game.episodes import Summary, summarise
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
        """The means by name; `stopped` is the share of episodes that the step limit truncated."""
        summary = self.summary
        return {
            "final_reward": summary.mean_final_reward,
            "return": summary.mean_return,
            "steps": summary.mean_steps,
            "stopped": 1 - sum(summary.endings.values()) / summary.episodes,
        }


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
