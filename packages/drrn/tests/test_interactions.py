"""Budgets in interactions, folds of suites, and what a run records about its progress."""

import csv
import json

import pytest

import drrn
from drrn.playing.stepped_rollouts import SteppedRollouts
from tests.commands import main
from tests.runs import train
from tests.suite_files import open_suite
from tests.trainings import SMALL
from textgames.errors import InputError
from textsuites.catalogue import with_options
from textsuites.game import LimitedEnvironment

TWO_ROUNDS = {**SMALL, "rounds": 2, "replicas": 2, "evaluation_episodes": 2}
STEPS = 5  # limit of an episode


def rows_of(run):
    with (run / "progress.csv").open() as file:
        return list(csv.DictReader(file))


def counts(trainer, column="interactions"):
    return [row[column] for row in trainer.progress.rows]


class Corridor:
    """Episodes of 1 to 5 steps, by the seed; each pays 1 at its end."""

    name = "corridor"
    max_steps = STEPS

    def reset(self, seed=None):
        self.left = 1 + (seed or 0) % STEPS
        return drrn.Observation("a corridor", ("go", "run"))

    def step(self, index):
        self.left -= 1
        if self.left:
            return drrn.Observation("a corridor", ("go", "run"))
        return drrn.Observation("a door", (), 1.0)

    def another(self):
        return Corridor()


@pytest.mark.parametrize("changes", [{}, {"exploration": "optimism", "replan": 3}])
def test_a_run_plays_its_interactions_and_no_more(changes):
    settings = {**TWO_ROUNDS, "interactions": 100, **changes}
    trainer = drrn.trainer(Corridor(), paper=True, **settings)
    rounds = list(trainer.train())
    assert len(rounds) == 2
    for replica in range(2):
        first, second = counts(trainer)[replica::2]
        assert 50 - STEPS < first <= 50
        assert 100 - STEPS < second <= 100
    episodes = counts(trainer, "episodes")
    assert rounds[-1].episodes_played == round(sum(episodes[2:]) / 2)
    assert set(counts(trainer, "last_return")) == {1.0}
    assert trainer.progress.rows[-1]["seconds"] >= trainer.progress.rows[0]["seconds"]


def test_too_few_interactions_for_an_episode_are_refused():
    with pytest.raises(drrn.InputError, match="5 steps; give at least 10"):
        drrn.trainer(Corridor(), paper=True, **{**TWO_ROUNDS, "interactions": 9})


def test_a_resumed_run_continues_its_budget(tmp_path):
    settings = {**TWO_ROUNDS, "interactions": 60}
    whole = drrn.trainer(Corridor(), paper=True, **settings)
    list(whole.train())
    part = drrn.trainer(Corridor(), paper=True, **settings)
    next(iter(part.train()))
    part.save(tmp_path / "run")
    assert [int(row["interactions"]) for row in rows_of(tmp_path / "run")] == counts(whole)[:2]
    resumed = drrn.resume(tmp_path / "run", Corridor())
    list(resumed.train())
    assert counts(resumed) == counts(whole)


def test_training_is_evaluated_on_the_dev_fold(stand_ins):
    game = open_suite("twx:coin?text=look&variations=2")
    other = game.evaluation()
    assert other is not None
    assert "(train)" in game.reset(0).text and "(dev)" in other.reset(0).text
    same = open_suite("twx:coin?text=look&variations=2&evaluation=test")
    assert game.fingerprint == same.fingerprint
    for name in ("twx:coin?fold=test", "twx:coin?seed=3", "twx:coin?evaluation=train"):
        assert open_suite(name).evaluation() is None


def test_episodes_of_the_training_can_be_shorter(stand_ins, tmp_path, capsys):
    name = "twx:coin?max_steps=8&train_steps=3"
    settings = {**SMALL, "rounds": 1, "replicas": 1, "episodes_per_round": 4}
    trainer = drrn.trainer(name, paper=True, **settings, interactions=30)
    list(trainer.train())
    (row,) = trainer.progress.rows
    assert row["interactions"] <= 3 * row["episodes"]
    assert isinstance(trainer.evaluated, SteppedRollouts) and trainer.evaluated.limit == 8
    trainer.save(tmp_path / "run")
    for options, limit in ([], 3), (["--max-steps", "5"], 5), (["--fold", "test"], 8):
        assert main(["evaluate", str(tmp_path / "run"), "--episodes", "2", "--json", *options]) == 0
        replicas = json.loads(capsys.readouterr().out)["replicas"]
        steps = [entry["steps"] for entry in replicas if entry["policy"] == "greedy"]
        assert max(steps) <= limit, options
    assert with_options("twx:coin?variations=2", fold="test", variations="") == "twx:coin?fold=test"
    for source, message in (
        ("twx:coin?seed=3", "always plays one variation, so no fold can be chosen"),
        ("twx:coin?seed", "write seed=VALUE, once"),
        ("twx:coin?fold=dev&fold=dev", "write fold=VALUE, once"),
    ):
        assert main(["evaluate", str(tmp_path / "run"), "--game", source, "--fold", "test"]) == 2
        assert message in capsys.readouterr().err


def test_a_limit_of_training_episodes_is_part_of_the_game(stand_ins):
    name = "twx:coin?max_steps=30"
    game = open_suite(f"{name}&train_steps=5")
    other = game.evaluation()
    assert other is not None
    assert (game.max_steps, other.max_steps) == (5, 30)
    assert game.fingerprint != open_suite(name).fingerprint
    on_test = open_suite(f"{name}&train_steps=5&fold=test")
    assert on_test.max_steps == 30
    assert on_test.fingerprint == open_suite(f"{name}&fold=test").fingerprint
    for steps, problem in (0, "train_steps is 0"), (31, "train_steps is above max_steps"):
        with pytest.raises(InputError, match=problem):
            open_suite(f"{name}&train_steps={steps}")


def test_evaluate_plays_each_variation_of_a_fold_once(stand_ins, tmp_path, capsys, monkeypatch):
    settings = {**SMALL, "rounds": 1, "replicas": 1, "evaluation_episodes": 2, "interactions": 16}
    del settings["episodes_per_round"]
    trainer = drrn.trainer("twx:coin?max_steps=4&text=look", paper=True, **settings)
    list(trainer.train())
    trainer.save(tmp_path / "run")
    seen = []
    reset = LimitedEnvironment.reset

    def spy(self, seed, fold):
        seen.append((fold, seed))
        return reset(self, seed, fold)

    monkeypatch.setattr(LimitedEnvironment, "reset", spy)
    arguments = ["evaluate", str(tmp_path / "run"), "--fold", "test", "--episodes", "3"]
    assert main([*arguments, "--max-steps", "2", "--policy", "greedy", "--json"]) == 0
    assert seen == [("test", 0), ("test", 1), ("test", 2)]
    (entry,) = json.loads(capsys.readouterr().out)["replicas"]
    assert entry["steps"] <= 2


def test_an_error_names_the_option_that_a_game_without_folds_lacks(tale, tmp_path, capsys):
    out = tmp_path / "run"
    assert train(tale, out, "--rounds", "1") == 0
    for option in ("--fold=test", "--max-steps=5"):
        capsys.readouterr()
        assert main(["evaluate", str(out), option]) == 2
        name = option.removeprefix("--").partition("=")[0].replace("-", "_")
        assert f"no option {name}" in capsys.readouterr().err
