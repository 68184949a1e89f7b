"""A play-test's report as text for a terminal: wrapped at its width, with hard words explained where they stand."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterable

from drrn.authoring.checks import Checked
from drrn.authoring.clicks import ClickPath
from drrn.authoring.dead_ends import LOOP
from drrn.authoring.sampled import SampledValue
from drrn.authoring.shares import share
from drrn.authoring.testing import EndingTold, StoryReport, Thrown
from drrn.cli.show import counted, one_line, table

MOST_CLICKS = 40  # of one path that are printed
MOST_LISTED = 30  # of one list
MOST_LOOPS = 4  # that have a line each
WIDEST = 120


def told_report(report: StoryReport, asked_for: str) -> str:
    """The whole report."""
    width = min(shutil.get_terminal_size((100, 24)).columns, WIDEST)
    parts = [report.title, _wrapped([sureness(report)], width, indent="")]
    parts += _section("Expectations", [_checked(c) for c in report.expectations], width, _verdicts(report))
    parts.append(coverage_line(report))
    never = "Passages never reached" + ("" if report.exact else " so far")
    parts += _section(never, never_reached_lines(report), width, str(len(report.never_reached)))
    parts += _play(report, width)
    parts += _section("Dead ends", dead_end_lines(report), width, str(len(report.dead_ends)))
    parts += _section("What to do", report.advice, width)
    errors = [f"{error.passage}{_line(report, error.line)}: {thrown(error)}" for error in report.errors]
    parts += _section("Errors thrown", errors, width)
    parts += _section("Left out, since our own reading of the story does not know it", report.left_out, width)
    broken = [f"{link.passage}{_line(report, link.line)}: {link.what}" for link in report.broken_links]
    parts += _section("Broken links", broken, width)
    values = [f"{v.variable}: {v.values}" for v in report.variables]
    parts += _section("Values that variables take" + ("" if report.complete else ", as far as seen"), values, width)
    if report.errors or report.dead_ends or report.failed:
        said = f"To see one of these: drrn test {asked_for} --paths FOLDER writes the clicks to each; then "
        parts.append(_wrapped([f"{said}drrn play {asked_for} --path FILE plays them."], width, indent=""))
    return "\n\n".join(part for part in parts if part)


def never_reached_lines(report: StoryReport) -> list[str]:
    """A line for each passage that was never reached and its reason; those behind others stand together."""
    causes = [n for n in report.never_reached if not n.behind]
    lines = [f"{n.passage}{_line(report, n.line)}: {n.why}".rstrip(": ") for n in causes]
    behind = ", ".join(n.passage for n in report.never_reached if n.behind)
    return [*lines, f"and what only passages never reached lead to: {behind}"] if behind else lines


def dead_end_lines(report: StoryReport) -> list[str]:
    """A line for each dead end; loops, where they are many, stand together with the clicks to the nearest."""
    loops = [dead for dead in report.dead_ends if dead.kind == LOOP]
    together = len(loops) > MOST_LOOPS
    alone = [dead for dead in report.dead_ends if not together or dead.kind != LOOP]
    lines = [f"{dead.passage}: {dead.what}. Clicks: {clicks(dead.path)}" for dead in alone]
    if together:
        names = ", ".join(dead.passage for dead in loops)
        lines.append(f"{names}: {loops[0].what}. Clicks to the first: {clicks(loops[0].path)}")
    return lines


def _line(report: StoryReport, line: int) -> str:
    """Where a passage stands; in a published page, lines say nothing."""
    return "" if report.source.lower().endswith((".html", ".htm", ".json")) or not report.source else f" (line {line})"


def sureness(report: StoryReport) -> str:
    """How the numbers were found, and how sure they are."""
    begun = "Stopped early. " if report.interrupted else ""
    if report.exact:
        return f"{begun}Exact: solved from all of its states, not estimated."
    played = f"{counted(report.games, 'random game')} and {counted(report.searched, 'game')} that seek what is new"
    if report.cut_short:
        played = played.replace(" and ", f" ({report.cut_short:,} more cut short by the clock) and ", 1)
    if report.agent_games:
        learned = f"an agent that had learned from {counted(report.agent_learned_from, 'game')}"
        played = played.replace(" and ", ", ") + f" and {counted(report.agent_games, 'game')} by {learned}"
    why = f" Not exact, since {report.why_not}." if report.why_not else ""
    return (
        f"{begun}Estimated in {report.seconds:.0f} seconds from {played}: shares stand with their standard error (±), "
        f"counts are lower bounds.{why}"
    )


def coverage_line(report: StoryReport) -> str:
    """Passages and links covered, in one line."""
    if not report.passages.total:
        return ""
    passages = f"{report.passages.seen:,} of {report.passages.total:,} passages"
    least = "" if report.complete or report.links.seen == report.links.total else "at least "
    links = f", {least}{report.links.seen:,} of {report.links.total:,} links" if report.links.total else ""
    return f"Covered: {passages}{links}"


def _verdicts(report: StoryReport) -> str:
    statuses = [checked.status for checked in report.expectations]
    return ", ".join(f"{statuses.count(status)} {status}" for status in dict.fromkeys(sorted(statuses)))


def _checked(checked: Checked) -> str:
    path = f" Clicks: {clicks(checked.path)}" if checked.path is not None and checked.status == "failed" else ""
    return f"{checked.status.upper():<6} {checked.said}: {checked.found}.{path}"


def _play(report: StoryReport, width: int) -> list[str]:
    """What best and random play come to, and the endings."""
    said = [score_line(report)] if report.endings else []
    if report.stopped and report.stopped.mean and report.endings:
        where = "comes to where no ending can be reached" if report.exact else "met the step limit before any ending"
        said.append(f"Random play {where}: {estimated(report.stopped)}.")
    parts = [_wrapped(said, width, indent="")]
    if not report.endings:
        none = "none" if report.exact else "none was found in the time"
        return [*parts, f"Endings: {none}; every page that was seen leads on"]
    optional = [*(["best play"] if _has_best(report) else []), *(["agent"] if report.agent_games else [])]
    head = ["reward", "random play", *optional, "steps", "ending"]
    rows = [_row(ending, report) for ending in report.endings]
    room = max(20, width - 2 - len(table([row[:-1] for row in rows], header=head[:-1]).splitlines()[0]) - 6)
    rows = [[*row[:-1], _cut(str(row[-1]), room)] for row in rows]
    parts.append(f"Endings ({len(rows)})\n" + textwrap.indent(table(rows, header=head), "  "))
    ways = [f"{_name(ending)}: {clicks(ending.path)}" for ending in report.endings]
    title = "Shortest way to each ending" if report.exact else "Shortest way found to each ending"
    return [*parts, *_section(title, ways, width)]


def _has_best(report: StoryReport) -> bool:
    return report.exact and not report.all_pay_alike


def score_line(report: StoryReport) -> str:
    """What the best ending and random play pay."""
    best, random, steps = report.best_final_reward, report.random_final_reward, report.random_steps
    if report.all_pay_alike:
        most = "No ending pays more than another (an [[ending]] in the TOML says what it is worth)"
    else:
        most = f"Best play pays {best:g} on average" if report.exact else f"The best ending found pays {best:g}"
    if random is None:
        return f"{most}; no random game was played to its end."
    length = "may go on for ever" if steps is None else f"takes {_number(steps)} steps on average"
    agent = report.agent_final_reward
    learned = f" An agent that had little time to learn gets {_number(agent)}." if agent else ""
    return f"{most}; random play pays {_number(random)} and {length}.{learned}"


def _row(ending: EndingTold, report: StoryReport) -> list[object]:
    row: list[object] = [ending.reward, _odds(ending, report)]
    if _has_best(report):
        row.append(share(ending.best or 0.0))
    if report.agent_games:
        row.append(estimated(ending.agent) if ending.agent and ending.agent.mean else share(0.0))
    words = f"  “{one_line(ending.last_words)}”" if ending.last_words else ""
    return [*row, len(ending.path), f"{_name(ending)}{words}"]


def _odds(ending: EndingTold, report: StoryReport) -> str:
    if ending.random is None:
        return "?"
    if not report.exact and ending.random.mean == 0:
        return f"below {share(3 / report.games)}" if report.games > 3 else "?"
    return estimated(ending.random)


def _name(ending: EndingTold) -> str:
    return ending.name


def estimated(value: SampledValue) -> str:
    """A share, with its standard error where it has one."""
    return f"{share(value.mean)} ± {share(value.error)}" if value.error else share(value.mean)


def _number(value: SampledValue) -> str:
    return f"{value.mean:,.2f} ± {value.error:,.2f}" if value.error else f"{value.mean:,.2f}"


def clicks(path: ClickPath) -> str:
    """The actions of a path; where chance decides what a click leads to, how likely that is."""
    if not path.actions:
        return "none: it is there from the start"
    said = []
    for number, action in enumerate(path.actions[:MOST_CLICKS]):
        chance = path.chances[number] if path.chances else 1.0
        said.append(one_line(action) + (f" [by chance, {share(chance)}]" if chance < 1 - 1e-12 else ""))
    more = len(path) - MOST_CLICKS
    end = f" → … and {more:,} more" if more > 0 else ""
    seed = f" (seed {path.seed})" if path.seed is not None else ""
    return " → ".join(said) + end + seed


def thrown(error: Thrown) -> str:
    """What was thrown, and the clicks that lead there."""
    return f"{error.what.rstrip('.')}. Clicks: {clicks(error.path)}"


def _section(title: str, items: Iterable[str], width: int, beside: str = "") -> list[str]:
    listed = list(items)
    if not listed:
        return []
    more = len(listed) - MOST_LISTED
    shown = [*listed[:MOST_LISTED], *([f"… and {more:,} more (all of them: --format json)"] if more > 0 else [])]
    return [f"{title} ({beside or len(listed)})\n{_wrapped(shown, width)}"]


def _wrapped(items: Iterable[str], width: int, indent: str = "  ") -> str:
    lines = (
        textwrap.fill(
            one_line(item),
            width,
            initial_indent=indent,
            subsequent_indent=indent + "  " * bool(indent),
            break_on_hyphens=False,
            break_long_words=False,  # a command can be copied
        )
        for item in items
    )
    return "\n".join(lines)


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"
