"""What lies ahead of each passage of a hosted story: which passages may follow, and which variables they may yet read.

The passages are read as text, not run: a passage may lead to every passage whose name stands in it, and to all where it
works a name out. So more is kept than need be, and never less.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import replace
from functools import cached_property

from drrn.stories.hosted.assignments import VARIABLE, VariableUses, named_in_values, variable_uses
from drrn.stories.twine.story import Passage, Story

WORD = re.compile(r"[A-Za-z_]\w*")
EVERYWHERE_TAGS = frozenset(
    "header footer startup debug-header debug-footer debug-startup script widget init".split()
)
CODE = re.compile(
    r"<<script|<script|<<run\b|<<do\b|State\s*\.|\bvariables\b|\son\w+\s*=", re.I
)  # may leave the dollar out
# Variables by names that are worked out: then any may be read anywhere.
ANY = re.compile(
    r"variables\s*(?:\(\s*\))?\s*\[\s*(?![\"'])|[gs]etVar\s*\(\s*(?![\"'])|[\"'`]\$[\"'`]\s*\+|\$\{\w+\}.{0,9}getVar",
    re.I,
)
# Macros and links that may lead to a passage whose name does not stand there.
WORKED_OUT = re.compile(
    r"\((?:go-?to|link-?goto|link-reveal-goto|click-goto|mouseover-goto|mouseout-goto|redirect|display|link-undo|undo"
    r"|icon-undo|link-storylet|open-storylets)\s*:(?!\s*(?:\"[^\"]*\"|'[^']*')\s*(?:,\s*(?:\"[^\"]*\"|'[^']*')\s*)?\))"
    r"|<<(?:goto|include|display|actions|return|back|choice)\b(?!\s+(?:\"[^\"]*\"|'[^']*'|\[\[))"
    r"|<<(?:link|button|click)\b(?!\s+(?:\"[^\"]*\"|'[^']*'|\[\[[^\[\]$_]*\]\])\s*(?:\"[^\"]*\"|'[^']*')?\s*>>)"
    r"|\[\[(?:[^\[\]]*(?:\||->))?\s*[$_]|\[\[\s*[$_][^\[\]]*<-|Engine\s*\.|data-passage\s*=\s*[\"'][$_]|@data-passage",
    re.I,
)
WIDGET = re.compile(r"<<widget\s+[\"']?([^\s\"'>]+)")
KEEPS_ARGUMENTS = re.compile(r"<<set\s+\$[^<>]*[$_](?:args|contents)\b")
STORYLET = re.compile(
    r"\(storylet\s*:[^\n]*", re.I
)  # a condition that is asked wherever storylets are listed
BY_NAME = re.compile(r"[gs]etVar\s*\(\s*(?:\"[^\"]*\"|'[^']*')")
# What SugarCube tells in its side bar, and what could change the story from there.
SIDE_BAR = frozenset(
    "StoryAuthor StoryBanner StoryCaption StoryDisplayTitle StorySubtitle StoryTitle".split()
)
CHANGES = re.compile(
    r"<<(?!/|=|-|print\b|if\b|else\b|elseif\b|nobr\b|for\b|switch\b|case\b|default\b)", re.I
)
# Code that moves to a passage.
MOVES = re.compile(
    r"Engine\s*\.\s*(?:play|display|go|back)|goToPassage|state\s*\.\s*display|story\s*\.\s*show",
    re.I,
)


class Lookahead:
    """The passages and variables that may yet come, from each passage of a story in Harlowe or SugarCube."""

    def __init__(self, story: Story, understood: bool) -> None:
        """`understood`: variables begin with a dollar sign wherever they are named, and macros are those we know."""
        self.story = story
        self.understood = understood
        self.kept: Collection[str] = ()  # variables that are read from outside, such as by rules
        self._named_by: dict[str, frozenset[str]] = {}

    def may_be_read(self, passage: str, variable: str) -> bool:
        """Whether a variable may still make a difference while this passage is shown."""
        if not self.understood or self._any or passage not in self._live_after:
            return True
        return (
            variable in self._live_after[passage]
            or variable in self._everywhere
            or variable in self.kept
        )

    def is_named_in_code(self, variable: str) -> bool:
        """Whether code, or something outside the story, may do with a variable what no macro tells."""
        return self._any or variable in self.kept or variable in self._coded

    def reached_from(self, passage: str) -> frozenset[str]:
        """The passages that may be shown from here on, this one and those shown beside every page among them."""
        if passage not in self._named_by:
            reached = {passage, *self._beside}
            waiting = list(reached)
            while waiting:
                for name in self.leads_to.get(waiting.pop(), frozenset()) - reached:
                    reached.add(name)
                    waiting.append(name)
            self._named_by[passage] = frozenset(reached)
        return self._named_by[passage]

    @cached_property
    def leads_to(self) -> dict[str, frozenset[str]]:
        passages = self.story.passages
        every = frozenset(name for name in passages if name)
        if not self.understood:
            return dict.fromkeys(passages, every)
        beside = [passages[name] for name in self._beside]
        if any(
            (MOVES if "script" in passage.tags else WORKED_OUT).search(passage.text)
            for passage in beside
        ):
            return dict.fromkeys(passages, every)
        shared = frozenset[str]().union(*(_named(passage, every) for passage in beside))
        return {
            name: every if WORKED_OUT.search(passage.text) else _named(passage, every) | shared
            for name, passage in passages.items()
        }

    @cached_property
    def _beside(self) -> tuple[str, ...]:
        """Passages that may be told beside any page: headers, widgets, scripts."""
        return tuple(name for name, passage in self.story.passages.items() if is_beside(passage))

    @cached_property
    def _coded(self) -> frozenset[str]:
        coded = (passage.text for passage in self.story.passages.values() if _has_code(passage))
        return frozenset(word for text in coded for word in WORD.findall(text))

    @cached_property
    def _any(self) -> bool:
        return any(ANY.search(passage.text) for passage in self.story.passages.values())

    @cached_property
    def _uses(self) -> dict[str, VariableUses]:
        return {name: _uses_of(passage) for name, passage in self.story.passages.items()}

    @cached_property
    def _wanted(self) -> frozenset[str]:
        """Variables that are read for more than to set others that nobody reads."""
        wanted = set(self.kept).union(*(used.read | used.kept for used in self._uses.values()))
        settings = [setting for used in self._uses.values() for setting in used.settings]
        while (
            more := {name for target, names in settings if target in wanted for name in names}
            - wanted
        ):
            wanted |= more
        return frozenset(wanted)

    @cached_property
    def _needs(self) -> dict[str, set[str]]:
        """The variables that each passage may read, itself or by the widgets that it calls."""
        needs = {name: used.needs(self._wanted) for name, used in self._uses.items()}
        texts = {name: passage.text for name, passage in self.story.passages.items()}
        called = {
            name: [w for w, calls in self._widgets.items() if calls.search(text)]
            for name, text in texts.items()
        }
        for _ in self._widgets:  # widgets may call others
            for name, widgets in called.items():
                needs[name] = needs[name].union(*(needs[widget] for widget in widgets))
        return needs

    @cached_property
    def _widgets(self) -> dict[str, re.Pattern[str]]:
        """Passages that only define widgets, and what a call of one of these looks like."""
        found = {}
        for name, passage in self.story.passages.items():
            if "widget" in passage.tags and "script" not in passage.tags:
                widgets = WIDGET.findall(passage.text)
                found[name] = re.compile(
                    "<<(?:" + "|".join(map(re.escape, widgets)) + r")(?![\w-])"
                    if widgets
                    else r"(?!)"
                )
        return found

    @cached_property
    def _everywhere(self) -> frozenset[str]:
        told = (
            name for name in self._beside if name not in self._widgets and not self._is_quiet(name)
        )
        kept = (used.kept for used in self._uses.values())
        return frozenset(variable for name in told for variable in self._needs[name]).union(
            *kept, self._arguments
        )

    @cached_property
    def _arguments(self) -> frozenset[str]:
        """The variables named in what is handed to widgets, where one keeps that."""
        texts = [passage.text for passage in self.story.passages.values()]
        widgets = "|".join(re.escape(name) for text in texts for name in WIDGET.findall(text))
        if not widgets or not any(KEEPS_ARGUMENTS.search(text) for text in texts):
            return frozenset()
        calls = re.compile(
            rf"<<({widgets})(?![\w-])(?:(?:(?!>>).)*>>(?:(?!<<\1\b).)*?<</\1>>|(?:(?!>>).)*>>)",
            re.S,
        )
        return frozenset(
            name
            for text in texts
            for call in calls.finditer(text)
            for name in VARIABLE.findall(call[0])
        )

    def _is_quiet(self, name: str) -> bool:
        """Whether a passage is told before the story alone, or in a side bar that is not read, and changes nothing."""
        if not self.story.format.startswith("sugarcube"):
            return False
        return name == "StoryInit" or (
            name in SIDE_BAR and not CHANGES.search(self.story.passages[name].text)
        )

    @cached_property
    def _live_before(self) -> dict[str, set[str]]:
        """The variables that may be read from a passage on, if it is entered now (a fixed point)."""
        live = {name: needed - self._uses[name].overwritten for name, needed in self._needs.items()}
        changed = True
        while changed:
            changed = False
            for name, after in self.leads_to.items():
                more = (
                    set[str]().union(*(live[to] for to in after))
                    - self._uses[name].overwritten
                    - live[name]
                )
                live[name] |= more
                changed |= bool(more)
        return live

    @cached_property
    def _live_after(self) -> dict[str, set[str]]:
        """The variables that may be read once a passage stands on the page."""
        live = self._live_before
        return {
            name: set[str]().union(
                *(live[to] for to in after), self._needs[name] if self._uses[name].later else ()
            )
            for name, after in self.leads_to.items()
        }


def _uses_of(passage: Passage) -> VariableUses:
    """What a passage does with variables; code may name them without a dollar sign, and may run at any time."""
    used = variable_uses(passage.text)
    storylets = frozenset(
        name for found in STORYLET.findall(passage.text) for name in VARIABLE.findall(found)
    )
    if not _has_code(passage):
        return replace(used, kept=used.kept | storylets)
    read = used.read.union(WORD.findall(passage.text), VARIABLE.findall(passage.text))
    values = named_in_values(BY_NAME.sub("", passage.text), hooks=False)
    return VariableUses(read, (), frozenset(), True, used.kept | storylets | values)


def _has_code(passage: Passage) -> bool:
    return "script" in passage.tags or CODE.search(passage.text) is not None


def is_beside(passage: Passage) -> bool:
    return not passage.is_page or not EVERYWHERE_TAGS.isdisjoint(passage.tags)


def _named(passage: Passage, names: Iterable[str]) -> frozenset[str]:
    return frozenset(name for name in names if name in passage.text)
