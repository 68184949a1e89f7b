"""Sections of the report with details: words, numbers at the end, variables, tags, choices."""

from collections.abc import Iterator, Sequence

from drrn import document as doc
from drrn.document import Section, literal
from drrn.stories.playtest.findings import Findings
from drrn.writing import counted, one_line

MAX_NAMES = 6  # of passages in a cell


def detail_sections(findings: Findings) -> Iterator[Section]:
    """Yield the sections; those without blocks are left out."""
    if words := findings.words:
        counts = f"shortest {words.least:,.0f}, mean {words.mean:,.0f}, longest {words.most:,.0f}"
        games = f"of {counted(words.games, 'random game')} with an end"
        yield Section("Words per play-through", [f"{counts} ({games})."])
    header = ["variable", "ending", "games", "least", "median", "mean", "most"]
    rows: list[list[doc.Cell | str]] = []
    for one in findings.numbers:
        cells = [f"{number:,.4g}" for number in (one.least, one.median, one.mean, one.most)]
        rows.append([literal(one.name), literal(one.ending or "all"), f"{one.games:,}", *cells])
    yield _table("Numbers at the end", header, rows)
    uses = findings.uses.items()
    rows = [[literal(name), _names(use.set_in), _names(use.read_in)] for name, use in uses]
    yield _table("Where variables are used", ["variable", "set in", "read in"], rows, "lll")
    tags = [doc.Bullets([literal(tag) for tag in findings.unused_tags])]
    yield Section("Tags that nothing refers to", tags if findings.unused_tags else [])
    rows = []
    for choice in findings.choices:
        targets = [f"{name} ({count:,})" for name, count in choice.leads_to.items()]
        cells = [literal(one_line(choice.choice)), f"{choice.offered:,}", _names(targets)]
        rows.append([doc.Cell(literal(choice.passage), page=choice.passage), *cells])
    header = ["passage", "choice", "offered", "leads to (how often)"]
    games = counted(findings.games + findings.cut_short, "random game")
    yield _table(f"Choices of {games}", header, rows, "llrl")


def _table(
    title: str, header: list[str], rows: Sequence[Sequence[doc.Cell | str]], align: str = ""
) -> Section:
    return Section(title, [doc.Table("", header, rows, align=align)] if rows else [])


def _names(names: Sequence[str]) -> str:
    more = len(names) - MAX_NAMES
    rest = f" and {more:,} more" if more > 0 else ""
    return literal(", ".join(names[:MAX_NAMES]) + rest)
