"""A play-test's report as text for a terminal: wrapped at its width, with hard words explained where they stand."""

from __future__ import annotations

import re
import shutil
import textwrap
from collections.abc import Iterable

from drrn.cli.terminal import table
from drrn.stories.playtest.checks import Checked
from drrn.stories.playtest.shares import share
from drrn.stories.playtest.story_report import EndingTold, StoryReport
from drrn.stories.playtest.told import (
    clicks,
    coverage_line,
    dead_end_lines,
    estimated,
    failed_first,
    has_best,
    line_of,
    never_reached_lines,
    random_odds,
    score_line,
    sureness,
    thrown,
    untaken_lines,
    untaken_title,
)
from drrn.writing import counted, one_line

MOST_LISTED = 30  # of one list
WIDEST = 120
SHARE = re.compile(r"(?:[<>±] )?[\d.,]+ %")  # which no line ends within
NO_BREAK = "\N{NO-BREAK SPACE}"

Item = str | tuple[str, str]  # of a list; the second of two stands below the first


def told_report(report: StoryReport, asked_for: str) -> str:
    """The whole report."""
    width = min(shutil.get_terminal_size((100, 24)).columns, WIDEST)
    parts = [report.title, _wrapped([sureness(report)], width, indent="")]
    parts += _section(
        "Expectations", [_checked(c) for c in failed_first(report)], width, _verdicts(report)
    )
    parts.append(coverage_line(report))
    never = "Passages never reached" + ("" if report.exact else " so far")
    parts += _section(never, never_reached_lines(report), width, str(len(report.never_reached)))
    parts += _section(untaken_title(report), untaken_lines(report), width, _untaken(report))
    parts += _play(report, width)
    parts += _section("Dead ends", dead_end_lines(report), width, str(len(report.dead_ends)))
    parts += _section("What to do", report.advice, width)
    errors = [
        f"{error.passage}{line_of(report, error.line)}: {thrown(error)}" for error in report.errors
    ]
    parts += _section("Errors thrown", errors, width)
    parts += _section(
        "Left out, since our own reading of the story does not know it", report.left_out, width
    )
    broken = [
        f"{link.passage}{line_of(report, link.line)}: {link.what}" for link in report.broken_links
    ]
    parts += _section("Broken links", broken, width)
    values = [f"{v.variable}: {v.values}" for v in report.variables]
    parts += _section(
        "Values that variables take" + ("" if report.complete else ", as far as seen"),
        values,
        width,
    )
    if report.errors or report.dead_ends or report.failed:
        said = f"To see one of these: drrn test {asked_for} --paths FOLDER writes the clicks to each; then "
        parts.append(
            _wrapped([f"{said}drrn play {asked_for} --path FILE plays them."], width, indent="")
        )
    return "\n\n".join(part for part in parts if part)


def _untaken(report: StoryReport) -> str:
    return f"{sum(len(untaken.targets) for untaken in report.links_untaken):,}"


def _verdicts(report: StoryReport) -> str:
    statuses = [checked.status for checked in report.expectations]
    return ", ".join(
        f"{statuses.count(status)} {status}" for status in dict.fromkeys(sorted(statuses))
    )


def _checked(checked: Checked) -> Item:
    said = f"{checked.status.upper():<6} {checked.said}: {checked.found}."
    if checked.path is None or checked.status != "failed":
        return said
    return said, f"{checked.shows}: {clicks(checked.path)}"


def _play(report: StoryReport, width: int) -> list[str]:
    """What best and random play come to, and the endings."""
    said = [score_line(report)] if report.endings else []
    if report.stopped and report.stopped.mean and report.endings:
        where = (
            "comes to where no ending can be reached"
            if report.exact
            else "met the step limit before any ending"
        )
        said.append(f"Random play {where}: {estimated(report.stopped)}.")
    parts = [_wrapped(said, width, indent="")]
    if not report.endings:
        none = "none" if report.exact else "none was found in the time"
        return [*parts, f"Endings: {none}; every page that was seen leads on"]
    optional = [
        *(["best play"] if has_best(report) else []),
        *(["agent"] if report.agent_games else []),
    ]
    head = ["reward", "random play", *optional, "steps", "ending"]
    rows = [_row(ending, report) for ending in report.endings]
    room = max(
        20, width - 2 - len(table([row[:-1] for row in rows], header=head[:-1]).splitlines()[0]) - 6
    )
    rows = [[*row[:-1], _cut(str(row[-1]), room)] for row in rows]
    dead = len(rows) - report.endings_meant
    count = f"{report.endings_meant}, and {counted(dead, 'dead end')}" if dead else f"{len(rows)}"
    parts.append(f"Endings ({count})\n" + textwrap.indent(table(rows, header=head), "  "))
    ways = [f"{ending.name}: {clicks(ending.path)}" for ending in report.endings]
    title = "Shortest way to each ending" if report.exact else "Shortest way found to each ending"
    return [*parts, *_section(title, ways, width)]


def _row(ending: EndingTold, report: StoryReport) -> list[object]:
    row: list[object] = [ending.reward, random_odds(ending, report)]
    if has_best(report):
        row.append(share(ending.best or 0.0))
    if report.agent_games:
        row.append(estimated(ending.agent) if ending.agent and ending.agent.mean else share(0.0))
    words = f"  “{one_line(ending.last_words)}”" if ending.last_words else ""
    dead = " (a dead end)" if report.is_dead_end(ending) else ""
    return [*row, len(ending.path), f"{ending.name}{dead}{words}"]


def _section(title: str, items: Iterable[Item], width: int, beside: str = "") -> list[str]:
    listed = list(items)
    if not listed:
        return []
    more = len(listed) - MOST_LISTED
    shown = [
        *listed[:MOST_LISTED],
        *([f"… and {more:,} more (all of them: --format json)"] if more > 0 else []),
    ]
    return [f"{title} ({beside or len(listed)})\n{_wrapped(shown, width)}"]


def _wrapped(items: Iterable[Item], width: int, indent: str = "  ") -> str:
    """Items, each wrapped; what follows the first line of one is indented."""
    inner = indent + "  " * bool(indent)
    lines = (
        textwrap.fill(
            SHARE.sub(_together, one_line(line)),
            width,
            initial_indent=inner if number else indent,
            subsequent_indent=inner + "  " * bool(number),
            break_on_hyphens=False,
            break_long_words=False,  # a command can be copied
        )
        for item in items
        for number, line in enumerate((item,) if isinstance(item, str) else item)
    )
    return "\n".join(lines).replace(NO_BREAK, " ")


def _together(share: re.Match[str]) -> str:
    return share[0].replace(" ", NO_BREAK)


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"
