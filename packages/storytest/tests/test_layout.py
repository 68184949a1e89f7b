"""Choice or hypertext: a link on a separate line is a choice; a link in a sentence is part of it."""

from __future__ import annotations

import pytest


@pytest.fixture
def layout(story):
    """Function that returns the text and the actions of a passage, and whether it is hypertext."""

    def open_passage(text):
        game = story(f":: Start\n{text}\n\n:: A\nA\n\n:: B\nB\n")
        observation = game.reset(0)
        return observation.text, observation.actions, game.scene.face.hypertext

    return open_passage


@pytest.mark.parametrize(
    "links",
    [
        "[[Go|A]]\n[[Stay|B]]",
        "[[Go|A]] | [[Stay|B]]",
        "[[Go|A]]<br>[[Stay|B]]",
        "* [[Go|A]]\n* [[Stay|B]]",
        "- [[Go|A]]\n- [[Stay|B]]",
        "1. [[Go|A]]\n2. [[Stay|B]]",
        "'[[Go|A]]'\n\"[[Stay|B]].\"",
        "''[[Go|A]]''\n//[[Stay|B]]//",
        "<b>[[Go|A]]</b>\n<li>[[Stay|B]]</li>",
        "|[[Go|A]]|[[Stay|B]]|",
        "> [[Go|A]]\n> [[Stay|B]]",
        "[[Go|A]]\\\n\n[[Stay|B]]",
    ],
)
def test_links_on_separate_lines_are_choices(layout, links):
    assert layout(f"You wait.\n\n{links}") == ("You wait.", ("Go", "Stay"), False)


@pytest.mark.parametrize(
    ("sentence", "text"),
    [
        ("You may [[go|A]] or [[stay|B]].", "You may go or stay."),
        ("[[go|A]] or [[stay|B]]", "go or stay"),
        ("See: [[go|A]] [[stay|B]]", "See: go stay"),
        ("You\\\n [[go|A]] [[stay|B]]", "You go stay"),
    ],
)
def test_links_in_a_sentence_are_hypertext(layout, sentence, text):
    assert layout(f"You wait.\n\n{sentence}") == (f"You wait.\n\n{text}", ("go", "stay"), True)


def test_a_page_can_have_choices_and_hypertext(layout):
    assert layout("A [[red|A]] door.\n\n[[Leave|B]]") == ("A red door.", ("red", "Leave"), True)


def test_conditions_around_a_link_do_not_make_it_hypertext(layout):
    text = "You wait.\n\n<<if true>>[[Go|A]]<<endif>>\n<<if false>>No.<<endif>>[[Stay|B]]<<set $x = 1>>"
    assert layout(text) == ("You wait.", ("Go", "Stay"), False)


def test_empty_lines_and_blanks_are_collapsed(layout):
    passage = "  One.  \n\n\n[[Go|A]]\n\n\n\nTwo   three.\t\n"
    assert layout(passage) == ("One.\n\nTwo three.", ("Go",), False)
