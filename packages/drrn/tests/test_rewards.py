"""Rewards that no model can learn from are refused at the step that pays them."""

import json
import os
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest

import drrn
from tests.commands import main
from tests.runs import FEW, resume_command
from textgames.errors import InputError
from textgames.files import json_bytes, write_atomically
from textgames.game.contract import Observation, checked

GAME = """
import drrn


class Stones:
    '''Three pages; the second step to the right pays.'''

    name = "stones"
    max_steps = 9

    def reset(self, seed=None):
        self.state = (0, 0)
        return self.look(self.state)

    def step(self, index):
        self.state = (self.state[0] + 1, index)
        return self.look(self.state)

    def look(self, state):
        stone, side = state
        if stone < 2:
            return drrn.Observation(f"Stone {stone}, {side}.", ("left", "right"))
        return drrn.Observation(f"End {side}.", (), REWARD)


class Listed(Stones):
    name = "listed"

    def opening(self):
        return [(1.0, (0, 0))]

    def outcomes(self, state, index):
        return [(1.0, (state[0] + 1, index))]
"""
LEARNABLE = [0, -0.0, True, 3, 0.1 + 0.2 - 0.3, 1e-30, -1e15, Fraction(1, 3), np.float32(2.5)]
OTHERS = [1.1e15, -1e100, 1e200, -1.7e308, 5e-324, 10**400, -(10**5000), float("nan"), "1", None]


@pytest.mark.parametrize("reward", LEARNABLE, ids=str)
def test_a_reward_that_can_be_learned_from_is_a_float(reward):
    page = checked(drrn.make("long-watch"), Observation("There.", (), reward))
    assert type(page.reward) is float and page.reward == float(reward)


@pytest.mark.parametrize("reward", OTHERS, ids=lambda reward: f"{type(reward).__name__}")
def test_any_other_reward_is_refused_with_its_step_and_page(reward):
    with pytest.raises(InputError, match=r'long-watch, step 7: .* "There\."'):
        checked(drrn.make("long-watch"), Observation("There.", (), reward), 7)


@pytest.mark.parametrize(("reward", "game"), [("1.7e308", "Stones"), ("10**400", "Listed")])
def test_commands_refuse_a_game_at_its_first_reward(reward, game, import_folder, capsys):
    (import_folder / "payer.py").write_text(f"REWARD = {reward}\n{GAME}")
    source = f"payer:{game}"
    for words in (
        ["train", source, "--out", "run", *FEW],
        ["train", source, "--out", "paper", "--paper", *FEW],
        ["play", source, "--policy", "random", "--episodes", "2"],
    ):
        assert main(words) == 2, words
        error = capsys.readouterr().err.splitlines()[-1]
        assert f": {game.lower()}, step 2: the reward" in error, words
    main(["test", source, "--seconds", "1", "--jobs", "1"])  # reports it as a problem
    assert f"{game.lower()}, step 2" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("game", "reward"), [("Stones", 1e15), ("Listed", -1e15), ("Stones", 1e-30)], ids=str
)
def test_a_run_with_the_largest_and_smallest_rewards_is_opened_and_resumed(
    game, reward, import_folder, capsys
):
    code = GAME.replace("(), REWARD", "(), REWARD * side")
    (import_folder / "payer.py").write_text(f"REWARD = {reward}\n{code}")
    assert main(["train", f"payer:{game}", "--out", "run", *FEW, "--rounds", "1"]) == 0
    assert main([*resume_command("run"), "--rounds", "2"]) == 0
    assert main(["ask", "run", "--state", "Stone 0, 0.", "--action", "left", "--json"]) == 0
    for name in ("config.json", "vocabulary.json", "reference_scores.json"):
        assert "Infinity" not in (import_folder / "run" / name).read_text()


@pytest.mark.parametrize("text", ['{"x": -Infinity}', "{"])
def test_json_is_read_back_before_it_replaces_a_file(text, tmp_path):
    path = tmp_path / "x.json"
    write_atomically(path, json_bytes({"x": 0.5}))
    with pytest.raises(InputError, match=r"x\.json: .*the old file is unchanged"):
        write_atomically(path, text.encode())
    assert json.loads(path.read_bytes()) == {"x": 0.5}
    assert [each.name for each in tmp_path.iterdir()] == ["x.json"]
    with pytest.raises(InputError, match="cannot be written as JSON"):
        json_bytes({"score": [float("inf")]})


@pytest.mark.full
def test_reference_scores_do_not_depend_on_the_number_of_threads(tmp_path):
    contents = set()
    for threads in ("1", "2"):
        out = tmp_path / threads
        words = ["train", "night-market", "--paper", *FEW, "--rounds", "1", "--out", str(out)]
        environment = {**os.environ, "OMP_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": threads}
        subprocess.run([sys.executable, "-m", "drrn", *words], env=environment, check=True)
        contents.add((out / "reference_scores.json").read_bytes())
    assert len(contents) == 1
