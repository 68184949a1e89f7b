"""A play-test's report in sentences: what the terminal, a job's summary and the page have in common."""

from __future__ import annotations

from drrn.stories.playtest.checks import FAILED, PASSED, UNSURE, Checked
from drrn.stories.playtest.clicks import ClickPath
from drrn.stories.playtest.dead_ends import LOOP
from drrn.stories.playtest.sampled import SampledValue
from drrn.stories.playtest.shares import share
from drrn.stories.playtest.story_report import EndingTold, StoryReport, Thrown
from drrn.writing import counted, one_line

MOST_CLICKS = 40  # of one path that are printed
MOST_LOOPS = 4  # that have a line each


def never_reached_lines(report: StoryReport) -> list[str]:
    """A line for each passage that was never reached and its reason; those behind others stand together."""
    causes = [n for n in report.never_reached if not n.behind]
    lines = [f"{n.passage}{line_of(report, n.line)}: {n.why}".rstrip(": ") for n in causes]
    behind = ", ".join(n.passage for n in report.never_reached if n.behind)
    return [*lines, f"and what only passages never reached lead to: {behind}"] if behind else lines


def failed_first(report: StoryReport) -> list[Checked]:
    """The expectations: those that failed, those that are unsure, those that hold."""
    return sorted(
        report.expectations, key=lambda checked: (FAILED, UNSURE, PASSED).index(checked.status)
    )


def untaken_title(report: StoryReport) -> str:
    """What the list of links that were not taken is called."""
    return (
        "Links whose condition never held"
        if report.complete
        else "Links not seen to be taken so far"
    )


def untaken_lines(report: StoryReport) -> list[str]:
    """A line for each passage with links that were not taken, though where they lead was reached by others."""
    return [
        f"{u.passage}{line_of(report, u.line)}: to {', '.join(u.targets)}"
        for u in report.links_untaken
    ]


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


def line_of(report: StoryReport, line: int) -> str:
    """Where a passage stands; in a published page, lines say nothing."""
    return (
        ""
        if report.source.lower().endswith((".html", ".htm", ".json")) or not report.source
        else f" (line {line})"
    )


def sureness(report: StoryReport) -> str:
    """How the numbers were found, and how sure they are."""
    begun = "Stopped early. " if report.interrupted else ""
    if report.left_out:
        begun = f"Played without parts that our own reading does not know (see Left out), so much may differ. {begun}"
    if report.exact:
        return f"{begun}Exact: solved from all of its states, not estimated."
    played = f"{counted(report.games, 'random game')} and {counted(report.searched, 'game')} that seek what is new"
    if report.cut_short:
        played = played.replace(
            " and ", f" ({report.cut_short:,} more cut short by the clock) and ", 1
        )
    if report.agent_games:
        learned = f"an agent that had learned from {counted(report.agent_learned_from, 'game')}"
        played = (
            played.replace(" and ", ", ")
            + f" and {counted(report.agent_games, 'game')} by {learned}"
        )
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
    links = (
        f", {least}{report.links.seen:,} of {report.links.total:,} links"
        if report.links.total
        else ""
    )
    late = " (there was no time to look at every link)" if least and report.exact else ""
    return f"Covered: {passages}{links}{late}"


def has_best(report: StoryReport) -> bool:
    """Whether best play is known, and differs from any other."""
    return report.exact and not report.all_pay_alike


def score_line(report: StoryReport) -> str:
    """What the best ending and random play pay."""
    best = report.best_final_reward
    random = report.random_final_reward
    steps = report.random_steps
    length = (
        "may go on for ever" if steps is None else f"takes {number_told(steps)} steps on average"
    )
    if report.all_pay_alike:
        most = "No ending pays more than another (an [[ending]] in the TOML says what it is worth)"
        return (
            f"{most}; random play {length}."
            if random
            else f"{most}; no random game was played to its end."
        )
    most = (
        f"Best play pays {best:g} on average"
        if report.exact
        else f"The best ending found pays {best:g}"
    )
    if random is None:
        return f"{most}; no random game was played to its end."
    agent = report.agent_final_reward
    learned = f" An agent that had little time to learn gets {number_told(agent)}." if agent else ""
    return f"{most}; random play pays {number_told(random)} and {length}.{learned}"


def random_odds(ending: EndingTold, report: StoryReport) -> str:
    """How likely random play ends so; where no game did, below what."""
    if ending.random is None:
        return "?"
    if not report.exact and ending.random.mean == 0:
        return f"below {share(3 / report.games)}" if report.games > 3 else "?"
    return estimated(ending.random)


def estimated(value: SampledValue) -> str:
    """A share, with its standard error where it has one."""
    return f"{share(value.mean)} ± {share(value.error)}" if value.error else share(value.mean)


def number_told(value: SampledValue) -> str:
    """A number, with its standard error where it has one."""
    return f"{value.mean:,.2f} ± {value.error:,.2f}" if value.error else f"{value.mean:,.2f}"


def clicks(path: ClickPath) -> str:
    """The actions of a path; where chance decides what a click leads to, how likely that is."""
    if not path.actions:
        return "none: it is there from the start"
    said = []
    for number, action in enumerate(path.actions[:MOST_CLICKS]):
        chance = path.chances[number] if path.chances else 1.0
        said.append(
            one_line(action) + (f" [by chance, {share(chance)}]" if chance < 1 - 1e-12 else "")
        )
    more = len(path) - MOST_CLICKS
    end = f" → … and {more:,} more" if more > 0 else ""
    seed = f" (seed {path.seed})" if path.seed is not None else ""
    return " → ".join(said) + end + seed


def thrown(error: Thrown) -> str:
    """What was thrown, and the clicks that lead there."""
    return f"{error.what.rstrip('.')}. Clicks: {clicks(error.path)}"
