"""Links that begin a story again, such as "Try again?" on its last page: they are no actions.

Many stories have no page without links: their endings lead back to the start. Such a link is known by two signs of
three: its words say so, it leads to the start, and its page says that it is an ending. Of "Try again" the last must be
one: a game may lead to its start for another try.
"""

from __future__ import annotations

import re

from drrn.stories.twine.layout import letters_of, split_link
from drrn.stories.twine.page import Link, Page
from drrn.stories.twine.story import Story

WORDS = re.compile(
    r"\b(?:(?:play|start|begin|read)\s+(?:(?:it|this|the|all|once|one|more|time|game|story|from|scratch|beginning)\s+)*"
    r"(?:again|over|anew)|(?:restart|replay)(?!\s+(?:the|that|this|your|my)\s+(?!game|story|scene|adventure))|"
    r"new game|game over|(?:back|return) to (?:the )?(?:start|beginning|title|main menu)|"
    r"recommencer|rejouer|reiniciar|jugar de nuevo|von vorn|neustart|ricomincia|opnieuw)\b",
    re.I,
)
TRIES = re.compile(
    r"\b(?:again|retry|once more|nochmal)\b", re.I
)  # another try, which need not be of the whole story
LINK = re.compile(r"\[\[([^\[\]]+)\]")
CODE = re.compile(
    r"\(\s*(?:restart|reload)\s*:|<<\s*restart\b|\b(?:Engine|UI|story|state)\.restart\b|location\.reload"
)
NEAR = 120  # characters around a link's words, in which the code stands that it runs
# "The End", "END: Ghosting", "End 2", "Bad end", "Cave (end)", "ending_3"; not "West End", "Day's end" or "Dead end".
ENDING_NAME = re.compile(
    r"^(?:the )?end(?:ing)?s?(?:\b(?! of)|\W*\w?\W*$)|"
    r"(?:[:.,;/|(\[–—]\s*|\s-\s*|\b(?:the|bad|good|best|worst|true|happy|sad|secret|neutral|final|game|story)[\s_-]+)"
    r"end\W*\w?\W*$|(?<![a-z])ending(?![a-z])|\bgame over\b",
    re.I,
)
ENDING_TEXT = re.compile(
    r"^\W*(?:the end|game over|fin|end|finis|ende|you (?:have )?died|you are dead)\W*$", re.I | re.M
)


class Beginnings:
    """Tells which links of a story begin it again."""

    def __init__(self, story: Story) -> None:
        self.story = story
        self._known: dict[tuple[str, str, str], bool] = {}
        self.left_out: dict[
            tuple[str, str], str
        ] = {}  # passages of links that are no actions, and why; for authors

    def note(self, page: Page, label: str, link: Link, why: str) -> None:
        """Note that a link of a page is no action."""
        known = self.story.passages.get(page.passage)
        targets = (
            [link.target]
            if link.target in self.story.pages
            else _targets(known.text if known else "", label)
        )
        self.left_out.update({(page.passage, target): why for target in targets})

    def begins_again(self, page: Page, text: str, label: str, link: Link) -> bool:
        """Whether a link of a page, laid out as this text and these words, begins the story again."""
        return self._has_two_signs(page.passage, text, label, link.target)

    def links_in(self, passage: str) -> list[str]:
        """The words of the links in a passage's source that begin the story again; not of those that code makes."""
        text = self.story.passages[passage].text if passage in self.story.passages else ""
        links = [(words or to, to) for words, to in map(split_link, LINK.findall(text))]
        return [words for words, to in links if self._has_two_signs(passage, text, words, to)]

    def _has_two_signs(self, passage: str, text: str, label: str, target: str) -> bool:
        says = WORDS.search(label) is not None
        ends = self._is_ending(passage, text + "\n" + label)
        if ends and (says or TRIES.search(label)):
            return True
        return (says or ends) and self._leads_to_start(passage, label, target)

    def _is_ending(self, passage: str, text: str) -> bool:
        known = self.story.passages.get(passage)
        names = (passage, *known.tags) if known else (passage,)
        return (
            any(ENDING_NAME.search(name) for name in names) or ENDING_TEXT.search(text) is not None
        )

    def _leads_to_start(self, passage: str, label: str, target: str) -> bool:
        key = (passage, label, target)
        if key not in self._known:
            self._known[key] = self._is_seen_to_lead_there(*key)
        return self._known[key]

    def _is_seen_to_lead_there(self, passage: str, label: str, target: str) -> bool:
        """By what the engine says of the link, else by the passage's source."""
        if target in self.story.pages:
            return target == self.story.start
        known = self.story.passages.get(passage)
        source = known.text if known else ""
        if self.story.start in _targets(source, label):
            return True
        places = re.finditer(re.escape(label), source) if label else ()
        around = (source[max(0, place.start() - NEAR) : place.end() + NEAR] for place in places)
        named = re.compile(CODE.pattern + rf"|[\"']{re.escape(self.story.start)}[\"']")
        return any(named.search(code) for code in around)


def _targets(source: str, label: str) -> list[str]:
    """Where the links of a passage's source lead that have these words."""
    links = map(split_link, LINK.findall(source))
    return [
        to for words, to in links if letters_of(words or to).lower() == letters_of(label).lower()
    ]
