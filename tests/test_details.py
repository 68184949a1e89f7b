"""Details of a report: words, numbers at the end, uses of variables, tags, and choices."""

import pytest

from drrn.document import to_text
from drrn.stories.playtest.findings import VariableUse
from drrn.stories.playtest.playtest import StoryTest
from drrn.stories.playtest.report import report

STALL = """\
:: Start [shop]
<<set $coins = 5>>A stall of hats.
[[Buy.|Till]]
[[Leave.|Home]]

:: Till [shop dusty]
<<set $coins = $coins - 2>>You pay.
[[Go home.|Home]]

:: Home
<<if $coins gt 4>>All <<endif>>coins: <<print $coins>>

:: Look [stylesheet]
.shop { color: blue }
"""


@pytest.fixture
def findings(story):
    return StoryTest(story(STALL), clicks=1_000).run()


def test_words_of_the_shortest_and_longest_play_through(findings):
    # 4 words at the start and 3 at home, or 2 more at the till and 2 at home.
    assert findings.words.games > 50
    assert (findings.words.least, findings.words.most) == (7, 8)
    assert findings.words.least < findings.words.mean < findings.words.most


def test_numbers_at_the_end_of_all_games_and_of_each_ending(findings):
    numbers = {(number.name, number.ending): number for number in findings.numbers}
    assert numbers.keys() == {("$coins", ""), ("$coins", "Home")}
    values = numbers["$coins", ""]
    assert (values.least, values.most, values.games) == (3, 5, findings.words.games)
    assert 3.7 < values.mean < 4.3


def test_choices_are_counted_with_what_they_lead_to(findings):
    choices = {(choice.passage, choice.choice): choice for choice in findings.choices}
    buy = choices["Start", "Buy."]
    leave = choices["Start", "Leave."]
    assert buy.offered == leave.offered == findings.words.games
    assert buy.leads_to.keys() == {"Till"} and leave.leads_to.keys() == {"Home"}
    assert buy.leads_to["Till"] + leave.leads_to["Home"] == buy.offered


def test_passages_that_set_and_read_a_variable(findings):
    assert findings.uses == {"$coins": VariableUse(["Start", "Till"], ["Home"])}


def test_a_tag_is_unused_if_nothing_names_it(findings):
    assert findings.unused_tags == ["dusty"]


def test_the_report_has_a_section_for_each_of_them(findings):
    text = to_text(report(findings))
    for title in ("Words per play-through", "Numbers at the end", "Where variables are used"):
        assert title in text
    assert "shortest 7, mean" in text and "Tags that nothing refers to" in text
    assert findings.as_json()["choices"][0]["leads_to"]
