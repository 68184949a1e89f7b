"""α relative to the spread of returns, or of Q: a game's unit of reward does not change play."""

from typing import Any

import numpy as np
import pytest

import drrn
from drrn.cli import main
from drrn.learning.episode_memory import EpisodeMemory
from drrn.learning.experience import RewardScale
from drrn.learning.return_learning import alpha_factor
from tests.episodes import steps_of
from tests.sample_games import Doors
from tests.trainings import same_weights
from textgames.compiled.chain import softmax_of_slots
from textgames.compiled.solve import policy_score, policy_value
from textgames.game.contract import Observation

SMALL: dict[str, Any] = {"hidden": 10, "rounds": 2, "episodes_per_round": 20, "replicas": 2}
SMALL["evaluation_episodes"] = 20
PAPER: dict[str, Any] = {"paper": True, "learning_rate": 0.01}
STRONG: dict[str, Any] = {"updates": 20, "batch_size": 64}


class ScaledDoors:
    """The three rooms with rewards in another unit; it lists no outcomes, as a game of a suite."""

    name = "scaled doors"

    def __init__(self, unit=1.0):
        self.game = Doors()
        self.unit = unit

    def another(self):
        return type(self)(self.unit)

    def reset(self, seed=None):
        return self._scaled(self.game.reset(seed))

    def step(self, index):
        return self._scaled(self.game.step(index))

    def _scaled(self, page):
        return Observation(page.text, page.actions, self.unit * page.reward)


def train(unit, **settings):
    """Return the trainer and its last round."""
    trainer = drrn.trainer(ScaledDoors(unit), **{**SMALL, **settings})
    return trainer, list(trainer.train())[-1]


@pytest.mark.parametrize("recipe", [PAPER, STRONG], ids=["paper", "strong"])
@pytest.mark.parametrize("unit", [1024.0, 2.0**-7])
def test_rewards_in_another_power_of_two_give_the_same_weights(recipe, unit):
    trainer, last_round = train(1.0, **recipe)
    scaled_trainer, scaled_round = train(unit, **recipe)
    assert trainer.settings.exploration.alpha_relative and same_weights(trainer, scaled_trainer)
    returns = [unit * evaluation.summary.mean_return for evaluation in last_round.evaluations]
    assert returns == pytest.approx([e.summary.mean_return for e in scaled_round.evaluations])


def test_q_values_have_the_unit_of_the_game_and_survive_saving(tmp_path):
    agent = train(1.0, **PAPER)[0].agent
    trainer = train(1024.0, **PAPER)[0]
    page = ScaledDoors(1.0).reset()
    q = trainer.agent.ask(page.text, page.actions)
    assert q == pytest.approx(1024 * agent.ask(page.text, page.actions), rel=1e-6)
    trainer.save(tmp_path / "run")
    loaded = drrn.load(tmp_path / "run")
    assert np.array_equal(loaded.ask(page.text, page.actions), q)
    shares = [each.policy("softmax", replica=1).thinks(page)[1] for each in (agent, loaded)]
    assert shares[0] == pytest.approx(shares[1])
    resumed = drrn.resume(tmp_path / "run", ScaledDoors(1024.0), rounds=3)
    assert resumed.scale is not None and trainer.scale is not None
    assert resumed.scale.factors == trainer.scale.factors
    assert [finished.number for finished in resumed.train()] == [3]


def test_alpha_is_absolute_if_a_game_lists_outcomes_or_names_it():
    class WithAlpha(ScaledDoors):
        training = {"alpha": 0.5}  # noqa: RUF012

    trainers = [
        drrn.trainer(Doors(), **SMALL),
        drrn.trainer(WithAlpha(), paper=True, **SMALL),
        drrn.trainer(ScaledDoors(), alpha_relative=False, **SMALL),
    ]
    assert not any(trainer.settings.exploration.alpha_relative for trainer in trainers)


def test_the_scale_brings_the_spread_near_forty_and_returns_its_change():
    scale = RewardScale(2)
    assert scale.update(0, [0.0, 0.0]) == 1.0 and scale.factors == [1.0, 1.0]
    assert scale.update(0, [1.0]) == 32.0 and scale.update(0, [0.5]) == 1.0
    assert scale.update(0, [-3.0]) == 0.25 and scale.factors == [8.0, 1.0]


class Ring:
    """Two rooms that lead to each other, with an exit from each: one pays 1, the other 5."""

    name = "ring"

    def opening(self):
        return [(1.0, 0)]

    def outcomes(self, state, index):
        return [(1.0, ((1, 2), (0, 3))[state][index])]

    def look(self, state):
        if state < 2:
            return Observation(f"Room {state}.", (f"to room {1 - state}", "out"))
        return Observation("Rain." if state == 2 else "Sun.", (), 1.0 if state == 2 else 5.0)

    def reset(self, seed=None):
        return self.look(0)

    def step(self, index):
        raise NotImplementedError


@pytest.mark.parametrize("alpha", [36.0, 37.0, 100.0, 700.0])
def test_the_exact_score_of_a_policy_that_rarely_leaves_a_loop(alpha):
    graph = drrn.compile_game(Ring())
    shares = softmax_of_slots(graph, np.array([1.0, 0.0, 1.0, 0.0]), alpha)
    score = policy_score(graph, shares)
    assert score.final_reward == pytest.approx(3.0) == score.total == policy_value(graph, shares)
    assert score.endings.tolist() == pytest.approx([0.5, 0.5]) and score.trapped == 0
    assert score.steps == pytest.approx(np.exp(alpha), rel=1e-6)


def test_train_prints_returns_if_they_differ_from_final_rewards(tmp_path, capsys):
    small = "--rounds 1 --episodes-per-round 6 --evaluation-episodes 4 --replicas 2 --hidden 4"
    command = ["train", *small.split(), "--out"]
    assert main([*command, str(tmp_path / "doors"), "tests.sample_games:Doors"]) == 0
    output = capsys.readouterr().out
    assert "random play 5.00 (return 4.80), best possible 20.00 (return 19.80)" in output
    assert "returns: softmax" in output
    assert main([*command, str(tmp_path / "walk"), "tests.sample_games:Walk"]) == 0
    output = capsys.readouterr().out
    assert "(return" not in output and "returns:" not in output


@pytest.mark.parametrize(
    ("spread", "factor"), [(12, 1), (40, 1), (0.34, 64), (1408, 1 / 64), (0, 4096)]
)
def test_the_factor_on_alpha_is_a_power_of_four_of_the_spread_of_q(spread, factor):
    pages = [(1, [5, 6], 0, 1.0), (2, [5, 6, 7], 0, 0.0), (3, [5], 0, 0.0)]
    memory = EpisodeMemory(100)
    memory.add(steps_of((pages, (9, []))))
    q = np.array([0.0, spread, 0.0, 0.0, spread, 99.0])
    assert alpha_factor(memory, q) == factor
    memory.rescale(0.0)
    assert alpha_factor(memory, q) == 1  # no reward so far


def test_the_factors_on_alpha_survive_saving(tmp_path):
    trainer = train(2.0**-7, **STRONG, rounds=4, alpha_spread=True, alpha_relative=False)[0]
    assert (trainer.learner.alpha_factor > 1).all()
    trainer.save(tmp_path / "run")
    loaded = drrn.load(tmp_path / "run")
    assert np.array_equal(loaded.alpha, trainer.agent.alpha)
    resumed = drrn.resume(tmp_path / "run", ScaledDoors(2.0**-7))
    assert np.array_equal(resumed.learner.alpha_factor, trainer.learner.alpha_factor)
    page = ScaledDoors().reset()
    q = loaded.ask(page.text, page.actions)[1].astype(float)
    weights = np.exp(loaded.alpha[1] * q)
    _, shares = loaded.policy("softmax", replica=1).thinks(page)
    assert shares == pytest.approx(weights / weights.sum())
