"""Self-contained pages: reports of experiments and play-tests, from templates."""

from __future__ import annotations

import re
import sys
from dataclasses import replace

import pytest

import textgames.pages
from storytest.playtest.clicks import ClickPath
from storytest.playtest.findings import Problem
from storytest.playtest.playtest import StoryTest
from storytest.playtest.report import report, report_fragment
from tests.stories import FORK, REWARDS
from tests.tags import Tags
from textgames.document import to_html
from textgames.errors import InputError
from textgames.pages import rendered, safe_markup

EXPECTED = '[[expect]]\nbest = ">= 20"\n[[expect]]\nreachable = "Island"\n'
HOSTILE = FORK.replace("Go out.", "<script>alert(1)</script>").replace(
    "An island", "\x1b[2J\u202e<img src=x> An island"
)


def page_of(findings, map_svg=""):
    body = safe_markup(to_html(report(findings, "tale")))
    drawing = safe_markup(map_svg)
    return rendered(
        "storytest/story_page.html", title=findings.title, story="tale", body=body, map=drawing
    )


def report_of(story):
    return StoryTest(story(FORK, REWARDS + EXPECTED), 10).run()


def test_the_page_of_a_play_test_opens_with_its_story_and_its_failures(story):
    text = page_of(report_of(story), "<svg></svg>")
    body = text[text.index("<main>") :]
    order = [
        "<h1>",
        "1 problem.",
        "expected: ",
        "▶ play it",
        "Endings (2)</h2>",
        "Coverage</h2>",
        "Map</h2>",
        "Play-test of a story",
    ]
    positions = [body.index(words) for words in order]
    assert positions == sorted(positions)
    assert "http" not in text.replace("http://www.w3.org", "") and Tags(text).open == []


def test_texts_of_a_story_are_never_markup(story):
    plain = report_of(story)
    endings = [
        replace(ending, name=HOSTILE, last_words=HOSTILE, path=ClickPath((HOSTILE,)))
        for ending in plain.endings
    ]
    findings = replace(
        plain,
        title=HOSTILE,
        endings=endings,
        problems=(Problem("thrown error", HOSTILE, HOSTILE, 1, ClickPath((HOSTILE,))),),
    )
    for text in (page_of(findings), report_fragment(findings)):
        tags = Tags(text)
        assert not {"script", "img"} & set(tags.names) and "onerror" not in tags.attributes
        assert "&lt;script&gt;alert(1)" in text
        assert not re.search("[\x00-\x08\x0b-\x1f\u202a-\u202e]", text)
    # the server's policy allows no inline styles
    assert "style" not in Tags(report_fragment(findings)).attributes


def test_without_jinja2_the_error_names_the_package_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    textgames.pages.template_environment.cache_clear()
    with pytest.raises(InputError, match="pip install jinja2"):
        rendered("report.html")
    textgames.pages.template_environment.cache_clear()
