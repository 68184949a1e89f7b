"""Cycling links: a link that, when taken, shows its next words on the same page and tells nothing anew."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from drrn.stories.twine.page import Link, Page
from drrn.stories.twine.values import Value


@dataclass(frozen=True, slots=True)
class Cycle:
    """The words that a link shows in turn, and the cell that takes them."""

    words: tuple[str, ...]
    at: int = 0
    cell: str = ""  # none where nothing is to be written
    last: str = ""  # "end": the last words are no link; "out": after them there is nothing

    def piece(self, passage: str) -> str | Link:
        """What stands on the page."""
        if self.at == len(self.words):
            return ""
        words = self.words[self.at]
        stops = self.last == "end" and self.at == len(self.words) - 1
        return words if stops else Link(words, passage, cycle=self)

    def next(self) -> tuple[Cycle, dict[str, Value]]:
        """The link once it was taken, and what that writes."""
        after = replace(
            self, at=self.at + 1 if self.last == "out" else (self.at + 1) % len(self.words)
        )
        words = "" if after.at == len(self.words) else self.words[after.at]
        return after, {self.cell: words} if self.cell else {}


class PageSoFar(NamedTuple):
    """A page as it stands once one of its links was turned: its pieces, and what is written."""

    shown: tuple[str, ...]
    pieces: tuple[str | Link, ...]
    writes: Mapping[str, Value]

    def put_on(self, page: Page) -> None:
        page.shown.extend(self.shown)
        page.pieces.extend(self.pieces)
        page.writes.update(self.writes)


def turned(page: Page, link: Link, cycle: Cycle) -> PageSoFar:
    """The page after its cycling link was taken."""
    after, writes = cycle.next()
    pieces = (after.piece(page.passage) if piece is link else piece for piece in page.pieces)
    return PageSoFar(tuple(page.shown), tuple(pieces), writes)


def key_of_page(so_far: PageSoFar) -> Hashable:
    """Two pages with the same key show and do the same."""
    return (so_far.shown, tuple(map(_key_of_piece, so_far.pieces)), tuple(so_far.writes.items()))


def _key_of_piece(piece: str | Link) -> Hashable:
    if isinstance(piece, str):
        return piece
    setter = piece.setter[0] if piece.setter else None
    return (piece.label, piece.target, setter, piece.mark, piece.back, piece.cycle)
