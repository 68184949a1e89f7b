"""What stands in the way of passages that were not reached: the obstacle, its size, the cure."""

import pytest

from storytest.hosted.variables import condition_around
from storytest.playtest.clicks import ClickPath
from storytest.playtest.coverage import Source, obstacles
from storytest.playtest.evidence import Evidence, PageRecord
from storytest.playtest.findings import Findings
from storytest.playtest.report import report
from textgames.document import to_html, to_markdown, to_text


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("[[X]]", ""),
        ("<<if $key>>a [[X]]<</if>>", "$key"),
        ("<<if $key>>a<</if>>[[X]]", ""),
        ("<<if $a>><<if $b is 2>>[[X]]<</if>><</if>>", "$b is 2"),
        ("<<if $a>>1<<elseif $b>>[[X]]<<endif>>", "$b"),
        ("<<if $a gte 3>>1<<else>>[[X]]<</if>>", "not ($a gte 3)"),
        ("(if: $gold > (min: 1,3))[go [[X]]]", "$gold > (min: 1,3)"),
        ("(if: $a)[b] [[X]]", ""),
        ("(unless: $a)[(if: $b)[no] [[X]]]", "not $a"),
        ("key: 1\n--\n[if key > 3]\n[[X]]", "key > 3"),
        ("[if key]\nno\n[continue]\n[[X]]", ""),
        ("<% if (s.key) { %>[[X]]<% } %>", "s.key"),
        ("<% if (s.key) { %>a<% } else { %>[[X]]<% } %>", "not (s.key)"),
    ],
)
def test_the_condition_of_a_link_is_the_innermost_one_around_it(text, condition):
    assert condition_around(text, text.index("[[X]]")) == condition


HALL = """\
:: Start
[[In.|Hall]]
:: Hall
{hall}
:: Vault
[[Down.|Cellar]]
:: Cellar
The end.
"""


def obstacle(story, hall="<<if $key is 1>>[[Open.|Vault]]<<endif>>", exact=False, **facts):
    """Return the only obstacle of a story whose games never left the hall."""
    passages = {"Start": ClickPath(), "Hall": ClickPath(("In.",), (0,))}
    evidence = Evidence(passages=passages, visits=1_000, last_news=10, **facts)
    source = Source(story(HALL.format(hall=hall)))
    lines = obstacles(source, evidence, exact=exact, limit=30)
    return lines[0] if lines else ""


def test_a_condition_that_never_held_is_named_with_the_values_of_its_variables(story):
    line = obstacle(story)
    assert line.startswith('2 passages, such as "Vault": ')
    assert '"Hall" shows its link to "Vault" only if $key is 1; $key was never set.' in line
    assert "--seconds 120" in line
    values = {"$key": {"0": 0, "2": 2}}
    assert "$key was 0, 2." in obstacle(story, variables=values)
    assert "$key was only 0." in obstacle(story, variables={"$key": {"0": 0}})
    elsewhere = {"variables": {"$key": {"1": 1}}, "unset": {("Hall", "$key"): ClickPath()}}
    assert "$key was only 1, and had no value on some visits" in obstacle(story, **elsewhere)


def test_an_exact_report_names_no_condition_which_is_a_problem_there(story):
    assert obstacle(story, exact=True) == ""
    assert "asks for a typed word" in obstacle(story, exact=True, asking={"Hall"})


def test_a_typed_word_is_named_with_its_passage_and_the_cure(story):
    line = obstacle(story, asking={"Hall"})
    assert '"Hall" asks for a typed word or passcode' in line and "[inputs]" in line


@pytest.mark.parametrize(
    ("hall", "words"),
    [
        ("<div ondrop='x()'>[[Vault]]</div>", "things to drag"),
        ("<<if random(1, 9) is 1>>[[Vault]]<<endif>>", "a random draw"),
        ("Wait. <<timed 2s>>[[Vault]]<</timed>>", "a timer"),
        ("[[Vault]]", 'names "Vault" and never showed it'),
    ],
)
def test_drags_draws_and_timers_are_obstacles(story, hall, words):
    passages = {"Start": ClickPath(), "Hall": ClickPath()}
    source = Source(story(HALL.format(hall=hall), lenient=True))
    (line,) = obstacles(source, Evidence(passages=passages, visits=9), exact=False, limit=30)
    assert words in line


def test_many_clicks_in_one_passage_are_a_puzzle(story):
    pages = {key: PageRecord("Hall", ("Turn.",), ClickPath(), visits=400) for key in ("a", "b")}
    pages["a"].successors = {0: {"b"}}
    pages["b"].successors = {0: {"a"}}
    line = obstacle(story, "[[Open.|Vault]]", pages=pages)
    assert '"Hall" took 100 % of all clicks' in line and "--seconds 120" in line


def test_untried_links_need_more_time(story):
    pages = {"a": PageRecord("Hall", ("Turn.", "Open."), ClickPath(), visits=3)}
    assert 'not every link of "Hall"' in obstacle(story, "[[Open.|Vault]]", pages=pages)


def test_every_format_has_the_obstacles():
    document = report(Findings("x", "X", obstacles=["2 passages: a puzzle. Use --seconds 120."]))
    for write in (to_text, to_markdown, to_html):
        text = write(document)
        assert "What stands in the way" in text and "--seconds 120" in text


def test_passages_that_only_code_runs_are_no_pages(story):
    twee = """\
:: StoryInit
<<for _i, _one range Story.lookup("tags", "setup")>><<include _one.title>><</for>>
:: Start
[[On.|Home]]
:: Home
Done.
:: Ditch [setup]
<<set $ditch to 1>>
:: Bag [widget]
<<widget "bag">>none<</widget>>
"""
    assert list(Source(story(twee, lenient=True)).pages) == ["Start", "Home"]
