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
from storytest.playtest.findings import (
    BEHIND,
    PASSED,
    Ending,
    Findings,
    Issue,
    Problem,
    upper_share,
)
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
    untaken = "Links whose condition never held" if findings.complete else "Links not taken so far"
    title = f"Endings ({findings.intended_endings:,})"
    yield Section(title, _endings(findings, command), "endings")
    yield Section("What to do", _advice(findings.advice))
    yield Section("Coverage", [_facts(findings), certainty(findings)])
    yield Section("What stands in the way", _advice(findings.obstacles))
    reported = {problem.passage for problem in findings.problems}
    unreached = [issue for issue in findings.never_reached if issue.passage not in reported]
    more = "More passages" if len(unreached) < len(findings.never_reached) else "Passages"
    yield _issues(findings, f"{more} never reached{so_far}", unreached)
    yield _issues(findings, untaken, findings.untaken_links)
    yield Section("Expectations that hold", _checks(findings))
    yield _list("Skipped: macros that are not supported", findings.left_out)
    values = [f"{value.variable}: {value.values}" for value in findings.variables]
    yield _list(f"Values of variables{so_far}", values)
    yield from _details(findings)
    yield _list("Notes", findings.notes)


def _advice(lines: Sequence[str]) -> list[Note]:
    return [Note(line, label="advice") for line in map(literal, lines)]


def _list(title: str, items: Sequence[str]) -> Section:
    blocks = [doc.Bullets([literal(item) for item in items])] if items else []
    return Section(f"{title} ({len(items):,})", blocks)


def certainty(findings: Findings) -> str:
    """Describe how the numbers were obtained."""
    start = ""
    if findings.left_out:
        start = "Unsupported parts were skipped (see below), so results may differ. "
    if findings.interrupted:
        start += "Stopped early. "
    if findings.exact:
        more = "; there may be more links and values of variables than are listed."
        counts = "." if findings.complete else more
        return f"{start}Exact: every path through the story was followed{counts}"
    games = counted(findings.games, "random game")
    if findings.cut_short:
        games += f" ({findings.cut_short:,} more stopped by the time limit)"
    searches = f"{counted(findings.searching_games, 'game')} that look for new pages"
    games += f" and {searches}"
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
    elif findings.exact:
        top = f"Best play is worth {findings.top_reward:,.2f} on average"
    if random is None:
        return f"{top}; no random game was finished."
    length = f"takes {random.steps} clicks on average" if random.steps else "may never end"
    if findings.equal_rewards:
        return f"{top}; a random game {length}."
    return f"{top}; a random game is worth {random.final_reward} and {length}."


def _facts(findings: Findings) -> doc.Facts:
    facts = []
    for noun, covered in (("passages", findings.passages), ("links", findings.links)):
        is_whole = covered.count == covered.total
        is_sure = findings.complete or is_whole or (findings.exact and noun == "passages")
        name = f"{noun} covered{'' if is_sure else ', at least'}"
        if covered.total:
            count = f"{covered.count:,} of {covered.total:,}"
            facts.append(doc.Fact(name, count, "info" if is_whole else "warning"))
    return doc.Facts(facts)


def _checks(findings: Findings) -> list[Note]:
    checks = [check for check in findings.expectations if check.status == PASSED]
    return [
        Note(f"{literal(check.result)}.", "success", title=literal(check.expectation), label=PASSED)
        for check in checks
    ]


def _details(findings: Findings) -> Iterator[Section]:
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


def _names(names: Sequence[str], most: int = 6) -> str:
    more = len(names) - most
    rest = f" and {more:,} more" if more > 0 else ""
    return literal(", ".join(names[:most]) + rest)


def _issues(findings: Findings, title: str, issues: list[Issue], most: int = 4) -> Section:
    """Build a section with a note for each issue.

    More than `most` passages behind others share a note.
    """
    notes = []
    for kind in dict.fromkeys(issue.kind for issue in issues):
        group = [issue for issue in issues if issue.kind == kind]
        together = kind == BEHIND and len(group) > most
        for issue in group[:1] if together else group:
            names = ", ".join(other.passage for other in group) if together else issue.passage
            line = f" (line {issue.line})" if findings.has_lines and not together else ""
            note = Note(
                literal(issue.what),
                title=literal(names) + line,
                label=kind,
                steps=steps_of(issue.path),
                steps_title="Clicks to the first" if together else "Clicks",
                page="" if together else issue.passage,
            )
            notes.append(note)
    count = sum(max(1, len(issue.targets)) for issue in issues)
    return Section(f"{title} ({count:,})", notes)


def _endings(findings: Findings, command: str) -> list[doc.Block]:
    if not findings.endings:
        none = "There is none" if findings.exact else "None was found within the time limit"
        return [f"{none}: every page that was seen has a link."]
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
        if findings.exact:
            why = "get stuck: no ending can be reached"
        blocks.append(doc.Paragraph(f"{unfinished.percent} of random games {why}.", "note"))
    suffix = "" if findings.exact else " found"
    paths = [literal(f"{ending.name}: {' → '.join(steps_of(ending.path))}") for ending in endings]
    if paths:
        blocks.append(doc.Bullets(paths, f"Shortest path{suffix} to each ending"))
    return blocks


def endings_table(findings: Findings, command: str = "") -> doc.Table:
    """Build the table of endings, with the probability of each."""
    count = counted(findings.games, "random game")
    games = "random games" if findings.exact else f"of {count}"
    header = ["ending", "worth", games]
    if findings.exact and not findings.equal_rewards:
        header.append("best play")
    returns = [ending.returns for ending in findings.endings if ending.returns]
    rewards = [ending.reward for ending in findings.endings if ending.returns]
    if not findings.exact and [one.mean for one in returns] != rewards:
        header.append("total")
    header.append("fewest clicks")
    has_rules = findings.unused_rules or any(ending.rule for ending in findings.endings)
    rows = []
    for ending in findings.endings:
        if findings.is_dead_end(ending):
            continue
        name = ending.name + (" (not listed)" if has_rules and ending.rule is None else "")
        words = f"“{literal(one_line(ending.last_words))}”" if ending.last_words else ""
        cells: dict[str, doc.Cell | str] = {
            "ending": doc.Cell(
                literal(name), remark=words, page=ending.name, **play_fields(ending.path, command)
            ),
            "worth": f"{ending.reward:g}",
            "total": str(ending.returns or ""),
            "fewest clicks": "" if ending.path is None else f"{len(ending.path):,}",
        }
        if best := ending.best:
            cells["best play"] = doc.Cell(best.percent, bar=best.mean)
        share = ending.probability
        cells[games] = doc.Cell(_odds(ending, findings), bar=share.mean if share else None)
        rows.append([cells[column] for column in header])
    return doc.Table("", header, rows, align="l" + "r" * len(header[1:]))


def _odds(ending: Ending, findings: Findings) -> str:
    """Describe how often random games reach an ending. Without such a game, give a bound."""
    share = ending.probability
    if share and (findings.exact or share.mean):
        return share.percent
    if findings.games and (bound := upper_share(findings.games)) < 1:
        return f"below {percent(bound).lstrip('< ')}"
    return "?"


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


def play_fields(path: ClickPath | None, story: str, most: int = 40) -> dict[str, Any]:
    """The fields of a note or cell with ▶: the clicks and, if a story is named, the command."""
    if path is None:
        return {}
    command = ""
    if story and (path.numbers or not path.actions):
        quoted = shlex.quote(story)
        command = f"storytest play {quoted}" + (f" --path {path.numbers}" if path.numbers else "")
        if len(path) > most:
            command = f"storytest {quoted} --paths FOLDER saves the {len(path):,} clicks"
    return {"path": json.dumps(asdict(path), ensure_ascii=False), "command": command}
