"""Sizes that do not fit in memory, infinite numbers and divergence are reported."""

import logging

import numpy as np
import pytest

import drrn
from drrn.cli import main
from drrn.runs import limits
from drrn.runs.limits import memory_needed
from drrn.settings import Settings
from tests.trainings import SMALL
from textgames.errors import InputError


@pytest.mark.parametrize(
    "options",
    [
        ["--hidden", "9000000000000"],
        ["--replicas", "100000000"],
        ["--layers", "100000000000"],
        ["--batch-size", "10000000000000"],
        ["--episodes-per-round", "10000000000000"],
        ["--evaluation-episodes", "10000000000000"],
        ["--hidden", "9" * 400],
        ["--workers", "1000000"],
        ["--interaction", "bilinear", "--action-hidden", "9000000000000"],
    ],
    ids=lambda options: options[-2],
)
def test_the_error_for_a_size_that_does_not_fit_in_memory_has_the_size(
    options, capsys, working_folder, tmp_path
):
    assert main(["train", "long-watch", *options]) == 2
    error = capsys.readouterr().err
    assert "needs about" in error and "B of memory, and this machine has" in error
    assert error.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_the_error_names_the_settings_that_are_larger_than_the_defaults(monkeypatch):
    monkeypatch.setattr(limits, "_memory", lambda: 1000)
    with pytest.raises(InputError, match=r"^hidden 300, replicas 7: needs about \d+ MB"):
        limits.check_memory(Settings.from_flat(hidden=300, replicas=7))


def test_a_wider_model_needs_more_memory():
    wide = memory_needed(Settings.from_flat(hidden=200), 1000)
    assert memory_needed(Settings(), 1000) < wide < 10**9


@pytest.mark.parametrize("name", ["alpha", "learning_rate", "optimism", "vectors_scale"])
@pytest.mark.parametrize("value", ["inf", "nan", "1e999"])
def test_infinity_and_nan_are_rejected(name, value, capsys):
    flag = f"--{name.replace('_', '-')}"
    assert main(["train", "long-watch", flag, value]) == 2
    error = capsys.readouterr().err
    assert f"{flag} is {float(value)}; it must be " in error and error.count("\n") == 1


@pytest.mark.parametrize("name", ["count_power", "pseudo_count", "optimism", "vectors_noise"])
def test_the_error_for_a_huge_number_names_the_setting(name, capsys):
    flag = f"--{name.replace('_', '-')}"
    assert main(["train", "long-watch", flag, "1e300"]) == 2
    assert f"{flag} is 1e+300; it must " in capsys.readouterr().err


@pytest.mark.parametrize("paper", [True, False])
def test_a_learning_rate_that_saturates_every_unit_is_logged_once(paper, caplog):
    settings = {name: value for name, value in SMALL.items() if paper or name != "epochs"}
    settings |= {"rounds": 2, "learning_rate": 1e6}
    trainer = drrn.trainer("long-watch", paper=paper, **settings)
    with caplog.at_level(logging.WARNING):
        list(trainer.train())
    messages = [record.getMessage() for record in caplog.records]
    (message,) = (message for message in messages if "saturated" in message)
    assert "learning_rate below 1e+06" in message


def test_nan_in_the_weights_ends_training_with_an_error(monkeypatch):
    trainer = drrn.trainer("long-watch", paper=True, **SMALL)
    state = trainer.model.state()
    state["weight W"] = np.array([np.nan], np.float32)
    monkeypatch.setattr(trainer.model, "state", lambda: state)
    with pytest.raises(InputError, match='"weight W"'):
        next(trainer.train())
