"""Patterns of a TOML: they match like `re`, in limited time."""

import contextlib
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
    "(.*a){25}$",
    "(a?){60}b",
    "(a*)*b$",
    "(a|a)" * 25 + "x",
    r"(?:a|aa)+b\b(?<=x)",
    "((a{99}){99}){9,99}",
]
PARTS = "a b . [ab] [^a] \\w \\b ^ $ (a|b) (a|ab) (?:ba) (?i:B) \\s a|b".split()
REPEATS = ["", "", "*", "+", "?", "{2}", "{1,3}", "*?", "{2,}"]
PIECES = st.tuples(st.sampled_from(PARTS), st.sampled_from(REPEATS))


@pytest.mark.parametrize("source", SLOW)
def test_a_search_ends_in_time(source):
    pattern = Pattern(source, seconds=0.2)
    assert not pattern.search("!" * 2000)
    for text in ("a" * 28 + "!", "a" * 5000):
        with contextlib.suppress(InputError):
            pattern.search(text)


def test_a_search_that_takes_too_long_is_an_error():
    pattern = Pattern(r"(?:a|aa)+b\b(?<=x)", seconds=0.05)
    with pytest.raises(InputError, match="takes too long"):
        pattern.search("a" * 5000)


@given(st.lists(PIECES, min_size=1, max_size=5), st.text("abAB \n_é", max_size=12), st.booleans())
@example([("a", "*")], "", False)
def test_patterns_match_like_re(pieces, text, ignore_case):
    source = "".join(
        part if part in ("^", "$", r"\b") else f"(?:{part}){times}" for part, times in pieces
    )
    flags = re.IGNORECASE if ignore_case else 0
    assert Pattern(source, flags).search(text) == (re.search(source, text, flags) is not None)


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


def test_a_pattern_that_takes_too_long_is_named(story):
    pattern = Pattern(r"(?:a|aa)+b\b(?<=x)", seconds=0.1)
    with pytest.raises(InputError, match="takes too long; leave out nested repeats"):
        pattern.search("a" * 60 + "b")
    with pytest.raises(InputError, match=r"drop: the pattern .* cannot be used"):
        story(FORK, "drop = '(a'\n")


def test_a_bracket_in_a_set_gives_no_warning_of_python(recwarn):
    assert Pattern("[[Go]").search("[") and not Pattern("[[Go]").search("x")
    assert not recwarn.list
