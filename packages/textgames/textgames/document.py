"""Format-independent reports: a `Document` of sections, tables and notes, and its writers.

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

Every text may contain `code` in backticks and **bold** between double asterisks, and nothing else.
Pass foreign text, such as the name of a passage, through `literal` to show its backticks and
asterisks as they are.
"""

import html
import itertools
import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from textgames.errors import InputError, require
from textgames.pages import rendered, safe_markup
from textgames.wording import one_line, visible

MISSING = "—"  # a cell without a value
SPANS = re.compile(r"`((?:\\[\\`*]|[^`])*)`|\*\*((?:\\[\\`*]|[^\\])+?)\*\*|\\([\\`*])")
ESCAPED = re.compile(r"\\([\\`*])")
NO_BREAK_SPACE = "\N{NO-BREAK SPACE}"
PERCENTAGE = re.compile(r"(?:[<>±≥≤] )?[\d.,]+ %")  # never split over two lines
SIGNS = {"problem": "✗", "warning": "!", "info": "·", "success": "✓"}  # of notes in a terminal
EMOJI = {"problem": "❌", "warning": "⚠️", "info": "ℹ️", "success": "✅"}  # of notes in Markdown

Severity = Literal["problem", "warning", "info", "success"]


@dataclass(frozen=True)
class Paragraph:
    """A paragraph with a role: the report's headline, or a note in small print.

    A plain `str` among the blocks is a paragraph without a role.
    """

    text: str
    role: Literal["", "headline", "note"] = ""


@dataclass(frozen=True)
class Bullets:
    """A list. HTML folds it under its `summary`, other formats print the `summary` above it."""

    items: Sequence[str]
    summary: str = ""


@dataclass(frozen=True)
class Cell:
    """A cell of a table. A plain `str` is a cell without emphasis."""

    text: str
    bold: bool = False
    mark: str = ""  # a footnote mark, such as †
    remark: str = ""  # a second line in small print
    bar: float | None = None  # a share from 0 to 1, which HTML draws as a bar
    page: str = ""  # the story page that the cell names: the web page links it to the map
    command: str = ""  # that plays it in a terminal
    path: str = ""  # the same clicks as JSON, for the player of the web page


@dataclass(frozen=True)
class Table:
    """A table. By default, columns of numbers after the first one are right-aligned."""

    caption: str  # printed above; may be empty
    header: Sequence[str]
    rows: Sequence[Sequence[Cell | str]]
    notes: Sequence[str] = ()  # small print below the table
    align: str = ""  # one letter per column, `l` or `r`

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
    """One finding: a problem, a warning, some information, or a check that passed."""

    text: str
    severity: Severity = "info"
    title: str = ""  # what the note is about, such as a page
    label: str = ""  # a word for the kind of finding, by default the severity
    steps: Sequence[str] = ()  # the actions that show it, as literal text
    steps_title: str = "Actions"
    page: str = ""  # the story page that `title` names: the web page links it to the map
    command: str = ""  # that plays it in a terminal
    path: str = ""  # the same clicks as JSON, for the player of the web page
    file: str = ""  # the source file, for GitHub's annotations
    line: int = 0


Block = str | Paragraph | Bullets | Table | Figure | Code | Facts | Note


@dataclass(frozen=True)
class Section:
    """A titled part of a document. `anchor` is its id in HTML, by default made from the title."""

    title: str
    blocks: Sequence[Block]
    anchor: str = ""

    @property
    def id(self) -> str:
        """The section's id in HTML."""
        return self.anchor or _anchor(self.title)


@dataclass(frozen=True)
class Document:
    """A report: a title (empty in a fragment), introductory blocks, then sections."""

    title: str
    blocks: Sequence[Block] = ()
    sections: Sequence[Section] = ()

    def _repr_html_(self) -> str | None:
        try:
            return to_html(self)
        except InputError:  # without Jinja2, a notebook shows the plain text
            return None


def literal(text: str) -> str:
    r"""Escape text so that its backticks and asterisks are no markup.

    >>> literal("2 * 3 ** 4")
    '2 \\* 3 \\*\\* 4'
    """
    return re.sub(r"([\\`*])", r"\\\1", text)


def to_text(
    document: Document, *, width: int = 100, limit: int | None = None, hint: str = ""
) -> str:
    """Write a document as plain text of some width.

    Of a list or table, `limit` items or rows are written; the rest is counted, with a `hint` how to
    see it.

    >>> print(to_text(Document("Cellar", [], [Section("Links", [Bullets(["a → b"])])])))
    Cellar
    <BLANKLINE>
    Links
      - a → b
    """
    return _TextWriter(limit, hint, width).document(document)


def to_markdown(document: Document, *, level: int = 1, limit: int | None = None) -> str:
    r"""Write a document as Markdown (GitHub's flavour), its title as a heading of a `level`.

    >>> print(to_markdown(Document("Cellar", ["A *star*, a `file`."])), end="")
    # Cellar
    <BLANKLINE>
    A \*star\*, a `file`.
    """
    return _MarkdownWriter(limit, level=level).document(document)


def to_html(
    document: Document, *, limit: int | None = None, hint: str = "", contents: bool = False
) -> str:
    """Write a document as an HTML fragment, to be styled by the style `document.css`.

    >>> print(to_html(Document("", ["1 < 2"])))
    <p>1 &lt; 2</p>
    """
    fragment = rendered(
        "blocks.html",
        document=document,
        limit=limit,
        contents=contents,
        rest=_TextWriter(limit, hint).rest,
        inline=_html,
        plain=lambda text: _escape_html(_plain(text)),
        escape=_escape_html,
        cell=_cell,
        groups=_groups,
        drawing=_drawing,
    )
    return fragment.strip()


def to_latex(table: Table) -> str:
    """Write a table as LaTeX for the package booktabs, without emphasis and notes.

    Raises:
        InputError: pandas is not installed.
    """
    pandas = require("pandas")
    rows = [[visible(_plain(_cell(cell).text)) for cell in row] for row in table.rows]
    frame = pandas.DataFrame(rows, columns=[visible(_plain(name)) for name in table.header])
    caption = re.sub(r"([&%$#_{}])", r"\\\1", _plain(table.caption)) or None
    latex: str = frame.to_latex(
        index=False, escape=True, column_format=table.alignment, caption=caption
    )
    return latex


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
            message = one_line(_plain(_titled(block)))
            if block.steps:
                message = f"{message.rstrip('.')}. {block.steps_title}: {_arrows(block.steps)}"
            place = f"file={file},line={max(1, block.line)}"
            yield f"::{levels[block.severity]} {place}::{_escape_command(message)}"


def markdown_block(block: Block) -> str:
    """Write one block as Markdown, to be inserted into another file."""
    return to_markdown(Document("", [block])).rstrip("\n")


def _all_blocks(document: Document) -> Iterator[Block]:
    yield from document.blocks
    for section in document.sections:
        yield from section.blocks


def _groups(blocks: Iterable[Block]) -> Iterator[tuple[str, list[Any]]]:
    """Yield runs of blocks of one kind: notes form a list, figures a row."""
    typed = (Paragraph(block) if isinstance(block, str) else block for block in blocks)
    kinds = (Paragraph, Bullets, Table, Figure, Code, Facts, Note)

    def kind_of(block: Block) -> str:
        return next(kind.__name__ for kind in kinds if isinstance(block, kind))

    for kind, group in itertools.groupby(typed, kind_of):
        yield kind, list(group)


def _cell(cell: Cell | str) -> Cell:
    return Cell(cell) if isinstance(cell, str) else cell


def _titled(note: Note) -> str:
    return f"{note.title}: {note.text}" if note.title else note.text


def _arrows(steps: Sequence[str]) -> str:
    return " → ".join(map(one_line, steps))


def _anchor(title: str) -> str:
    """The id that GitHub gives a heading."""
    text = _plain(title).lower().replace(" ", "-")
    return "".join(letter for letter in text if letter.isalnum() or letter in "-_")


def _escape_command(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_html(text: str) -> Any:
    return safe_markup(html.escape(visible(text)))


def _drawing(figure: Figure) -> Any:
    """The SVG of a figure, with its caption as the words for screen readers."""
    words = _escape_html(_plain(figure.caption))
    return safe_markup(figure.svg.replace(' role="img"', f' role="img" aria-label="{words}"', 1))


def _html(text: str) -> Any:
    tags = {"": "{}", "code": "<code>{}</code>", "bold": "<b>{}</b>"}
    spans = (tags[kind].format(html.escape(content)) for kind, content in _spans(visible(text)))
    return safe_markup("".join(spans))


def _markdown(text: str) -> str:
    parts = []
    for kind, content in _spans(one_line(text)):
        if kind == "code":
            fence = _fence("`", content)
            space = " " if "`" in content else ""
            parts.append(f"{fence}{space}{content}{space}{fence}")
        else:
            mark = "**" if kind == "bold" else ""
            parts.append(f"{mark}{_escape_markdown(content)}{mark}")
    return "".join(parts)


def _markdown_line(text: str) -> str:
    """Escape a text that starts a line, where `#`, `-` or `1.` would start another block."""
    return re.sub(r"^(\d*)([#+=.)-])(?=\s|$|[#=-])", r"\1\\\2", _markdown(text))


def _escape_markdown(text: str) -> str:
    """Escape what Markdown or HTML would read as markup."""
    text = re.sub(r"&(?=#?\w+;)", "&amp;", text).replace("<", "&lt;").replace(">", "&gt;")
    # `_` inside a word is no markup
    return re.sub(r"([\\`*\[\]~]|(?<!\w)_|_(?!\w))", r"\\\1", text)


def _fence(fence: str, content: str) -> str:
    """A fence that is longer than any run of backticks in the content."""
    longest = max(map(len, re.findall("`+", content)), default=0)
    return "`" * max(len(fence), longest + 1)


def _plain(text: str) -> str:
    return "".join(content for _, content in _spans(text))


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


@dataclass
class _TextWriter:
    limit: int | None = None
    hint: str = ""
    width: int = 100
    least_column: int = 20  # characters that a shortened column keeps

    def document(self, document: Document) -> str:
        parts = [self.inline(document.title), self.blocks(document.blocks)]
        inner = replace(self, width=self.width - 2)
        for section in document.sections:
            body = textwrap.indent(inner.blocks(section.blocks), "  ")
            parts.append(f"{self.inline(section.title)}\n{body}")
        return _join(parts)

    def blocks(self, blocks: Iterable[Block]) -> str:
        parts = []
        for kind, group in _groups(blocks):
            if kind == "Note":
                parts.append(self.notes(group))
            elif kind == "Figure":
                parts.append(self.figures(group))
            else:  # such as `paragraph`
                parts += map(getattr(self, kind.lower()), group)
        return _join(parts)

    def rest(self, items: Sequence[object]) -> str:
        """A sentence about the items beyond the limit, if there are any."""
        number = 0 if self.limit is None else len(items) - self.limit
        hint = f" ({self.hint})" if self.hint else ""
        return f"… and {number:,} more{hint}" if number > 0 else ""

    def inline(self, text: str) -> str:
        return one_line(_plain(text))

    def wrap(self, text: str, first: str = "", indent: str = "") -> str:
        """Wrap text between words, so that a long path or command can be copied."""
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
        return _join([*lines, self.rest(bullets.items)], "\n")

    def table(self, table: Table) -> str:
        header = [self.inline(name) for name in table.header]
        rows = [[self.cell(cell) for cell in row] for row in table.rows[: self.limit]]
        widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
        sides = table.alignment
        excess = sum(widths) + 2 * (len(widths) - 1) - self.width
        if excess > 0 and "l" in sides:
            words = (column for column, side in enumerate(sides) if side == "l")
            longest = max(words, key=lambda column: widths[column])
            widths[longest] = max(self.least_column, widths[longest] - excess)

        def line(cells: Sequence[str]) -> str:
            padded = []
            for cell, width, side in zip(cells, widths, sides, strict=True):
                short = _shorten(cell, width)
                padded.append(short.rjust(width) if side == "r" else short.ljust(width))
            return "  ".join(padded).rstrip()

        caption = self.wrap(self.inline(table.caption))
        notes = [self.wrap(self.inline(note)) for note in table.notes]
        grid = [line(header), *map(line, rows)]
        return _join([caption, *grid, self.rest(table.rows), *notes], "\n")

    def cell(self, cell: Cell | str) -> str:
        cell = _cell(cell)
        return _join(map(self.inline, [cell.text, cell.mark, cell.remark]), " ")

    def figures(self, figures: Sequence[Figure]) -> str:
        lines = []
        for figure in figures:
            path = f" ({figure.path})" if figure.path else ""
            lines.append(self.wrap(f"Figure: {self.inline(figure.caption)}{path}"))
        return "\n".join(lines)

    def code(self, code: Code) -> str:
        return textwrap.indent(visible(code.text), "    ")

    def facts(self, facts: Facts) -> str:
        names = [self.inline(fact.name) for fact in facts.items]
        width = max(map(len, names), default=0)
        pairs = zip(names, facts.items, strict=True)
        return "\n".join(f"{name.ljust(width)}  {self.inline(fact.value)}" for name, fact in pairs)

    def notes(self, notes: Sequence[Note]) -> str:
        lines = []
        for note in notes[: self.limit]:
            sign = SIGNS[note.severity]
            lines += self.wrap(f"{sign} {self.inline(_titled(note))}", indent="  ").splitlines()
            if note.command:  # whole, for copying
                command = f"  ▶ {visible(note.command)}"
                fits = len(lines[-1]) + len(command) <= self.width
                lines[-1] += command if fits else f"\n{command}"
            elif note.steps:
                steps = f"{self.inline(note.steps_title)}: {_arrows(note.steps)}"
                lines.append(self.wrap(steps, "  ", "    "))
        return _join([*lines, self.rest(notes)], "\n")


@dataclass
class _MarkdownWriter(_TextWriter):
    level: int = 1

    def document(self, document: Document) -> str:
        title = self.inline(document.title)
        parts = [f"{'#' * self.level} {title}" if title else "", self.blocks(document.blocks)]
        for section in document.sections:
            parts.append(f"{'#' * (self.level + 1)} {self.inline(section.title)}")
            parts.append(self.blocks(section.blocks))
        return _join(parts) + "\n"

    def inline(self, text: str) -> str:
        return _markdown(text)

    def paragraph(self, paragraph: Paragraph) -> str:
        return _markdown_line(paragraph.text)

    def bullets(self, bullets: Bullets) -> str:
        items = [*map(_markdown_line, bullets.items[: self.limit]), self.rest(bullets.items)]
        summary = f"{self.inline(bullets.summary)}:" if bullets.summary else ""
        return _join([summary, _join([f"- {item}" for item in items if item], "\n")])

    def table(self, table: Table) -> str:
        sides = ["---" if side == "l" else "---:" for side in table.alignment]
        rows = [map(self.cell, table.header), sides]
        rows += [map(self.cell, row) for row in table.rows[: self.limit]]
        grid = "\n".join(f"| {' | '.join(row)} |" for row in rows)
        caption = f"**{self.inline(table.caption)}**" if table.caption else ""
        notes = [_markdown_line(note) for note in (self.rest(table.rows), *table.notes)]
        return _join([caption, grid, *notes])

    def cell(self, cell: Cell | str) -> str:
        cell = _cell(cell)
        mark = "**" if cell.bold else ""
        text = f"{mark}{self.inline(cell.text)}{mark}"
        parts = [text, self.inline(cell.mark), self.inline(cell.remark)]
        return _join(parts, " ").replace("|", "\\|")

    def figures(self, figures: Sequence[Figure]) -> str:
        parts = []
        for figure in figures:
            caption = self.inline(figure.caption)
            parts += [f"![{caption}]({visible(figure.path)})" if figure.path else "", caption]
        return _join(parts)

    def code(self, code: Code) -> str:
        fence = _fence("```", code.text)
        return f"{fence}\n{visible(code.text)}\n{fence}"

    def facts(self, facts: Facts) -> str:
        pairs = ((self.inline(fact.name), self.inline(fact.value)) for fact in facts.items)
        return "\n".join(f"- {name}: **{value}**" for name, value in pairs)

    def notes(self, notes: Sequence[Note]) -> str:
        lines = []
        for note in notes[: self.limit]:
            label = f"{self.inline(note.label)}: " if note.label else ""
            title = f"**{self.inline(note.title)}**: " if note.title else ""
            lines.append(f"- {EMOJI[note.severity]} {label}{title}{self.inline(note.text)}")
            if note.steps:
                steps = self.inline(literal(_arrows(note.steps)))
                lines.append(f"  - {self.inline(note.steps_title)}: {steps}")
            if note.command:
                lines.append(f"  - ▶ `{visible(note.command)}`")
        rest = self.rest(notes)
        return _join([*lines, f"- {rest}" if rest else ""], "\n")


def _shorten(text: str, width: int) -> str:
    """The first words of a text, or the start of a text that is one long word."""
    if len(text) <= width:
        return text
    short = textwrap.shorten(text, width, placeholder="…")
    return short if len(short) > width // 2 else text[: width - 1].rstrip() + "…"


def _join(parts: Iterable[str], separator: str = "\n\n") -> str:
    return separator.join(filter(None, parts))
