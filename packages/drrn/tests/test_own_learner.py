"""Learners of users: they define `learn` and inherit everything else."""

from typing import Any

import numpy as np
import pytest

import drrn
from drrn.learning.learner import Learner, StepBatch
from drrn.learning.memory import Memory
from tests.commands import main
from tests.episodes import steps_of
from tests.source_code import ROOT

TOY = '''
from drrn.learning.learner import Learner, StepBatch


class RewardLearner(Learner):
    """Fits Q to the reward that followed each action."""

    def learn(self, generators):
        episodes = [memory.joined() for memory in self.memories]
        batch = StepBatch.of(episodes)
        for _ in range(30):
            self.fit_batch(batch.pages, batch.taken, batch.rewards, batch.weights)
        return sum(map(len, episodes))


class EmptyLearner(Learner):
    pass


class FailingLearner(Learner):
    def learn(self, generators):
        raise ArithmeticError("no sum")


def not_a_learner(model, settings):
    return object()
'''
STORY = (
    ":: Start\nTwo doors.\n\n[[Left|Gold]]\n\n[[Right|Pit]]\n\n:: Gold\nGold.\n\n:: Pit\nA pit.\n"
)
RULES = "story = 'doors.twee'\n[[ending]]\npassage = 'Gold'\nreward = 5\n[[ending]]\npassage = 'Pit'\nreward = -5\n"
SMALL = ["--paper", "--rounds", "2", "--replicas", "1", "--hidden", "6", "--learning-rate", "0.01"]
SMALL += ["--episodes-per-round", "20", "--evaluation-episodes", "10"]


@pytest.fixture
def folder(tmp_path, import_folder):
    (tmp_path / "toy.py").write_text(TOY)
    (tmp_path / "doors.twee").write_text(STORY)
    (tmp_path / "doors.toml").write_text(RULES)
    return tmp_path


def test_a_users_learner_is_saved_and_resumed(folder):
    settings: dict[str, Any] = {"paper": True, "hidden": 6, "evaluation_episodes": 4}
    settings |= {"episodes_per_round": 20, "rounds": 2, "replicas": 1, "optimiser": "adam"}
    settings["learner"] = "toy:RewardLearner"
    whole = drrn.trainer(folder / "doors.twee", **settings)
    assert isinstance(whole.learner, Learner)
    list(whole.train())
    interrupted = drrn.trainer(folder / "doors.twee", **settings)
    next(interrupted.train())
    interrupted.save(folder / "interrupted")
    resumed = drrn.resume(folder / "interrupted")
    list(resumed.train())
    for name, array in whole.model.state().items():
        assert np.array_equal(array, resumed.model.state()[name])


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("EmptyLearner", "EmptyLearner has no method learn"),
        ("not_a_learner", 'learner "toy:not_a_learner" must be a subclass of'),
        ("FailingLearner", "toy.py, line 22: FailingLearner.learn raised ArithmeticError: no sum"),
    ],
)
def test_a_learner_that_cannot_learn_is_reported_in_one_sentence(folder, capsys, name, message):
    assert main(["train", "doors.toml", "--learner", f"toy:{name}", *SMALL]) == 2
    assert message in capsys.readouterr().err


def test_the_learner_of_the_docs_trains_several_replicas_by_the_default_recipe(folder):
    text = (ROOT / "docs/drrn/training.md").read_text(encoding="utf-8")
    code = text.split("## Add a learner")[1].split("```python\n")[1].split("```")[0]
    (folder / "documented.py").write_text(code, encoding="utf-8")
    run = folder / "run"
    command = ["train", str(folder / "doors.twee"), "--learner", "documented:RewardLearner"]
    small = ["--rounds", "4", "--replicas", "3", "--hidden", "6", "--replan", "5"]
    small += ["--episodes-per-round", "20", "--evaluation-episodes", "4", "--learning-rate", "0.01"]
    assert main([*command, *small, "--out", str(run)]) == 0
    for gold, pit in drrn.load(run).ask("Two doors.", ["Left", "Right"]):
        assert gold > 2 and gold > pit  # the last rounds hardly play the right door


def test_steps_of_replicas_are_padded_with_weights_of_0():
    first = steps_of(([(0, [4, 5], 1, 1.0), (1, [6], 0, 2.0)], (2, [])))
    second = steps_of(([(3, [7, 8, 9], 2, 3.0)], (2, [])))
    memory = Memory()
    memory.add(first)
    memory.add(second)
    joined = memory.joined()
    assert joined.last.tolist() == [False, True, True] and joined.returns == [3.0, 3.0]
    batch = StepBatch.of([joined, second], [np.array([2, 0]), np.array([0])])
    assert batch.pages.states.tolist() == [[[3, 0], [3, -1]]]
    assert batch.pages.actions[0, 0].tolist() == [[7, 8, 9], [4, 5, -1]]
    assert batch.taken.tolist() == [[2, 1], [2, 0]]
    assert batch.rewards.tolist() == [[3, 1], [3, 0]]
    assert batch.weights.tolist() == [[1, 1], [1, 0]]
