"""Words of all scripts, and games whose texts have no words."""

import logging
import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

import drrn
from tests.paper_games import PAPER_GAMES
from tests.sample_games import Walk
from tests.trainings import SMALL
from textgames.game.contract import Observation
from textgames.openers import BUILT_IN, WORLDS
from textgames.wording import words

# the pattern of words with which the published results were computed
PUBLISHED = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")


@pytest.mark.parametrize(
    ("text", "expected"),
    {
        "नमस्ते दुनिया!": ["नमस्ते", "दुनिया"],
        "สวัสดี": ["ส", "วั", "ส", "ดี"],
        "我爱你, ok3": ["我", "爱", "你", "ok3"],
        "学ぶコーヒー": ["学", "ぶ", "コー", "ヒー"],
        "한국어 단어": ["한국어", "단어"],
        "שָׁלוֹם עולם": ["שָׁלוֹם", "עולם"],
        "می\u200cخواهم": ["می\u200cخواهم"],
        "İstanbul I\u0307stanbul ISTANBUL": ["istanbul", "istanbul", "istanbul"],
        "Cafe\u0301, CAFÉ": ["café", "café"],
        "हिन्दी’s _go_on_": ["हिन्दी's", "go", "on"],
        "1\ufe0f\u20e3 \u2764\ufe0f": ["1"],
    }.items(),
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_marks_belong_to_their_letters_and_scripts_without_spaces_are_split_into_characters(
    text, expected
):
    assert words(text) == [unicodedata.normalize("NFC", word) for word in expected]


@given(st.text())
def test_words_do_not_depend_on_the_unicode_normal_form(text):
    assert words(unicodedata.normalize("NFD", text)) == words(text)
    assert words(unicodedata.normalize("NFC", text)) == words(text)


@given(st.text("aZ9 _'’-—éßñΩж.“”…"))
def test_latin_greek_and_cyrillic_words_match_the_published_pattern(text):
    assert words(text) == PUBLISHED.findall(text.lower().replace("’", "'"))


@pytest.mark.full
@pytest.mark.parametrize("name", [*BUILT_IN, *WORLDS, *PAPER_GAMES])
def test_the_words_of_built_in_games_and_the_papers_match_the_published_pattern(name, request):
    game_path = request.getfixturevalue("game_path") if name in PAPER_GAMES else lambda name: name
    compiled = drrn.compile_game(drrn.make(game_path(name)))
    for text in (*compiled.texts, *compiled.actions):
        assert words(text) == PUBLISHED.findall(text.lower().replace("’", "'"))


class Signs(Walk):
    """A game whose texts have no letters."""

    name = "signs"

    def current_page(self):
        actions = ("→", "←")[: len(super().current_page().actions)]
        return Observation("*" * (self.stone + 1), actions)


@pytest.mark.parametrize("model", ["drrn", "table"])
def test_a_game_without_words_is_reported(model, caplog):
    small = {name: value for name, value in SMALL.items() if model == "drrn" or name != "hidden"}
    trainer = drrn.trainer(Signs(), paper=True, model=model, **small)
    with caplog.at_level(logging.WARNING):
        list(trainer.train())
    messages = [record.getMessage() for record in caplog.records]
    sides = ["pages", "actions"] if model == "drrn" else []
    for side, message in zip(sides, messages, strict=True):
        assert f"signs: its {side} have no letters" in message
