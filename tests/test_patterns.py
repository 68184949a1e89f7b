"""Patterns of a TOML: found as `re` finds them, and in a time that follows the length of the text."""

import copy
import pickle
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from drrn.cli import main
from drrn.errors import InputError
from drrn.stories.twine.patterns import Pattern
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
    [
        "a",
        "b",
        ".",
        "[ab]",
        "[^a]",
        r"\w",
        r"\b",
        "^",
        "$",
        "(a|b)",
        "(a|ab)",
        "(?:ba)",
        "(?i:B)",
        r"\s",
        "a|b",
    ]
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
    source = "".join(
        f"(?:{part}){times}" if part not in ("^", "$", r"\b") else part for part, times in pieces
    )
    flags = re.IGNORECASE if alike else 0
    pattern = Pattern(source, flags)
    found = re.search(source, text, flags) is not None
    assert pattern.search(text) == found
    if pattern.automaton:
        assert pattern.automaton.found_in(text) == found


@pytest.mark.parametrize("key", ["drop", "restart", "ending"])
def test_a_story_with_such_a_pattern_is_played(key, story):
    toml = (
        '[[ending]]\nregex = "(\\\\w+ ?)+!!$"\nreward = 1\n'
        if key == "ending"
        else f'{key} = "(\\\\w+ ?)+!!$"\n'
    )
    game = story(FORK.replace("grey", "grey and cold and wide " * 20), toml)
    assert game.reset(0).actions and game.step(0).text


@pytest.mark.parametrize(
    ("source", "fingerprint"),
    [
        ("figs", "f3cac74e489dd45aba762ce0dd2bd61867885a59e6dbbf557f53d701083fe827"),
        ("(fi+)+gs$", "7cd9691b7367f24f6f7a4f249160fe1edb1d3de95c22af1cf0309882761cdc1a"),
    ],
)
def test_a_story_with_a_pattern_keeps_its_hash_and_is_tested(
    source, fingerprint, story, capsys, tmp_path
):
    game = story(FORK, f'[[ending]]\nregex = "{source}"\nreward = 1\n')
    assert game.fingerprint == fingerprint  # as it was when `re` alone searched
    assert main(["test", str(tmp_path / "tale.toml")]) == 0
    assert "Exact" in capsys.readouterr().out


def test_a_pattern_can_be_copied_and_sent_to_another_process():
    pattern = Pattern("(A+)+$", re.IGNORECASE)
    for copied in (copy.deepcopy(pattern), pickle.loads(pickle.dumps(pattern))):
        assert copied.search("aaa") and not copied.search("a" * 2000 + "!")


def test_a_pattern_that_no_single_reading_can_follow_is_one_sentence(story):
    with pytest.raises(
        InputError, match=r"drop: the pattern .* it could take for ever: leave out back-references"
    ):
        story(FORK, "drop = '(a+)+\\1$'\n")
    assert Pattern(r"(?=wide)wide").search("so wide")
    with pytest.raises(re.error, match="smaller numbers"):
        Pattern("((a{99}){99}){9,99}")
