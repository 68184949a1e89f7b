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

from drrn.errors import InputError
from drrn.pages import rendered, safe_markup
from drrn.writing import one_line, visible

MISSING = "—"  # a cell without a value
SPANS = re.compile(r"`((?:\\[\\`*]|[^`])*)`|\*\*((?:\\[\\`*]|[^\\])+?)\*\*|\\([\\`*])")
ESCAPED = re.compile(r"\\([\\`*])")
NO_BREAK_SPACE = "\N{NO-BREAK SPACE}"
PERCENTAGE = re.compile(r"(?:[<>±≥≤] )?[\d.,]+ %")  # never split over two lines
MIN_COLUMN = 20  # characters that a shortened column of the terminal keeps

LATEX_SIGNS = {sign: f"\\{sign}" for sign in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
}
SIGNS = {"problem": "✗", "warning": "!", "info": "·", "success": "✓"}  # of notes in a terminal

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
    command: str = ""  # that plays it in a terminal
    path: str = ""  # the same clicks as JSON, for the player of the web page


@dataclass(frozen=True)
class Table:
    """A table; by default, columns of numbers after the first one are on the right."""

    caption: str  # printed above; may be empty
    header: Sequence[str]
    rows: Sequence[Sequence[Cell | str]]
    notes: Sequence[str] = ()  # small print below the table
    align: str = ""  # one letter per column, `l` or `r`
    muted: Sequence[str] = ()  # names of the columns that HTML prints in grey

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


def to_markdown(
    document: Document, *, level: int = 1, limit: int | None = None, contents: bool = False
) -> str:
    r"""Write a document as Markdown (GitHub's flavour); `level` is that of the title's heading.

    >>> print(to_markdown(Document("Cellar", ["A *star*, a `file`."])), end="")
    # Cellar
    <BLANKLINE>
    A \*star\*, a `file`.
    """
    text = rendered(
        "blocks.md",
        document=document,
        level=level,
        limit=limit,
        contents=contents,
        rest=_TextWriter(limit).rest,
        inline=_markdown,
        line=_markdown_line,
        row=_markdown_row,
        steps=lambda steps: _markdown(literal(_arrows(steps))),
        fence=lambda text: _fence("```", text),
        anchor=_anchor,
        groups=_groups,
    )
    return text.lstrip("\n")


def to_html(
    document: Document, *, limit: int | None = None, hint: str = "", contents: bool = False
) -> str:
    """Write a document as an HTML fragment; `drrn/pages/static/document.css` styles it.

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


def to_latex(document: Document) -> str:
    r"""Write the text and the tables of a document as LaTeX; it needs the package booktabs.

    >>> print(to_latex(Document("", [Table("", ["game", "score"], [["a_b", "50 %"]])])), end="")
    \begin{tabular}{lr}
    \toprule
    game & score \\
    \midrule
    a\_b & 50 \% \\
    \bottomrule
    \end{tabular}
    """
    parts = [f"\\section*{{{_latex(document.title)}}}"] if document.title else []
    parts += [_latex_block(block) for block in document.blocks]
    for section in document.sections:
        parts.append(f"\\subsection*{{{_latex(section.title)}}}")
        parts += [_latex_block(block) for block in section.blocks]
    return "\n\n".join(filter(None, parts)) + "\n"


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


def figures(document: Document) -> list[Figure]:
    """Return the figures of a document, in their order."""
    return [block for block in _all_blocks(document) if isinstance(block, Figure)]


def _all_blocks(document: Document) -> Iterator[Block]:
    yield from document.blocks
    for section in document.sections:
        yield from section.blocks


def _groups(blocks: Iterable[Block]) -> Iterator[tuple[str, list[Any]]]:
    """Yield runs of blocks of one kind: notes form a list, figures a row."""
    typed = (Paragraph(block) if isinstance(block, str) else block for block in blocks)
    for kind, group in itertools.groupby(typed, _kind):
        yield kind, list(group)


def _kind(block: Block) -> str:
    for kind in (Paragraph, Bullets, Table, Figure, Code, Facts, Note):
        if isinstance(block, kind):
            return kind.__name__
    raise TypeError(f"{type(block).__name__} is not a block of a document")


def _cell(cell: Cell | str) -> Cell:
    return Cell(cell) if isinstance(cell, str) else cell


def _titled(note: Note) -> str:
    return f"{note.title}: {note.text}" if note.title else note.text


def _arrows(steps: Sequence[str]) -> str:
    return " → ".join(map(one_line, steps))


def _anchor(title: str) -> str:
    """Return the id that GitHub gives a heading."""
    text = _plain(title).lower().replace(" ", "-")
    return "".join(letter for letter in text if letter.isalnum() or letter in "-_")


def _escape_command(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_html(text: str) -> Any:
    return safe_markup(html.escape(visible(text)))


def _drawing(figure: Figure) -> Any:
    """Return the SVG of a figure, with its caption as the words for screen readers."""
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


def _markdown_row(row: Sequence[Cell | str]) -> str:
    texts = []
    for cell in map(_cell, row):
        mark = "**" if cell.bold else ""
        parts = [f"{mark}{_markdown(cell.text)}{mark}", _markdown(cell.mark)]
        texts.append(_join([*parts, _markdown(cell.remark)], " ").replace("|", "\\|"))
    return f"| {' | '.join(texts)} |"


def _latex_block(block: Block) -> str:
    """Return a paragraph or a table; nothing for other blocks."""
    if isinstance(block, (str, Paragraph)):
        return _latex(block if isinstance(block, str) else block.text)
    if not isinstance(block, Table):
        return ""
    rows = []
    for row in block.rows:
        texts = [(_latex(each.text), each.bold) for each in map(_cell, row)]
        rows.append([f"\\textbf{{{text}}}" if bold else text for text, bold in texts])
    lines = [f"\\begin{{tabular}}{{{block.alignment}}}", "\\toprule"]
    lines += [f"{' & '.join(map(_latex, block.header))} \\\\", "\\midrule"]
    lines += [f"{' & '.join(cells)} \\\\" for cells in rows]
    tabular = "\n".join([*lines, "\\bottomrule", "\\end{tabular}"])
    notes = "\\par ".join(map(_latex, block.notes))
    if not block.caption:
        return "\n".join(filter(None, [tabular, notes]))
    caption = f"\\caption{{{_latex(block.caption)}}}"
    body = "\n".join(filter(None, [caption, tabular, notes]))
    return f"\\begin{{table}}\n\\centering\n{body}\n\\end{{table}}"


def _latex(text: str) -> str:
    """Return a text of a document as LaTeX, with its code and bold spans."""
    marks = {"code": "\\texttt{{{}}}", "bold": "\\textbf{{{}}}", "": "{}"}
    return "".join(marks[kind].format(_escape_latex(visible(each))) for kind, each in _spans(text))


def _escape_latex(text: str) -> str:
    return "".join(LATEX_SIGNS.get(sign, sign) for sign in text)


def _escape_markdown(text: str) -> str:
    """Escape what Markdown or HTML would read as markup; `_` inside a word is none."""
    text = re.sub(r"&(?=#?\w+;)", "&amp;", text).replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*\[\]~]|(?<!\w)_|_(?!\w))", r"\\\1", text)


def _fence(fence: str, content: str) -> str:
    """Return a fence that is longer than any run of backticks in the content."""
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
        """Return a sentence about the items beyond the limit; "" if there are none."""
        number = 0 if self.limit is None else len(items) - self.limit
        hint = f" ({self.hint})" if self.hint else ""
        return f"… and {number:,} more{hint}" if number > 0 else ""

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
            widths[longest] = max(MIN_COLUMN, widths[longest] - excess)

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


def _shorten(text: str, width: int) -> str:
    """Return the first words of a text; a text that is one long word is cut."""
    if len(text) <= width:
        return text
    short = textwrap.shorten(text, width, placeholder="…")
    return short if len(short) > width // 2 else text[: width - 1].rstrip() + "…"


def _join(parts: Iterable[str], separator: str = "\n\n") -> str:
    return separator.join(filter(None, parts))
