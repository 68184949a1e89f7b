"""The survey: what random play says about games of known kinds, and the settings that follow."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import drrn
from drrn.playing import survey as survey_module
from drrn.playing.survey import PARSER_GAME, RULES, choose, play, suggestions, survey
from drrn.runs.config import settings_for_game
from drrn.runs.run import Run
from drrn.settings import PAPER, STRONG
from textgames.compiled.history import with_history
from textgames.game.contract import Observation

UNUSUAL = {"alpha_relative": True, "advantages": True, "alpha_spread": True}
# The settings that are expected for a diagnostic, other than those for its rewards.
EXPECTED: dict[str, dict[str, object]] = {
    "memory/1": {"history": 1},
    "memory/3": {"history": 5},
    "order/1": {"matches": True, "phrases": True},
    "matching/1": {"matches": True, "trace": 0.5, "pseudo_count": 10.0},
    "wide/1": {"trace": 0.5, "pseudo_count": 10.0},
    "scale/1": {},
    "credit/1": {"returns": "monte-carlo"},
    "temptation/1": {},
}


@pytest.mark.parametrize("name", EXPECTED)
def test_a_diagnostic_gets_the_settings_that_its_capability_needs(name):
    assert suggestions(survey(drrn.make(f"diagnostic:{name}"))) == {**UNUSUAL, **EXPECTED[name]}


LARGE = [pytest.param(name, marks=pytest.mark.full) for name in ("home-world", "comet-house")]


@pytest.mark.parametrize("name", ["diagnostic:parser/1", *LARGE])
def test_a_game_of_commands_that_mostly_do_nothing_is_a_parser_game(name):
    assert suggestions(survey(drrn.make(name))) == PARSER_GAME


@pytest.mark.parametrize(
    "name", ["long-watch", pytest.param("night-market", marks=pytest.mark.full)]
)
def test_a_story_keeps_the_usual_settings(name):
    assert suggestions(survey(drrn.make(name))) == {}


class Chance:
    """Rewards are drawn at random, whatever the player does."""

    name = "chance"

    def __init__(self, scale: float) -> None:
        self.scale = scale

    def reset(self, seed: int | None = None) -> Observation:
        self.random = random.Random(seed)
        self.steps = 0
        return self.show(0.0)

    def step(self, index: int) -> Observation:
        self.steps += 1
        return self.show(self.scale * self.random.choice([0.0, 0.0, 0.0, 1.0]))

    def show(self, reward: float) -> Observation:
        words = self.random.sample(["red", "green", "blue"], 3)
        actions = () if self.steps == 6 else ("stay", "go", "wait")
        return Observation(" ".join(words), actions, reward)


@pytest.mark.parametrize("scale", [1.0, 7.0, 100.0])
def test_chance_alone_needs_neither_history_nor_order_nor_matches(scale):
    result = survey(Chance(scale))
    assert (result.history, result.order, result.matches, result.words) == (0, False, False, None)
    assert result.length == 6


def test_late_pay_in_long_episodes_needs_a_discount_close_to_1():
    assert suggestions(survey(drrn.make("diagnostic:delayed/1")))["discount"] == 0.99


def test_given_settings_short_runs_and_other_recipes_are_left_alone():
    game = drrn.make("diagnostic:memory/1")
    default, _ = choose(STRONG, game)
    assert (default.run.history, default.run.survey) == (1, False)
    assert default.exploration.alpha_relative
    assert choose(STRONG.replace(history=2), game)[0].run.history == 2
    assert not choose(STRONG.replace(alpha=2.0), game)[0].exploration.alpha_relative
    short = STRONG.replace(rounds=3)
    assert choose(short, game) == (short.replace(survey=False), ())
    assert choose(PAPER, game) == (PAPER, ())


def test_a_given_setting_is_left_alone_even_with_the_usual_value():
    game = drrn.make("diagnostic:memory/1")
    for given in ({"history": 0}, {"alpha": STRONG.exploration.alpha}):
        settings, _ = choose(settings_for_game(game, given), game)
        assert settings.run.history == given.get("history", 1)
        assert settings.exploration.alpha_relative == ("alpha" not in given)


def test_a_game_that_ends_at_once_needs_nothing_and_has_no_words():
    class Over(Chance):
        def reset(self, seed: int | None = None) -> Observation:
            return Observation("The end.")

    game = Over(1.0)
    assert suggestions(survey(game)) == {}
    assert choose(STRONG.replace(select_words=True), game)[1] == ()


def test_a_short_run_that_becomes_long_keeps_its_settings(tmp_path):
    small: dict[str, Any] = {"rounds": 1, "episodes_per_round": 20, "hidden": 5, "updates": 3}
    trainer = drrn.trainer("diagnostic:scale/1", **small, replicas=1, evaluation_episodes=2)
    for _ in trainer.train():
        pass
    trainer.save(tmp_path / "run")
    longer = drrn.resume(tmp_path / "run", rounds=100)
    assert longer.settings == trainer.settings.replace(rounds=100)


class Noisy(Chance):
    """One word of thirty says which action pays."""

    def step(self, index: int) -> Observation:
        self.steps += 1
        return self.show(float(index == self.good))

    def show(self, reward: float) -> Observation:
        words = [f"w{self.random.randrange(10_000)}" for _ in range(30)]
        self.good = self.random.randrange(2)
        actions = () if self.steps == 6 else ("left", "right")
        return Observation(" ".join([("green", "blue")[self.good], *words]), actions, reward)


def test_a_run_is_surveyed_once_and_remembers_its_words(tmp_path, monkeypatch):
    surveys: list[str] = []

    def track(items, total, label):
        surveys.append(f"{label} {total}")
        return items

    monkeypatch.setattr(survey_module, "track", track)
    small: dict[str, Any] = {"rounds": 1, "episodes_per_round": 800, "hidden": 5, "updates": 1}
    trainer = drrn.trainer(Noisy(1.0), **small, replicas=1, evaluation_episodes=1)
    Run.create(tmp_path / "run", trainer)
    assert surveys == [f"survey {RULES.episodes}"]
    assert trainer.words == ("blue", "green") and trainer.settings.model.select_words
    resumed = drrn.resume(tmp_path / "run", Noisy(1.0))
    assert resumed.store.states.vocabulary.spelled == ["blue", "green"]
    assert len(surveys) == 1


def test_the_sample_has_every_step_of_the_random_episodes():
    sample = play(Chance(1.0))
    assert len(sample.page) == 6 * RULES.episodes == 6 * sample.last.sum()
    assert set(np.bincount(sample.number)) == {6}
    assert sorted(sample.texts)[0] == "blue green red" and len(sample.texts) == 6


def test_a_sample_with_history_is_that_of_the_game_with_history():
    game = Chance(1.0)
    expected = play(with_history(game, 2))
    sample = play(game).with_history(2)
    assert sample.texts == expected.texts
    np.testing.assert_array_equal(sample.page, expected.page)


@pytest.mark.full
def test_the_default_agent_remembers_what_an_earlier_page_said():
    trainer = drrn.trainer("diagnostic:memory/1", rounds=8, replicas=1, evaluation_episodes=50)
    assert trainer.settings.run.history == 1
    *_, last = trainer.train()
    assert last.mean("greedy_return") > 0.9
