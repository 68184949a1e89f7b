"""RESULTS.md, report.html and the figures: written from the rows, or compared with them."""

import itertools
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from drrn.document import Block, Document, Figure, Table, figures, to_html, to_markdown
from drrn.errors import InputError
from drrn.files import write
from drrn.lab.experiments.results import Results
from drrn.lab.reports.beyond import parts_block, reading_block
from drrn.lab.reports.claims import with_blocks, with_headline
from drrn.lab.reports.diagnostics import diagnostics_block
from drrn.lab.reports.figures import Plot, as_file, draw, fault, from_file, inside_page
from drrn.lab.reports.result_set import ResultSet
from drrn.lab.reports.sections import document
from drrn.pages import rendered, safe_markup

MAX_SHOWN = 100  # characters of a line that differs


def write_report(folder: Results, **pages: Path | None) -> list[Path]:
    """Write RESULTS.md, report.html and the figures; return the paths of the two reports.

    `pages` are files with a block of the report between two markers: readme (the headline), beyond
    (tables of the strong agent and of readers), diagnostics.
    """
    results = _result_set(folder)
    whole = document(results)
    drawings = {figure.name: draw(figure) for figure in _plots(whole)}
    for name, svg in drawings.items():
        write(folder.root / "figures" / f"{name}.svg", as_file(svg))
    reports = _reports(folder, whole, drawings)
    for path, text in {**reports, **_blocks(folder, results, pages)}.items():
        write(path, text)
    return list(reports)


def differences(folder: Results, **pages: Path | None) -> list[str]:
    """Return where the files differ from the rows. Nothing is drawn, so no Matplotlib is needed."""
    results = _result_set(folder)
    whole = document(results)
    messages = []
    drawings = {}
    for figure in _plots(whole):
        path = folder.root / "figures" / f"{figure.name}.svg"
        svg = from_file(_read(path))
        drawings[figure.name] = svg
        if why := fault(svg, figure):
            messages.append(f"{path}: {why}")
    texts = {**_reports(folder, whole, drawings), **_blocks(folder, results, pages)}
    for path, expected in texts.items():
        pairs = itertools.zip_longest(_read(path).splitlines(), expected.splitlines(), fillvalue="")
        for number, (line, other) in enumerate(pairs, 1):
            if line != other:
                difference = f"{line[:MAX_SHOWN]!r}, not {other[:MAX_SHOWN]!r}"
                messages.append(f"{path}, line {number}: {difference}")
                break
    return messages


def _reports(folder: Results, whole: Document, drawings: Mapping[str, str]) -> dict[Path, str]:
    page = results_page(whole, drawings)
    markdown = results_markdown(whole)
    return {folder.root / "RESULTS.md": markdown, folder.root / "report.html": page}


def _blocks(
    folder: Results, results: ResultSet, pages: Mapping[str, Path | None]
) -> dict[Path, str]:
    """Return the texts of files that have a block of the report."""
    texts = {}
    if readme := pages.get("readme"):
        texts[readme] = with_headline(readme, results, folder.root)
    if beyond := pages.get("beyond"):
        tables = {"parts": parts_block(results), "reading": reading_block(results)}
        texts[beyond] = with_blocks(beyond, **tables)
    if diagnostics := pages.get("diagnostics"):
        texts[diagnostics] = with_blocks(diagnostics, diagnostics=diagnostics_block(results))
    return texts


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


def _result_set(folder: Results) -> ResultSet:
    results = ResultSet(folder)
    if not (results.games or results.diagnostics):
        command = f"drrn reproduce --out {folder.root}"
        raise InputError(f"{folder.root}: there are no rows here; run {command} first")
    return results


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""
