"""Choice or hypertext: a link on a line of its own is no part of the text; a link in a sentence is."""

from __future__ import annotations

import pytest


@pytest.fixture
def see(story):
    def seen(text):
        game = story(f":: Start\n{text}\n\n:: A\nA\n\n:: B\nB\n")
        observation = game.reset(0)
        return observation.text, observation.actions, game.scene.face.hypertext

    return seen


@pytest.mark.parametrize(
    "links",
    [
        "[[Go|A]]\n[[Stay|B]]",
        "[[Go|A]] [[Stay|B]]",
        "[[Go|A]] | [[Stay|B]]",
        "[[Go|A]]<br>[[Stay|B]]",
        "* [[Go|A]]\n* [[Stay|B]]",
        "# [[Go|A]]\n# [[Stay|B]]",
        "- [[Go|A]]\n- [[Stay|B]]",
        "1. [[Go|A]]\n2. [[Stay|B]]",
        "a) [[Go|A]]\nb) [[Stay|B]]",
        "'[[Go|A]]'\n\"[[Stay|B]].\"",
        "''[[Go|A]]''\n//[[Stay|B]]//",
        "<b>[[Go|A]]</b>\n<li>[[Stay|B]]</li>",
        "|[[Go|A]]|[[Stay|B]]|",
        "> [[Go|A]]\n> [[Stay|B]]",
        "[[Go|A]]\\\n\n[[Stay|B]]",
    ],
)
def test_links_that_stand_alone_are_choices(see, links):
    assert see(f"You wait.\n\n{links}") == ("You wait.", ("Go", "Stay"), False)


@pytest.mark.parametrize(
    ("sentence", "text"),
    [
        ("You may [[go|A]] or [[stay|B]].", "You may go or stay."),
        ("[[go|A]] or [[stay|B]]", "go or stay"),
        ("* [[go|A]] or [[stay|B]]", "go or stay"),
        ("See: [[go|A]] [[stay|B]]", "See: go stay"),
        ("You\\\n [[go|A]] [[stay|B]]", "You go stay"),
    ],
)
def test_links_in_a_sentence_are_hypertext(see, sentence, text):
    assert see(f"You wait.\n\n{sentence}") == (f"You wait.\n\n{text}", ("go", "stay"), True)


def test_a_page_can_hold_both(see):
    assert see("A [[red|A]] door.\n\n[[Leave|B]]") == ("A red door.", ("red", "Leave"), True)


def test_conditions_around_a_link_do_not_make_it_hypertext(see):
    text = "You wait.\n\n<<if true>>[[Go|A]]<<endif>>\n<<if false>>No.<<endif>>[[Stay|B]]<<set $x = 1>>"
    assert see(text) == ("You wait.", ("Go", "Stay"), False)


def test_a_link_after_words_told_by_a_condition_is_hypertext(see):
    assert see("<<if true>>You may <<endif>>[[go|A]]")[2] is True


def test_empty_lines_come_one_at_a_time_and_blanks_are_tidied(see):
    assert see("  One.  \n\n\n[[Go|A]]\n\n\n\nTwo   three.\t\n") == (
        "One.\n\nTwo three.",
        ("Go",),
        False,
    )


def test_the_same_way_offered_twice_is_one_action(see):
    assert see("[[Go|A]]\n[[Go|A]]")[1] == ("Go",)


def test_a_page_of_links_alone_has_no_text(see):
    assert see("[[Go|A]]\n[[Stay|B]]") == ("", ("Go", "Stay"), False)
