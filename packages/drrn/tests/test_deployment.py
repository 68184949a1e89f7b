"""The deployed policy: chosen after training, recorded in the run, used wherever it plays."""

import json
import shutil

import pytest

import drrn
from drrn.playing.evaluation import choose_policy
from drrn.runs.run import Run
from drrn.settings import CANDIDATES
from tests.commands import main
from tests.runs import SMALL_STRONG, resume_command, train
from tests.sample_games import Doors
from tests.trainings import rollouts_of
from textgames.game.contract import Observation

KINDS = ["compiled", "stepped"]


class Line(Doors):
    """Five steps to the end, each costs 1; the action `back` returns to the start."""

    name = "line"
    max_steps = 60

    def opening(self):
        return [(1.0, 0)]

    def outcomes(self, state, index):
        return [(1.0, state + 1 if index == 0 else 0)]

    def look(self, state):
        return Observation(f"Post {state}.", ("on", "back")[: 2 * (state < 5)], -float(state > 0))


def choose(game, kind, q, alpha=1.0):
    deployment = choose_policy(rollouts_of(game, kind, q), alpha, 30, [1, 2], 5)
    assert deployment is not None
    assert deployment["episodes"] == 60 and list(deployment["scores"]) == list(CANDIDATES)
    return deployment


@pytest.mark.parametrize("kind", KINDS)
def test_greedy_is_chosen_where_steps_cost(kind):
    deployment = choose(Line(), kind, {"on": 1.0, "back": 0.0}, alpha=0.5)
    assert deployment["policy"] == "greedy"
    scores = {name: mean for name, (mean, _) in deployment["scores"].items()}
    assert scores["greedy"] == scores["best"] == -5 > scores["softmax:4"] > scores["softmax"]


@pytest.mark.parametrize("kind", KINDS)
def test_greedy_is_not_chosen_if_it_stays_in_a_circle(fork, kind):
    q = {"Go out.": 1.0, "Row on.": 0.9, "Turn back.": 1.0}
    deployment = choose(fork, kind, q)
    assert deployment["policy"] != "greedy"
    assert deployment["scores"]["greedy"][0] < deployment["scores"][deployment["policy"]][0]
    assert choose_policy(rollouts_of(fork, kind), 1.0, 4, [1, 2], 5) is None  # too few episodes


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Folder of a run of the strong recipe."""
    folder = tmp_path_factory.mktemp("deployed") / "run"
    options = [*SMALL_STRONG, "--evaluation-episodes", "10"]
    assert main(["train", "long-watch", "--out", str(folder), *options]) == 0
    return folder


def test_the_choice_is_recorded_and_used_unless_another_policy_is_named(run, capsys, tmp_path):
    agent = drrn.load(run)
    assert agent.policy_name("deployed") == Run(run).config["deployment"]["policy"]
    copy = tmp_path / "copy"
    shutil.copytree(run, copy)
    config = json.loads((copy / "config.json").read_text())
    config["deployment"]["policy"] = "softmax:4"
    (copy / "config.json").write_text(json.dumps(config))
    (copy / "hashes.json").unlink()
    capsys.readouterr()
    assert main(["evaluate", str(copy), "--episodes", "5", "--json"]) == 0
    output = json.loads(capsys.readouterr().out)
    assert output["deployed"] == "softmax:4"
    policies = dict.fromkeys(each["policy"] for each in output["replicas"])
    assert list(policies) == ["softmax", "greedy", "best", "softmax:4"]
    page = Observation("Fog.", ("Wait.", "Go."))
    agent = drrn.load(copy)
    assert {agent.act(page.text, page.actions) for _ in range(60)} == {"Wait.", "Go."}
    assert agent.policy().thinks(page)[1].max() < 1
    assert agent.policy("greedy").thinks(page)[1].max() == 1


def test_an_extended_run_chooses_again_and_paper_runs_choose_nothing(run, tmp_path, capsys):
    before = Run(run).config["deployment"]
    assert main(resume_command(run)) == 0  # finished: the choice stays
    assert Run(run).config["deployment"] == before
    capsys.readouterr()
    assert main([*resume_command(run), "--rounds", "4"]) == 0
    assert capsys.readouterr().out.count("Deployed policy: ") == 1
    after = Run(run).config["deployment"]
    assert after["scores"] != before["scores"]
    assert train("long-watch", tmp_path / "paper", "--evaluation-episodes", "10") == 0
    assert "deployment" not in Run(tmp_path / "paper").config
    agent = drrn.load(tmp_path / "paper")
    assert agent.policy_name("deployed") == "best"
