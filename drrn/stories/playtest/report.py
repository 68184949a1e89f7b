"""The report of a play-test as a `Document`, from which every format is written.

To add a section to all formats, yield it in `_sections`.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from drrn import document as doc
from drrn.document import Document, Note, Section, literal
from drrn.stories.playtest.clicks import ClickPath
from drrn.stories.playtest.coverage import RULE_OF_THREE
from drrn.stories.playtest.findings import BEHIND, FAILED, LOOP, PASSED, UNSURE, Findings, Issue
from drrn.writing import counted, one_line, percent

MAX_STEPS = 40  # of a path that are printed
MAX_GROUP = 4  # similar issues with a note each; more share one
MAX_ROWS = 300  # of a table of the page
SEVERITIES: dict[str, doc.Severity] = {FAILED: "problem", UNSURE: "warning", PASSED: "success"}


def report(findings: Findings, command: str = "", toml: str = "") -> Document:
    """Build the report of a play-test.

    `command` names the story on the command line, `toml` the file with the expectations.
    """
    sections = [section for section in _sections(findings, command, toml) if section.blocks]
    head = doc.Paragraph(headline(findings), "headline")
    return Document(
        literal(findings.title), [head, certainty(findings), _facts(findings)], sections
    )


def report_fragment(findings: Findings) -> str:
    """Write the report as HTML without a title, for a page that has its own."""
    whole = report(findings)
    head = doc.to_html(Document("", whole.blocks))
    body = doc.to_html(Document("", (), whole.sections), limit=MAX_ROWS)
    return f'<div class="report-head">\n{head}\n</div>\n{body}\n'


def _sections(findings: Findings, command: str, toml: str) -> Iterator[Section]:
    """Yield the sections of the report; those without blocks are left out."""
    so_far = "" if findings.exact else " so far"
    untaken = "Links whose condition never held" if findings.complete else "Links not taken so far"
    yield Section("Expectations", _checks(findings, command, toml))
    dead_ends = len(findings.endings) - findings.intended_endings
    more = f", and {counted(dead_ends, 'dead end')}" if dead_ends else ""
    title = f"Endings ({findings.intended_endings:,}{more})"
    yield Section(title, _endings(findings, command), "endings")
    yield _issues(findings, command, "Errors thrown", findings.errors, "error", annotate=True)
    yield _issues(findings, command, "Dead ends", findings.dead_ends)
    yield Section("What to do", _advice(findings))
    yield _issues(
        findings, command, f"Passages never reached{so_far}", findings.never_reached, "passage"
    )
    yield _issues(findings, command, untaken, findings.untaken_links, "link")
    yield _issues(findings, command, "Broken links", findings.broken_links, "link", annotate=True)
    yield _list("Skipped: not supported by the native interpreter", findings.left_out)
    values = [f"{value.variable}: {value.values}" for value in findings.variables]
    yield _list(f"Values of variables{so_far}", values)
    yield _list("Notes", findings.notes)
    if command and (findings.errors or findings.dead_ends or findings.failed):
        story = literal(command)
        save = f"`drrn test {story} --paths FOLDER` saves the clicks to each of them"
        yield Section("Replay", [f"{save}; `drrn play {story} --path FILE` replays them."])


def _advice(findings: Findings) -> list[Note]:
    file = findings.source if findings.left_out else ""
    severity: doc.Severity = "warning" if findings.left_out else "info"
    lines = map(literal, findings.advice)
    return [Note(line, severity, label="advice", file=file, line=1) for line in lines]


def _list(title: str, items: Sequence[str]) -> Section:
    blocks = [doc.Bullets([literal(item) for item in items])] if items else []
    return Section(f"{title} ({len(items):,})", blocks)


def headline(findings: Findings) -> str:
    """Summarise a play-test: whether expectations hold, what play scores, and what is wrong."""
    sentences = []
    statuses = [check.status for check in findings.expectations]
    if statuses:
        count = counted(len(statuses), "expectation")
        sentences.append(f"{statuses.count(FAILED):,} of {count} failed.")
        if set(statuses) == {PASSED}:
            sentences = [f"All {count} hold." if len(statuses) > 1 else "Its expectation holds."]
    if findings.intended_endings:
        sentences.append(f"{counted(findings.intended_endings, 'ending')}. {scores(findings)}")
    elif findings.endings:
        sentences.append("Every ending is a dead end.")
    elif findings.exact:
        sentences.append("No ending: every page has a link.")
    else:
        sentences.append("No ending was found within the time limit.")
    counts = {
        "error": len(findings.errors),
        "dead end": len(findings.dead_ends),
        "broken link": len(findings.broken_links),
    }
    issues = [counted(count, noun) for noun, count in counts.items() if count]
    if findings.never_reached:
        issues.append(f"{counted(len(findings.never_reached), 'passage')} never reached")
    clean = "No errors, no dead ends, no broken links."
    return " ".join([*sentences, f"To look at: {', '.join(issues)}." if issues else clean])


def certainty(findings: Findings) -> str:
    """Describe how the numbers were obtained."""
    start = ""
    if findings.left_out:
        start = "Unsupported parts were skipped (see below), so results may differ. "
    if findings.interrupted:
        start += "Stopped early. "
    if findings.exact:
        counts = "." if findings.complete else "; links and values of variables are lower bounds."
        return f"{start}Exact: computed from all states, not estimated{counts}"
    games = counted(findings.games, "random game")
    if findings.cut_short:
        games += f" ({findings.cut_short:,} more were stopped by the time limit)"
    searches = f"{counted(findings.searching_games, 'game')} that search for new pages"
    games += f"{',' if findings.agent else ' and'} {searches}"
    if findings.agent:
        lessons = counted(findings.agent_lessons, "game")
        count = counted(findings.agent.games, "game")
        games += f" and {count} by an agent that was trained on {lessons}"
    why = f" Not exact, because {literal(findings.why_not)}." if findings.why_not else ""
    return (
        f"{start}Estimated in {findings.seconds:.0f} seconds from {games}: probabilities have "
        f"their standard error (±), counts are lower bounds.{why}"
    )


def scores(findings: Findings) -> str:
    """Describe what best play, random play and an agent score."""
    random = findings.random
    top = f"The best ending found pays {findings.top_reward:g}"
    if findings.equal_rewards:
        top = "All endings pay the same (an [[ending]] in the TOML sets its reward)"
    elif findings.exact:
        top = f"Best play scores {findings.top_reward:,.2f} on average"
    if random is None:
        return f"{top}; no random game was finished."
    length = f"takes {random.steps} steps on average" if random.steps else "may never end"
    if findings.equal_rewards:
        return f"{top}; random play {length}."
    agent = ""
    if findings.agent:
        agent = f" A briefly trained agent scores {findings.agent.final_reward}."
    return f"{top}; random play scores {random.final_reward} and {length}.{agent}"


def _facts(findings: Findings) -> doc.Facts:
    facts = []
    for noun, covered in (("passages", findings.passages), ("links", findings.links)):
        is_whole = covered.count == covered.total
        is_sure = findings.complete or is_whole or (findings.exact and noun == "passages")
        name = f"{noun} covered{'' if is_sure else ', at least'}"
        if covered.total:
            count = f"{covered.count:,} of {covered.total:,}"
            facts.append(doc.Fact(name, count, "info" if is_whole else "warning"))
    endings = findings.intended_endings
    facts.append(doc.Fact("ending" if endings == 1 else "endings", f"{endings:,}"))
    random = findings.random
    if random and not findings.equal_rewards:
        facts.append(doc.Fact("random play, final reward", f"{random.final_reward.mean:,.2f}"))
    if findings.top_reward is not None and not findings.equal_rewards:
        name = "best play" if findings.exact else "best ending found"
        facts.append(doc.Fact(name, f"{findings.top_reward:,.2f}"))
    if random and random.steps:
        facts.append(doc.Fact("steps of random play", f"{random.steps.mean:,.2f}"))
    counts = [len(findings.errors), len(findings.dead_ends), len(findings.broken_links)]
    severity: doc.Severity = "problem" if any(counts) else "success"
    numbers = " / ".join(f"{count:,}" for count in counts)
    return doc.Facts([*facts, doc.Fact("errors, dead ends, broken links", numbers, severity)])


def _checks(findings: Findings, command: str, toml: str) -> list[Note]:
    order = list(SEVERITIES)
    checks = sorted(findings.expectations, key=lambda check: order.index(check.status))
    return [
        Note(
            f"{literal(check.result)}.",
            SEVERITIES[check.status],
            title=literal(check.expectation),
            label=check.status,
            steps=steps_of(check.path),
            steps_title=check.shows + _seed(check.path),
            **play_fields(check.path, command),
            file=toml,
            line=check.line,
        )
        for check in checks
    ]


def _issues(
    findings: Findings,
    command: str,
    title: str,
    issues: list[Issue],
    label: str = "",
    *,
    annotate: bool = False,
) -> Section:
    """Build a section with a note for each issue; many similar ones share a note."""
    file = findings.source.lower()
    has_lines = bool(file) and not file.endswith((".html", ".htm", ".json"))
    notes = []
    for kind in dict.fromkeys(issue.kind for issue in issues):
        group = [issue for issue in issues if issue.kind == kind]
        together = kind in (BEHIND, LOOP) and len(group) > MAX_GROUP
        for issue in group[:1] if together else group:
            names = ", ".join(other.passage for other in group) if together else issue.passage
            clicks = "Clicks to the first" if together else "Clicks"
            line = f" (line {issue.line})" if issue.line and has_lines and not together else ""
            note = Note(
                literal(issue.what),
                "warning",
                title=literal(names) + line,
                label=kind or label,
                steps=steps_of(issue.path),
                steps_title=f"{clicks}{_seed(issue.path)}",
                **play_fields(issue.path, command),
                page="" if together else issue.passage,
                file=findings.source if annotate else "",
                line=issue.line,
            )
            notes.append(note)
    count = sum(max(1, len(issue.targets)) for issue in issues)
    return Section(f"{title} ({count:,})", notes)


def _endings(findings: Findings, command: str) -> list[doc.Block]:
    if not findings.endings:
        none = "There is none" if findings.exact else "None was found within the time limit"
        return [f"{none}: every page that was seen has a link."]
    blocks: list[doc.Block] = [endings_table(findings, command)]
    unfinished = findings.random.unfinished if findings.random else None
    if unfinished and unfinished.mean:
        why = "reach the step limit before an ending"
        if findings.exact:
            why = "get stuck: no ending is reachable"
        blocks.append(doc.Paragraph(f"{unfinished.percent} of random games {why}.", "note"))
    suffix = "" if findings.exact else " found"
    paths = []
    for ending in findings.endings:
        steps = " → ".join(steps_of(ending.path))
        paths.append(literal(f"{ending.name}: {steps}{_seed(ending.path)}"))
    return [*blocks, doc.Bullets(paths, f"Shortest path{suffix} to each ending")]


def endings_table(findings: Findings, command: str = "") -> doc.Table:
    """Build the table of endings, with the probability of each."""
    header = ["ending", "reward", "random play"]
    if findings.exact and not findings.equal_rewards:
        header.append("best play")
    if findings.agent:
        header.append("agent")
    returns = [ending.returns for ending in findings.endings if ending.returns]
    rewards = [ending.reward for ending in findings.endings if ending.returns]
    if not findings.exact and [one.mean for one in returns] != rewards:
        header.append("return")
    header.append("fewest steps")
    has_rules = findings.unused_rules or any(ending.rule for ending in findings.endings)
    rows = []
    for ending in findings.endings:
        mark = " (no rule)" if has_rules and ending.rule is None else ""
        name = ending.name + (" (dead end)" if findings.is_dead_end(ending) else mark)
        words = f"“{literal(one_line(ending.last_words))}”" if ending.last_words else ""
        cells: dict[str, doc.Cell | str] = {
            "ending": doc.Cell(
                literal(name), remark=words, page=ending.name, **play_fields(ending.path, command)
            ),
            "reward": f"{ending.reward:g}",
            "return": str(ending.returns or ""),
            "fewest steps": "" if ending.path is None else f"{len(ending.path):,}",
        }
        for column, share in (("best play", ending.best), ("agent", ending.agent)):
            cells[column] = doc.Cell(share.percent, bar=share.mean) if share else ""
        odds = "?"
        share = ending.probability
        if share and (findings.exact or share.mean):
            odds = share.percent
        elif findings.games > RULE_OF_THREE:
            odds = f"below {percent(RULE_OF_THREE / findings.games)}"
        cells["random play"] = doc.Cell(odds, bar=share.mean if share else None)
        rows.append([cells[column] for column in header])
    return doc.Table("", header, rows, align="l" + "r" * len(header[1:]))


def steps_of(path: ClickPath | None) -> list[str]:
    """Return the actions of a path, with the probabilities of decisive draws."""
    if path is None:
        return []
    steps = []
    for index, action in enumerate(path.actions[:MAX_STEPS]):
        chance = path.chances[index] if path.chances else 1.0
        draw = f" [by chance, {percent(chance)}]" if chance < 1 - 1e-12 else ""
        steps.append(f"{one_line(action)}{draw}")
    if len(path) > MAX_STEPS:
        steps.append(f"… and {len(path) - MAX_STEPS:,} more")
    return steps or ["none: it is on the first page"]


def play_fields(path: ClickPath | None, story: str) -> dict[str, Any]:
    """Return the fields of a note or cell that has ▶: the clicks, and the command to play them.

    `story` names the story on the command line; "" in the web page, which plays the clicks itself.
    """
    if path is None:
        return {}
    command = ""
    if story and (path.numbers or not path.actions):
        quoted = f'"{story}"' if " " in story else story
        command = f"drrn play {quoted}" + (f" --path {path.numbers}" if path.numbers else "")
    return {"path": json.dumps(asdict(path), ensure_ascii=False), "command": command}


def _seed(path: ClickPath | None) -> str:
    return "" if path is None or path.seed is None else f" (seed {path.seed})"
