"""The report as Markdown: RESULTS.md."""

from __future__ import annotations

import re

from drrn.lab.reports.document import Block, Cell, Document, Figure, Section, Table

ACTIVE = re.compile(r"(`[^`]*`)|([<\[])")


def markdown(document: Document) -> str:
    parts = [f"# {_plain(document.title)}", *map(_plain, document.opening), _contents(document)]
    parts += [_section(section) for section in document.sections]
    return "\n\n".join(part for part in parts if part) + "\n"


def _contents(document: Document) -> str:
    return "\n".join(
        f"- [{_plain(section.title)}](#{_anchor(section.title)})" for section in document.sections
    )


def _section(section: Section) -> str:
    parts = [f"## {_plain(section.title)}"]
    if section.command:
        parts.append(f"    {section.command}")
    parts += [_block(block) for block in section.blocks]
    if section.settings:
        parts.append("Settings:\n\n" + "\n".join(f"- {line}" for line in section.settings))
    return "\n\n".join(parts)


def _block(block: Block) -> str:
    if isinstance(block, Table):
        return table_lines(block)
    if isinstance(block, Figure):
        caption = _plain(block.caption)
        return f"![{caption}](figures/{block.name}.svg)\n\n{caption}"
    return _plain(block)


def table_lines(table: Table) -> str:
    """A table with its caption above and its notes below."""
    rule = [
        "---" if place == 0 or place in table.words else "---:"
        for place in range(len(table.header))
    ]
    lines = [
        [_cell(name) for name in table.header],
        rule,
        *([_cell(cell) for cell in row] for row in table.rows),
    ]
    drawn = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return "\n\n".join([f"**{_plain(table.caption)}**", drawn, *map(_plain, table.notes)])


def _cell(cell: Cell | str) -> str:
    if isinstance(cell, str):
        return _plain(cell).replace("|", "\\|")
    return (f"**{cell.text}**" if cell.bold else cell.text) + (f" {cell.mark}" if cell.mark else "")


def _plain(text: str) -> str:
    """`code` and **bold** are ours; what would be a link, a picture or HTML is a story's, and is shown as written."""
    return ACTIVE.sub(lambda found: found[1] or f"\\{found[2]}", text)


def _anchor(title: str) -> str:
    return "".join(c for c in title.lower().replace(" ", "-") if c.isalnum() or c == "-")
