"""A play-test's report for a browser: one page that needs nothing else, or the part of it that another page shows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from drrn.pages import rendered, safe_markup
from drrn.stories.playtest.checks import FAILED, PASSED
from drrn.stories.playtest.clicks import ClickPath
from drrn.stories.playtest.shares import share
from drrn.stories.playtest.story_report import EndingTold, StoryReport
from drrn.stories.playtest.told import (
    estimated,
    failed_first,
    has_best,
    line_of,
    random_odds,
    score_line,
    sureness,
    untaken_title,
)
from drrn.writing import counted, one_line

MOST_ROWS = 300  # of one table
MOST_STEPS = 200  # of one path


def report_page(report: StoryReport, asked_for: str, map_svg: str = "") -> str:
    """The whole report as one HTML file; `map_svg` is the map with its own style."""
    return rendered(
        "story_page.html", **_values(report), asked_for=asked_for, map=safe_markup(map_svg)
    )


def report_fragment(report: StoryReport) -> str:
    """The report without its title and its map, for a page that has its own."""
    return rendered("story_report.html", **_values(report))


def _values(report: StoryReport) -> dict[str, Any]:
    """What the templates are filled with."""
    return {
        "report": report,
        "headline": headline_of_test(report),
        "expectations": failed_first(report),
        "sureness": sureness(report),
        "tiles": list(_tiles(report)),
        "endings": [_ending(ending, report) for ending in report.endings[:MOST_ROWS]],
        "has_best": has_best(report),
        "has_agent": bool(report.agent_games),
        "so_far": "" if report.exact else " so far",
        "line_of": lambda line: line_of(report, line),
        "steps": _steps,
        "untaken_title": untaken_title(report),
        "most": MOST_ROWS,
    }


def headline_of_test(report: StoryReport) -> list[str]:
    """What to know first: whether expectations hold, what play pays, and what is wrong."""
    statuses = [checked.status for checked in report.expectations]
    failed = statuses.count(FAILED)
    all_of_them = counted(len(statuses), "expectation")
    said = []
    if statuses:
        held = statuses.count(PASSED)
        hold = f"All {all_of_them} hold." if len(statuses) > 1 else "Its expectation holds."
        said.append(hold if held == len(statuses) else f"{failed:,} of {all_of_them} failed.")
    if report.endings and not report.endings_meant:
        said.append("It has dead ends, and no other ending.")
    elif report.endings:
        said.append(f"{counted(report.endings_meant, 'ending')}. {score_line(report)}")
    else:
        said.append(
            "No ending: every page leads on."
            if report.exact
            else "No ending was found in the time."
        )
    wrong = [
        counted(len(found), noun)
        for found, noun in (
            (report.errors, "error"),
            (report.dead_ends, "dead end"),
            (report.broken_links, "broken link"),
            (report.never_reached, "passage never reached"),
        )
        if found
    ]
    told = ", ".join(wrong).replace("passage never reacheds", "passages never reached")
    return [*said, f"To look at: {told}." if wrong else "No errors, no dead ends, no broken links."]


def _tiles(report: StoryReport) -> Iterable[dict[str, str]]:
    """Numbers that stand side by side above the report."""
    for noun, covered in (("passages", report.passages), ("links", report.links)):
        if covered.total:
            kind = "" if covered.seen == covered.total else "warn"
            least = (
                ""
                if report.complete or not kind or (report.exact and noun == "passages")
                else ", at least"
            )
            yield _tile(f"{covered.seen:,} of {covered.total:,}", f"{noun} covered{least}", kind)
    yield _tile(f"{report.endings_meant:,}", "endings" if report.endings_meant != 1 else "ending")
    if report.random_final_reward and not report.all_pay_alike:
        yield _tile(f"{report.random_final_reward.mean:,.2f}", "random play, final reward")
    if report.best_final_reward is not None and not report.all_pay_alike:
        yield _tile(
            f"{report.best_final_reward:,.2f}", "best play" if report.exact else "best ending found"
        )
    if report.random_steps:
        yield _tile(f"{report.random_steps.mean:,.1f}", "steps of random play")
    wrong = [f"{len(found):,}" for found in (report.errors, report.dead_ends, report.broken_links)]
    yield _tile(
        " / ".join(wrong),
        "errors, dead ends, broken links",
        "good" if set(wrong) == {"0"} else "bad",
    )


def _tile(number: str, words: str, kind: str = "") -> dict[str, str]:
    return {"number": number, "words": words, "kind": kind}


def _ending(ending: EndingTold, report: StoryReport) -> dict[str, Any]:
    return {
        "name": one_line(ending.name),
        "dead": report.is_dead_end(ending),
        "reward": f"{ending.reward:g}",
        "random": random_odds(ending, report),
        "random_share": _bar(ending.random.mean if ending.random else 0.0),
        "best": share(ending.best or 0.0),
        "best_share": _bar(ending.best or 0.0),
        "agent": estimated(ending.agent) if ending.agent and ending.agent.mean else share(0.0),
        "agent_share": _bar(ending.agent.mean if ending.agent else 0.0),
        "last_words": one_line(ending.last_words),
        "path": ending.path,
    }


def _bar(of_all: float) -> str:
    return f"{100 * of_all:.1f}"


def _steps(path: ClickPath) -> list[dict[str, str]]:
    """The clicks of a path; where chance decides what one leads to, how likely that is."""
    chances = path.chances or (1.0,) * len(path)
    return [
        {"action": one_line(action), "chance": share(chance) if chance < 1 - 1e-12 else ""}
        for action, chance in list(zip(path.actions, chances, strict=True))[:MOST_STEPS]
    ]
