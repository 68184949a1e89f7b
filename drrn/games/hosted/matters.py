"""What can matter of a hosted story's state: variables that some page ahead names, and what is asked of its history.

The passages are read as text, not run: a passage may lead to every passage whose name stands in it, and to all where it
works a name out. So more is kept than need be, and never less.
"""

from __future__ import annotations

import json
import re
from collections.abc import Hashable, Iterable
from functools import cached_property
from typing import Any

from drrn.games.hosted.shown import Shown
from drrn.games.stories.story import Passage, Story

VARIABLE = re.compile(r"\$([A-Za-z_]\w*)")
WORD = re.compile(r"[A-Za-z_]\w*")
KNOWN = ("harlowe", "sugarcube")  # formats whose variables begin with a dollar sign, wherever they are named
EVERYWHERE_TAGS = frozenset("header footer startup debug-header debug-footer debug-startup script widget init".split())
# Macros and links that may lead to a passage whose name does not stand there.
WORKED_OUT = re.compile(
    r"\((?:go-?to|link-?goto|link-reveal-goto|click-goto|mouseover-goto|mouseout-goto|redirect|display|link-undo|undo"
    r"|icon-undo)\s*:(?!\s*(?:\"[^\"]*\"|'[^']*')\s*(?:,\s*(?:\"[^\"]*\"|'[^']*')\s*)?\))"
    r"|<<(?:goto|include|display|link|button|click|actions|return|back|choice)\b(?!\s+(?:\"[^\"]*\"|'[^']*'|\[\[))"
    r"|\[\[(?:[^\[\]]*(?:\||->))?\s*[$_]|\[\[\s*[$_][^\[\]]*<-|Engine\s*\.|State\s*\.|data-passage\s*=\s*[\"'][$_]",
    re.I,
)
WITHIN = re.compile(r"(?<![\w$])_[A-Za-z]\w*|<<script|<script|<<run|<<do\b", re.I)  # what a page may keep to itself
VISITS = re.compile(
    r"\([\w-]+:.*\b(?:visits?|exits?)\b|\(history:|\(visited:|\bvisited(?:Tags?)?\s*\(|\bhasVisited\s*\(|\blastVisited\s*\("
)
TURNS = re.compile(r"\([\w-]+:.*\bturns?\b|\bturns\s*\(|\blastVisited\s*\(|State\s*\.\s*turns")
PREVIOUS = re.compile(r"\bprevious\s*\(|<<return|\(history:")
BACK = re.compile(
    r"<<back\b|\((?:link-|icon-)?undo:|State\s*\.\s*(?:history|peek|index|backward)|Engine\s*\.\s*(?:back|go)\b", re.I
)
NUMBER = re.compile(r"\b\d+\b")


class Matters:
    """Which part of a state can make a difference to any page ahead."""

    def __init__(self, story: Story) -> None:
        self.story = story
        self.reads_names = story.format.startswith(KNOWN)
        every = [passage for passage in story.passages.values() if told_everywhere(passage)]
        self._everywhere = frozenset(name for passage in every for name in _mentions(passage))
        self._ahead: dict[str, frozenset[str]] = {}
        texts = [passage.text for passage in story.passages.values()]
        self.visits = any(VISITS.search(text) for text in texts)
        self.turns = any(TURNS.search(text) for text in texts)
        self.previous = any(PREVIOUS.search(text) for text in texts)
        self.most_visits = _most_compared(texts)

    @cached_property
    def variables(self) -> frozenset[str]:
        """Every name that may be a variable's."""
        texts = (passage.text for passage in self.story.passages.values())
        return frozenset(name for text in texts for name in (VARIABLE if self.reads_names else WORD).findall(text))

    @cached_property
    def goes_back(self) -> bool:
        """Whether an undo leads back to an earlier state, so that every way to a page is a state of its own."""
        return any(BACK.search(passage.text) for passage in self.story.passages.values())

    def identity(self, shown: Shown, clicks: Hashable) -> Hashable:
        """A key under which states are one where nothing ahead can differ; `clicks` are those made on this page."""
        variables = {name: value for name, value in shown.variables.items() if self._may_be_read(shown.passage, name)}
        seen = tuple(piece if isinstance(piece, str) else (piece.label, piece.target) for piece in shown.pieces)
        passage = self.story.passages.get(shown.passage)
        within = clicks if passage is None or not self.reads_names or WITHIN.search(passage.text) else None
        return shown.passage, seen, _text(variables), self._past(shown.history), within

    def _may_be_read(self, passage: str, variable: str) -> bool:
        if not self.reads_names or passage not in self.story.passages:
            return True
        return variable in self._everywhere or variable in self._named_ahead(passage)

    def _named_ahead(self, passage: str) -> frozenset[str]:
        """The variables that are named on any page that may yet be shown, this one among them."""
        if passage not in self._ahead:
            reached, waiting = {passage}, [passage]
            while waiting:
                for name in self._leads_to[waiting.pop()] - reached:
                    reached.add(name)
                    waiting.append(name)
            named = (self._mentioned[name] for name in reached)
            self._ahead[passage] = frozenset().union(*named)
        return self._ahead[passage]

    @cached_property
    def _mentioned(self) -> dict[str, frozenset[str]]:
        return {name: frozenset(_mentions(passage)) for name, passage in self.story.passages.items()}

    @cached_property
    def _leads_to(self) -> dict[str, set[str]]:
        names = [name for name in self.story.passages if name]
        every = set(names)
        shared = {
            name
            for passage in self.story.passages.values()
            if told_everywhere(passage)
            for name in _named(passage, names)
        }
        if any(
            told_everywhere(passage) and WORKED_OUT.search(passage.text) for passage in self.story.passages.values()
        ):
            return dict.fromkeys(names, every)
        return {
            name: every if WORKED_OUT.search(passage.text) else _named(passage, names) | shared
            for name, passage in self.story.passages.items()
        }

    def _past(self, history: tuple[str, ...]) -> Hashable:
        """What the story may ask of the passages that were shown."""
        past: list[Hashable] = []
        if self.turns:
            past.append(len(history))
        if self.previous:
            past.append(history[-2:-1])
        if self.visits:
            counts: dict[str, int] = {}
            for name in history:
                counts[name] = min(counts.get(name, 0) + 1, self.most_visits)
            past.append(tuple(sorted(counts.items())))
        return tuple(past)


def told_everywhere(passage: Passage) -> bool:
    """Whether it may be told beside any page: a header, a widget, a script."""
    return not passage.is_page or not EVERYWHERE_TAGS.isdisjoint(passage.tags)


def _mentions(passage: Passage) -> Iterable[str]:
    """The variables that a passage may read; a script may name them without a dollar sign."""
    found = VARIABLE.findall(passage.text)
    bare = WORD.findall(passage.text) if "script" in passage.tags or WITHIN.search(passage.text) else ()
    return [*found, *bare]


def _named(passage: Passage, names: Iterable[str]) -> set[str]:
    return {name for name in names if name in passage.text}


def _most_compared(texts: Iterable[str]) -> int:
    """A count of visits past which no comparison with a number of the story can tell more; none printed is compared."""
    lines = [line for text in texts for line in text.splitlines() if VISITS.search(line)]
    numbers = [int(number) for line in lines for number in NUMBER.findall(line) if len(number) < 6]
    return max(numbers, default=1) + 1


def _text(variables: dict[str, Any]) -> str:
    return json.dumps(variables, sort_keys=True, separators=(",", ":"))
