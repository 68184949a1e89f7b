"""The report of a play-test as a `Document`, from which every format is written.

To add a section to all formats, yield it in `_sections`.
"""

import json
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from storytest.playtest.clicks import ClickPath
from storytest.playtest.findings import BEHIND, PASSED, Findings, Problem, listed
from textgames import document as doc
from textgames.document import Document, Note, Section, literal
from textgames.wording import counted, one_line, percent

NOTES: dict[str, doc.Severity] = {"error": "problem", "warning": "warning", "hint": "info"}


def report(findings: Findings, command: str = "", toml: str = "") -> Document:
    """Build the report of a play-test: its problems first, then endings, coverage, details.

    Args:
        findings: What the play-test found.
        command: The story on the command line.
        toml: The file with the expectations.

    Example:
        >>> report(StoryTest(game, seconds=10).run())  # a notebook displays it
    """
    sections = [section for section in _sections(findings, command) if section.blocks]
    blocks: list[doc.Block] = [doc.Paragraph(headline(findings), "headline")]
    if findings.left_out:
        skipped = literal("; ".join(findings.left_out[:3]))
        blocks.append(doc.Paragraph(f"Nothing is proved, because parts differ: {skipped}", "note"))
    blocks += [_problem(problem, findings, command, toml) for problem in findings.problems]
    if findings.allowed:
        allowed = counted(findings.allowed, "problem")
        blocks.append(doc.Paragraph(f"The TOML allows {allowed} more.", "note"))
    return Document(literal(findings.title), blocks, sections)


def report_fragment(findings: Findings, rows: int = 300) -> str:
    """Write the report as HTML without a title, with up to so many rows of each table."""
    whole = report(findings)
    head = doc.to_html(Document("", whole.blocks))
    body = doc.to_html(Document("", (), whole.sections), limit=rows)
    return f'<div class="report-head">\n{head}\n</div>\n{body}\n'


def headline(findings: Findings) -> str:
    """Count what is wrong, then describe the story: endings, passages, expectations."""
    kinds = [problem.severity for problem in findings.problems]
    counts = [counted(kinds.count(one), one) for one in NOTES if one in kinds]
    problems = len(kinds) - kinds.count("hint")
    sentence = "No problems" if findings.exact else "No problems were seen"
    if problems:
        sentence = counted(problems, "problem")
    if problems and kinds.count("error") < len(kinds):
        sentence += f": {', '.join(counts)}"
    elif counts and not problems:
        sentence += f", {counts[0]}"
    endings = findings.intended_endings
    parts = [counted(endings, "ending") if endings else "No ending"]
    if findings.passages.total:
        parts.append(f"{findings.passages.count:,} of {findings.passages.total:,} passages seen")
    holds = sum(check.status == PASSED for check in findings.expectations)
    if findings.expectations:
        count = counted(len(findings.expectations), "expectation")
        verb = "holds" if len(findings.expectations) == 1 else "hold"
        parts.append(f"{holds:,} of {count} {verb}")
    return f"{sentence}. {', '.join(parts)}."


def _problem(problem: Problem, findings: Findings, command: str, toml: str) -> Note:
    is_expectation = problem.kind == "expectation"
    file = Path(toml).name or "TOML"
    place = replace(problem, passage=file).place if is_expectation else problem.place
    return Note(
        literal(problem.text),
        NOTES[problem.severity],
        title=literal(place),
        label=problem.kind,
        steps=steps_of(problem.path),
        steps_title="Clicks",
        page=problem.passage,
        file=toml if is_expectation else _relative(findings.source),
        line=problem.line or 0,
        **play_fields(problem.path, command),
    )


def _relative(file: str) -> str:
    """The path of a file from the current folder, if it is in there."""
    path = Path(file)
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else file


def _sections(findings: Findings, command: str) -> Iterator[Section]:
    so_far = "" if findings.exact else " so far"
    title = f"Endings ({findings.intended_endings:,})"
    yield Section(title, _endings(findings, command), "endings")
    yield Section("Coverage", [_facts(findings), certainty(findings)])
    reported = {problem.passage for problem in findings.problems}
    unseen = [issue for issue in findings.never_reached if issue.passage not in reported]
    behind = [issue.passage for issue in unseen if issue.kind == BEHIND]
    lines = [str(issue) for issue in unseen if issue.kind != BEHIND]
    if behind:
        lines.append(f"behind others: {listed(behind)}")
    yield _list(f"Passages not seen{so_far}", lines, len(unseen))
    checks = [check for check in findings.expectations if check.status == PASSED]
    yield Section(
        "Expectations that hold",
        [
            Note(f"{literal(one.result)}.", "success", title=literal(one.expectation))
            for one in checks
        ],
    )
    yield _list("Skipped", findings.left_out)
    values = [f"{value.variable}: {value.values}" for value in findings.variables]
    yield _list(f"Values of variables{so_far}", values)
    if words := findings.words:
        counts = f"shortest {words.least:,}, mean {words.mean:,.0f}, longest {words.most:,}"
        games = f"of {counted(words.games, 'random game')} with an end"
        yield Section("Words per play-through", [f"{counts} ({games})."])
    uses = [
        [literal(name), literal(listed(use.set_in)), literal(listed(use.read_in))]
        for name, use in findings.uses.items()
    ]
    header = ["variable", "set in", "read in"]
    table = [doc.Table("", header, uses, align="lll")] if uses else []
    yield Section("Where variables are used", table)
    yield _list("Notes", findings.notes)


def _list(title: str, items: Sequence[str], count: int | None = None) -> Section:
    blocks = [doc.Bullets([literal(item) for item in items])] if items else []
    return Section(f"{title} ({len(items) if count is None else count:,})", blocks)


def certainty(findings: Findings) -> str:
    """Describe how the numbers were obtained."""
    start = "Stopped early. " if findings.interrupted else ""
    if findings.is_solved:
        counts = "" if findings.complete else "; there may be more links and values than are listed"
        way = "Exact: every path through the story was followed"
        if not findings.exact:
            way = "Every path was followed through what is left without the skipped parts"
        return f"{start}{way}{counts}."
    games = counted(findings.games, "random game")
    if findings.searching_games:
        games += f" and {counted(findings.searching_games, 'game')} that look for new pages"
    why = f" Not exact, because {literal(findings.why_not)}." if findings.why_not else ""
    return (
        f"{start}Estimated in {findings.seconds:.0f} seconds from {games}: ± says how far a share "
        f"may be off (its standard error), and there may be more than was seen.{why}"
    )


def scores(findings: Findings) -> str:
    """Describe what endings are worth in best play and in random games."""
    random = findings.random
    top = f"The best ending found is worth {findings.top_reward:g}"
    if findings.equal_rewards:
        top = "All endings are worth the same (`reward` in an [[ending]] of the TOML changes that)"
    elif findings.is_solved:
        top = f"Best play is worth {findings.top_reward:,.2f} on average"
    if random is None:
        return f"{top}; no random game was finished."
    length = f"takes {random.steps} clicks on average" if random.steps else "may never end"
    if findings.equal_rewards:
        return f"{top}; a random game {length}."
    return f"{top}; a random game is worth {random.final_reward} and {length}."


def _facts(findings: Findings) -> doc.Facts:
    facts = []
    for name, covered in (("passages", findings.passages), ("links", findings.links)):
        if covered.total:
            count = f"{covered.count:,} of {covered.total:,}"
            severity: doc.Severity = "info" if covered.count == covered.total else "warning"
            facts.append(doc.Fact(f"{name} covered", count, severity))
    return doc.Facts(facts)


def _endings(findings: Findings, command: str) -> list[doc.Block]:
    if not findings.endings:
        none = "There is none" if findings.is_solved else "None was found within the time limit"
        cure = "ends = { passage = … } names the pages that end it, and"
        restart = 'restart = ["^Play again$"] the links that are no choices'
        more = f" In its TOML, {cure} {restart}." if findings.passages.total else ""
        return [literal(f"{none}: every page that was seen has a link.{more}")]
    endings = [ending for ending in findings.endings if not findings.is_dead_end(ending)]
    blocks: list[doc.Block] = []
    if endings:
        blocks += [endings_table(findings, command), scores(findings)]
    shares = [e.probability.mean for e in findings.endings if e not in endings and e.probability]
    if sum(shares):
        share = percent(sum(shares))
        blocks.append(doc.Paragraph(f"{share} of random games end in a problem (above).", "note"))
    unfinished = findings.random.unfinished if findings.random else None
    if unfinished and unfinished.mean:
        why = f"are still without an ending after {findings.max_steps:,} clicks"
        if findings.is_solved:
            why = "get stuck: no ending can be reached"
        blocks.append(doc.Paragraph(f"{unfinished.percent} of random games {why}.", "note"))
    suffix = "" if findings.is_solved else " found"
    paths = [literal(f"{ending.name}: {' → '.join(steps_of(ending.path))}") for ending in endings]
    if paths:
        blocks.append(doc.Bullets(paths, f"Shortest path{suffix} to each ending"))
    return blocks


def endings_table(findings: Findings, command: str = "") -> doc.Table:
    """Build the table of endings, with the probability of each."""
    games = "random games"
    if not findings.is_solved:
        games = f"of {counted(findings.games, 'random game')}"
    header = ["ending", "worth", games]
    if findings.is_solved and not findings.equal_rewards:
        header.append("best play")
    header.append("fewest clicks")
    has_rules = findings.unused_rules or any(ending.rule for ending in findings.endings)
    rows = []
    for ending in findings.endings:
        if findings.is_dead_end(ending):
            continue
        name = ending.name + (" (not listed)" if has_rules and ending.rule is None else "")
        words = f"“{literal(one_line(ending.last_words))}”" if ending.last_words else ""
        share = ending.probability
        cells: dict[str, doc.Cell | str] = {
            "ending": doc.Cell(
                literal(name), remark=words, page=ending.name, **play_fields(ending.path, command)
            ),
            "worth": f"{ending.reward:g}",
            games: doc.Cell(share.percent, bar=share.mean) if share else "?",
            "fewest clicks": "" if ending.path is None else f"{len(ending.path):,}",
        }
        if best := ending.best:
            cells["best play"] = doc.Cell(best.percent, bar=best.mean)
        rows.append([cells[column] for column in header])
    return doc.Table("", header, rows, align="l" + "r" * len(header[1:]))


def steps_of(path: ClickPath | None, most: int = 40) -> list[str]:
    """Typed words and actions of a path, with the probabilities of decisive draws."""
    if path is None:
        return []
    steps = []
    for index, action in enumerate(path.actions[:most]):
        chance = path.chances[index] if path.chances else 1.0
        draw = f" [by chance, {percent(chance)}]" if chance < 1 - 1e-12 else ""
        if words := path.typed[index] if path.typed else "":
            steps.append(f"type “{words}”")
        steps.append(f"{one_line(action)}{draw}")
    if len(path) > most:
        steps.append(f"… and {len(path) - most:,} more")
    return steps or ["none: it is on the first page"]


def play_fields(path: ClickPath | None, story: str) -> dict[str, Any]:
    """The fields of a note or cell with ▶: the clicks and, if a story is named, the command."""
    if path is None:
        return {}
    command = ""
    if story and (path.numbers or not path.actions):
        quoted = shlex.quote(story)
        command = f"storytest play {quoted}" + (f" --path {path.numbers}" if path.numbers else "")
    return {"path": json.dumps(asdict(path), ensure_ascii=False), "command": command}
