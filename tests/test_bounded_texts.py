"""Memory stays bounded: texts of questions, of evaluations and of old episodes are not kept for ever."""

import numpy as np
import pytest

import drrn
from drrn.game.contract import Observation
from tests.sample_games import Dice, Walk
from tests.trainings import SMALL, same_weights


class Endless:
    """Every page is new."""

    name = "endless"
    shown = 0

    def another(self):
        return Endless()

    def reset(self, seed=None):
        self.steps = 0
        return self.page()

    def step(self, index):
        self.steps += 1
        return self.page() if self.steps < 20 else Observation("the end", (), float(index))

    def page(self):
        Endless.shown += 1
        return Observation(f"page {Endless.shown} of the book", (f"turn {Endless.shown}", "wait"))


@pytest.mark.parametrize("settings", [{}, {"shared": True}, {"model": "max-action"}], ids=str)
def test_texts_that_nothing_is_learned_from_any_more_are_forgotten(settings, tmp_path, monkeypatch):
    monkeypatch.setattr("drrn.runs.trainer.FEW_TEXTS", 100)
    trainer = drrn.trainer(Endless(), paper=True, **{**SMALL, "rounds": 4, **settings})
    sizes = []
    for _ in trainer.train():
        assert len(trainer.store.states) == len(trainer.store.actions) == 0
        trainer.save(tmp_path / "run")
        checkpoint = (tmp_path / "run/checkpoint.safetensors").stat().st_size
        sizes.append(checkpoint / len(trainer.store.states.vocabulary))
    assert max(sizes) < 1.2 * min(sizes)  # it grows with the words alone


def test_of_a_replay_buffer_that_is_full_only_its_own_texts_are_kept(monkeypatch):
    monkeypatch.setattr("drrn.runs.trainer.FEW_TEXTS", 0)
    trainer = drrn.trainer(
        Endless(), paper=True, **{**SMALL, "rounds": 6, "keep": True, "capacity": 50, "replicas": 1}
    )
    for _ in trainer.train():
        assert len(trainer.store.states) <= 2 * 50 and len(trainer.store.actions) <= 4 * 50
    buffer = trainer.learner.memories[0]
    used = buffer.texts_in_use()
    assert np.array_equal(used[0], np.arange(len(trainer.store.states)))


@pytest.mark.parametrize(
    "settings",
    [{"grow": True}, {"no_compile": True, "keep": True}, {}, {"model": "table", "grow": True}],
    ids=str,
)
def test_questions_and_evaluations_leave_training_bit_identical(fork, settings):
    settings = {**SMALL, "rounds": 3, **settings}
    if settings.get("model") == "table":
        del settings["hidden"]
    quiet, asked = (
        drrn.trainer(fork, paper=True, **settings),
        drrn.trainer(fork, paper=True, **settings),
    )
    list(quiet.train())
    for _ in asked.train():
        for number in range(40):
            asked.agent.ask(f"a made-up page {number}", [f"a made-up action {number}", "Go out."])
        asked.agent.evaluate(fork, episodes=5)
        asked.agent.evaluate(Walk(), episodes=5)
    assert same_weights(quiet, asked)
    stores = [trainer.store for trainer in (quiet, asked)]
    assert stores[0].states.vocabulary.spelled == stores[1].states.vocabulary.spelled


def test_an_evaluation_lets_go_of_texts_while_it_plays(monkeypatch):
    from drrn.playing import stepped_rollouts

    settings = {**SMALL, "rounds": 1}
    usual = list(drrn.trainer(Dice(), paper=True, no_compile=True, **settings).train())
    monkeypatch.setattr(stepped_rollouts, "MOST_SCRATCH", 3)
    often = list(drrn.trainer(Dice(), paper=True, no_compile=True, **settings).train())
    assert [e.summary for e in usual[0].evaluations] == [e.summary for e in often[0].evaluations]


@pytest.mark.parametrize("settings", [{}, {"keep": True}, {"form": "online"}], ids=str)
def test_a_run_that_forgets_texts_is_resumed_to_the_same_numbers(settings, tmp_path, monkeypatch):
    monkeypatch.setattr("drrn.runs.trainer.FEW_TEXTS", 0)
    settings = {
        "hidden": 8,
        "episodes_per_round": 4,
        "evaluation_episodes": 2,
        "replicas": 2,
        "rounds": 3,
        **settings,
    }
    Endless.shown = 0
    whole = drrn.trainer(Endless(), paper=True, **settings)
    list(whole.train())
    Endless.shown = 0
    cut = drrn.trainer(Endless(), paper=True, **settings)
    next(cut.train())
    cut.save(tmp_path / "run")
    resumed = drrn.resume(tmp_path / "run", Endless())
    list(resumed.train())
    assert same_weights(whole, resumed)


def test_a_full_vocabulary_learns_no_more_words_and_training_goes_on(monkeypatch):
    monkeypatch.setattr("drrn.text.MOST_WORDS", 30)
    trainer = drrn.trainer(Endless(), paper=True, **SMALL)
    assert [finished.number for finished in trainer.train()] == [1, 2]
    assert len(trainer.store.states.vocabulary) == len(trainer.store.actions.vocabulary) == 30
