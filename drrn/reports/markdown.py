"""The report as Markdown: RESULTS.md."""

from __future__ import annotations

from drrn.reports.document import Block, Cell, Document, Figure, Section, Table


def markdown(document: Document) -> str:
    parts = [f"# {document.title}", *document.opening, _contents(document)]
    parts += [_section(section) for section in document.sections]
    return "\n\n".join(part for part in parts if part) + "\n"


def _contents(document: Document) -> str:
    return "\n".join(f"- [{section.title}](#{_anchor(section.title)})" for section in document.sections)


def _section(section: Section) -> str:
    parts = [f"## {section.title}"]
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
        return f"![{block.caption}](figures/{block.name}.svg)\n\n{block.caption}"
    return block


def table_lines(table: Table) -> str:
    """A table with its caption above and its notes below."""
    rule = ["---" if place == 0 or place in table.words else "---:" for place in range(len(table.header))]
    lines = [[_cell(name) for name in table.header], rule, *([_cell(cell) for cell in row] for row in table.rows)]
    drawn = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return "\n\n".join([f"**{table.caption}**", drawn, *table.notes])


def _cell(cell: Cell | str) -> str:
    if isinstance(cell, str):
        return cell.replace("|", "\\|")
    return (f"**{cell.text}**" if cell.bold else cell.text) + (f" {cell.mark}" if cell.mark else "")


def _anchor(title: str) -> str:
    return "".join(c for c in title.lower().replace(" ", "-") if c.isalnum() or c == "-")
