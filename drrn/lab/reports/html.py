"""The report as one page that needs nothing else: styles and figures stand inside it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from drrn.lab.reports.document import Block, Cell, Document, Figure, Section, Table
from drrn.lab.reports.figures import inside_page
from drrn.pages import rendered, safe_markup

WIDE = ("plane", "panels")  # kinds of figures that take the whole width


@dataclass(frozen=True)
class PageCell:
    """A cell of a table, and the side it stands on: "" to the right, as figures do."""

    text: str
    side: str = ""
    bold: bool = False
    mark: str = ""


def page(document: Document, drawings: Mapping[str, str]) -> str:
    """The whole page; `drawings` are the figures' SVGs, by name."""
    figures = [block.name for block in document.headline if isinstance(block, Figure)]
    above = {
        name: inside_page(drawings[name], "above") for name in figures
    }  # shown twice, with ids of their own
    sections = [_section(section, drawings) for section in document.sections]
    return rendered(
        "report.html",
        document=document,
        headline=list(_groups(document.headline, above)),
        sections=sections,
    )


def _section(section: Section, drawings: Mapping[str, str]) -> dict[str, Any]:
    return {
        "anchor": section.anchor,
        "title": section.title,
        "command": section.command,
        "groups": list(_groups(section.blocks, drawings)),
        "settings": section.settings,
    }


def _groups(blocks: Sequence[Block], drawings: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """The blocks; figures that follow one another stand side by side."""
    for _, group in groupby(
        enumerate(blocks), lambda item: -1 if isinstance(item[1], Figure) else item[0]
    ):
        found = [block for _, block in group]
        figures = [block for block in found if isinstance(block, Figure)]
        if figures:
            shown = [
                {"drawing": safe_markup(drawings[f.name]), "caption": f.caption} for f in figures
            ]
            yield {
                "kind": "figures",
                "wide": any(f.kind in WIDE for f in figures),
                "figures": shown,
            }
        else:
            yield from map(_block, found)


def _block(block: Block) -> dict[str, Any]:
    if not isinstance(block, Table):
        return {"kind": "text", "text": str(block)}
    papers = {place for place, name in enumerate(block.header) if name.endswith("paper")}
    sides = {**dict.fromkeys(papers, "paper"), **dict.fromkeys(block.words, "words")}
    return {
        "kind": "table",
        "caption": block.caption,
        "head": [PageCell(name, sides.get(place, "")) for place, name in enumerate(block.header)],
        "rows": [
            [_cell(cell, sides.get(place, "")) for place, cell in enumerate(row)]
            for row in block.rows
        ],
        "notes": block.notes,
    }


def _cell(content: Cell | str, side: str) -> PageCell:
    if isinstance(content, str):
        return PageCell(content, side)
    return PageCell(content.text, side, content.bold, content.mark)
