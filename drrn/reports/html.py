"""The report as one page that needs nothing else: styles and figures stand inside it."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from itertools import groupby

from drrn.reports.document import Block, Cell, Document, Figure, Section, Table

STYLE = """
:root { color-scheme: light dark; --ink: #1d1d1f; --soft: #6b6b70; --paper: #fdfdfb; --line: #dddcd6; --tint: #f4f3ee;
  --accent: #1f5fa8; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e5e1; --soft: #9b9a96; --paper: #17181a; --line: #34363a;
  --tint: #202225; --accent: #7db3ef; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.55 system-ui, sans-serif; }
main { max-width: 74rem; margin: 0 auto; padding: 2.5rem 1.25rem 5rem; }
h1 { font-size: 2.1rem; margin: 0 0 .25rem; letter-spacing: -.02em; }
h2 { margin: 3.5rem 0 .5rem; padding-top: 1rem; border-top: 1px solid var(--line); letter-spacing: -.01em; }
p { max-width: 46rem; margin: .6rem 0; }
a { color: var(--accent); text-decoration: none; } a:hover { text-decoration: underline; }
nav ul { columns: 2; padding-left: 1.1rem; max-width: 46rem; }
code, pre { font-family: ui-monospace, monospace; font-size: .9em; background: var(--tint); border-radius: 4px; }
code { padding: .1em .3em; } pre { padding: .6rem .9rem; overflow-x: auto; max-width: 46rem; }
.scroll { overflow-x: auto; margin: 1.4rem 0 .3rem; }
table { border-collapse: collapse; font-size: .93rem; font-variant-numeric: tabular-nums; min-width: 24rem; }
caption { text-align: left; font-weight: 600; padding: 0 0 .45rem; }
th, td { padding: .32rem .6rem; text-align: right; white-space: nowrap; border-bottom: 1px solid var(--line); }
th { font-weight: 500; color: var(--soft); border-bottom: 2px solid var(--line); }
th:first-child, td:first-child { text-align: left; padding-left: 0; }
.words { text-align: left; white-space: normal; }
td.paper { color: var(--soft); }
tbody tr:hover { background: var(--tint); }
sup { color: #c2410c; font-weight: 600; }
.note { color: var(--soft); font-size: .9rem; }
.figures { display: grid; gap: 1.5rem; margin: 1.4rem 0; }
.figures { grid-template-columns: repeat(auto-fit, minmax(min(27rem, 100%), 1fr)); }
.figures figure { max-width: 34rem; }
.figures.wide { grid-template-columns: 1fr; } .figures.wide figure { max-width: none; }
figure { margin: 0; } figure svg { width: 100%; height: auto; display: block; }
figcaption { color: var(--soft); font-size: .88rem; margin-top: .3rem; }
details { margin: 1rem 0; max-width: 46rem; } summary { cursor: pointer; color: var(--soft); font-size: .9rem; }
details li { font-size: .86rem; color: var(--soft); overflow-wrap: anywhere; }
"""


def page(document: Document, drawings: Mapping[str, str]) -> str:
    """The whole page; `drawings` are the figures' SVGs, by name."""
    links = "".join(f'<li><a href="#{s.anchor}">{_inline(s.title)}</a></li>' for s in document.sections)
    body = [f"<h1>{_inline(document.title)}</h1>", *(f"<p>{_inline(text)}</p>" for text in document.opening)]
    body += [f"<nav><ul>{links}</ul></nav>", *(_section(section, drawings) for section in document.sections)]
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{_inline(document.title)} · drrn</title>\n<style>{STYLE}</style>\n</head>\n<body><main>\n"
        + "\n".join(body)
        + "\n</main></body>\n</html>\n"
    )


def _section(section: Section, drawings: Mapping[str, str]) -> str:
    parts = [f'<section id="{section.anchor}">', f"<h2>{_inline(section.title)}</h2>"]
    if section.command:
        parts.append(f"<pre>{html.escape(section.command)}</pre>")
    for figures, group in groupby(section.blocks, lambda block: isinstance(block, Figure)):
        blocks = list(group)
        parts += [_figures(blocks, drawings)] if figures else [_block(block) for block in blocks]
    if section.settings:
        lines = "".join(f"<li>{_inline(line)}</li>" for line in section.settings)
        parts.append(f"<details><summary>Settings</summary><ul>{lines}</ul></details>")
    return "\n".join([*parts, "</section>"])


def _figures(blocks: list[Block], drawings: Mapping[str, str]) -> str:
    wide = " wide" * any(isinstance(block, Figure) and block.kind in ("plane", "panels") for block in blocks)
    drawn = "".join(
        f"<figure>{drawings[block.name]}<figcaption>{_inline(block.caption)}</figcaption></figure>\n"
        for block in blocks
        if isinstance(block, Figure)
    )
    return f'<div class="figures{wide}">\n{drawn}</div>'


def _block(block: Block) -> str:
    return _table(block) if isinstance(block, Table) else f"<p>{_inline(str(block))}</p>"


def _table(table: Table) -> str:
    papers = {i for i, name in enumerate(table.header) if name.endswith("paper")}
    words = table.words

    def left(place: int) -> str:
        return ' class="words"' if place in words else ""

    def cell(place: int, content: Cell | str) -> str:
        kind = left(place) or ' class="paper"' * (place in papers)
        if isinstance(content, str):
            return f"<td{kind}>{_inline(content)}</td>"
        text = f"<b>{_inline(content.text)}</b>" if content.bold else _inline(content.text)
        return f"<td{kind}>{text}{f'<sup>{content.mark}</sup>' if content.mark else ''}</td>"

    head = "".join(f"<th{left(i)}>{_inline(name)}</th>" for i, name in enumerate(table.header))
    rows = "\n".join("<tr>" + "".join(cell(i, c) for i, c in enumerate(row)) + "</tr>" for row in table.rows)
    notes = "".join(f'<p class="note">{_inline(note)}</p>\n' for note in table.notes)
    return (
        f'<div class="scroll"><table><caption>{_inline(table.caption)}</caption>\n<thead><tr>{head}</tr></thead>\n'
        f"<tbody>\n{rows}\n</tbody></table></div>\n{notes}"
    )


def _inline(text: str) -> str:
    """`code` and **bold**, and nothing else."""
    text = html.escape(text, quote=False)
    text = re.sub(r"`([^`]+)`", r"<code>\1</code>", text)
    return re.sub(r"\*\*([^*]+)\*\*", r"<b>\1</b>", text)
