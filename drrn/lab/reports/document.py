"""What a report is made of: sections of sentences, tables and figures, not yet in any notation."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from drrn.lab.reports.result_set import Measured

MISSING = "—"


@dataclass(frozen=True)
class Cell:
    """A cell of a table."""

    text: str
    bold: bool = False
    mark: str = ""  # † where it differs from the paper's


@dataclass(frozen=True)
class Table:
    """A table with its caption, a header, rows and notes."""

    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[Cell | str]]
    notes: Sequence[str] = ()

    @property
    def words(self) -> set[int]:
        """Columns of words, to be aligned left: those after the first, most of whose cells have no number."""
        found = set()
        for place in range(1, len(self.header)):
            column = (row[place] for row in self.rows)
            texts = [cell if isinstance(cell, str) else cell.text for cell in column]
            told = [text for text in texts if text not in ("", MISSING)]
            if sum(not re.search(r"\d", text) for text in told) > len(told) / 2:
                found.add(place)
        return found


@dataclass(frozen=True)
class Figure:
    """A figure: its name, its caption, and the data it is drawn from."""

    name: str
    caption: str
    kind: str
    data: dict[str, Any]

    @property
    def sha256(self) -> str:
        """A hash of the data it shows: the same rows give the same, whatever drew them."""
        return hashlib.sha256(
            json.dumps([self.kind, self.data], sort_keys=True).encode()
        ).hexdigest()[:16]


Block = str | Table | Figure


@dataclass(frozen=True)
class Section:
    """A section of the report; `anchor` is the experiment's name for --only."""

    anchor: str
    title: str
    blocks: Sequence[Block]
    command: str = ""
    settings: Sequence[str] = ()


@dataclass(frozen=True)
class Document:
    """A report: what it is, its headline, an opening that says how to read it, then sections of blocks."""

    title: str
    opening: Sequence[str]
    sections: Sequence[Section] = field(default_factory=list)
    what: str = ""
    headline: Sequence[Block] = ()  # of the page; figures in it are those of a section

    @property
    def figures(self) -> list[Figure]:
        return [
            block
            for section in self.sections
            for block in section.blocks
            if isinstance(block, Figure)
        ]


def shown_number(value: float | None, digits: int = 1) -> str:
    """A number as text: rounded, without a minus before 0."""
    return MISSING if value is None else f"{round(value, digits) + 0.0:,.{digits}f}"


def spread(value: Measured | None, digits: int = 1) -> str:
    """A mean and its standard deviation as the paper writes them, mean (sd); of one seed the mean alone."""
    if value is None:
        return MISSING
    return shown_number(value.mean, digits) + (
        "" if value.sd is None else f" ({shown_number(value.sd, digits)})"
    )


def listed(items: Sequence[str]) -> str:
    """Items joined as in a sentence: a, b and c."""
    return " and ".join([", ".join(items[:-1])] * (len(items) > 1) + list(items[-1:]))
