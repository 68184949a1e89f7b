"""Links that stand on a page twice: those of the same words that are sure to do the same are one action."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property

from drrn.games.stories.layout import tidy
from drrn.games.stories.page import Link
from drrn.games.stories.story import Story

SETTER_LINK = re.compile(r"\[\[([^\[\]]*)\](?:\[((?:[^\[\]]|\[[^\[\]]*\])*)\])?\]")
# Links with code of their own, of which the page does not show what they do.
CODE = re.compile(
    r"<<\s*(?:link|button|click|choice|actions|back|return|textinput|cyclinglink)|"
    r"<(?:a|area|button|script)\b|\bon\w+\s*=|data-passage|\((?:link|click|mouse|enchant|hook)",
    re.I,
)
PLAIN = re.compile(r"[^<$_'/*~^@\\`&(]*")


class Repeated:
    """What the story's source tells of its links: the setters with which a passage is gone to."""

    def __init__(self, story: Story) -> None:
        self.story = story

    @cached_property
    def has_code(self) -> bool:
        passages = self.story.passages.values()
        return any("script" in passage.tags or CODE.search(passage.text) for passage in passages)

    @cached_property
    def setters(self) -> dict[str, set[tuple[str, str]]]:
        """For each passage, the words and the setter of every link to it; a computed one may lead to any."""
        found: dict[str, set[tuple[str, str]]] = {}
        for passage in self.story.passages.values():
            for body, setter in SETTER_LINK.findall(passage.text):
                label, target = _parts(body)
                found.setdefault("" if "$" in target or "(" in target else target, set()).add((label, setter))
        return found

    def are_one(self, label: str, target: str) -> bool:
        """Whether all links of these words to this passage do the same."""
        if self.has_code or target not in self.story.pages:
            return False
        links = self.setters.get(target, set()) | self.setters.get("", set())
        if len({setter for _, setter in links}) <= 1:
            return True
        alike = {setter for words, setter in links if tidy(words) == label}
        return len(alike) == 1 and all(PLAIN.fullmatch(words) for words, _ in links)

    def once(self, links: Sequence[tuple[str, Link]]) -> list[tuple[str, Link]]:
        """The links without those that repeat another."""
        kept: dict[object, tuple[str, Link]] = {}
        for label, link in links:
            kept.setdefault((label, link.target) if self.are_one(label, link.target) else id(link), (label, link))
        return list(kept.values())


def _parts(body: str) -> tuple[str, str]:
    """Words and passage of a link."""
    if "|" in body:
        label, _, target = body.partition("|")
    elif "->" in body:
        label, _, target = body.rpartition("->")
    elif "<-" in body:
        target, _, label = body.partition("<-")
    else:
        label = target = body
    return label.strip(), target.strip()
