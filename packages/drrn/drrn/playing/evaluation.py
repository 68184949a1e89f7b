"""Evaluate how well replicas play, by each policy, and choose the policy of a trained agent.

Softmax has the same α as in training.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from drrn.learning.learner import Alpha
from drrn.playing.policies import Rollouts, policy_of
from drrn.settings import CANDIDATES, POLICIES
from textgames.game.episodes import Summary, summarise


@dataclass(frozen=True)
class Evaluation:
    """How one replica played after a round, by one policy."""

    replica: int
    round: int
    policy: str
    summary: Summary

    @property
    def measures(self) -> dict[str, float]:
        """The means by name. `stopped` is the share of episodes that the step limit truncated."""
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
    alpha: Alpha,
    episodes: int,
    seeds: Sequence[int],
    number: int = 0,
) -> list[Evaluation]:
    """Play episodes with each replica by each policy, without unknown words.

    `alpha` is one number, or one for each replica. The round's `number` is part of the seeds.
    """
    evaluations = []
    for name in policies:
        policy = policy_of(name, alpha)
        purpose = 3 + (*POLICIES, *CANDIDATES).index(name)  # 1 and 2 are those of training
        generators = [np.random.default_rng([seed, purpose, number]) for seed in seeds]
        for replica, played in enumerate(rollouts.play(episodes, policy, generators)):
            evaluations.append(Evaluation(replica, number, name, summarise(played)))
    return evaluations


def choose_policy(
    rollouts: Rollouts,
    alpha: Alpha,
    episodes: int,
    seeds: Sequence[int],
    number: int,
    least_episodes: int = 10,
) -> dict[str, Any] | None:
    """Choose the policy of all replicas by its mean return, on episodes that are not reported.

    All candidates play with the same random generators. Among those within one standard error of
    the highest mean, the least random one is chosen: greedy, then best,
    then softmax by falling α.

    Returns:
        The entry "deployment" of config.json: the policy, the number of episodes that each
        candidate played, their mean returns and standard errors. None after fewer than
        `least_episodes`.
    """
    if episodes * len(seeds) < least_episodes:
        return None
    means = {}
    errors = {}
    for name in CANDIDATES:
        generators = [np.random.default_rng([seed, 20, number]) for seed in seeds]
        played = rollouts.play(episodes, policy_of(name, alpha), generators)
        returns = np.array([[episode.total for episode in own] for own in played])  # [R, E]
        means[name] = float(returns.mean())
        errors[name] = float(np.sqrt(returns.var(axis=1).mean() / returns.size))
    highest = max(means, key=means.__getitem__)
    least = means[highest] - errors[highest] - 1e-9
    policy = next(name for name in CANDIDATES if means[name] >= least)
    scores = {name: [round(means[name], 6), round(errors[name], 6)] for name in CANDIDATES}
    return {"policy": policy, "episodes": int(returns.size), "scores": scores}
