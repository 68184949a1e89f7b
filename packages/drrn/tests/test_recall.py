"""Recall by meaning: assignment against brute force; a game in other words is played as its own."""

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import drrn
from drrn.cli import main
from drrn.playing.recall import Recall, one_to_one, remember
from drrn.sentences import open_sentences
from tests.sample_games import Doors
from textgames.game.contract import Observation
from textgames.wording import words
from textgames_page.advice_worker import AdviceWorker

SOURCE = "packages.drrn.tests.test_recall:vectors"
SYNONYMS = {"scarlet": "red", "azure": "blue", "gate": "door", "gates": "doors", "pull": "open"}
SYNONYMS |= {"chamber": "room", "pair": "two"}
MEANINGS = "red blue door doors open room two 0 1 2 coins bed lamp light".split()
FEW = "--rounds 3 --episodes-per-round 20 --replicas 1 --updates 50 --hidden 8".split()
TRAINING: dict[str, Any] = {"rounds": 2, "episodes_per_round": 20, "replicas": 2, "updates": 20}
TRAINING |= {"evaluation_episodes": 2}


def vectors(texts):
    """Count the meanings of a text's words; two synonyms have one meaning."""
    meanings = [[SYNONYMS.get(word, word) for word in words(text.lower())] for text in texts]
    return [[each.count(meaning) for meaning in MEANINGS] for each in meanings]


class OtherActions(Doors):
    """Doors with its actions in other words."""

    def look(self, state):
        page = super().look(state)
        names = {"red": "Pull the scarlet gate.", "blue": "Pull the azure gate."}
        return replace(page, actions=tuple(names[each.split()[2]] for each in page.actions))


class Retold(OtherActions):
    """Doors with every page and action in other words."""

    def look(self, state):
        page = super().look(state)
        text = page.text.replace("Room", "Chamber").replace("two doors", "a pair of gates")
        return replace(page, text=text)


class Stepped:
    """A game that cannot be compiled."""

    def __init__(self, game):
        self.name = game.name
        self.reset = game.reset
        self.step = game.step


@pytest.mark.parametrize("shape", [(1, 1), (3, 3), (2, 5), (5, 2), (4, 6)])
def test_the_assignment_is_the_best_of_all(shape):
    for seed in range(20):
        similarity = np.random.default_rng(seed).normal(size=shape).round(1)  # with ties
        rows, columns = one_to_one(similarity)
        assert len(set(rows)) == len(set(columns)) == min(shape)
        wide = similarity if shape[0] <= shape[1] else similarity.T
        choices = itertools.permutations(range(wide.shape[1]), wide.shape[0])
        sums = [wide[range(len(wide)), choice].sum() for choice in choices]
        assert similarity[rows, columns].sum() == pytest.approx(max(sums))


def test_a_page_is_read_in_known_words():
    pages = [Observation("A lamp.", ("Light the lamp.", "To bed.")), Observation("Bed.", ("Open",))]
    drrn.trust(SOURCE)
    recall = Recall(remember({}, pages), open_sentences(SOURCE))
    known_text = Observation("A lamp.", ("A bed!", "More light.", "Two coins."))
    assert recall.page(known_text).actions == ("To bed.", "Light the lamp.", "Two coins.")
    new_text = Observation("The lamp! It is\na lamp.", ("A bed!", "More light."))
    assert recall.page(new_text) == Observation("A lamp.", ("To bed.", "Light the lamp."))
    for page in (pages[0], Observation("Elsewhere.", ("Swim.",))):  # known; similar to none
        assert recall.page(page) == page


@pytest.mark.parametrize("wrap", [lambda game: game, Stepped], ids=["compiled", "stepped"])
def test_a_game_in_other_words_is_played_as_its_own(wrap, tmp_path):
    trainer = drrn.trainer(wrap(Doors()), sentences=SOURCE, **TRAINING)
    list(trainer.train())
    trainer.save(tmp_path / "run")
    agent = drrn.load(tmp_path / "run")
    known = Doors().reset(0)

    def scores(game):
        played = agent.evaluate(wrap(game), policies=["greedy"], episodes=20)
        return [each.measures for each in played]

    for game in (OtherActions(), Retold()):
        assert scores(game) == scores(Doors())
        page = game.reset(0)
        own = trainer.agent.ask(known.text, known.actions)
        np.testing.assert_array_equal(agent.ask(page.text, page.actions), own)
        advice = AdviceWorker().advise(str(tmp_path / "run"), "best", [], page, True)
        advised = [each["replicas"] for each in advice["actions"]]
        np.testing.assert_allclose(advised, own.T, rtol=1e-5)
    resumed = drrn.resume(tmp_path / "run", wrap(Doors())).agent
    assert agent.recall and resumed.recall and resumed.recall.pages == agent.recall.pages


def test_an_agent_trained_without_sentences_recalls_later(tmp_path, capsys):
    links = "[[Light the lamp.|End]]\n\n[[Go to bed.|Bed]]"
    (tmp_path / "a.twee").write_text(f":: Start\nA lamp.\n\n{links}\n\n:: End\nA\n\n:: Bed\nB\n")
    rewording = "original\tparaphrase\nLight the lamp.\tMake light.\nGo to bed.\tA bed!\n"
    (tmp_path / "a.tsv").write_text(rewording)
    rewards = '[[ending]]\npassage = "End"\nreward = 1\n[[ending]]\npassage = "Bed"\nreward = -1\n'
    (tmp_path / "a.toml").write_text(f'story = "a.twee"\nparaphrases = "a.tsv"\n{rewards}')
    run = tmp_path / "run"
    assert main(["train", str(tmp_path / "a.toml"), "--out", str(run), *FEW]) == 0
    capsys.readouterr()
    options = ["--paraphrased", "--policy", "greedy", "--exact", "--sentences", SOURCE]
    assert main(["evaluate", str(run), *options]) == 0
    assert "1.00" in capsys.readouterr().out.splitlines()[1]
