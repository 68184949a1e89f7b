"""A user's own learner: it writes `learn`; everything else is inherited."""

import json

import numpy as np
import pytest

import drrn
from drrn.cli import main
from drrn.errors import InputError
from drrn.learning.learner import Learner

TOY = '''
import numpy as np

from drrn.learning.learner import Learner
from drrn.models import Pages


class RewardLearner(Learner):
    """Fits Q to the reward that followed each action."""

    def learn(self, generators):
        (steps,) = self.memories[0].episodes
        pages = Pages(steps.states[None, None], steps.actions.padded()[None, None])
        targets = steps.rewards[None].astype(np.float32)
        for _ in range(30):
            self.fit_batch(pages, steps.taken[None], targets)
        return len(steps)


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


def test_an_own_learner_trains_by_the_real_command_and_learns(folder):
    run = folder / "run"
    command = ["train", str(folder / "doors.twee"), "--learner", "toy:RewardLearner"]
    assert main([*command, *SMALL, "--out", str(run)]) == 0
    assert json.loads((run / "config.json").read_text())["settings"]["learner"] == (
        "toy:RewardLearner"
    )
    left, right = drrn.load(run).ask("Two doors.", ["Left", "Right"])[0]
    assert left > 2 > -2 > right


def test_an_own_learner_is_saved_and_resumed(folder):
    settings = {"paper": True, "hidden": 6, "episodes_per_round": 20, "evaluation_episodes": 4}
    settings |= {"rounds": 2, "replicas": 1, "learner": "toy:RewardLearner", "optimiser": "adam"}
    whole = drrn.trainer(folder / "doors.twee", **settings)
    assert isinstance(whole.learner, Learner)
    list(whole.train())
    cut = drrn.trainer(folder / "doors.twee", **settings)
    next(cut.train())
    cut.save(folder / "cut")
    resumed = drrn.resume(folder / "cut")
    list(resumed.train())
    for name, array in whole.model.state().items():
        assert np.array_equal(array, resumed.model.state()[name])


def test_an_own_learner_needs_whole_episodes_unless_it_learns_online(folder):
    with pytest.raises(InputError, match="needs whole episodes"):
        drrn.trainer(folder / "doors.twee", paper=True, learner="toy:RewardLearner", form="online")


def test_what_is_no_learner_is_refused(folder):
    with pytest.raises(InputError, match=r"toy:not_a_learner.*Learner"):
        drrn.trainer(folder / "doors.twee", paper=True, learner="toy:not_a_learner")
