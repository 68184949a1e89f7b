"""The strong recipe learns four small games; break any one of its parts, and it fails in one of them."""

from collections.abc import Callable

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

SMALL = {"hidden": 16, "rounds": 8, "episodes_per_round": 20, "evaluation_episodes": 5, "replicas": 4, "replan": 5,
         "updates": 25, "batch_size": 64, "learning_rate": 0.01}  # fmt: skip


def greedy_play(game):
    """How each replica plays after training: its summaries, by greedy choice."""
    finished = list(drrn.trainer(game, **SMALL).train())[-1]
    return [
        evaluation.summary for evaluation in finished.evaluations if evaluation.policy == "greedy"
    ]


def finds_the_far_prize() -> bool:
    return all(summary.mean_final_reward == 20.0 for summary in greedy_play(Corridor()))


def sees_what_the_first_action_decided() -> bool:
    return all(summary.mean_final_reward == 10.0 for summary in greedy_play(Key()))


def knows_that_a_stopped_episode_could_go_on() -> bool:
    return all(not summary.endings for summary in greedy_play(Treadmill()))


def hopes_for_nothing_from_what_it_never_tried() -> bool:
    return all(summary.mean_final_reward == -1.0 for summary in greedy_play(ManyDoors()))


CHECKS = (
    finds_the_far_prize,
    sees_what_the_first_action_decided,
    knows_that_a_stopped_episode_could_go_on,
    hopes_for_nothing_from_what_it_never_tried,
)


@pytest.mark.parametrize("check", CHECKS)
def test_the_recipe_learns_the_small_games(check):
    assert check()


def returns_ignore_the_future(patch):
    patch.setattr(equations, "retrace", lambda steps, rewards, *others: rewards.copy())


def the_cut_is_always_zero(patch):
    patch.setattr(equations, "trace_coefficients", lambda policy, *others: np.zeros(len(policy)))


def a_stopped_episode_does_not_bootstrap(patch):
    def broken(steps, rewards, value, *others):
        value = value.copy()
        value[steps.ends] = 0.0
        return retrace(steps, rewards, value, *others)

    retrace = equations.retrace
    patch.setattr(equations, "retrace", broken)


def optimism_hopes_for_nothing(patch):
    patch.setattr(Optimism, "optimistic_value", lambda self, memory: 0.0)


def counts_are_all_one(patch):
    patch.setattr(
        EpisodeMemory, "counts", property(lambda self: np.ones(len(self.pair_keys), np.int64))
    )


def counts_are_all_zero(patch):
    patch.setattr(
        EpisodeMemory, "counts", property(lambda self: np.zeros(len(self.pair_keys), np.int64))
    )


def noise_leaves_out_every_word(patch):
    for module in ("drrn.learning.fast.return_learning", "drrn.learning.return_learning"):
        patch.setattr(f"{module}.noise_of", lambda settings: (Noise(1.0), Noise(1.0)))


def the_average_stays_at_the_first_weights(patch):
    patch.setattr(Average, "follow", lambda self: None)


def the_rate_is_zero(patch):
    patch.setattr(Settings, "learning_rate_at", lambda self, number: 0.0)


def alpha_has_the_other_sign(patch):
    alpha_at = Settings.alpha_at
    patch.setattr(Settings, "alpha_at", lambda self, number: -alpha_at(self, number))


def memory_keeps_nothing(patch):
    patch.setattr(EpisodeMemory, "add", lambda self, new: None)


def pairs_are_drawn_that_were_never_taken(patch):
    def broken(memory, power, shape, generator):
        return generator.integers(len(memory.pair_keys), size=shape)

    patch.setattr(return_learning, "draw_pairs", broken)


BROKEN: tuple[tuple[Callable[[pytest.MonkeyPatch], None], Callable[[], bool]], ...] = (
    (returns_ignore_the_future, finds_the_far_prize),
    (the_cut_is_always_zero, sees_what_the_first_action_decided),
    (a_stopped_episode_does_not_bootstrap, knows_that_a_stopped_episode_could_go_on),
    (optimism_hopes_for_nothing, finds_the_far_prize),
    (counts_are_all_one, finds_the_far_prize),
    (counts_are_all_zero, finds_the_far_prize),
    (noise_leaves_out_every_word, finds_the_far_prize),
    (the_average_stays_at_the_first_weights, finds_the_far_prize),
    (the_rate_is_zero, finds_the_far_prize),
    (alpha_has_the_other_sign, finds_the_far_prize),
    (memory_keeps_nothing, finds_the_far_prize),
    (pairs_are_drawn_that_were_never_taken, hopes_for_nothing_from_what_it_never_tried),
)


@pytest.mark.parametrize(("breaks", "check"), BROKEN, ids=lambda function: function.__name__)
def test_the_recipe_fails_where_a_part_is_broken(monkeypatch, breaks, check):
    breaks(monkeypatch)
    assert not check()
