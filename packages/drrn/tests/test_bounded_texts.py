"""Memory is bounded: texts of questions, evaluations and old episodes are forgotten."""

import pytest

import drrn
from drrn.playing import stepped_rollouts
from drrn.text import Vocabulary
from tests.commands import main
from tests.sample_games import Dice, Walk
from tests.trainings import SMALL, Stepped, same_weights
from textgames.game.contract import Observation


class Endless:
    """Every page is new."""

    name = "endless"
    pages = 0

    def another(self):
        return Endless()

    def reset(self, seed=None):
        self.steps = 0
        return self.page()

    def step(self, index):
        self.steps += 1
        if self.steps == 20:
            return Observation("the end", (), float(index))
        return self.page()

    def page(self):
        Endless.pages += 1
        return Observation(f"page {Endless.pages} of the book", (f"turn {Endless.pages}", "wait"))


@pytest.mark.parametrize(
    "settings", [{}, pytest.param({"model": "max-action"}, marks=pytest.mark.full)], ids=str
)
def test_texts_that_no_learner_uses_are_forgotten(settings, tmp_path, monkeypatch):
    monkeypatch.setattr("drrn.runs.trainer.Trainer.few_texts", 100)
    small = {**SMALL, "rounds": 3, "episodes_per_round": 16, "replicas": 1}
    trainer = drrn.trainer(Endless(), paper=True, **{**small, **settings})
    sizes = []
    for _ in trainer.train():
        assert len(trainer.store.states) == len(trainer.store.actions) == 0
        trainer.save(tmp_path / "run")
        checkpoint = (tmp_path / "run/checkpoint.safetensors").stat().st_size
        sizes.append(checkpoint / len(trainer.store.states.vocabulary))
    assert max(sizes) < 1.2 * min(sizes)  # it grows only with the vocabulary


@pytest.mark.full
@pytest.mark.parametrize("settings", [{}, {"keep": True}, {"model": "table"}], ids=str)
def test_questions_and_evaluations_leave_training_bit_identical(fork, settings):
    fork = Stepped(fork)
    settings = {**SMALL, "rounds": 3, **settings}
    if settings.get("model") == "table":
        del settings["hidden"]
    undisturbed = drrn.trainer(fork, paper=True, **settings)
    list(undisturbed.train())
    trainer = drrn.trainer(fork, paper=True, **settings)
    agent = trainer.agent
    for _ in trainer.train():
        for number in range(40):
            agent.ask(f"a made-up page {number}", [f"a made-up action {number}", "Go out."])
        agent.evaluate(fork, episodes=5)
        agent.evaluate(Walk(), episodes=5)
    assert same_weights(undisturbed, trainer)
    words = undisturbed.store.states.vocabulary.spelled
    assert words == trainer.store.states.vocabulary.spelled


def test_forgetting_texts_during_an_evaluation_does_not_change_it(monkeypatch):
    settings = {**SMALL, "rounds": 1}
    usual = list(drrn.trainer(Stepped(Dice()), paper=True, **settings).train())
    monkeypatch.setattr(stepped_rollouts.SteppedRollouts, "most_scratch", 3)
    often = list(drrn.trainer(Stepped(Dice()), paper=True, **settings).train())
    assert [e.summary for e in usual[0].evaluations] == [e.summary for e in often[0].evaluations]


def full_warnings(caplog, **settings):
    caplog.clear()
    small = {name: value for name, value in SMALL.items() if name != "hidden"}
    trainer = drrn.trainer(Endless(), paper=True, **small, **settings)
    assert [finished.number for finished in trainer.train()] == [1, 2]
    return trainer, [line for line in caplog.messages if "new ones are ignored" in line]


def test_training_continues_with_a_full_vocabulary(monkeypatch, caplog):
    monkeypatch.setattr(Vocabulary, "limit", 30)
    trainer, warnings = full_warnings(caplog)
    assert len(trainer.store.states.vocabulary) == len(trainer.store.actions.vocabulary) == 30
    full = "endless: its {} have 30 different words, the most that a model reads"
    for side in ("pages", "actions"):
        assert any(full.format(side) in line for line in warnings)
    assert full_warnings(caplog, model="table")[1] == []


def test_a_page_of_very_many_random_draws_is_one_sentence(tmp_path, capsys):
    path = tmp_path / "tale.twee"
    draws = "<<if either(0,1)>>x<<endif>>" * 2_000
    path.write_text(f":: Start\n{draws}[[Go]]\n\n:: Go\nThe end.\n")
    assert main(["inspect", str(path)]) == 2
    assert "more than 500 random draws" in capsys.readouterr().err
