"""Problems that need more than the pages: variables, numbers, files, names, errors on a page.

Each function is a detector of `faults`: it takes the source, the evidence and the findings.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

from drrn.errors import did_you_mean
from drrn.files import home, read_text
from drrn.stories.authored import INK
from drrn.stories.hosted import patterns
from drrn.stories.playtest.coverage import Source
from drrn.stories.playtest.evidence import Evidence
from drrn.stories.playtest.findings import Findings, Problem
from drrn.stories.playtest.variable_uses import VariableUses
from drrn.stories.twine.story import Passage
from drrn.writing import one_line

# Rises of a number's maximum after which it seems to grow without bound: if the story compares it
# with something, which may be a bound, and if not.
MIN_RISES = {True: 100, False: 20}
COMPARED = r"\s*(?:is\s+)?(?:<(?!<)|>(?!>)|lte?\b|gte?\b)"
ADDRESS = re.compile(r"[\w.+-]+:|[/\\]")  # not a relative path
INK_FILE = re.compile(r"(?i)(?:IMAGE|AUDIO|AUDIOLOOP|BACKGROUND)\s*:\s*(.+)")
# A comparison with a negative number or with 0, or a negative value: the author expects them.
EXPECTS_NEGATIVE = (
    r"\s*(?:is\s+)?"
    r"(?:(?:[<>=!]=?=?|lte?|gte?|n?eq|is|to)\s*-\s*\d|(?:<=?|lte?|>=|gte)\s*0(?![\d.]))"
)


def page_faults(source: Source, evidence: Evidence, findings: Findings) -> Iterator[Problem]:
    """Yield the errors and broken links that an engine shows on a page."""
    missing = {target for link in findings.broken_links for target in link.targets}
    for (passage, kind, text), path in evidence.faults.items():
        line = source.pages.get(passage)
        if kind == "broken link" and text not in missing:
            what = f'a link leads to "{text}", which is not a passage'
            yield Problem(kind, what, passage, line, path)
            missing.add(text)
    for (passage, kind, text), path in evidence.faults.items():
        is_explained = any(name in text for name in missing)
        is_escaped = "{" in text and "\\{" in source.story.passages[passage].text  # of Chapbook
        if kind == "error page" and not is_explained and not is_escaped:
            what = f"the page shows an error: {one_line(text)}"
            yield Problem(kind, what, passage, source.pages.get(passage), path)


def duplicates(source: Source, evidence: Evidence, findings: Findings) -> Iterator[Problem]:
    """Yield names that several passages have."""
    for name, line in source.story.duplicates:
        what = "another passage has the same name, and only one of them is played"
        yield Problem("duplicate passage", what, name, line, severity="warning")


def missing_files(source: Source, evidence: Evidence, findings: Findings) -> Iterator[Problem]:
    """Yield pictures and sounds that are not where the story looks for them."""
    path = Path(source.story.source)
    is_uploaded = path.is_relative_to(home() / "serve")  # without its files
    if not source.story.source or not path.exists() or is_uploaded:
        return
    folders = [path, path.parent] if path.is_dir() else [path.parent]
    reported = set(source.story.passages)
    for passage in source.story.passages.values():
        for start, name in _files_in(passage, source.engine):
            if name not in reported and not any((folder / name).exists() for folder in folders):
                reported.add(name)
                line = None
                if source.engine != INK:
                    line = passage.line_in_file(1 + passage.text.count("\n", 0, start))
                what = f'the file "{name}" does not exist next to the story'
                yield Problem("missing file", what, passage.name, line, severity="warning")


def _files_in(passage: Passage, engine: str) -> Iterator[tuple[int, str]]:
    """Yield the positions and relative paths of pictures and sounds in a passage."""
    if engine == INK:
        for match in filter(None, map(INK_FILE.match, passage.tags)):
            if not ADDRESS.match(match[1]):
                yield 0, match[1].strip()
        return
    text = patterns.COMMENT.sub(lambda hidden: " " * len(hidden[0]), passage.text)
    if "script" in passage.tags:
        return
    for match in patterns.MEDIA.finditer(text):
        is_computed = re.search(r"[$`+]|@src", match[0])
        for name in [] if is_computed else patterns.MEDIA_FILE.findall(match[0]):
            if not ADDRESS.match(name):
                yield match.start(), unquote(name).replace("\\", "/")


def variables(source: Source, evidence: Evidence, findings: Findings) -> Iterator[Problem]:
    """Yield variables that are never read, never set, or displayed before they are set."""
    uses = VariableUses(source)
    uses_of = uses.by_name.items()
    names = {name for name, use in uses_of if use.set_in or uses.is_named_in_code(name)}
    names |= set(map(source.name_of, evidence.variables))
    failing = {issue.passage for issue in findings.errors}
    for name, use in uses_of:
        if not use.read_in and not uses.is_named_in_code(name):
            what = f"{name} is set and never used"
            line = source.pages.get(use.set_in[0])
            yield Problem("unused variable", what, use.set_in[0], line, severity="hint")
        passages = [passage for passage in use.read_in if passage not in failing]
        what = f"{name} is read and never set.{did_you_mean(name, names)}"
        if name in names:
            shown_in = (passage for passage in passages if name in uses.displayed.get(passage, ()))
            passages = [passage for passage in shown_in if evidence.lacks(passage, name)]
            what = f"{name} is shown before it is set"
        if passages:
            passage = passages[0]
            path = evidence.unset.get((passage, name)) or evidence.passages.get(passage)
            line = source.pages.get(passage)
            yield Problem("unset variable", what, passage, line, path, "warning")


def numbers(source: Source, evidence: Evidence, findings: Findings) -> Iterator[Problem]:
    """Yield numbers that fall below zero, and those that grow without bound."""
    texts = "\n".join(passage.text for passage in source.story.passages.values())
    path = Path(source.story.source)
    if path.suffix.lower() == ".ink" and path.is_file():
        texts = read_text(path)
    rules = " ".join(source.rules.forbidden)
    for variable, (most, rises, clicks) in evidence.peaks.items():
        plain = variable.lstrip("$")
        name = source.name_of(variable)
        is_expected = variable in rules or re.search(rf"\b{plain}{EXPECTS_NEGATIVE}", texts)
        first = next(iter(evidence.variables[variable].values()))
        is_falling = not isinstance(first, (int, float)) or first >= 0
        if variable in evidence.below_zero and is_falling and not is_expected:
            what = f"{name} falls below zero: is that meant?"
            below = evidence.below_zero[variable]
            yield Problem("number below zero", what, path=below, severity="hint")
        is_compared = source.engine == INK or re.search(rf"\b{plain}{COMPARED}", texts) is not None
        if rises >= MIN_RISES[is_compared] and not evidence.complete:
            what = f"{name} seems to grow without bound (up to {most:g}): is that meant?"
            yield Problem("growing number", what, path=clicks, severity="hint")


SOURCE_CHECKS = (page_faults, duplicates, missing_files, variables, numbers)
