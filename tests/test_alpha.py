"""α relative to the spread of the returns: games that pay in any unit are learned alike; scores of peaked policies."""

import numpy as np
import pytest

import drrn
from drrn.cli import main
from drrn.compiled.chain import softmax_of_slots
from drrn.compiled.solve import policy_score, policy_value
from drrn.game.contract import Observation
from drrn.learning.experience import RewardScale
from tests.sample_games import Doors
from tests.trainings import same_weights

SMALL = {
    "hidden": 10,
    "rounds": 4,
    "episodes_per_round": 40,
    "evaluation_episodes": 40,
    "replicas": 2,
}
FEW_ONLINE = {"paper": True, "form": "online", "rounds": 2, "episodes_per_round": 12}
RECIPES = [{"paper": True, "learning_rate": 0.01}, {"updates": 40, "batch_size": 64}, FEW_ONLINE]


class Paid:
    """The three rooms with rewards in another unit; it lists no outcomes, as a game of a suite."""

    def __init__(self, unit=1.0):
        self.game, self.unit, self.name = Doors(), unit, "paid"

    def another(self):
        return type(self)(self.unit)

    def reset(self, seed=None):
        return self._paid(self.game.reset(seed))

    def step(self, index):
        return self._paid(self.game.step(index))

    def _paid(self, page):
        return Observation(page.text, page.actions, self.unit * page.reward)


def learned(unit, **settings):
    trainer = drrn.trainer(Paid(unit), **{**SMALL, **settings})
    return trainer, list(trainer.train())[-1]


@pytest.mark.parametrize("recipe", RECIPES, ids=["paper", "strong", "online"])
@pytest.mark.parametrize("unit", [1024.0, 2.0**-7])
def test_rewards_in_another_power_of_two_give_the_same_weights(recipe, unit):
    (one, first), (other, last) = learned(1.0, **recipe), learned(unit, **recipe)
    assert one.settings.exploration.alpha_relative and same_weights(one, other)
    assert [e.summary.mean_return * unit for e in first.evaluations] == pytest.approx(
        [e.summary.mean_return for e in last.evaluations]
    )


@pytest.mark.parametrize("unit", [1000.0, 0.01])
def test_a_game_that_pays_a_thousand_times_as_much_or_a_hundredth_is_learned_to_the_same_score(
    unit,
):
    one, other = (learned(each, **RECIPES[1])[1] for each in (1.0, unit))
    for column in ("best_final_reward", "greedy_final_reward"):
        assert other.mean(column) == pytest.approx(unit * one.mean(column), rel=1e-5)


def test_what_an_agent_answers_is_in_the_games_own_units_and_a_saved_one_plays_the_same_policy(
    tmp_path,
):
    (one, _), (trainer, _) = learned(1.0, **RECIPES[0]), learned(1024.0, **RECIPES[0])
    page = Paid(1.0).reset()
    asked = trainer.agent.ask(page.text, page.actions)
    assert asked == pytest.approx(1024 * one.agent.ask(page.text, page.actions), rel=1e-6)
    trainer.save(tmp_path / "run")
    loaded = drrn.load(tmp_path / "run")
    assert np.array_equal(loaded.ask(page.text, page.actions), asked)
    shares = [agent.policy("softmax", replica=1).thinks(page)[1] for agent in (one.agent, loaded)]
    assert shares[0] == pytest.approx(shares[1])
    resumed = drrn.resume(tmp_path / "run", Paid(1024.0), rounds=5)
    assert resumed.scale.factors == trainer.scale.factors
    assert [done.number for done in resumed.train()] == [5]


def test_games_that_list_their_outcomes_or_name_their_alpha_keep_it():
    class Named(Paid):
        training = {"alpha": 0.5}  # noqa: RUF012

    assert not drrn.trainer(Doors(), **SMALL).settings.exploration.alpha_relative
    assert not drrn.trainer(Named(), paper=True, **SMALL).settings.exploration.alpha_relative
    assert not drrn.trainer(
        Paid(), alpha_relative=False, **SMALL
    ).settings.exploration.alpha_relative


def test_the_scale_brings_the_spread_near_forty_and_tells_by_how_much_it_changed():
    scale = RewardScale(2)
    assert scale.update(0, [0.0, 0.0]) == 1.0 and scale.factors == [1.0, 1.0]
    assert scale.update(0, [1.0]) == 32.0 and scale.update(0, [0.5]) == 1.0
    assert scale.update(0, [-3.0]) == 0.25 and scale.factors == [8.0, 1.0]


class Ring:
    """Two rooms that lead to each other, with a way out of each: one pays 1, the other 5."""

    name = "ring"

    def opening(self):
        return [(1.0, 0)]

    def outcomes(self, state, index):
        return [(1.0, ((1, 2), (0, 3))[state][index])]

    def look(self, state):
        pages = (
            ("West.", ("east", "out")),
            ("East.", ("west", "out")),
            ("Rain.", (), 1.0),
            ("Sun.", (), 5.0),
        )
        return Observation(*pages[state])

    def reset(self, seed=None):
        return self.look(0)

    def step(self, index):
        raise NotImplementedError


@pytest.mark.parametrize("alpha", [36.0, 37.0, 100.0, 700.0])
def test_the_exact_score_of_a_policy_that_hardly_ever_leaves_a_loop_is_had(alpha):
    graph = drrn.compile_game(Ring())
    shares = softmax_of_slots(graph, np.array([1.0, 0.0, 1.0, 0.0]), alpha)
    score = policy_score(graph, shares)
    assert score.final_reward == pytest.approx(3.0) == score.total == policy_value(graph, shares)
    assert score.endings.tolist() == pytest.approx([0.5, 0.5]) and score.trapped == 0
    assert score.steps == pytest.approx(np.exp(alpha), rel=1e-6)


def test_where_a_game_pays_on_the_way_returns_are_told_beside_final_rewards(tmp_path, capsys):
    few = (
        "--rounds 1 --episodes-per-round 6 --evaluation-episodes 4 --replicas 2 --hidden 4".split()
    )
    assert main(["train", "tests.sample_games:Doors", "--out", str(tmp_path / "doors"), *few]) == 0
    said = capsys.readouterr().out
    assert (
        "random play 5.00 (return 4.80), best possible 20.00 (return 19.80)" in said
        and "returns: softmax" in said
    )
    assert main(["train", "tests.sample_games:Walk", "--out", str(tmp_path / "walk"), *few]) == 0
    assert "return" not in capsys.readouterr().out  # there they are the same
