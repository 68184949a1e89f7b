"""Passages that were not seen: what leads there, under which condition, and values so far."""

from collections.abc import Hashable

import pytest

from storytest.hosted.variables import condition_around
from storytest.playtest.clicks import ClickPath
from storytest.playtest.coverage import Source, never_reached, values_text
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
:: Attic
Dust.
"""
LOCKED = "<<if $key is 1>>[[Open.|Vault]]<<endif>>"
KEYS = {"$key": {"0": 0, "2": 2}}


@pytest.mark.parametrize(
    ("hall", "facts", "why"),
    [
        (LOCKED, {}, '"Hall" names it, if $key is 1; $key was never set'),
        (LOCKED, {"variables": KEYS}, '"Hall" names it, if $key is 1; $key was 0, 2'),
        ("[[Open.|Vault]]", {"asking": {"Hall"}}, '"Hall" names it; it asks for a typed word, '),
        ("[[Open.|Vault]]", {}, '"Hall" names it; not every choice there was tried'),
    ],
)
def test_a_passage_that_was_not_seen_is_listed_with_what_leads_there(story, hall, facts, why):
    passages = {"Start": ClickPath(), "Hall": ClickPath(("In.",), (0,))}
    pages: dict[Hashable, PageRecord] = {}
    pages["a"] = PageRecord("Hall", ("Turn.", "Open."), passages["Hall"], visits=3)
    source = Source(story(HALL.format(hall=hall)))
    vault, cellar, attic = never_reached(source, Evidence(passages=passages, pages=pages, **facts))
    assert vault.text.startswith(why) and vault.path == passages["Hall"]
    assert cellar.text == 'only "Vault" leads there, which was not reached either'
    assert attic.text == "no link leads there"
    findings = Findings("x", "X", never_reached=[vault, cellar, attic])
    for write in (to_text, to_markdown, to_html):
        assert "Passages not seen so far (3)" in write(report(findings))


def test_values_are_listed_with_numbers_first_or_as_a_range():
    assert values_text(["b", 10, True, 2.5]) == '2.5, 10, "b", true'
    assert values_text([("a key", 2), ()]) == '["a key", 2], []'
    assert values_text([None, "x" * 40]) == f'"{"x" * 28}…, (an object)'
    assert values_text(list(range(9))) == "0 to 8"
    assert values_text([*"abcdefghi"]).endswith(" and 1 more")


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
