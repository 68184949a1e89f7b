"""Recall by meaning: assignment against brute force; a game in other words is played as its own."""

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import drrn
from drrn.cli import main
from drrn.game.contract import Observation
from drrn.playing.recall import Recall, one_to_one, remember, sentences_of
from drrn.sentences import open_sentences
from drrn.writing import words
from tests.sample_games import Doors

SOURCE = "tests.test_recall:vectors"
SYNONYMS = {"scarlet": "red", "azure": "blue", "gate": "door", "gates": "doors", "pull": "open"}
SYNONYMS |= {"chamber": "room", "pair": "two", "of": "", "a": "", "the": ""}
MEANINGS = "red blue door doors open room two 0 1 2 coins bed lamp light".split()
TRAINING: dict[str, Any] = {
    "rounds": 2,
    "episodes_per_round": 20,
    "evaluation_episodes": 2,
    "replicas": 2,
    "updates": 20,
}


def vectors(texts):
    """Count the meanings of a text's words; two synonyms have one meaning."""
    counts = np.zeros((len(texts), len(MEANINGS)))
    for row, text in zip(counts, texts, strict=True):
        for word in words(text.lower()):
            meaning = SYNONYMS.get(word, word)
            if meaning in MEANINGS:
                row[MEANINGS.index(meaning)] += 1
    return counts


class OtherActions(Doors):
    """Doors with its actions in other words, which the game lists in another order."""

    name = "other-actions"
    wordings = {"red": "Pull the scarlet gate.", "blue": "Pull the azure gate."}  # noqa: RUF012

    def look(self, state):
        page = super().look(state)
        return replace(page, actions=tuple(self.wordings[each.split()[2]] for each in page.actions))


class Retold(OtherActions):
    """Doors with every page and action in other words."""

    name = "retold"

    def look(self, state):
        page = super().look(state)
        text = page.text.replace("Room", "Chamber").replace("two doors", "a pair of gates")
        return replace(page, text=text)


class Stepped:
    """A game that cannot be compiled."""

    def __init__(self, game):
        self.game = game
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
        sums = [
            sum(row[column] for row, column in zip(wide, each, strict=True)) for each in choices
        ]
        assert similarity[rows, columns].sum() == pytest.approx(max(sums))


def test_a_page_is_read_in_known_words():
    pages = [
        Observation("A lamp.", ("Light the lamp.", "Go to bed.")),
        Observation("Bed.", ("Open",)),
    ]
    recall = Recall(remember({}, pages), open_sentences(SOURCE))
    known_text = Observation("A lamp.", ("A bed!", "More light.", "Two coins."))
    assert recall.page(known_text).actions == ("Go to bed.", "Light the lamp.", "Two coins.")
    new_text = recall.page(Observation("The lamp, the lamp.", ("A bed!", "More light.")))
    assert new_text == Observation("A lamp.", ("Go to bed.", "Light the lamp."))
    for page in (pages[0], Observation("Elsewhere.", ("Swim.",))):  # known; similar to none
        assert recall.page(page) is page or recall.page(page) == page


def test_a_text_is_cut_into_sentences():
    assert sentences_of("It rains. Go! She says\nNow") == ["It rains.", "Go!", "She says", "Now"]
    assert sentences_of(" ") == [" "]


@pytest.mark.parametrize("wrap", [lambda game: game, Stepped], ids=["compiled", "stepped"])
def test_a_game_in_other_words_is_played_as_its_own(wrap, tmp_path):
    trainer = drrn.trainer(wrap(Doors()), sentences=SOURCE, **TRAINING)
    list(trainer.train())
    trainer.save(tmp_path / "run")
    agent = drrn.load(tmp_path / "run")
    own = [
        each.measures for each in agent.evaluate(wrap(Doors()), policies=["greedy"], episodes=20)
    ]
    for game in (OtherActions(), Retold()):
        others = agent.evaluate(wrap(game), policies=["greedy"], episodes=20)
        assert [each.measures for each in others] == own
        page = game.reset(0)
        known = Doors().reset(0)
        np.testing.assert_array_equal(
            agent.ask(page.text, page.actions), trainer.agent.ask(known.text, known.actions)
        )
    resumed = drrn.resume(tmp_path / "run", wrap(Doors()))
    assert resumed.recall and trainer.recall
    assert resumed.recall.pages == trainer.recall.pages


def test_an_agent_trained_without_sentences_recalls_later(tmp_path, capsys):
    story = tmp_path / "story.twee"
    story.write_text(
        ":: Start\nA lamp.\n\n[[Light the lamp.|End]]\n\n[[Go to bed.|Bed]]\n\n:: End\nA\n\n:: Bed\nB\n"
    )
    (tmp_path / "other.tsv").write_text(
        "original\tparaphrase\nLight the lamp.\tMake some light.\nGo to bed.\tA bed!\n"
    )
    (tmp_path / "story.toml").write_text(
        'story = "story.twee"\nparaphrases = { other = "other.tsv" }\n'
        '[[ending]]\npassage = "End"\nreward = 1\n[[ending]]\npassage = "Bed"\nreward = -1\n'
    )
    run = tmp_path / "run"
    few = "--rounds 3 --episodes-per-round 20 --replicas 1 --updates 50 --hidden 8".split()
    assert main(["train", str(tmp_path / "story.toml"), "--out", str(run), *few]) == 0
    assert not (run / "memory.json").exists()
    capsys.readouterr()
    options = ["--paraphrased", "other", "--policy", "greedy", "--exact", "--sentences", SOURCE]
    assert main(["evaluate", str(run), *options]) == 0
    assert "1.00" in capsys.readouterr().out.splitlines()[1]


def test_a_run_without_memory_cannot_recall(tmp_path):
    trainer = drrn.trainer(Stepped(Doors()), **TRAINING)
    next(trainer.train())
    trainer.save(tmp_path / "run")
    with pytest.raises(drrn.InputError, match=r"memory.json|given as an object"):
        drrn.load(tmp_path / "run", sentences=SOURCE)
