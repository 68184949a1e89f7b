"""Patterns of a TOML: found as `re` finds them, and in a time that follows the length of the text."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from drrn.errors import InputError
from drrn.games.stories.patterns import Pattern
from tests.small_stories import FORK

FOR_EVER = [
    "(a+)+$",
    "(a|a)*b$",
    "(a|aa)+$",
    "(.*a){25}$",
    "(a?){60}b",
    "a*a*a*a*a*a*a*b",
    "(?:(?:x|a+)*)+c",
    "(a*)*b$",
]
PARTS = st.sampled_from(
    ["a", "b", ".", "[ab]", "[^a]", r"\w", r"\b", "^", "$", "(a|b)", "(a|ab)", "(?:ba)", "(?i:B)", r"\s", "a|b"]
)
PIECES = st.tuples(PARTS, st.sampled_from(["", "", "*", "+", "?", "{2}", "{1,3}", "*?", "{2,}"]))


@pytest.mark.parametrize("source", FOR_EVER)
def test_a_pattern_that_would_backtrack_for_ever_ends(source):
    pattern = Pattern(source)
    assert not pattern.search("a" * 2000 + "!")
    assert pattern.search("a" * 30 + "bc") == (re.search(source, "a" * 5 + "bc") is not None)


@given(st.lists(PIECES, min_size=1, max_size=5), st.text("abAB \n_", max_size=12), st.booleans())
@example([("a", "*")], "", False)
def test_read_once_a_text_holds_what_re_finds_in_it(pieces, text, alike):
    source = "".join(f"(?:{part}){times}" if part not in ("^", "$", r"\b") else part for part, times in pieces)
    flags = re.IGNORECASE if alike else 0
    pattern = Pattern(source, flags)
    found = re.search(source, text, flags) is not None
    assert pattern.search(text) == found
    if pattern.automaton:
        assert pattern.automaton.found_in(text) == found


@pytest.mark.parametrize("key", ["drop", "restart", "ending"])
def test_a_story_with_such_a_pattern_is_played(key, story):
    toml = '[[ending]]\nregex = "(\\\\w+ ?)+!!$"\nreward = 1\n' if key == "ending" else f'{key} = "(\\\\w+ ?)+!!$"\n'
    game = story(FORK.replace("grey", "grey and cold and wide " * 20), toml)
    assert game.reset(0).actions and game.step(0).text


def test_a_pattern_that_no_single_reading_can_follow_is_one_sentence(story):
    with pytest.raises(InputError, match=r"drop: the pattern .* it could take for ever: leave out back-references"):
        story(FORK, "drop = '(a+)+\\1$'\n")
    assert Pattern(r"(?=wide)wide").search("so wide")
    with pytest.raises(re.error, match="smaller numbers"):
        Pattern("((a{99}){99}){9,99}")
