"""A play-test's report for GitHub Actions: a step summary in Markdown, and annotations on the lines concerned."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from drrn.cli.terminal import one_line
from drrn.stories.playtest.checks import FAILED, Checked
from drrn.stories.playtest.shares import share
from drrn.stories.playtest.story_report import EndingTold, StoryReport
from drrn.stories.playtest.told import (
    clicks,
    coverage_line,
    dead_end_lines,
    estimated,
    failed_first,
    has_best,
    never_reached_lines,
    random_odds,
    score_line,
    sureness,
    thrown,
    untaken_lines,
    untaken_title,
)

MOST_LISTED = 50
MARKS = {"passed": "✅", "failed": "❌", "unsure": "❔"}


def step_summary(report: StoryReport) -> str:
    """The report in Markdown."""
    parts = [f"## {_plain(report.title)}", _plain(sureness(report))]
    if report.expectations:
        rows = ([MARKS[c.status], c.said, c.found] for c in failed_first(report))
        parts.append(_markdown_table(["", "expectation", "found"], rows))
        parts += _items(
            "To see what failed",
            (f"{c.said}. {_shown(c)}" for c in report.expectations if _shown(c)),
        )
    parts.append(_plain(coverage_line(report)))
    if report.endings:
        parts += [_plain(score_line(report)), _endings(report)]
    else:
        parts.append("No ending was found.")
    parts += _items("Passages never reached", never_reached_lines(report))
    parts += _items(untaken_title(report), untaken_lines(report))
    parts += _items("Dead ends", dead_end_lines(report))
    parts += _items("What to do", report.advice)
    parts += _items(
        "Errors thrown", (f"{error.passage}: {thrown(error)}" for error in report.errors)
    )
    parts += _items(
        "Left out, since our own reading of the story does not know it", report.left_out
    )
    parts += _items(
        "Broken links", (f"{link.passage}: {link.what}" for link in report.broken_links)
    )
    return "\n\n".join(part for part in parts if part)


def _shown(checked: Checked) -> str:
    """The clicks that show a failure, if there are any."""
    if checked.status != FAILED or checked.path is None:
        return ""
    return f"{checked.shows}: {clicks(checked.path)}"


def _endings(report: StoryReport) -> str:
    optional = [
        *(["best play"] if has_best(report) else []),
        *(["agent"] if report.agent_games else []),
    ]
    head = ["reward", "random play", *optional, "fewest steps", "ending"]
    return _markdown_table(head, (_row(ending, report) for ending in report.endings))


def _row(ending: EndingTold, report: StoryReport) -> list[str]:
    odds = [random_odds(ending, report)]
    if has_best(report):
        odds.append(share(ending.best or 0.0))
    if report.agent_games:
        odds.append(estimated(ending.agent) if ending.agent and ending.agent.mean else share(0.0))
    return [
        f"{ending.reward:g}",
        *odds,
        str(len(ending.path)),
        ending.name + (" (a dead end)" if report.is_dead_end(ending) else ""),
    ]


def annotated_lines(report: StoryReport, toml: str) -> Iterator[str]:
    """A workflow command for each failed expectation, error and broken link: GitHub shows it at its line."""
    for checked in report.expectations:
        if checked.status == FAILED:
            yield _command(
                "error", toml, checked.line, f"{checked.said}: {checked.found}. {_shown(checked)}"
            )
    if report.left_out:
        what = " ".join([sureness(report).partition(". ")[0] + ".", *report.advice[:1]])
        yield _command("warning", report.source, 1, what)
    for error in report.errors:
        what = f'passage "{error.passage}": {thrown(error)}'
        yield _command("warning", report.source, error.line, what)
    for link in report.broken_links:
        yield _command(
            "warning", report.source, link.line, f'passage "{link.passage}": {link.what}'
        )


def _command(kind: str, file: str, line: int, message: str) -> str:
    return f"::{kind} file={_property(file)},line={line}::{_data(one_line(message))}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _items(title: str, items: Iterable[str]) -> list[str]:
    listed = [f"- {_plain(item)}" for item in items]
    more = len(listed) - MOST_LISTED
    rest = [f"- … and {more:,} more"] if more > 0 else []
    return (
        [f"### {title} ({len(listed)})\n\n" + "\n".join(listed[:MOST_LISTED] + rest)]
        if listed
        else []
    )


def _markdown_table(head: list[str], rows: Iterable[Iterable[str]]) -> str:
    lines = [head, ["---"] * len(head), *([_plain(cell) for cell in row] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _plain(text: str) -> str:
    """Text in which a story's own characters are no markup."""
    line = one_line(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    for character in "\\`*_[]|":
        line = line.replace(character, f"\\{character}")
    return line
