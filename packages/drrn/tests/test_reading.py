"""Phrases, marks of shared words, and fixed vocabularies, against texts read by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import drrn
from drrn.reading import Lookup, with_marks, words_and_phrases
from drrn.text import Store
from textgames.errors import InputError


def test_phrases_are_pairs_of_neighbours_and_clauses():
    assert words_and_phrases("Left 12, not right.") == [
        *("left", "12", "not", "right"),
        *("left 12", "not right"),
    ]
    assert words_and_phrases("Do not go!")[3:] == ["do not", "not go", "do not go"]


def test_clauses_can_be_left_out():
    for pairs_only in (False, True):
        store = Store.of_words(phrases=True, pairs_only=pairs_only)
        store.page("Go, do not go!", ["take the lamp"])
        pages, actions = store.states.vocabulary.spelled, store.actions.vocabulary.spelled
        assert pages == ["go", "do", "not", "do not", "not go", *["do not go"] * (not pairs_only)]
        assert actions[3:] == ["take the", "the lamp", *["take the lamp"] * (not pairs_only)]


def test_texts_of_the_same_words_differ_in_their_phrases():
    one = set(words_and_phrases("take the left one, not the right one"))
    other = set(words_and_phrases("take the right one, not the left one"))
    assert one - other == {"take the left one", "not the right one"}


def test_marks_are_the_words_next_to_a_shared_word_within_its_clause():
    lookup = Lookup(
        "Do not take the left cup. Take the right cup.", ["the left one", "the right one"]
    )
    assert lookup.marks(0) == ["on'page", "before'not", "before'take", "before'the", "after'cup"]
    assert lookup.marks(1) == ["on'page", "before'take", "before'the", "after'cup"]


def test_words_of_all_actions_and_words_that_are_not_on_the_page_have_no_marks():
    assert with_marks("A red door.", ["open red", "open blue"])[1] == "open blue"
    assert Lookup("open", ["open red", "open blue"]).marks(0) == []


def test_marks_are_words_of_the_action_on_that_page_alone():
    store = Store.of_words(matches=True)
    _, first = store.page("left 12, right 7", ["left", "right"])
    _, second = store.page("left 7, right 12", ["left", "right"])
    assert not set(first) & set(second)
    words = store.actions.vocabulary.spelled
    numbers = store.actions.words_of(np.array(first[:1]))
    assert [words[n] for n in numbers] == ["left", "on'page", "after'12"]
    assert store.scratch().matches


def test_texts_that_agree_in_the_selected_words_have_one_id():
    store = Store.of_words(["amber", "dune"], select_words=True)
    assert store.states.id("one amber word") == store.states.id("other amber words")
    assert store.states.id("a dune") != store.states.id("an amber")
    assert store.states.vocabulary.spelled == ["amber", "dune"]
    assert store.scratch().states.is_fixed


def test_without_selected_words_all_words_are_read():
    store = Store.of_words(select_words=True)
    assert store.states.id("one amber word") != store.states.id("other amber words")
    shared = Store.of_words(["amber"], select_words=True, shared=True)
    assert shared.page("one amber word", ["go on"]) == (0, [1])
    assert shared.actions.vocabulary.spelled == ["amber", "one", "word", "go", "on"]


@pytest.mark.parametrize("pairs_only", [False, True])
def test_a_saved_agent_reads_marks_and_phrases_as_it_did_in_training(tmp_path, pairs_only):
    features: dict[str, Any] = {"matches": True, "phrases": True, "survey": False}
    features["pairs_only"] = pairs_only
    small: dict[str, Any] = {
        "rounds": 1,
        "episodes_per_round": 20,
        "replicas": 1,
        "hidden": 5,
        "updates": 3,
    }
    trainer = drrn.trainer("diagnostic:order/1", **small, **features, evaluation_episodes=2)
    for _ in trainer.train():
        pass
    trainer.save(tmp_path / "run")
    page = ("Take the left one, not the right one.", ["The left one.", "The right one."])
    loaded = drrn.load(tmp_path / "run")
    assert loaded.ask(*page).tolist() == trainer.agent.ask(*page).tolist()
    with pytest.raises(InputError, match="matches"):
        loaded.exact("diagnostic:order/1")
