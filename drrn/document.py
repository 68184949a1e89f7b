"""Reports in no notation yet: a `Document` of sections, tables and notes, and its writers.

A report is built once and written in any format. A writer escapes the text for its format and drops
control characters, so that texts from stories can neither inject markup nor control a terminal.

    report = Document(
        "The Cellar",
        ["**2 endings**, both reachable."],
        [Section("Dead ends", [Note("no link leads on", "warning", title="Well")])],
    )
    print(to_text(report))      # for a terminal
    print(to_markdown(report))  # for a file such as RESULTS.md
    print(to_html(report))      # a fragment, for a template
    print(to_github(report))    # for $GITHUB_STEP_SUMMARY

Every text may contain `code` in backticks and **bold** between double asterisks, and nothing else.
Pass foreign text, such as the name of a passage, through `literal` to show its backticks and
asterisks as they are.
"""

from __future__ import annotations

import html
import itertools
import re
import textwrap
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from drrn.writing import one_line, visible

MISSING = "—"  # a cell without a value
SPANS = re.compile(r"`((?:\\[\\`*]|[^`])*)`|\*\*((?:\\[\\`*]|[^\\])+?)\*\*|\\([\\`*])")
ESCAPED = re.compile(r"\\([\\`*])")
NO_BREAK_SPACE = "\N{NO-BREAK SPACE}"
PERCENTAGE = re.compile(r"(?:[<>±≥≤] )?[\d.,]+ %")  # never split over two lines
MIN_COLUMN = 20  # characters that a shortened column of the terminal keeps

Severity = Literal["problem", "warning", "info", "success"]
SIGNS = {"problem": "❌", "warning": "⚠️", "info": "ℹ️", "success": "✅"}
CLASSES = {"problem": "bad", "warning": "warn", "info": "", "success": "good"}  # CSS


@dataclass(frozen=True)
class Paragraph:
    """A paragraph with a role: the report's headline, or a note in small print.

    A plain `str` among the blocks is a paragraph without a role.
    """

    text: str
    role: Literal["", "headline", "note"] = ""


@dataclass(frozen=True)
class Bullets:
    """A list. HTML folds it under `summary`, if given; other formats print `summary` above it."""

    items: Sequence[str]
    summary: str = ""


@dataclass(frozen=True)
class Cell:
    """A cell of a table; a plain `str` is a cell without emphasis."""

    text: str
    bold: bool = False
    mark: str = ""  # a footnote mark, such as †
    remark: str = ""  # a second line in small print
    bar: float | None = None  # a share from 0 to 1, which HTML draws as a bar
    page: str = ""  # the story page that the cell names: the web page links it to the map


@dataclass(frozen=True)
class Table:
    """A table.

    Args:
        caption: printed above; may be empty.
        header: one name per column.
        rows: one cell per column in each row.
        notes: small print below the table.
        align: one letter per column, `l` or `r`. By default the first column and columns of words
            are on the left, columns of numbers on the right.
        muted: names of the columns that HTML prints in grey.
    """

    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[Cell | str]]
    notes: Sequence[str] = ()
    align: str = ""
    muted: Sequence[str] = ()

    @property
    def alignment(self) -> str:
        """One letter per column, `l` or `r`."""
        return self.align or "".join(self._side(column) for column in range(len(self.header)))

    def _side(self, column: int) -> str:
        texts = [_cell(row[column]).text for row in self.rows]
        values = [text for text in texts if text not in ("", MISSING)]
        words = sum(not re.search(r"\d", text) for text in values)
        return "l" if column == 0 or words > len(values) / 2 else "r"


@dataclass(frozen=True)
class Figure:
    """A figure: the path of its file, or an inline SVG (trusted, written as it is), or both."""

    caption: str
    path: str = ""
    svg: str = ""
    wide: bool = False


@dataclass(frozen=True)
class Code:
    """Code, a command or a quotation, printed as it is."""

    text: str


@dataclass(frozen=True)
class Fact:
    """A number with its name, for `Facts`."""

    name: str
    value: str
    severity: Severity = "info"


@dataclass(frozen=True)
class Facts:
    """Key numbers of a report: tiles in HTML, a list elsewhere."""

    items: Sequence[Fact]


@dataclass(frozen=True)
class Note:
    """One finding: a problem, a warning, some information, or a check that passed.

    Args:
        text: what was found.
        severity: `problem`, `warning`, `info` or `success`.
        title: what the note is about, such as a page.
        label: a word for the kind of finding, by default the severity.
        steps: the actions that show it, as literal text.
        steps_title: what the steps are.
        page: the story page that `title` names: the web page links it to the map.
        file: the source file, for GitHub's annotations.
        line: the line in `file`.
    """

    text: str
    severity: Severity = "info"
    title: str = ""
    label: str = ""
    steps: Sequence[str] = ()
    steps_title: str = "Actions"
    page: str = ""
    file: str = ""
    line: int = 0


Block = str | Paragraph | Bullets | Table | Figure | Code | Facts | Note


@dataclass(frozen=True)
class Section:
    """A titled part of a document. `anchor` is its id in HTML, by default made from the title."""

    title: str
    blocks: Sequence[Block]
    anchor: str = ""


@dataclass(frozen=True)
class Document:
    """A report: a title (empty in a fragment), introductory blocks, then sections."""

    title: str
    blocks: Sequence[Block] = ()
    sections: Sequence[Section] = ()


def literal(text: str) -> str:
    """Escape text so that its backticks and asterisks are no markup.

    >>> literal("2 * 3 ** 4")
    '2 \\\\* 3 \\\\*\\\\* 4'
    """
    return re.sub(r"([\\`*])", r"\\\1", text)


def to_text(
    document: Document, *, width: int = 100, limit: int | None = None, hint: str = ""
) -> str:
    """Write a document as plain text.

    Args:
        document: the report.
        width: columns of the terminal.
        limit: items of a list or rows of a table that are written; the rest is counted.
        hint: how to see the rest, appended to the count.

    >>> print(to_text(Document("Cellar", ["Well made."], [Section("Links", [Bullets(["a → b"])])])))
    Cellar
    <BLANKLINE>
    Well made.
    <BLANKLINE>
    Links
      - a → b
    """
    return _TextWriter(limit, hint, width=width).document(document)


def to_markdown(
    document: Document, *, level: int = 1, limit: int | None = None, contents: bool = False
) -> str:
    """Write a document as Markdown (GitHub's flavour).

    Args:
        document: the report.
        level: level of the title's heading.
        limit: items of a list or rows of a table that are written; the rest is counted.
        contents: insert a table of contents before the first section.

    >>> print(to_markdown(Document("Cellar", ["A *star*, a `file`."])), end="")
    # Cellar
    <BLANKLINE>
    A \\*star\\*, a `file`.
    """
    return _MarkdownWriter(limit, level=level, contents=contents).document(document) + "\n"


def to_html(
    document: Document, *, limit: int | None = None, hint: str = "", contents: bool = False
) -> str:
    """Write a document as an HTML fragment; `drrn/pages/static/document.css` styles it.

    Args: as for `to_text` and `to_markdown`.

    >>> print(to_html(Document("", ["1 < 2"])))
    <p>1 &lt; 2</p>
    """
    return _HtmlWriter(limit, hint, contents=contents).document(document)


def to_github(document: Document, *, limit: int = 50) -> str:
    """Write a document for GitHub's step summary: Markdown below a heading of level 2."""
    return to_markdown(document, level=2, limit=limit)


def github_annotations(document: Document) -> Iterator[str]:
    """Yield a GitHub workflow command for each note with a file: GitHub shows it at its line.

    Problems become errors, warnings warnings; other notes are left out.

    >>> note = Note("no such passage", "problem", title="Well", file="cellar.twee", line=3)
    >>> list(github_annotations(Document("Cellar", [note])))
    ['::error file=cellar.twee,line=3::Well: no such passage']
    """
    levels = {"problem": "error", "warning": "warning"}
    for block in _all_blocks(document):
        if isinstance(block, Note) and block.file and block.severity in levels:
            file = _escape_command(block.file).replace(":", "%3A").replace(",", "%2C")
            message = one_line(_plain(": ".join(filter(None, [block.title, block.text]))))
            if block.steps:
                message += f" {block.steps_title}: {_arrows(block.steps)}"
            place = f"file={file},line={max(1, block.line)}"
            yield f"::{levels[block.severity]} {place}::{_escape_command(message)}"


def markdown_block(block: Block) -> str:
    """Write one block as Markdown, to be inserted into another file."""
    return _MarkdownWriter().blocks([block])


def figures(document: Document) -> list[Figure]:
    """Return the figures of a document, in their order."""
    return [block for block in _all_blocks(document) if isinstance(block, Figure)]


def _all_blocks(document: Document) -> Iterator[Block]:
    yield from document.blocks
    for section in document.sections:
        yield from section.blocks


def _cell(cell: Cell | str) -> Cell:
    return Cell(cell) if isinstance(cell, str) else cell


def _arrows(steps: Sequence[str]) -> str:
    return " → ".join(map(one_line, steps))


def _escape_command(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _spans(text: str) -> Iterator[tuple[Literal["", "code", "bold"], str]]:
    """Split text into plain, code and bold spans, without their marks and escapes."""
    end = 0
    for match in SPANS.finditer(text):
        if match.start() > end:
            yield "", text[end : match.start()]
        code, bold, escaped = match.groups()
        if escaped is not None:
            yield "", escaped
        elif code is not None:
            yield "code", ESCAPED.sub(r"\1", code)
        else:
            yield "bold", ESCAPED.sub(r"\1", bold)
        end = match.end()
    if end < len(text):
        yield "", text[end:]


def _plain(text: str) -> str:
    return "".join(content for _, content in _spans(text))


class _Writer(ABC):
    """Dispatch of blocks. Consecutive notes form a list, consecutive figures a row."""

    separator = "\n\n"  # between blocks

    def __init__(
        self,
        limit: int | None = None,
        hint: str = "",
        *,
        level: int = 1,
        contents: bool = False,
        width: int = 100,
    ) -> None:
        self.limit = limit
        self.hint = hint
        self.level = level
        self.contents = contents
        self.width = width

    def join(self, parts: Iterable[str]) -> str:
        return self.separator.join(part for part in parts if part)

    def blocks(self, blocks: Iterable[Block]) -> str:
        parts = []
        for kind, group in itertools.groupby(blocks, type):
            if kind is Note:
                parts.append(self.notes([block for block in group if isinstance(block, Note)]))
            elif issubclass(kind, Figure):
                parts.append(self.figures([block for block in group if isinstance(block, Figure)]))
            else:
                parts += [self.block(block) for block in group]
        return self.join(parts)

    def block(self, block: Block) -> str:
        match block:
            case str():
                return self.paragraph(Paragraph(block))
            case Paragraph():
                return self.paragraph(block)
            case Bullets():
                return self.bullets(block)
            case Table():
                return self.table(block)
            case Code():
                return self.code(block)
            case Facts():
                return self.facts(block)
        raise TypeError(f"{type(block).__name__} is not a block of a document")

    def rest(self, items: Sequence[object]) -> str:
        """Return a sentence about the items beyond the limit; "" if there are none."""
        number = 0 if self.limit is None else len(items) - self.limit
        hint = f" ({self.hint})" if self.hint else ""
        return f"… and {number:,} more{hint}" if number > 0 else ""

    @abstractmethod
    def paragraph(self, paragraph: Paragraph) -> str: ...

    @abstractmethod
    def bullets(self, bullets: Bullets) -> str: ...

    @abstractmethod
    def table(self, table: Table) -> str: ...

    @abstractmethod
    def figures(self, figures: Sequence[Figure]) -> str: ...

    @abstractmethod
    def code(self, code: Code) -> str: ...

    @abstractmethod
    def facts(self, facts: Facts) -> str: ...

    @abstractmethod
    def notes(self, notes: Sequence[Note]) -> str: ...


class _TextWriter(_Writer):
    def document(self, document: Document) -> str:
        parts = [self.inline(document.title), self.blocks(document.blocks)]
        inner = _TextWriter(self.limit, self.hint, width=self.width - 2)
        for section in document.sections:
            body = textwrap.indent(inner.blocks(section.blocks), "  ")
            parts.append(f"{self.inline(section.title)}\n{body}")
        return self.join(parts)

    def inline(self, text: str) -> str:
        return one_line(_plain(text))

    def wrap(self, text: str, first: str = "", indent: str = "") -> str:
        """Wrap text; a long word, such as a path in a command, stays whole for copying."""
        whole = PERCENTAGE.sub(lambda match: match[0].replace(" ", NO_BREAK_SPACE), text)
        lines = textwrap.fill(
            whole,
            max(self.width, 20),
            initial_indent=first,
            subsequent_indent=indent,
            break_on_hyphens=False,
            break_long_words=False,
        )
        return lines.replace(NO_BREAK_SPACE, " ")

    def paragraph(self, paragraph: Paragraph) -> str:
        return self.wrap(self.inline(paragraph.text))

    def bullets(self, bullets: Bullets) -> str:
        lines = [self.wrap(f"{self.inline(bullets.summary)}:")] if bullets.summary else []
        for item in bullets.items[: self.limit]:
            lines.append(self.wrap(self.inline(item), "- ", "  "))
        return "\n".join([*lines, *filter(None, [self.rest(bullets.items)])])

    def table(self, table: Table) -> str:
        header = [self.inline(name) for name in table.header]
        rows = [[self.cell(cell) for cell in row] for row in table.rows[: self.limit]]
        widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
        sides = table.alignment
        excess = sum(widths) + 2 * (len(widths) - 1) - self.width
        if excess > 0 and "l" in sides:
            words = (column for column, side in enumerate(sides) if side == "l")
            longest = max(words, key=lambda column: widths[column])
            widths[longest] = max(MIN_COLUMN, widths[longest] - excess)

        def line(cells: Sequence[str]) -> str:
            columns = zip(cells, widths, sides, strict=True)
            padded = (
                cell.rjust(width) if side == "r" else _shorten(cell, width).ljust(width)
                for cell, width, side in columns
            )
            return "  ".join(padded).rstrip()

        lines = [self.wrap(self.inline(table.caption))] if table.caption else []
        lines += [line(header), *map(line, rows)]
        lines += filter(None, [self.rest(table.rows)])
        lines += [self.wrap(self.inline(note)) for note in table.notes]
        return "\n".join(lines)

    def cell(self, cell: Cell | str) -> str:
        cell = _cell(cell)
        parts = [cell.text, cell.mark, cell.remark]
        return " ".join(filter(None, map(self.inline, parts)))

    def figures(self, figures: Sequence[Figure]) -> str:
        lines = []
        for figure in figures:
            path = f" ({figure.path})" if figure.path else ""
            lines.append(self.wrap(f"Figure: {self.inline(figure.caption)}{path}"))
        return "\n".join(lines)

    def code(self, code: Code) -> str:
        return textwrap.indent(visible(code.text), "    ")

    def facts(self, facts: Facts) -> str:
        width = max((len(self.inline(fact.name)) for fact in facts.items), default=0)
        lines = []
        for fact in facts.items:
            name = self.inline(fact.name).ljust(width)
            lines.append(f"{name}  {self.inline(fact.value)}")
        return "\n".join(lines)

    def notes(self, notes: Sequence[Note]) -> str:
        lines = []
        for note in notes[: self.limit]:
            label = self.inline(note.label or note.severity)
            text = self.inline(": ".join(filter(None, [note.title, note.text])))
            lines.append(self.wrap(f"{label}: {text}", indent="  "))
            if note.steps:
                steps = f"{self.inline(note.steps_title)}: {_arrows(note.steps)}"
                lines.append(self.wrap(steps, "  ", "    "))
        return "\n".join([*lines, *filter(None, [self.rest(notes)])])


def _shorten(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"


class _MarkdownWriter(_Writer):
    def document(self, document: Document) -> str:
        parts = [self.heading(document.title, 0), self.blocks(document.blocks)]
        if self.contents:
            titles = [section.title for section in document.sections]
            parts.append("\n".join(f"- [{self.inline(t)}](#{_anchor(t)})" for t in titles))
        for section in document.sections:
            parts += [self.heading(section.title, 1), self.blocks(section.blocks)]
        return self.join(parts)

    def heading(self, title: str, depth: int) -> str:
        return f"{'#' * (self.level + depth)} {self.inline(title)}" if title else ""

    def inline(self, text: str) -> str:
        parts = []
        for kind, content in _spans(one_line(text)):
            if kind == "code":
                parts.append(_fence(content, "`"))
            elif kind == "bold":
                parts.append(f"**{self.escape(content)}**")
            else:
                parts.append(self.escape(content))
        return "".join(parts)

    def escape(self, text: str) -> str:
        """Escape what Markdown or HTML would read as markup; `_` inside a word is none."""
        text = re.sub(r"&(?=#?\w+;)", "&amp;", text).replace("<", "&lt;").replace(">", "&gt;")
        return re.sub(r"([\\`*\[\]~]|(?<!\w)_|_(?!\w))", r"\\\1", text)

    def line(self, text: str) -> str:
        """Escape a text that starts a line, where `#`, `-` or `1.` would start another block."""
        return re.sub(r"^(\d*)([#+=.)-])(?=\s|$|[#=-])", r"\1\\\2", self.inline(text))

    def paragraph(self, paragraph: Paragraph) -> str:
        return self.line(paragraph.text)

    def bullets(self, bullets: Bullets) -> str:
        lines = [f"- {self.line(item)}" for item in bullets.items[: self.limit]]
        if rest := self.rest(bullets.items):
            lines.append(f"- {rest}")
        summary = f"{self.inline(bullets.summary)}:" if bullets.summary else ""
        return self.join([summary, "\n".join(lines)])

    def table(self, table: Table) -> str:
        rules = ["---" if side == "l" else "---:" for side in table.alignment]
        lines = [[self.cell(name) for name in table.header], rules]
        lines += [[self.cell(cell) for cell in row] for row in table.rows[: self.limit]]
        caption = f"**{self.inline(table.caption)}**" if table.caption else ""
        grid = "\n".join(f"| {' | '.join(line)} |" for line in lines)
        return self.join([caption, grid, self.rest(table.rows), *map(self.line, table.notes)])

    def cell(self, cell: Cell | str) -> str:
        cell = _cell(cell)
        text = self.inline(cell.text)
        if cell.bold:
            text = f"**{text}**"
        parts = [text, self.inline(cell.mark), self.inline(cell.remark)]
        return " ".join(filter(None, parts)).replace("|", "\\|")

    def figures(self, figures: Sequence[Figure]) -> str:
        parts = []
        for figure in figures:
            caption = self.inline(figure.caption)
            if figure.path:
                parts.append(f"![{caption}]({figure.path})")
            parts.append(caption)
        return self.join(parts)

    def code(self, code: Code) -> str:
        fence = _fence("", "```", code.text)
        return f"{fence}\n{visible(code.text)}\n{fence}"

    def facts(self, facts: Facts) -> str:
        return "\n".join(
            f"- {self.inline(fact.name)}: **{self.inline(fact.value)}**" for fact in facts.items
        )

    def notes(self, notes: Sequence[Note]) -> str:
        lines = []
        for note in notes[: self.limit]:
            title = f"**{self.inline(note.title)}**: " if note.title else ""
            label = f"{self.inline(note.label)}: " if note.label else ""
            lines.append(f"- {SIGNS[note.severity]} {label}{title}{self.inline(note.text)}")
            if note.steps:
                steps = self.inline(literal(_arrows(note.steps)))
                lines.append(f"  - {self.inline(note.steps_title)}: {steps}")
        if rest := self.rest(notes):
            lines.append(f"- {rest}")
        return "\n".join(lines)


def _fence(text: str, mark: str, content: str = "") -> str:
    """Put text between fences that are longer than any run of backticks inside."""
    runs = re.findall("`+", text or content)
    fence = mark
    while any(len(run) >= len(fence) for run in runs):
        fence += "`"
    if not text:
        return fence
    space = " " if runs else ""
    return f"{fence}{space}{text}{space}{fence}"


def _anchor(title: str) -> str:
    """Return the id that GitHub gives a heading."""
    text = _plain(title).lower().replace(" ", "-")
    return "".join(letter for letter in text if letter.isalnum() or letter in "-_")


class _HtmlWriter(_Writer):
    separator = "\n"

    def document(self, document: Document) -> str:
        parts = []
        introduction = self.blocks(document.blocks)
        if document.title:
            heading = f"<h1>{self.inline(document.title)}</h1>"
            introduction = f'<header class="opening">\n{heading}\n{introduction}\n</header>'
        parts.append(introduction)
        anchors = [section.anchor or _anchor(section.title) for section in document.sections]
        named = list(zip(anchors, document.sections, strict=True))
        if self.contents:
            links = [
                f'<li><a href="#{html.escape(anchor)}">{self.inline(section.title)}</a></li>'
                for anchor, section in named
            ]
            items = self.join(links)
            parts.append(f'<nav class="contents" aria-label="Contents"><ul>\n{items}\n</ul></nav>')
        for anchor, section in named:
            heading = f"<h2>{self.inline(section.title)}</h2>"
            body = self.blocks(section.blocks)
            parts.append(f'<section id="{html.escape(anchor)}">\n{heading}\n{body}\n</section>')
        return self.join(parts)

    def inline(self, text: str) -> str:
        tags = {"code": "code", "bold": "b"}
        parts = []
        for kind, content in _spans(visible(text)):
            escaped = html.escape(content)
            parts.append(f"<{tags[kind]}>{escaped}</{tags[kind]}>" if kind else escaped)
        return "".join(parts)

    def paragraph(self, paragraph: Paragraph) -> str:
        role = f' class="{paragraph.role}"' if paragraph.role else ""
        return f"<p{role}>{self.inline(paragraph.text)}</p>"

    def bullets(self, bullets: Bullets) -> str:
        items = [f"<li>{self.inline(item)}</li>" for item in bullets.items[: self.limit]]
        if rest := self.rest(bullets.items):
            items.append(f"<li>{self.inline(rest)}</li>")
        whole = self.join(["<ul>", *items, "</ul>"])
        if not bullets.summary:
            return whole
        return f"<details><summary>{self.inline(bullets.summary)}</summary>\n{whole}\n</details>"

    def table(self, table: Table) -> str:
        kinds: list[str] = []
        for name, side in zip(table.header, table.alignment, strict=True):
            words = "words" if side == "l" and kinds else ""  # the first column always is
            classes = " ".join(filter(None, [words, "muted" if name in table.muted else ""]))
            kinds.append(f' class="{classes}"' if classes else "")
        heads = []
        for name, kind in zip(table.header, kinds, strict=True):
            text = self.inline(name.replace("… ", f"…{NO_BREAK_SPACE}"))
            heads.append(f'<th scope="col"{kind}>{text}</th>')
        rows = []
        for row in table.rows[: self.limit]:
            cells = zip(row, kinds, strict=True)
            content = "".join(f"<td{kind}>{self.cell(cell)}</td>" for cell, kind in cells)
            rows.append(f"<tr>{content}</tr>")
        label = html.escape(visible(_plain(table.caption or "Table")), quote=True)
        caption = self.inline(table.caption)
        notes = [*filter(None, [self.rest(table.rows)]), *table.notes]
        return self.join(
            [
                f'<div class="scroll" tabindex="0" role="region" aria-label="{label}"><table>',
                f"<caption><span>{caption}</span></caption>" if caption else "",
                f"<thead><tr>{''.join(heads)}</tr></thead>",
                "<tbody>",
                *rows,
                "</tbody></table></div>",
                *(f'<p class="note">{self.inline(note)}</p>' for note in notes),
            ]
        )

    def cell(self, cell: Cell | str) -> str:
        cell = _cell(cell)
        text = self.page(self.inline(cell.text), cell.page)
        if cell.bold:
            text = f"<b>{text}</b>"
        if cell.mark:
            text += f"<sup>{self.inline(cell.mark)}</sup>"
        if cell.remark:
            text += f'<span class="remark">{self.inline(cell.remark)}</span>'
        if cell.bar is not None:
            share = f'<rect width="{100 * cell.bar:.1f}" height="6"/>'
            text += (
                '<svg class="bar" viewBox="0 0 100 6" preserveAspectRatio="none" '
                f'aria-hidden="true"><rect class="rail" width="100" height="6"/>{share}</svg>'
            )
        return text

    def page(self, text: str, name: str) -> str:
        if not name:
            return text
        return f'<span class="passage" data-passage="{html.escape(visible(name))}">{text}</span>'

    def figures(self, figures: Sequence[Figure]) -> str:
        items = []
        for figure in figures:
            alternative = html.escape(visible(_plain(figure.caption)))
            image = figure.svg or f'<img src="{html.escape(figure.path)}" alt="{alternative}">'
            caption = f"<figcaption>{self.inline(figure.caption)}</figcaption>"
            items.append(f"<figure>{image}{caption}</figure>")
        wide = " wide" if any(figure.wide for figure in figures) else ""
        return self.join([f'<div class="figures{wide}">', *items, "</div>"])

    def code(self, code: Code) -> str:
        return f"<pre>{html.escape(visible(code.text))}</pre>"

    def facts(self, facts: Facts) -> str:
        tiles = []
        for fact in facts.items:
            name = f"<dt>{self.inline(fact.name)}</dt>"
            kind = f"tile {CLASSES[fact.severity]}".strip()
            tiles.append(f'<div class="{kind}">{name}<dd>{self.inline(fact.value)}</dd></div>')
        return self.join(['<dl class="tiles">', *tiles, "</dl>"])

    def notes(self, notes: Sequence[Note]) -> str:
        items = [self.note(note) for note in notes[: self.limit]]
        if rest := self.rest(notes):
            items.append(f"<li>{self.inline(rest)}</li>")
        return self.join(['<ul class="notes">', *items, "</ul>"])

    def note(self, note: Note) -> str:
        kind = f"tag {CLASSES[note.severity]}".strip()
        label = f'<span class="{kind}">{self.inline(note.label or note.severity)}</span>'
        title = f"<b>{self.page(self.inline(note.title), note.page)}</b>" if note.title else ""
        steps = ""
        if note.steps:
            summary = f"{self.inline(note.steps_title)} ({len(note.steps)})"
            items = "".join(f"<li>{self.inline(literal(step))}</li>" for step in note.steps)
            steps = f'<details class="steps"><summary>{summary}</summary><ol>{items}</ol></details>'
        return f"<li>{label}<div>{title}<p>{self.inline(note.text)}</p>{steps}</div></li>"
