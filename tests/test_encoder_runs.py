"""Whole runs with every encoder: all models, learners and forms, saved, loaded and resumed."""

import numpy as np
import pytest

import drrn
from drrn.models import encoder_of
from drrn.settings import ENCODERS
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


def letters(texts):
    """Return a vector per text: the counts of some letters."""
    return np.array([[text.count(letter) for letter in "aeiourst"] for text in texts], np.float64)


def encoder_settings(encoder, tmp_path):
    """Return the settings that select an encoder."""
    settings = {"encoder": encoder}
    if "vectors" in encoder:
        settings["vectors"] = str(vector_file(tmp_path))
    if encoder == "sentence":
        settings["sentences"] = "tests.test_encoder_runs:letters"
    return settings


def resumes(game, folder, settings):
    """Save, load and resume a run; return whether it equals an uninterrupted one."""
    trainer = drrn.trainer(game, **{**settings, "rounds": 1})
    list(trainer.train())
    trainer.save(folder)
    assert np.array_equal(drrn.load(folder).ask(*QUESTION), trainer.agent.ask(*QUESTION))
    longer = drrn.resume(folder, game, rounds=2)
    list(longer.train())
    whole = drrn.trainer(game, **settings)
    list(whole.train())
    return np.array_equal(longer.agent.ask(*QUESTION), whole.agent.ask(*QUESTION))


ALL = [name for name in ENCODERS if name != "bag"]  # most other tests use the bag


@pytest.mark.slow
@pytest.mark.parametrize("encoder", ALL)
@pytest.mark.parametrize("more", [{}, {"shared": True, "interaction": "network", "keep": True}])
def test_a_run_of_the_papers_recipe_is_saved_loaded_and_resumed(fork, tmp_path, encoder, more):
    settings = {**PAPER, **encoder_settings(encoder, tmp_path), **more}
    assert resumes(Stepped(fork) if more else fork, tmp_path / "run", settings)


@pytest.mark.slow
@pytest.mark.parametrize("encoder", ALL)
def test_a_run_of_the_strong_recipe_is_saved_loaded_and_resumed(fork, tmp_path, encoder):
    """Texts have noise while learning; α and η follow the number of rounds."""
    settings = {
        **STRONG,
        **encoder_settings(encoder, tmp_path),
        "alpha_start": None,
        "rate_end": None,
        "optimism_share": 1.0,
    }
    assert resumes(fork, tmp_path / "run", settings)


@pytest.mark.slow
@pytest.mark.parametrize("model", ["linear", "max-action", "per-action"])
@pytest.mark.parametrize("encoder", ALL)
def test_every_baseline_learns_with_every_encoder(fork, tmp_path, model, encoder):
    settings = {**PAPER, **encoder_settings(encoder, tmp_path), "model": model}
    if model == "linear" and encoder_of(encoder).linear:
        del settings["hidden"]
    trainer = drrn.trainer(fork, **settings)
    list(trainer.train())
    assert np.isfinite(trainer.agent.ask(*QUESTION)).all()
