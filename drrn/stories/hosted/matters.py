"""What can matter of a hosted story's state: what the page shows, what may yet be read, what is asked of its past."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Hashable, Mapping
from functools import cached_property
from typing import Any

from drrn.stories.hosted.ahead import WORD, Lookahead
from drrn.stories.hosted.assignments import LATER, VARIABLE
from drrn.stories.hosted.counters import counters
from drrn.stories.hosted.moments import Clicks
from drrn.stories.hosted.past import Past
from drrn.stories.hosted.shown import Shown
from drrn.stories.twine.story import Story

KNOWN = (
    "harlowe",
    "sugarcube",
)  # formats whose variables begin with a dollar sign, wherever they are named
WITHIN = re.compile(
    r"(?<![\w$])_[A-Za-z]\w*|<<script|<script|<<run|<<do\b", re.I
)  # what a page may keep to itself


class Matters:
    """Which part of a state can make a difference to any page ahead."""

    def __init__(self, story: Story, *, twine1: bool = False) -> None:
        """`twine1`: the page was published by Twine 1, which names no format."""
        self.story = story
        self.reads_names = twine1 or story.format.startswith(KNOWN)
        self.ahead = Lookahead(story, self.reads_names)
        self.past = Past(story, self.ahead)

    def keep(self, variables: Collection[str]) -> None:
        """Variables that are read from outside the story, such as by rules: they always matter."""
        self.ahead.kept = frozenset(variables)

    @cached_property
    def variables(self) -> frozenset[str]:
        """Every name that may be a variable's."""
        texts = (passage.text for passage in self.story.passages.values())
        return frozenset(
            name
            for text in texts
            for name in (VARIABLE if self.reads_names else WORD).findall(text)
        )

    @property
    def goes_back(self) -> bool:
        """Whether an undo leads back to an earlier state, so that every way to a page is a state of its own."""
        return self.past.goes_back

    def identity(self, shown: Shown, clicks: Clicks) -> Hashable:
        """A key under which states are one where nothing ahead can differ; `clicks` led here, and were made here."""
        if not shown.links:  # nothing lies ahead; rules may still ask for variables
            kept = {
                name: value for name, value in shown.variables.items() if name in self.ahead.kept
            }
            return shown.passage, shown.seen, _text(kept), "", (), ()
        return (
            shown.passage,
            shown.seen,
            _text(self._read_ahead(shown)),
            shown.beyond,
            self.past.of(shown.passage, shown.history),
            self._within(shown.passage, clicks),
        )

    def _read_ahead(self, shown: Shown) -> Mapping[str, Any]:
        """The variables that may yet be read; counters only as far as they are counted."""
        if not self.reads_names:
            return shown.variables
        return {
            name: min(value, self._counters[name])
            if name in self._counters and _is_number(value)
            else value
            for name, value in shown.variables.items()
            if self.ahead.may_be_read(shown.passage, name)
        }

    @cached_property
    def _counters(self) -> dict[str, float]:
        found = counters(passage.text for passage in self.story.passages.values())
        return {name: most for name, most in found.items() if not self.ahead.is_named_in_code(name)}

    def _within(self, passage: str, clicks: Clicks) -> Hashable:
        """What the page may hold that does not show: by what was pressed in it, and by the lots it was made with."""
        known = self.story.passages.get(passage)
        if known is None or not self.reads_names:
            return clicks
        if WITHIN.search(known.text):
            return clicks[0].lots if clicks else (), _told_apart(clicks, known.text, twice=False)
        if not LATER.search(known.text):
            return ()
        # Two links of the same words, one after the other, look alike: which of them it is was counted.
        return clicks[0].lots if clicks else (), _told_apart(clicks, known.text, twice=True)


def _told_apart(clicks: Clicks, text: str, *, twice: bool) -> Hashable:
    """The clicks in a page, each link as often as its words stand in the text: more of it changes nothing hidden."""
    left = Counter({click.label: max(1, text.count(click.label)) for click in clicks[1:]})
    told = []
    for click in clicks[1:]:
        if left[click.label] and not (twice and text.count(click.label) < 2):
            told.append((click.label, click.lots))
        left[click.label] -= left[click.label] > 0
    return tuple(sorted(told) if twice else told)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _text(variables: Mapping[str, Any]) -> str:
    return json.dumps(variables, sort_keys=True, separators=(",", ":"))
