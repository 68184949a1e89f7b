"""Patterns of a TOML: they match like `re`, in time linear in the text."""

import copy
import pickle
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from storytest.twine.patterns import Pattern
from tests.commands import main
from tests.stories import FORK
from textgames.errors import InputError

SLOW = [
    "(a+)+$",
    "(a|a)*b$",
    "(a|aa)+$",
    "(.*a){25}$",
    "(a?){60}b",
    "a*a*a*a*a*a*a*b",
    "(?:(?:x|a+)*)+c",
    "(a*)*b$",
    "a?" * 30 + "a" * 29 + "x",
    "(a|a)" * 25 + "x",
]
PARTS = "a b . [ab] [^a] \\w \\b ^ $ (a|b) (a|ab) (?:ba) (?i:B) \\s a|b".split()
REPEATS = ["", "", "*", "+", "?", "{2}", "{1,3}", "*?", "{2,}"]
PIECES = st.tuples(st.sampled_from(PARTS), st.sampled_from(REPEATS))


@pytest.mark.parametrize("source", SLOW)
def test_a_pattern_that_backtracks_exponentially_is_searched_in_linear_time(source):
    pattern = Pattern(source)
    assert not pattern.search("a" * 28 + "!")
    assert not pattern.search("!" * 2000)
    assert pattern.search("a" * 30 + "bc") == (re.search(source, "a" * 5 + "bc") is not None)


@given(st.lists(PIECES, min_size=1, max_size=5), st.text("abAB \n_é", max_size=12), st.booleans())
@example([("a", "*")], "", False)
def test_patterns_match_like_re(pieces, text, ignore_case):
    source = "".join(
        part if part in ("^", "$", r"\b") else f"(?:{part}){times}" for part, times in pieces
    )
    if r"\b" in source:
        text = text.replace("é", "e")  # RE2's word boundaries are those of ASCII
    text = text.rstrip("\n")  # as in pages: RE2's $ does not match before a last line break
    flags = re.IGNORECASE if ignore_case else 0
    assert Pattern(source, flags).search(text) == (re.search(source, text, flags) is not None)


def test_classes_of_re2_are_unicode_like_those_of_python():
    assert Pattern(r"(?:(\w+) ?)+!$").search("été à Noël!")
    assert Pattern(r"(?:[\w-]+ ?)*\d\Z").search("x-é ٣")
    assert not Pattern(r"^(?:\w+ ?)+$").search("a \ud800!")


@pytest.mark.parametrize("key", ["drop", "restart", "ending"])
def test_a_story_with_nested_repeats_is_played(key, story):
    toml = f'{key} = "(\\\\w+ ?)+!!$"\n'
    if key == "ending":
        toml = '[[ending]]\nregex = "(\\\\w+ ?)+!!$"\nreward = 1\n'
    game = story(FORK.replace("grey", "grey and cold and wide " * 20), toml)
    assert game.reset(0).actions and game.step(0).text


@pytest.mark.parametrize(
    ("source", "fingerprint"),
    [
        ("figs", "f3cac74e489dd45aba762ce0dd2bd61867885a59e6dbbf557f53d701083fe827"),
        ("(fi+)+gs$", "7cd9691b7367f24f6f7a4f249160fe1edb1d3de95c22af1cf0309882761cdc1a"),
    ],
)
def test_a_story_with_a_pattern_keeps_its_fingerprint(source, fingerprint, story, capsys, tmp_path):
    game = story(FORK, f'[[ending]]\nregex = "{source}"\nreward = 1\n')
    assert game.fingerprint == fingerprint
    assert main(["test", str(tmp_path / "tale.toml")]) == 0
    assert "Exact" in capsys.readouterr().out


def test_a_pattern_can_be_copied_and_pickled():
    pattern = Pattern("(A+)+$", re.IGNORECASE)
    for other in (copy.deepcopy(pattern), pickle.loads(pickle.dumps(pattern))):
        assert other.search("aaa") and not other.search("a" * 2000 + "!")


def test_a_slow_pattern_that_re2_cannot_search_is_rejected(story):
    with pytest.raises(InputError, match=r"drop: the pattern .* leave out back-references"):
        story(FORK, "drop = '(a+)+\\1$'\n")
    assert Pattern(r"(?=wide)wide").search("so wide")
    with pytest.raises(re.error, match="large numbers"):
        Pattern("((a{99}){99}){9,99}")


def test_a_bracket_in_a_set_gives_no_warning_of_python(recwarn):
    assert Pattern("[[Go]").search("[") and not Pattern("[[Go]").search("x")
    assert not recwarn.list
