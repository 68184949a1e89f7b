"""The strong recipe learns four small games, each of which needs another part of it."""

from typing import Any

import pytest

import drrn
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


@pytest.mark.parametrize(
    ("game", "score"),
    [
        (Corridor, 20.0),  # a distant prize is found
        (Key, 10.0),  # the first action gets the credit
        (ManyDoors, -1.0),  # untried actions are not overrated
    ],
)
def test_the_recipe_learns_the_small_games(game, score):
    assert all(summary.mean_final_reward == score for summary in greedy_play(game()))


def test_a_truncated_episode_bootstraps():
    assert all(not summary.endings for summary in greedy_play(Treadmill()))
