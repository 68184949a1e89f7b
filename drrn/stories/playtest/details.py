"""Sections of the report with details: words, numbers at the end, variables, tags, choices."""

from collections.abc import Iterator, Sequence

from drrn import document as doc
from drrn.document import Section, literal
from drrn.stories.playtest.findings import Findings
from drrn.writing import counted, one_line

MAX_NAMES = 6  # of passages in a cell


def detail_sections(findings: Findings) -> Iterator[Section]:
    """Yield the sections; those without blocks are left out."""
    games = f"of {counted(findings.words.games if findings.words else 0, 'random game')}"
    if words := findings.words:
        counts = f"shortest {words.least:,.0f}, mean {words.mean:,.0f}, longest {words.most:,.0f}"
        yield Section("Words per play-through", [f"{counts} ({games} that reached an ending)."])
    header = ["variable", "ending", "games", "least", "median", "mean", "most"]
    rows: list[list[doc.Cell | str]] = []
    for number in findings.numbers:
        values = number.values
        cells = (values.least, values.median, values.mean, values.most)
        numbers = [f"{cell:,.4g}" for cell in cells]
        name = literal(number.variable)
        rows.append([name, literal(number.ending or "all"), f"{values.games:,}", *numbers])
    yield _table("Numbers at the end", header, rows)
    rows = [[literal(u.variable), _names(u.set_in), _names(u.read_in)] for u in findings.uses]
    yield _table("Where variables are used", ["variable", "set in", "read in"], rows)
    tags = [doc.Bullets([literal(tag) for tag in findings.unused_tags])]
    yield Section("Tags that nothing refers to", tags if findings.unused_tags else [])
    rows = []
    for one in findings.choices:
        cell = doc.Cell(literal(one.passage), page=one.passage)
        targets = [f"{name} ({count:,})" for name, count in one.leads_to.items()]
        counts_of = [f"{one.offered:,}", f"{one.clicked:,}"]
        rows.append([cell, literal(one_line(one.choice)), *counts_of, _names(targets)])
    header = ["passage", "choice", "offered", "clicked", "leads to"]
    yield _table(f"Choices {games}", header, rows)


def _table(title: str, header: list[str], rows: Sequence[Sequence[doc.Cell | str]]) -> Section:
    return Section(title, [doc.Table("", header, rows)] if rows else [])


def _names(names: Sequence[str]) -> str:
    more = len(names) - MAX_NAMES
    rest = f" and {more:,} more" if more > 0 else ""
    return literal(", ".join(names[:MAX_NAMES]) + rest)
