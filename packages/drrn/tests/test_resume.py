"""Resumed runs: more rounds, resuming from Python."""

import json
from typing import Any

import pytest

import drrn
from drrn.runs.run import Run
from tests.commands import main
from tests.runs import FEW, resume_command, train

FILES = (
    "evaluations.csv",
    "model.safetensors",
    "vocabulary.json",
    "checkpoint.safetensors",
    "config.json",
    "hashes.json",
    "reference_scores.json",
    "curve.svg",
)


def assert_same_file(one, other):
    assert one.read_bytes() == other.read_bytes(), one.name


def test_a_run_extended_from_2_to_4_rounds_equals_a_run_of_4_rounds(tale, tmp_path, capsys):
    train(tale, tmp_path / "whole", "--rounds", "4")
    train(tale, tmp_path / "run", "--rounds", "2")
    assert main([*resume_command(tmp_path / "run"), "--rounds", "4"]) == 0
    assert capsys.readouterr().err == ""
    for name in FILES:
        assert_same_file(tmp_path / "run" / name, tmp_path / "whole" / name)
    assert main([*resume_command(tmp_path / "run"), "--rounds", "3"]) == 2
    assert "the run has 4 rounds" in capsys.readouterr().err


def test_the_new_number_of_rounds_survives_an_interrupt(tale, tmp_path, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    train(tale, tmp_path / "run", "--rounds", "1")
    with monkeypatch.context() as patch:
        patch.setattr(Run, "save", interrupt)
        assert main([*resume_command(tmp_path / "run"), "--rounds", "2"]) == 130
    assert main(resume_command(tmp_path / "run")) == 0
    assert [each.number for each in Run(tmp_path / "run").rounds()] == [1, 2]


def test_a_warning_names_the_schedules_that_depend_on_the_number_of_rounds(tale, tmp_path, caplog):
    few = ["--updates", "2", "--batch-size", "4", *FEW]
    assert main(["train", str(tale), "--out", str(tmp_path / "run"), *few]) == 0
    assert main([*resume_command(tmp_path / "run"), "--rounds", "6"]) == 0
    (message,) = [record.getMessage() for record in caplog.records]
    assert "started with 6 rounds (alpha_start, rate_end, optimism_share)" in message


def test_a_run_is_saved_and_resumed_from_python(tale, tmp_path):
    settings: dict[str, Any] = {"paper": True, "hidden": 6, "episodes_per_round": 8}
    settings |= {"evaluation_episodes": 4, "replicas": 2}
    trainer = drrn.trainer(str(tale), rounds=1, **settings)
    list(trainer.train())
    trainer.save(tmp_path / "run")
    longer = drrn.resume(tmp_path / "run", rounds=2)
    list(longer.train())
    longer.save(tmp_path / "run")
    whole = drrn.trainer(str(tale), rounds=2, **settings)
    list(whole.train())
    whole.save(tmp_path / "whole")
    for name in ("evaluations.csv", "checkpoint.safetensors"):
        assert_same_file(tmp_path / "run" / name, tmp_path / "whole" / name)
    with pytest.raises(drrn.InputError, match="the run has 2 rounds"):
        drrn.resume(tmp_path / "run", rounds=1)


def test_train_prints_a_line_of_json_for_each_round(tale, tmp_path, capsys):
    assert train(tale, tmp_path / "run", "--json") == 0
    out, _ = capsys.readouterr()
    printed = [json.loads(line) for line in out.splitlines()]
    first = printed[0]
    replicas = first["replicas"]
    assert first["episodes_played"] == 8 and [replica["seed"] for replica in replicas] == [0, 1]
    scores = [replica["softmax_final_reward"] for replica in replicas]
    assert first["softmax_final_reward"] == pytest.approx(sum(scores) / 2, abs=1e-6)
