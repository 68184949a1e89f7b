"""Links that stand on a page twice: those of the same words that are sure to do the same are one action."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import cached_property

from drrn.stories.twine.page import Link
from drrn.stories.twine.story import Story, letters_of, split_link

SETTER_LINK = re.compile(r"\[\[([^\[\]]*)\](?:\[((?:[^\[\]]|\[[^\[\]]*\])*)\])?\]")
# Links with code of their own, of which the page does not show what they do.
CODE = re.compile(
    r"<<\s*(?:link|button|click|choice|actions|back|return|textinput|cyclinglink)|"
    r"<(?:a|area|button|script)\b|\bon\w+\s*=|data-passage|\((?:link|click|mouse|enchant|hook)",
    re.I,
)
COMPUTED = re.compile(r"[<$&]")


class Repeated:
    """What the story's source tells of its links: the setters with which a passage is gone to."""

    def __init__(self, story: Story) -> None:
        self.story = story
        self._known: dict[tuple[str, str], bool] = {}

    @cached_property
    def has_code(self) -> bool:
        passages = self.story.passages.values()
        return any("script" in passage.tags or CODE.search(passage.text) for passage in passages)

    @cached_property
    def links(self) -> list[tuple[str, str, str]]:
        """Words, passage and setter of every link."""
        texts = (passage.text for passage in self.story.passages.values())
        return [
            (*_parts(body), setter) for text in texts for body, setter in SETTER_LINK.findall(text)
        ]

    def are_one(self, label: str, target: str) -> bool:
        """Whether all links of these words to this passage do the same; some engines do not say to which one."""
        key = (label, target)
        if key not in self._known:
            self._known[key] = self._do_the_same(*key)
        return self._known[key]

    def _do_the_same(self, label: str, target: str) -> bool:
        if self.has_code or (target and target not in self.story.pages):
            return False
        near = [
            link
            for link in self.links
            if not target or link[1] == target or COMPUTED.search(link[1])
        ]
        if target and len({setter for *_, setter in near}) <= 1:
            return True
        alike = {
            (where, setter)
            for words, where, setter in near
            if letters_of(words) == letters_of(label)
        }
        return len(alike) == 1 and not any(
            COMPUTED.search(words + where) for words, where, _ in near
        )

    def once(self, links: Sequence[tuple[str, Link]]) -> list[tuple[str, Link]]:
        """The links without those that repeat another."""
        times = Counter((label, link.target) for label, link in links)
        kept: dict[object, tuple[str, Link]] = {}
        for label, link in links:
            key = (label, link.target)
            kept.setdefault(
                key if times[key] > 1 and self.are_one(*key) else id(link), (label, link)
            )
        return list(kept.values())


def _parts(body: str) -> tuple[str, str]:
    """Words and passage of a link; where it names the passage only, that is its words."""
    label, target = split_link(body)
    return (target if target == body.strip() else label), target
