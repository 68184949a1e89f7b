"""Whole runs with every encoder, each with another model, recipe or form of the game."""

import numpy as np
import pytest

import drrn
from drrn.models import encoder_of
from tests.trainings import SMALL, Stepped
from tests.vector_files import vector_file

QUESTION = ("The sea is grey.", ["Go out.", "Row on."])
PAPER = {**SMALL, "hidden": 6, "paper": True, "optimiser": "adam", "learning_rate": 0.01}
STRONG = {
    **{name: SMALL[name] for name in SMALL if name != "epochs"},
    "hidden": 6,
    "updates": 3,
    "batch_size": 8,
}
SHARED = {"shared": True, "interaction": "network"}


def letters(texts):
    """Return a vector per text: the counts of some letters."""
    return np.array([[text.count(letter) for letter in "aeiourst"] for text in texts], np.float64)


def encoder_settings(encoder, tmp_path):
    """Return the settings that select an encoder."""
    settings = {"encoder": encoder}
    if "vectors" in encoder:
        settings["vectors"] = str(vector_file(tmp_path))
    if encoder == "sentence":
        settings["sentences"] = "packages.drrn.tests.test_encoder_runs:letters"
    return settings


@pytest.mark.parametrize(
    ("encoder", "settings", "stepped"),
    [
        ("lstm", PAPER, True),
        ("gru", STRONG, False),
        ("attention", {**PAPER, **SHARED}, False),
        ("vectors", STRONG, True),
        ("bag+vectors", {**PAPER, **SHARED, "keep": True}, True),
        ("sentence", STRONG, True),
        ("hash", PAPER, False),
    ],
    ids="lstm gru attention vectors bag+vectors sentence hash".split(),
)
def test_a_run_is_saved_loaded_and_resumed(fork, tmp_path, encoder, settings, stepped):
    """Texts have noise while learning by the strong recipe."""
    game = Stepped(fork) if stepped else fork
    trainer = drrn.trainer(game, **settings, **encoder_settings(encoder, tmp_path))
    rounds = trainer.train()
    next(rounds)
    trainer.save(tmp_path / "run")
    assert np.array_equal(drrn.load(tmp_path / "run").ask(*QUESTION), trainer.agent.ask(*QUESTION))
    list(rounds)
    resumed = drrn.resume(tmp_path / "run", game)
    list(resumed.train())
    assert np.array_equal(resumed.agent.ask(*QUESTION), trainer.agent.ask(*QUESTION))


@pytest.mark.parametrize(
    ("model", "encoder"),
    [
        ("linear", "attention"),
        ("linear", "hash"),
        ("max-action", "gru"),
        ("max-action", "sentence"),
        ("per-action", "lstm"),
        ("per-action", "vectors"),
    ],
)
def test_baselines_learn_with_other_encoders(fork, tmp_path, model, encoder):
    settings = {**PAPER, **encoder_settings(encoder, tmp_path), "model": model}
    if model == "linear" and encoder_of(encoder).linear:
        del settings["hidden"]
    trainer = drrn.trainer(fork, **settings)
    list(trainer.train())
    assert np.isfinite(trainer.agent.ask(*QUESTION)).all()
