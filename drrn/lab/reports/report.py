"""RESULTS.md, report.html and the figures: written from the rows, or compared with them."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from drrn.document import Block, Document, Figure, Table, figures, to_html, to_markdown
from drrn.errors import InputError
from drrn.files import write_atomically
from drrn.lab.experiments.results import Results, make_folder
from drrn.lab.reports.beyond import parts_block
from drrn.lab.reports.claims import with_block, with_headline
from drrn.lab.reports.figures import (
    Plot,
    as_file,
    draw,
    from_file,
    inside_page,
    is_unchanged,
    rows_hash,
)
from drrn.lab.reports.result_set import ResultSet
from drrn.lab.reports.sections import document
from drrn.pages import rendered, safe_markup

PARTS = "parts"  # name of the markers in docs/beyond.md


def write_report(
    folder: Results, readme: Path | None = None, beyond: Path | None = None
) -> list[Path]:
    """Write RESULTS.md, report.html and the figures; return the paths of the two reports.

    Args:
        folder: the results.
        readme: a file whose headline is also written, between its two markers.
        beyond: a file whose tables of the strong agent are also written, between their markers.
    """
    results = _result_set(folder)
    whole = document(results)
    drawings = {figure.name: draw(figure) for figure in _plots(whole)}
    make_folder(folder.root / "figures")
    for name, svg in drawings.items():
        _write(folder.root / "figures" / f"{name}.svg", as_file(svg))
    for path in _obsolete_figures(folder, whole):
        path.unlink()
    _write(folder.root / "RESULTS.md", results_markdown(whole))
    _write(folder.root / "report.html", results_page(whole, drawings))
    if readme is not None:
        _write(readme, with_headline(readme, results, folder.root)[1])
    if beyond is not None:
        _write(beyond, with_block(beyond, PARTS, parts_block(results))[1])
    return [folder.root / "RESULTS.md", folder.root / "report.html"]


def differences(
    folder: Results, readme: Path | None = None, beyond: Path | None = None
) -> list[str]:
    """Return where the files differ from the rows. Nothing is drawn, so no Matplotlib is needed.

    Args: as for `write_report`.
    """
    results = _result_set(folder)
    whole = document(results)
    path = folder.root / "RESULTS.md"
    parts = (r"^## (.+)$", r"^\*\*(.+)\*\*$")
    messages = [
        f"{path}: {name}" for name in _different_parts(_read(path), results_markdown(whole), *parts)
    ]
    drawings = {}
    for figure in _plots(whole):
        path = folder.root / "figures" / f"{figure.name}.svg"
        svg = from_file(_read(path))
        drawings[figure.name] = svg
        if rows_hash(svg) != figure.sha256:
            messages.append(f"{path}: it shows other rows")
        elif not is_unchanged(svg):
            messages.append(f"{path}: it was edited after it was drawn")
    path = folder.root / "report.html"
    parts = (r"<h2>(.+)</h2>", r"<caption><span>(.+)</span></caption>")
    page = results_page(whole, drawings)
    messages += [f"{path}: {name}" for name in _different_parts(_read(path), page, *parts)]
    messages += [f"{path}: it has no rows" for path in _obsolete_figures(folder, whole)]
    if readme is not None:
        text, expected = with_headline(readme, results, folder.root)
        messages += [f"{readme}: the headline"] * (text != expected)
    if beyond is not None:
        text, expected = with_block(beyond, PARTS, parts_block(results))
        messages += [f"{beyond}: the tables of the strong agent"] * (text != expected)
    return messages


def results_markdown(document: Document) -> str:
    """Return the report as Markdown; figures are shown in their sections only."""
    blocks = [block for block in document.blocks if not isinstance(block, Figure)]
    return to_markdown(replace(document, blocks=blocks), contents=True)


def results_page(document: Document, drawings: Mapping[str, str]) -> str:
    """Return the report as one HTML page with its figures; `drawings` are their SVGs by name."""
    blocks = [_for_page(block, drawings, "above") for block in document.blocks]
    sections = [
        replace(section, blocks=[_for_page(block, drawings, "") for block in section.blocks])
        for section in document.sections
    ]
    whole = replace(document, blocks=blocks, sections=sections)
    body = safe_markup(to_html(whole, contents=True))
    return rendered("report.html", title=document.title, body=body)


def _for_page(block: Block, drawings: Mapping[str, str], prefix: str) -> Block:
    """Put the drawing into a figure; print the paper's columns in grey."""
    if isinstance(block, Table):
        return replace(block, muted=[name for name in block.header if name.endswith("paper")])
    if isinstance(block, Plot):
        return replace(block, svg=inside_page(drawings[block.name], prefix or block.name))
    return block


def _plots(document: Document) -> list[Plot]:
    return [figure for figure in figures(document) if isinstance(figure, Plot)]


def _different_parts(text: str, expected: str, section: str, table: str) -> Iterator[str]:
    """Yield the headings of sections and tables that differ."""
    if text == expected:
        return
    ours = _parts(text, section, table)
    theirs = _parts(expected, section, table)
    names = [name for name in {**theirs, **ours} if ours.get(name) != theirs.get(name)]
    yield from map(html.unescape, names or ["its order"])


def _parts(text: str, section: str, table: str) -> dict[str, str]:
    """Split a text at headings of sections and tables."""
    parts: dict[str, str] = {}
    heading = ""
    name = "the beginning"
    for line in text.splitlines():
        if match := re.search(section, line):
            heading = match[1]
            name = heading
        elif match := re.search(table, line):
            name = f"{heading}, “{match[1]}”"
        parts[name] = parts.get(name, "") + line + "\n"
    return parts


def _result_set(folder: Results) -> ResultSet:
    results = ResultSet(folder)
    if not results.games:
        command = f"drrn reproduce --out {folder.root}"
        raise InputError(f"{folder.root}: there are no rows here; run {command} first")
    return results


def _obsolete_figures(folder: Results, whole: Document) -> list[Path]:
    """Return our figures whose rows no longer exist. Other SVG files are ignored."""
    names = {f"{figure.name}.svg" for figure in _plots(whole)}
    paths = sorted((folder.root / "figures").glob("*.svg"))
    return [path for path in paths if path.name not in names and rows_hash(_read(path)) is not None]


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""


def _write(path: Path, text: str) -> None:
    write_atomically(path, text.encode())
