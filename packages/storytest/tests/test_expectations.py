"""[[expect]] tables of a TOML: reading, errors, and the fingerprint."""

import pytest

from storytest.twine.rules import read_expectations
from tests.stories import FORK, REWARDS
from textgames.errors import InputError


@pytest.fixture
def story_with(story):
    """Function that opens a story with one [[expect]] table."""

    def open_story(table):
        return story(FORK, f"{REWARDS}[[expect]]\n{table}\n")

    return open_story


def test_each_table_is_read_with_its_line(story_with):
    (expectation,) = story_with('ending = "Island"\nodds = ">= 2 %"').rules.expectations
    assert expectation.line == 10 and expectation.ending == "Island"
    assert (expectation.odds.sign, expectation.odds.number) == (">=", 0.02)
    assert expectation.text == 'ending "Island" has odds >= 2 %'


def test_expectations_do_not_change_the_fingerprint(story, story_with):
    assert story_with("always_ends = true").fingerprint == story(FORK, REWARDS).fingerprint


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ('ending = "Island"\nreachable = "Home"', "give exactly one of"),
        ('odds = ">= 2 %"', "odds needs an ending"),
        ('reachable = "Iland"', 'no passage "Iland". Did you mean "Island"?'),
        ('ending = "zeppelin"', 'nor the word "zeppelin"'),
        ('ending = "Island"\nodds = "often"', 'such as ">= 2 %"'),
        ('ending = "Island"\nodds = ">= 200 %"', "odds must be between"),
        ('best = ">= 20 %"', 'such as ">= 20"'),
        ("at_most_steps = 0", "a whole number from 1"),
        ("always_ends = false", "must be true"),
        ('never = "$gold < 0"', "no passage sets $gold"),
        ('sometimes = "x"', 'unknown key "sometimes"'),
        ("reachable = 3", "must be text in quotes"),
    ],
)
def test_a_mistake_is_reported_in_one_sentence(story_with, table, words):
    with pytest.raises(InputError) as error:
        story_with(table)
    assert words in str(error.value) and "[[expect]]" in str(error.value)


@pytest.mark.parametrize(
    ("bound", "value", "holds"),
    [
        (">= 20", 20.0, True),
        (">= 20", 20 - 1e-12, True),
        ("> 20", 20.0, False),
        ("<= 2", 3, False),
        ("== 2", 2, True),
    ],
)
def test_a_bound_holds_up_to_rounding(bound, value, holds):
    (expectation,) = read_expectations([{"best": bound}], "[[expect]]", "t.toml")
    assert expectation.best is not None
    assert expectation.best.holds(value) is holds
