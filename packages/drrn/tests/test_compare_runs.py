"""Lists and comparisons of runs: states, scores, intervals over replicas."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from drrn.cli import main
from drrn.runs.run import Run
from tests.runs import train
from tests.stories import FORK, REWARDS
from textgames.intervals import difference_of


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two finished runs of one game, one in a subfolder, and one of another game."""
    folder = tmp_path_factory.mktemp("runs")
    for name, text in (("tale", FORK), ("other", FORK.replace("grey", "green"))):
        (folder / f"{name}.twee").write_text(text)
        (folder / f"{name}.toml").write_text(f'story = "{name}.twee"\n' + REWARDS)
    train(folder / "tale.toml", folder / "one", "--rounds", "2")
    other = "--rounds 1 --seed 7 --model linear".split()
    train(folder / "tale.toml", folder / "more/two", *other)
    train(folder / "other.toml", folder / "third", "--rounds", "1", "--replicas", "1")
    return folder


def list_runs(folder, capsys):
    capsys.readouterr()
    assert main(["runs", str(folder), "--json"]) == 0
    runs = json.loads(capsys.readouterr().out)
    return {run["run"].removeprefix(f"{folder}/"): run for run in runs}


def test_runs_are_listed_with_scores_rounds_and_state(folder, capsys):
    runs = list_runs(folder, capsys)
    assert set(runs) == {"one", "more/two", "third"}
    assert {run["state"] for run in runs.values()} == {"finished"}
    assert runs["more/two"]["model"] == "linear" and runs["more/two"]["rounds_done"] == 1
    one = runs["one"]
    assert one["rounds"] == 2 and one["when"] > "20"
    assert set(one["scores"]) == {"softmax", "greedy", "best"} and one["seed"] == 0
    assert main(["runs", str(folder)]) == 0
    lines = capsys.readouterr().out.splitlines()
    header = "run game model replicas rounds softmax greedy best when state"
    assert lines[0].split() == header.split() and len(lines) == 4


def test_listing_runs_imports_neither_numpy_nor_pytorch(folder):
    code = f"""
import sys
from drrn.cli import main
assert main(["runs", {str(folder)!r}]) == 0
assert not {{"numpy", "torch", "matplotlib"}} & set(sys.modules)
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    words = [sys.executable, "-c", code]
    result = subprocess.run(words, env=environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert "finished" in result.stdout


def test_the_state_of_a_run_is_running_interrupted_or_damaged(folder, capsys):
    with Run(folder / "third").locked():
        assert list_runs(folder, capsys)["third"]["state"] == "running"
    config = folder / "third/config.json"
    before = config.read_text()
    (folder / "third/hashes.json").unlink()
    config.write_text(before.replace('"rounds": 1', '"rounds": 5'))
    assert list_runs(folder, capsys)["third"]["state"] == "interrupted"
    config.write_text("{")
    assert list_runs(folder, capsys)["third"]["state"] == "damaged"
    assert main(["runs", str(folder)]) == 0
    assert "config.json: cannot be read as JSON" in capsys.readouterr().err
    config.write_text(before)


def test_folders_without_runs_are_reported(tmp_path, capsys):
    assert main(["runs", str(tmp_path)]) == 0
    assert "no runs here" in capsys.readouterr().err
    assert main(["runs", str(tmp_path / "nowhere")]) == 2
    assert "no such folder" in capsys.readouterr().err


def test_runs_are_compared_by_a_table_and_a_chart(folder, tmp_path, capsys):
    runs = [str(folder / "one"), str(folder / "more/two")]
    chart = tmp_path / "both"
    capsys.readouterr()
    assert main(["compare", *runs, "--out", str(chart)]) == 0
    out, error = capsys.readouterr()
    for words in "random play,best possible,95 % interval, to ,linear,both.svg".split(","):
        assert words in out
    assert "different numbers of episodes" in error
    assert "two (linear" in (tmp_path / "both.svg").read_text()
    assert main(["compare", *runs, "--out", str(chart)]) == 2
    assert "already exists" in capsys.readouterr().err
    assert main(["compare", *runs, "--json", "--round", "1", "--policy", "best"]) == 0
    out, error = capsys.readouterr()
    result = json.loads(out)
    first, second = result["runs"]
    assert error == "" and result["random"] < result["best"] and "difference" not in first
    assert second["difference"] == pytest.approx(second["mean"] - first["mean"])
    assert second["seeds"] == 2
    assert second["low"] <= second["difference"] <= second["high"]


def test_the_errors_for_runs_that_cannot_be_compared_are_one_sentence(folder, capsys):
    for arguments, message in (
        ([str(folder / "one"), str(folder / "third")], "runs of one game"),
        ([str(folder / "one"), str(folder / "nowhere")], "no such folder"),
        ([str(folder / "one"), "--round", "9"], "it has 2 rounds, so there is no round 9"),
    ):
        capsys.readouterr()
        assert main(["compare", *arguments]) == 2
        error = capsys.readouterr().err
        assert message in error and error.count("\n") == 1


def test_intervals_of_simple_differences():
    same = difference_of([1.0, 1.0, 1.0], [3.0, 3.0])
    assert same == {"difference": 2, "low": 2, "high": 2, "clear": True}
    wide = difference_of([0.0, 10.0], [1.0, 9.0])
    assert wide["difference"] == 0 and wide["low"] < -5 and wide["high"] > 5
    assert wide["clear"] is False
    alone = difference_of([1.0], [3.0, 4.0])
    assert alone == {"difference": 2.5, "low": None, "high": None, "clear": None}
    assert difference_of([0.0, 1.0, 2.0], [1.0, 5.0]) == difference_of([0.0, 1.0, 2.0], [1.0, 5.0])


def test_the_interval_has_the_stated_coverage():
    draw = np.random.default_rng(0)
    covered = 0
    for number in range(100):
        interval = difference_of(
            draw.normal(0, 1, 10).tolist(), draw.normal(2, 1, 10).tolist(), seed=number
        )
        assert interval["low"] is not None and interval["high"] is not None
        covered += interval["low"] <= 2 <= interval["high"]
    assert 88 <= covered <= 99
