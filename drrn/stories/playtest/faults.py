"""Finds the problems of a story in its findings.

To add a kind of problem, name it in `rules.PROBLEM_KINDS` and its function in `DETECTORS`.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace

from drrn.stories.hosted.variables import is_shared
from drrn.stories.playtest.coverage import Source
from drrn.stories.playtest.evidence import Evidence
from drrn.stories.playtest.findings import BEHIND, ERROR, FAILED, LOOP, PASSED, Findings, Problem
from drrn.stories.playtest.source_checks import SOURCE_CHECKS
from drrn.writing import counted, one_line

EXPECTATION = "expectation"
# Kinds that explain why an expectation fails.
EXPLAINS = ("trap", "loop", "unreachable", "condition", "thrown error", "error page")
# A macro, a variable, or a name in JavaScript's errors.
CODE_NAME = re.compile(r"<<[\w=-]+|\{[\w.]+|\([\w-]+:|\$\w+|(?<=')\w+(?=')|\w+(?= is not )")
MAX_EQUAL = 3  # errors with the same text that are reported one by one

Detector = Callable[[Source, Evidence, Findings], Iterator[Problem]]


def with_problems(source: Source, evidence: Evidence, findings: Findings) -> Findings:
    """Return findings with their problems, except those that the TOML allows."""
    problems = [one for detect in DETECTORS for one in detect(source, evidence, findings)]
    allowed = [one for one in problems if source.rules.allows(one.kind, one.passage)]
    rest = [one for one in problems if one not in allowed]
    rest = _merged(_grouped(rest, source), findings)
    if not findings.has_lines:
        rest = [one if one.kind == EXPECTATION else replace(one, line=None) for one in rest]
    problems = sorted(dict.fromkeys(rest), key=lambda one: one.order)
    count = findings.allowed + len(allowed)
    return replace(findings, problems=tuple(problems), allowed=count)


def _grouped(problems: list[Problem], source: Source) -> list[Problem]:
    """Report an error once that a header, footer or side bar shows on several passages."""
    errors = [one for one in problems if one.kind in ("error page", "thrown error")]
    result = [one for one in problems if one not in errors]
    texts = {name: passage.text for name, passage in source.story.passages.items()}
    for error in dict.fromkeys(one.text for one in errors):
        group = [one for one in errors if one.text == error]
        names = CODE_NAME.findall(error)
        counts = {passage: sum(name in text for name in names) for passage, text in texts.items()}
        own = [one for one in group if counts.get(one.passage)]  # on others it is only seen
        rest = [one for one in group if one not in own]
        shared = [name for name in texts if counts[name] and is_shared(source.story.passages[name])]
        is_everywhere = rest and (shared or (not own and len(rest) > MAX_EQUAL))
        if len(group) == 1 or not is_everywhere:
            result += own or rest
            continue
        problem = replace(rest[0], text=f"{error} (on {counted(len(rest), 'passage')})")
        if shared:
            cause = max(shared, key=counts.__getitem__)
            problem = replace(problem, passage=cause, line=source.story.passages[cause].line)
        result += [*own, problem]
    return result


def _merged(problems: list[Problem], findings: Findings) -> list[Problem]:
    """Report a failed expectation together with the problem that explains it."""
    checks = [check for check in findings.expectations if check.status == FAILED]
    failed = {check.passage: check for check in checks if check.passage}
    merged = []
    lines = set()
    for problem in problems:
        check = failed.get(problem.passage) if problem.kind in EXPLAINS else None
        if check is not None:
            lines.add(check.line)
            text = f"{problem.text} (expected: {check.expectation})"
            merged.append(replace(problem, text=text, severity="error"))
        else:
            merged.append(problem)
    return [one for one in merged if one.kind != EXPECTATION or one.line not in lines]


def failed_expectations(
    source: Source, evidence: Evidence, findings: Findings
) -> Iterator[Problem]:
    """Yield the expectations that fail, and those that are undecided."""
    for check in findings.expectations:
        if check.status != PASSED:
            text = f"expected: {check.expectation}; {check.result}"
            problem = Problem(EXPECTATION, text, "", check.line, check.path)
            yield problem if check.status == FAILED else replace(problem, severity="warning")


def broken_links(source: Source, evidence: Evidence, findings: Findings) -> Iterator[Problem]:
    errors = {key.passage: record.path for key, record in evidence.endings.items()}
    for issue in findings.broken_links:
        path = errors.get(issue.targets[0]) if issue.targets else None
        path = path or evidence.passages.get(issue.passage)
        yield Problem("broken link", issue.what, issue.passage, issue.line, path)


def thrown_errors(source: Source, evidence: Evidence, findings: Findings) -> Iterator[Problem]:
    for issue in findings.errors:
        if not findings.is_broken_link(issue):
            line = issue.line or None
            what = re.sub(r"^(?=\w*Error: )", "the story's code fails: ", issue.what)
            yield Problem("thrown error", what, issue.passage, line, issue.path)


def dead_ends(source: Source, evidence: Evidence, findings: Findings) -> Iterator[Problem]:
    """Yield error pages, traps and loops, except pages that a problem above explains."""
    known = {issue.passage for issue in findings.errors}
    known |= {passage for passage, *_ in evidence.faults}
    loops = []
    for issue in findings.dead_ends:
        line = source.pages.get(issue.passage)
        if issue.passage in known or findings.is_broken_link(issue):
            continue
        if issue.kind == ERROR:
            yield Problem(ERROR, issue.what, issue.passage, line, issue.path)
        elif issue.kind != LOOP:
            yield Problem(issue.kind, issue.what, issue.passage, line, issue.path, "warning")
        elif not findings.follows_error(issue):
            loops.append(issue)
    if loops:
        first = loops[0]
        more = f", nor from {counted(len(loops) - 1, 'other passage')}" if len(loops) > 1 else ""
        text = f"no ending can be reached from here{more}"
        line = source.pages.get(first.passage)
        yield Problem(LOOP, text, first.passage, line, first.path, "warning")


def unreachable(source: Source, evidence: Evidence, findings: Findings) -> Iterator[Problem]:
    """Yield passages that cannot be reached, but not those that are behind one of them."""
    unreached = {issue.passage for issue in findings.never_reached}
    links = {name: source.links.get(name, set()) & unreached for name in unreached}
    behind: set[str] = set()
    for issue in sorted(findings.never_reached, key=lambda issue: issue.kind == BEHIND):
        is_behind = issue.kind == BEHIND and issue.passage in behind
        if is_behind or not (findings.exact or issue.is_sure):
            continue
        hidden = _reached_from(issue.passage, links) - behind
        behind |= hidden
        more = len(hidden - {issue.passage})
        rest = f"; behind it: {counted(more, 'passage')}" if more else ""
        kind = "condition" if issue.path is not None else "unreachable"
        text = one_line(f"{issue.what}{rest}")
        yield Problem(kind, text, issue.passage, issue.line, issue.path, "warning")


def _reached_from(start: str, links: dict[str, set[str]]) -> set[str]:
    names = {start}
    queue = [start]
    while queue:
        new = links.get(queue.pop(), set()) - names
        names |= new
        queue.extend(new)
    return names


DETECTORS: tuple[Detector, ...] = (
    failed_expectations,
    broken_links,
    thrown_errors,
    dead_ends,
    unreachable,
    *SOURCE_CHECKS,
)
