"""From a rendered page to what the player gets: text, actions, reward.

A link on its own line is a choice and not part of the text. A link inside running text is
hypertext: its words stay in the text, and they are the action. Links that restart the story, such
as "Try again?" on its last page, are not actions.
"""

import re
from collections.abc import Iterable
from functools import cache

from storytest.twine.rules import Rules
from storytest.twine.script import Link, Page
from storytest.twine.story import Story, letters_of, patterns, split_link
from textgames.compiled.search import EndingId, Face

NUMBERED = re.compile(r"^\s*(?:\d{1,3}|[A-Za-z])[.):]\s")
LETTERS = re.compile(r"[^\W_]")
BLANKS = re.compile(r"[^\S\n]+")
RESTARTS = "it restarts the story, so it is not an action"
ENDS_THERE = "the rules end the story there"


Choices = list[tuple[str, Link]]  # the words of each action, and its link


def judge_page(
    rules: Rules, restarts: "RestartLinks", page: Page, *, opening: bool, is_first: bool = False
) -> tuple[Face, Choices]:
    """Apply the rules to a page: what it shows and pays, and its actions with their links.

    On the opening, and later in the first passage (`is_first`), no link restarts the story.
    """
    text, all_links, hypertext = lay_out(page.pieces)
    links = [pair for pair in all_links if rules.is_action(pair[0])]
    if rules.restart is None and not (opening or is_first):
        links = [
            (label, link)
            for label, link in links
            if not restarts.restarts(page.passage, text, label, link.target)
        ]
    kept = {id(pair) for pair in links}  # a set, since a page may have thousands of links
    for pair in all_links:
        if id(pair) not in kept:
            restarts.note(page, *pair, RESTARTS)
    if links and rules.stops(page, text):
        for label, link in links:
            restarts.note(page, label, link, ENDS_THERE)
        links = []
    rule, reward = rules.judge(page, text, ended=not links, opening=opening)
    ending = EndingId(rules.ending_name(rule, page.passage), rule) if not links else None
    actions = tuple(label for label, _ in links)
    return Face(text, actions, reward, page.passage, ending, hypertext), links


# --- text and actions


def lay_out(pieces: Iterable[str | Link]) -> tuple[str, Choices, bool]:
    """The text, the actions with their links, and whether one of them is hypertext."""
    lines: list[str] = []
    actions: Choices = []
    hypertext = False
    for line in _lines(pieces):
        links = [piece for piece in line if isinstance(piece, Link)]
        actions.extend((tidy(link.label) or tidy(link.target), link) for link in links)
        around = "".join(piece for piece in line if isinstance(piece, str))
        is_text = bool(LETTERS.search(NUMBERED.sub("", around)))
        hypertext |= is_text and bool(links)
        if is_text or not links:
            labels = (piece if isinstance(piece, str) else piece.label for piece in line)
            lines.append(tidy("".join(labels)))
    # at most one empty line in a row
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip(), actions, hypertext


def _lines(pieces: Iterable[str | Link]) -> list[list[str | Link]]:
    lines: list[list[str | Link]] = [[]]
    for piece in pieces:
        first, *rest = [piece] if isinstance(piece, Link) else piece.split("\n")
        lines[-1].append(first)
        lines.extend([part] for part in rest)
    return lines


def tidy(text: str) -> str:
    """The text as one line without extra blanks, and without the bars of a table row."""
    text = BLANKS.sub(" ", text.replace("\n", " ")).strip()
    if len(text) > 1 and text[0] == text[-1] == "|":
        text = BLANKS.sub(" ", text.replace("|", " ")).strip()
    return text


# --- links that restart the story

RESTART = patterns("restart")
ENDING = patterns("ending")
LINK = re.compile(r"\[\[([^\[\]]+)\]")


class RestartLinks:
    """Recognises the links of a story that restart it.

    Many stories have no page without links: their endings link to the start. A link restarts the
    story if two of three signs agree: its words, its target is the start, its page is an ending.
    "Try again" needs the third: a game may lead to its start for another try.
    """

    def __init__(self, story: Story) -> None:
        self.story = story
        # (passage, target) of links that are not actions → the reason; for authors
        self.left_out: dict[tuple[str, str], str] = {}
        self._leads_to_start = cache(self._find_start)

    def note(self, page: Page, label: str, link: Link, reason: str) -> None:
        """Record that a link of a page is not an action."""
        if link.target in self.story.pages:
            targets = [link.target]
        else:
            targets = _targets(self._source(page.passage), label)
        self.left_out.update({(page.passage, target): reason for target in targets})

    def links_in(self, passage: str) -> list[str]:
        """The words of the restarting links in a passage's source, except those of code."""
        source = self._source(passage)
        links = [(words or to, to) for words, to in map(split_link, LINK.findall(source))]
        return [words for words, to in links if self.restarts(passage, source, words, to)]

    def _source(self, passage: str) -> str:
        return self.story.passages[passage].text if passage in self.story.passages else ""

    def restarts(self, passage: str, text: str, label: str, target: str) -> bool:
        """Whether a link restarts the story, by the page's text and the link's words."""
        by_words = RESTART["words"].search(label) is not None
        by_ending = self._is_ending(passage, text + "\n" + label)
        if by_ending and (by_words or RESTART["tries"].search(label)):
            return True
        return (by_words or by_ending) and self._leads_to_start(passage, label, target)

    def _is_ending(self, passage: str, text: str) -> bool:
        tags = self.story.passages[passage].tags if passage in self.story.passages else ()
        by_name = any(ENDING["name"].search(name) for name in (passage, *tags))
        return by_name or ENDING["text"].search(text) is not None

    def _find_start(self, passage: str, label: str, target: str, near: int = 120) -> bool:
        start = self.story.start
        if target in self.story.pages:
            return target == start
        source = self._source(passage)
        if start in _targets(source, label):
            return True
        quoted = re.compile(rf"[\"']{re.escape(start)}[\"']")
        for match in re.finditer(re.escape(label), source) if label else ():
            around = source[max(0, match.start() - near) : match.end() + near]
            if RESTART["code"].search(around) or quoted.search(around):
                return True
        return False


def _targets(source: str, label: str) -> list[str]:
    letters = letters_of(label).lower()
    links = map(split_link, LINK.findall(source))
    return [to for words, to in links if letters_of(words or to).lower() == letters]
