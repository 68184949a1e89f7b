"""What a run records about its learning: learning.json."""

import json
from typing import Any

import numpy as np
import pytest

import drrn
from drrn.runs.agent import Agent
from drrn.runs.records import LearningRecord, _interval, positions
from drrn.runs.run import Run
from tests.commands import main
from tests.runs import resume_command, train


def record_of(folder):
    return json.loads((folder / "learning.json").read_text())


def test_x_times_the_norm_of_the_page_is_q_and_y_is_the_rest():
    page = np.array([3.0, 4.0, 0.0])
    actions = np.array([[3.0, 4.0, 2.0], [6.0, 8.0, -2.0], [-4.0, 3.0, 0.0]])
    norm, x, y = positions(np.stack([page, *actions]))
    assert norm == pytest.approx(5.0)
    assert (x * norm).tolist() == pytest.approx((actions @ page).tolist())
    # what remains is (0, 0, 2), (0, 0, -2), (-4, 3, 0); it varies most along (-4, 3, 0) / 5
    assert np.abs(y).tolist() == pytest.approx([0.0, 0.0, 5.0])


def test_y_keeps_its_direction_from_round_to_round():
    vectors = np.array([[1.0, 0.0], [1.0, 2.0], [1.0, -1.0]])
    _, _, y = positions(vectors)
    _, _, same = positions(vectors, y.tolist())
    _, _, turned = positions(vectors, (-y).tolist())
    assert same.tolist() == y.tolist() and turned.tolist() == (-y).tolist()


def test_a_run_of_the_command_line_records_its_learning(tale, tmp_path):
    assert train(tale, tmp_path / "run") == 0
    record = record_of(tmp_path / "run")
    assert [each["round"] for each in record["rounds"]] == [1, 2, 3]
    last = record["rounds"][-1]
    page = record["pages"][0]
    agent = Agent.load(tmp_path / "run")
    q = agent.ask(page["text"], page["actions"])
    assert last["q"][0] == pytest.approx(q.mean(axis=0).tolist(), rel=1e-3)
    x = np.array(last["x"][0]) * last["norm"][0]
    assert x.tolist() == pytest.approx(q[0].tolist(), rel=2e-3, abs=1e-4)
    assert 1 / len(page["actions"]) <= last["greedy"] <= 1
    assert last["error"] > 0 and -100 < last["played"] < 100
    assert "learning.json" in (tmp_path / "run/hashes.json").read_text()


def test_the_same_game_is_recorded_before_and_after_learning(tale, tmp_path):
    train(tale, tmp_path / "run")
    record = record_of(tmp_path / "run")
    assert [game["round"] for game in record["games"]] == [0, 1, 2, 3]
    texts = record["texts"]
    starts = {texts[game["steps"][0]["text"]] for game in record["games"]}
    assert len(starts) == 1
    for game in record["games"]:
        assert all(texts[step["taken"]] for step in game["steps"]) and texts[game["end"]]


@pytest.mark.parametrize("options", [["--model", "table"], ["--matches"]])
def test_other_models_and_stepped_games_record_q(tale, tmp_path, options):
    assert train(tale, tmp_path / "run", *options) == 0
    last = record_of(tmp_path / "run")["rounds"][-1]
    assert len(last["q"][0]) >= 2 and last["played"] is not None
    assert (last["norm"] is None) == ("table" in options)


def test_a_run_without_a_record_is_resumed_and_a_damaged_record_is_refused(tale, tmp_path, capsys):
    run = tmp_path / "run"
    train(tale, run)
    (run / "learning.json").write_text("{")
    assert main([*resume_command(run), "--rounds", "4"]) == 2
    assert "learning.json" in capsys.readouterr().err
    (run / "learning.json").unlink()
    assert Run(run).learning() is None
    assert main([*resume_command(run), "--rounds", "4"]) == 0
    assert [each["round"] for each in record_of(run)["rounds"]] == [4]


def test_a_run_of_python_is_recorded_if_its_caller_asks_for_it(tale, tmp_path):
    small: dict[str, Any] = {"rounds": 3, "hidden": 6, "episodes_per_round": 8, "updates": 3}
    trainer = drrn.trainer(str(tale), **small)
    next(trainer.train())
    trainer.save(tmp_path / "run")
    run = Run(tmp_path / "run")
    reference = run.reference()
    assert reference is not None and reference.best is not None and run.learning() is None
    record = LearningRecord.of(run.learning(), trainer.round)
    assert [finished.number for finished in run.train(trainer, record=record)] == [2, 3]
    assert [each["round"] for each in record_of(run.folder)["rounds"]] == [2, 3]
    assert [each["round"] for each in LearningRecord.of(run.learning(), 2).rounds] == [2]


def test_later_rounds_of_long_runs_are_thinned_out():
    numbers = [number for number in range(1, 10_001) if number % _interval(number, 200) == 0]
    assert numbers[:200] == list(range(1, 201)) and numbers[200:203] == [202, 204, 206]
    assert len(numbers) < 1_000
