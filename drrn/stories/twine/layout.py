"""The layout of a page: from what it said and offered to the text and the actions that a player reads.

A link on a line of its own is a choice and no part of the text; a link inside running text is hypertext: its words
stay in the text, and the action is the link's words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from drrn.stories.twine.page import Link

NUMBERED = re.compile(r"^\s*(?:\d{1,3}|[A-Za-z])[.):]\s")
LETTERS = re.compile(r"[^\W_]")
BLANKS = re.compile(r"[^\S\n]+")


def lay_out(pieces: Iterable[str | Link]) -> tuple[str, list[tuple[str, Link]], bool]:
    """The text, the actions with their links, and whether any of them is hypertext."""
    lines: list[str] = []
    actions: list[tuple[str, Link]] = []
    hypertext = False
    for line in _lines(pieces):
        links = [
            (tidy(piece.label) or tidy(piece.target), piece)
            for piece in line
            if isinstance(piece, Link)
        ]
        around = "".join(piece for piece in line if isinstance(piece, str))
        inside = bool(LETTERS.search(NUMBERED.sub("", around)))
        actions.extend(links)
        if links and inside:
            hypertext = True
        if inside or not links:
            lines.append(
                tidy("".join(piece if isinstance(piece, str) else piece.label for piece in line))
            )
    return _paragraphs(lines), actions, hypertext


def tidy(text: str) -> str:
    """One line without stray blanks; the bars of a table's row are no words."""
    text = BLANKS.sub(" ", text.replace("\n", " ")).strip()
    if len(text) > 1 and text[0] == text[-1] == "|":
        text = BLANKS.sub(" ", text.replace("|", " ")).strip()
    return text


def _lines(pieces: Iterable[str | Link]) -> list[list[str | Link]]:
    lines: list[list[str | Link]] = [[]]
    for piece in pieces:
        if isinstance(piece, Link):
            lines[-1].append(piece)
            continue
        first, *rest = piece.split("\n")
        lines[-1].append(first)
        lines.extend([part] for part in rest)
    return lines


def _paragraphs(lines: list[str]) -> str:
    """Lines as they stand, with no more than one empty line between them."""
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def split_link(body: str) -> tuple[str, str]:
    """Label and target of `x`, `label|target`, `label->target` or `target<-label`; no label where it is the target."""
    if "|" in body:
        label, _, target = body.partition("|")
    elif "->" in body:
        label, _, target = body.rpartition("->")
    elif "<-" in body:
        target, _, label = body.partition("<-")
    else:
        label = ""
        target = body
    return label.strip(), target.strip()


def letters_of(words: str) -> str:
    """The words without blanks and markup."""
    return re.sub(r"[\W_]+", "", words)
