"""The strong recipe learns four small games; with any one part broken it fails at one of them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import drrn
from drrn.learning import equations, return_learning
from drrn.learning.episode_memory import EpisodeMemory
from drrn.learning.exploration import Optimism
from drrn.learning.return_learning import Average
from drrn.learning.text_noise import Noise
from drrn.settings import Settings
from tests.exploration_games import Corridor, Key, ManyDoors, Treadmill

SMALL: dict[str, Any] = {
    "hidden": 16,
    "rounds": 8,
    "episodes_per_round": 20,
    "evaluation_episodes": 5,
    "replicas": 4,
    "replan": 5,
    "updates": 25,
    "batch_size": 64,
    "learning_rate": 0.01,
}


def greedy_play(game):
    """Return the summaries of greedy play after training, one for each replica."""
    last = list(drrn.trainer(game, **SMALL).train())[-1]
    return [evaluation.summary for evaluation in last.evaluations if evaluation.policy == "greedy"]


def finds_the_distant_prize() -> bool:
    return all(summary.mean_final_reward == 20.0 for summary in greedy_play(Corridor()))


def credits_the_first_action() -> bool:
    return all(summary.mean_final_reward == 10.0 for summary in greedy_play(Key()))


def bootstraps_truncated_episodes() -> bool:
    return all(not summary.endings for summary in greedy_play(Treadmill()))


def does_not_overrate_untried_actions() -> bool:
    return all(summary.mean_final_reward == -1.0 for summary in greedy_play(ManyDoors()))


CHECKS = (
    finds_the_distant_prize,
    credits_the_first_action,
    bootstraps_truncated_episodes,
    does_not_overrate_untried_actions,
)


@pytest.mark.parametrize("check", CHECKS)
def test_the_recipe_learns_the_small_games(check):
    assert check()


def returns_ignore_the_future(patch):
    patch.setattr(equations, "retrace", lambda steps, rewards, *others: rewards.copy())


def trace_coefficients_are_zero(patch):
    patch.setattr(equations, "trace_coefficients", lambda policy, *others: np.zeros(len(policy)))


def truncated_episodes_do_not_bootstrap(patch):
    def broken(steps, rewards, value, *others):
        value = value.copy()
        value[steps.ends] = 0.0
        return retrace(steps, rewards, value, *others)

    retrace = equations.retrace
    patch.setattr(equations, "retrace", broken)


def optimistic_values_are_zero(patch):
    patch.setattr(Optimism, "optimistic_value", lambda self, memory: 0.0)


def counts_are_all_one(patch):
    patch.setattr(
        EpisodeMemory, "counts", property(lambda self: np.ones(len(self.pair_keys), np.int64))
    )


def counts_are_all_zero(patch):
    patch.setattr(
        EpisodeMemory, "counts", property(lambda self: np.zeros(len(self.pair_keys), np.int64))
    )


def noise_drops_every_word(patch):
    for module in ("drrn.learning.fast.return_learning", "drrn.learning.return_learning"):
        patch.setattr(f"{module}.noise_of", lambda settings: (Noise(1.0), Noise(1.0)))


def the_weight_average_is_not_updated(patch):
    patch.setattr(Average, "follow", lambda self: None)


def the_learning_rate_is_zero(patch):
    patch.setattr(Settings, "learning_rate_at", lambda self, number: 0.0)


def alpha_is_negative(patch):
    alpha_at = Settings.alpha_at
    patch.setattr(Settings, "alpha_at", lambda self, number: -alpha_at(self, number))


def memory_stays_empty(patch):
    patch.setattr(EpisodeMemory, "add", lambda self, new: None)


def untried_pairs_are_sampled(patch):
    def broken(counts, power, shape, generator):
        return generator.integers(len(counts), size=shape)

    patch.setattr(return_learning, "draw", broken)


BROKEN_PARTS: tuple[tuple[Callable[[pytest.MonkeyPatch], None], Callable[[], bool]], ...] = (
    (returns_ignore_the_future, finds_the_distant_prize),
    (trace_coefficients_are_zero, credits_the_first_action),
    (truncated_episodes_do_not_bootstrap, bootstraps_truncated_episodes),
    (optimistic_values_are_zero, finds_the_distant_prize),
    (counts_are_all_one, finds_the_distant_prize),
    (counts_are_all_zero, finds_the_distant_prize),
    (noise_drops_every_word, finds_the_distant_prize),
    (the_weight_average_is_not_updated, finds_the_distant_prize),
    (the_learning_rate_is_zero, finds_the_distant_prize),
    (alpha_is_negative, finds_the_distant_prize),
    (memory_stays_empty, finds_the_distant_prize),
    (untried_pairs_are_sampled, does_not_overrate_untried_actions),
)


@pytest.mark.full
@pytest.mark.parametrize(
    ("break_part", "check"), BROKEN_PARTS, ids=lambda function: function.__name__
)
def test_the_recipe_fails_if_a_part_is_broken(monkeypatch, break_part, check):
    break_part(monkeypatch)
    assert not check()
