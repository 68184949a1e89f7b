"""`drrn train --tensorboard`: scalars that TensorBoard reads, also of a resumed run."""

import sys

import pytest

from tests.commands import main
from tests.runs import resume_command, train


def scalars(run):
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    events = accumulator.EventAccumulator(str(run / "tensorboard"))
    events.Reload()
    return events


def test_a_resumed_run_has_each_round_once(tale, tmp_path):
    pytest.importorskip("tensorboard")
    train(tale, tmp_path / "run", "--rounds", "1", "--tensorboard")
    assert main([*resume_command(tmp_path / "run"), "--rounds", "2", "--tensorboard"]) == 0
    assert main([*resume_command(tmp_path / "run"), "--rounds", "3", "--tensorboard"]) == 0
    events = scalars(tmp_path / "run")
    assert len(events.Tags()["scalars"]) == 2 * 3 * 2  # replicas, policies and measures
    assert [each.step for each in events.Scalars("return/best/replica 1")] == [1, 2, 3]


def test_without_tensorboard_the_error_names_the_installation(tale, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    assert train(tale, tmp_path / "run", "--tensorboard") == 2
    assert "pip install tensorboard" in capsys.readouterr().err
