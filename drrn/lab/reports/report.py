"""RESULTS.md, report.html and the figures: written from the rows, or compared with what the rows say."""

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
from drrn.lab.reports.figures import (
    Plot,
    as_file,
    drawn,
    from_file,
    inside_page,
    is_as_drawn,
    rows_hash,
)
from drrn.lab.reports.headline import with_block, with_headline
from drrn.lab.reports.result_set import ResultSet
from drrn.lab.reports.sections import document
from drrn.pages import rendered, safe_markup

PARTS = "parts"  # of the markers of the page on what is beyond the paper


def write_report(
    folder: Results, readme: Path | None = None, beyond: Path | None = None
) -> list[Path]:
    """Write RESULTS.md, report.html, the figures and, if named, the README's headline and the tables of the page on
    what is beyond the paper; return the two to look at."""
    results = _result_set(folder)
    whole = document(results)
    drawings = {
        figure.name: drawn(figure) for figure in _plots(whole)
    }  # first: it may lack what draws
    make_folder(folder.root / "figures")
    for name, svg in drawings.items():
        _write(folder.root / "figures" / f"{name}.svg", as_file(svg))
    for path in _foreign(folder, whole):
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
    """Where the committed files differ from what the rows say; nothing is drawn, so Matplotlib is not needed."""
    results = _result_set(folder)
    whole = document(results)
    found = []
    told = _read(folder.root / "RESULTS.md")
    expected = results_markdown(whole)
    found += [
        f"{folder.root / 'RESULTS.md'}: {name}"
        for name in _apart(told, expected, r"^## (.+)$", r"^\*\*(.+)\*\*$")
    ]
    drawings = {}
    for figure in _plots(whole):
        path = folder.root / "figures" / f"{figure.name}.svg"
        svg = from_file(_read(path))
        drawings[figure.name] = svg
        if rows_hash(svg) != figure.sha256:
            found.append(f"{path}: it shows other rows")
        elif not is_as_drawn(svg):
            found.append(f"{path}: it was changed since it was drawn")
    parts = (r"<h2>(.+)</h2>", r"<caption><span>(.+)</span></caption>")
    told = _read(folder.root / "report.html")
    expected = results_page(whole, drawings)
    found += [f"{folder.root / 'report.html'}: {name}" for name in _apart(told, expected, *parts)]
    found += [f"{path}: no rows are behind it" for path in _foreign(folder, whole)]
    if readme is not None:
        text, should = with_headline(readme, results, folder.root)
        found += [f"{readme}: the headline"] * (text != should)
    if beyond is not None:
        text, should = with_block(beyond, PARTS, parts_block(results))
        found += [f"{beyond}: what each part gives"] * (text != should)
    return found


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


def _apart(told: str, expected: str, section: str, table: str) -> Iterator[str]:
    """The headings of sections and tables that differ."""
    if told == expected:
        return
    ours = _parts(told, section, table)
    theirs = _parts(expected, section, table)
    names = [name for name in {**theirs, **ours} if ours.get(name) != theirs.get(name)]
    yield from map(html.unescape, names or ["its order"])


def _parts(text: str, section: str, table: str) -> dict[str, str]:
    """The text cut at headings of sections and tables; each part by both their names."""
    found: dict[str, str] = {}
    under = ""
    name = "the beginning"
    for line in text.splitlines():
        if head := re.search(section, line):
            under = name = head[1]
        elif head := re.search(table, line):
            name = f"{under}, “{head[1]}”"
        found[name] = found.get(name, "") + line + "\n"
    return found


def _result_set(folder: Results) -> ResultSet:
    results = ResultSet(folder)
    if not results.games:
        raise InputError(
            f"{folder.root}: there are no rows here: make them by drrn reproduce --out {folder.root}"
        )
    return results


def _foreign(folder: Results, whole: Document) -> list[Path]:
    """Figures that belong to rows which are no more; what we did not draw is not ours to judge."""
    known = {f"{figure.name}.svg" for figure in _plots(whole)}
    found = sorted((folder.root / "figures").glob("*.svg"))
    return [path for path in found if path.name not in known and rows_hash(_read(path)) is not None]


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""


def _write(path: Path, text: str) -> None:
    write_atomically(path, [text.encode()])
