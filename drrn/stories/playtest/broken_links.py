"""Broken links: links to passages that do not exist; only where that is sure, since false alarms teach not to look."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from drrn.errors import did_you_mean
from drrn.game.contract import Game
from drrn.stories.formats.file import format_key
from drrn.stories.formats.library import TITLES
from drrn.stories.playtest.coverage import NOWHERE, is_parsed, left_out, story_behind
from drrn.stories.twine.story import Passage, Story, split_link

# What is not shown as it stands: comments, text without markup, scripts, and the code in macros.
UNSHOWN = re.compile(
    r"<!--.*?-->|/\*.*?\*/|/%.*?%/|\{\{\{.*?\}\}\}|<nowiki>.*?</nowiki>|<script\b.*?</script>|<style\b.*?</style>"
    r"|<<script>>.*?<</script>>|<%.*?%>|`[^`\n]*`"
    r"|<<(?:set|unset|run|print|if|elseif|for|switch|case|capture|=|-)(?:\"[^\"]*\"|'[^']*'|[^>\"']|>(?!>)){0,4000}>>",
    re.S | re.I,
)
LINK = re.compile(r"\[\[([^\[\]\n]+)\]")
TEXT = r"(?:\"[^\"\n]*\"|'[^'\n]*')"
NAME = r"(?:\"([^\"\n]+)\"|'([^'\n]+)')"
MACRO = re.compile(
    rf"<<(?:goto|include|display)\s+{NAME}\s*>>"  # of SugarCube
    rf"|<<(?:link|button)\s+{TEXT}\s+{NAME}\s*>>"
    rf"|\((?:go-?to|display):\s*{NAME}\s*\)"  # of Harlowe
    rf"|\((?:link-?goto|link-?reveal-?goto):\s*{TEXT}\s*,\s*{NAME}\s*\)",
    re.I,
)
# A target that code works out, or that leads out of the story: a variable, an expression, an address, a file.
COMPUTED = re.compile(
    r"(?:^|\W)[$_]\w|[`+{}<>]|\w\(|^[\"']|[\"']$|^\w+:|\.\w{2,4}$|^#|^[\w$]+[.\[]\S|^[\d\s,.]+$"
)


@dataclass(frozen=True)
class BrokenLink:
    """A link to a passage that is not there."""

    passage: str
    what: str
    line: int


def broken_links(game: Game) -> list[BrokenLink]:
    """The links to passages that are not there: those that our reading complained of, or that the source names."""
    story = story_behind(game)
    if story is None or hasattr(game, "ink"):
        return []
    if is_parsed(game) and not left_out(game) and format_key(story.format) not in TITLES:
        problems = [problem for problem in getattr(game, "problems", ()) if NOWHERE in problem.what]
        return [BrokenLink(problem.passage, problem.what, problem.line) for problem in problems]
    return [
        link
        for passage in story.passages.values()
        if passage.is_page
        for link in _broken_in(passage, story)
    ]


def _broken_in(passage: Passage, story: Story) -> Iterator[BrokenLink]:
    said = set()
    for line, target in _plain_targets(passage.text):
        if target not in story.passages and target not in said:
            said.add(target)
            what = f'a link leads to "{target}", which is no passage.{did_you_mean(target, story.pages)}'
            yield BrokenLink(passage.name, what, passage.line + line)


def _plain_targets(text: str) -> Iterator[tuple[int, str]]:
    """The names of passages that a text links to as they stand, each with its line from 0."""
    shown = UNSHOWN.sub(_only_its_lines, text)
    found = [(match.start(), split_link(match[1])[1]) for match in LINK.finditer(shown)]
    found += [
        (match.start(), next(filter(None, match.groups()))) for match in MACRO.finditer(shown)
    ]
    for place, target in sorted(found):
        if target and not COMPUTED.search(target):
            yield shown.count("\n", 0, place), target


def _only_its_lines(unshown: re.Match[str]) -> str:
    return "\n" * unshown[0].count("\n")
