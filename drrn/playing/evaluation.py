"""How well replicas play, by each policy; softmax has the same α as in training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from drrn.game.episodes import Summary, mean_and_sd, summarise
from drrn.playing.policies import POLICIES, policy_of
from drrn.playing.rollouts import Rollouts

EVALUATE = 3  # what a generator is for; training's purposes are 1 and 2, so it never shares one


@dataclass(frozen=True)
class Evaluation:
    """How one replica played after a round, by one policy."""

    replica: int
    round: int
    policy: str
    summary: Summary

    @property
    def stopped(self) -> float:
        """The share of episodes that the step limit stopped."""
        return 1 - sum(self.summary.endings.values()) / self.summary.episodes


def evaluate(
    rollouts: Rollouts,
    policies: Sequence[str],
    alpha: float,
    episodes: int,
    seeds: Sequence[int],
    number: int = 0,
) -> list[Evaluation]:
    """Play so many episodes with each replica by each policy; unknown words count for nothing."""
    found = []
    for policy in policies:
        choose = policy_of(policy, alpha)
        purpose = EVALUATE + POLICIES.index(policy)
        generators = [np.random.default_rng([seed, purpose, number]) for seed in seeds]
        played = rollouts.play(episodes, choose, generators, learn=False)
        for replica, rollout in enumerate(played):
            found.append(Evaluation(replica, number, policy, summarise(rollout.episodes)))
    return found


def mean_and_deviation(
    evaluations: Sequence[Evaluation], policy: str, measure: str = "mean_final_reward"
) -> tuple[float, float]:
    """Of the final reward, or of another measure of `Summary`, over replicas; one replica deviates by 0."""
    scores = [getattr(e.summary, measure) for e in evaluations if e.policy == policy]
    return mean_and_sd(scores)


def pays_on_the_way(evaluations: Sequence[Evaluation]) -> bool:
    """Whether returns differ from final rewards: then both are worth telling."""
    return any(abs(e.summary.mean_return - e.summary.mean_final_reward) > 1e-9 for e in evaluations)
