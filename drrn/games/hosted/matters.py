"""What can matter of a hosted story's state: what the page shows, what may yet be read, what may be asked of its past."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Hashable
from functools import cached_property
from typing import Any

from drrn.games.hosted.ahead import VARIABLE, WORD, Ahead
from drrn.games.hosted.assignments import LATER
from drrn.games.hosted.moments import Clicks
from drrn.games.hosted.past import Past
from drrn.games.hosted.shown import Shown
from drrn.games.stories.story import Story

KNOWN = ("harlowe", "sugarcube")  # formats whose variables begin with a dollar sign, wherever they are named
WITHIN = re.compile(r"(?<![\w$])_[A-Za-z]\w*|<<script|<script|<<run|<<do\b", re.I)  # what a page may keep to itself


class Matters:
    """Which part of a state can make a difference to any page ahead."""

    def __init__(self, story: Story) -> None:
        self.story = story
        self.reads_names = story.format.startswith(KNOWN)
        self.ahead = Ahead(story)
        self.past = Past(story, self.ahead)

    def keep(self, variables: Collection[str]) -> None:
        """Variables that are read from outside the story, such as by rules: they always matter."""
        self.ahead.kept = frozenset(variables)

    @cached_property
    def variables(self) -> frozenset[str]:
        """Every name that may be a variable's."""
        texts = (passage.text for passage in self.story.passages.values())
        return frozenset(name for text in texts for name in (VARIABLE if self.reads_names else WORD).findall(text))

    @property
    def goes_back(self) -> bool:
        """Whether an undo leads back to an earlier state, so that every way to a page is a state of its own."""
        return self.past.goes_back

    def identity(self, shown: Shown, clicks: Clicks) -> Hashable:
        """A key under which states are one where nothing ahead can differ; `clicks` led to and were made on this page."""
        return (
            shown.passage,
            shown.seen,
            _text({name: value for name, value in shown.variables.items() if self._may_be_read(shown.passage, name)}),
            shown.beyond,
            self.past.of(shown.passage, shown.history),
            self._within(shown.passage, clicks),
        )

    def _may_be_read(self, passage: str, variable: str) -> bool:
        return not self.reads_names or self.ahead.may_be_read(passage, variable)

    def _within(self, passage: str, clicks: Clicks) -> Hashable:
        """What the page may hold that does not show: by what was pressed in it, and by the lots it was made with."""
        known = self.story.passages.get(passage)
        if known is None or not self.reads_names or WITHIN.search(known.text):
            return clicks
        if not LATER.search(known.text):
            return ()
        pressed = Counter(click.label for click in clicks[1:])
        # Two links of the same words, one after the other, look alike: which of them it is was counted.
        again = {label: min(count, known.text.count(label)) for label, count in pressed.items() if label}
        return clicks[0].lots if clicks else (), tuple(
            sorted((a, n) for a, n in again.items() if known.text.count(a) > 1)
        )


def _text(variables: dict[str, Any]) -> str:
    return json.dumps(variables, sort_keys=True, separators=(",", ":"))
