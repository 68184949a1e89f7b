"""Retellings: stories in other prose under the same rules."""

from dataclasses import fields

import numpy as np
import pytest

import textgames
from lab.experiments.statistics import distance, paraphrases_of
from tests.stories import FORK, REWARDS
from textgames.compiled.game import Compiled
from textgames.compiled.solve import best, random_play
from textgames.errors import InputError

SETS = 'paraphrases = { reworded = "other.tsv", retold = "other.twee" }\n'
RETOLD = ":: Start\nAshen waves, polar gusts.\n\n[[Put to sea.|Grey]]\n[[Keep indoors.|Home]]\n"


@pytest.fixture
def tale(story, tmp_path):
    """Path of the small story with a retelling of its first page."""
    (tmp_path / "other.twee").write_text(RETOLD, encoding="utf-8")
    (tmp_path / "other.tsv").write_text("original\tparaphrase\nGo out.\tSail.\n", encoding="utf-8")
    story(FORK, SETS + REWARDS)
    return tmp_path / "tale.toml"


@pytest.mark.parametrize(
    ("name", "passages"),
    [("long-watch", 101), pytest.param("night-market", 60, marks=pytest.mark.full)],
)
def test_a_retold_story_has_the_same_states_and_scores_in_other_words(name, passages):
    first, second = (
        textgames.compile_game(textgames.make(name, paraphrased=p)) for p in (False, "retold")
    )
    for field in fields(Compiled):
        if field.name not in ("texts", "actions", "page_action"):
            assert np.array_equal(getattr(first, field.name), getattr(second, field.name))
    assert best(first).score == best(second).score
    assert random_play(first).total == random_play(second).total
    far = distance(paraphrases_of(textgames.make(name), "retold") or {}, first.texts)
    assert far.pairs == passages and far.oov_rate > 0.25 and (far.bleu or 0) < 0.02


def test_other_pages_stay_and_true_selects_the_set_of_actions(tale):
    game = textgames.make(tale, paraphrased="retold", shuffle=False)
    assert game.reset(0).text == "Ashen waves, polar gusts."
    assert game.step(0).text == "You are out on the water."
    assert textgames.make(tale, paraphrased=True, shuffle=False).reset(0).actions[0] == "Sail."


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (":: Start", ":: Strat", 'the story has no passage "Strat" with these macros'),
        ("|Home", "|Grey", 'the story has no passage "Start" with these macros and link targets'),
    ],
)
def test_a_mistake_in_a_retelling_names_its_line(tale, old, new, message):
    tale.with_name("other.twee").write_text(RETOLD.replace(old, new), encoding="utf-8")
    with pytest.raises(InputError, match=r"other\.twee, line 2: ") as error:
        textgames.make(tale, paraphrased="retold")
    assert message in str(error.value)
