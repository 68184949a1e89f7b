"""Sizes that do not fit in memory, infinite numbers and divergence are reported."""

import numpy as np
import pytest

import drrn
from drrn.cli import main
from drrn.runs import limits
from drrn.settings import Settings
from tests.trainings import SMALL
from textgames.errors import InputError


@pytest.mark.parametrize(
    "options",
    [
        ["--hidden", "9000000000000"],
        ["--replicas", "100000000"],
        ["--batch-size", "10000000000000"],
        ["--episodes-per-round", "10000000000000"],
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
    assert "needs about" in error and " MB of memory, and this machine has" in error
    assert error.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_the_error_names_the_settings_that_are_larger_than_the_defaults(monkeypatch):
    monkeypatch.setattr(limits, "_memory", lambda: 1000)
    with pytest.raises(InputError, match=r"^hidden 300, replicas 7: needs about \d+ MB"):
        limits.check_memory(Settings.from_flat(hidden=300, replicas=7))


@pytest.mark.parametrize("name", ["alpha", "learning_rate", "optimism", "vectors_scale"])
@pytest.mark.parametrize("value", ["inf", "nan", "1e999"])
def test_infinity_and_nan_are_rejected(name, value, capsys):
    flag = f"--{name.replace('_', '-')}"
    assert main(["train", "long-watch", flag, value]) == 2
    error = capsys.readouterr().err
    assert f"{flag} is {float(value)}; it must be " in error and error.count("\n") == 1


def test_nan_in_the_weights_ends_training_with_an_error(monkeypatch):
    trainer = drrn.trainer("long-watch", paper=True, **SMALL)
    state = trainer.model.state()
    state["weight W"] = np.array([np.nan], np.float32)
    monkeypatch.setattr(trainer.model, "state", lambda: state)
    with pytest.raises(InputError, match='"weight W"'):
        next(trainer.train())
