"""Finds the problems of a story in its findings.

To add a kind of problem, name it in `problem_kinds` in recognition.toml, and its function in
`DETECTORS`.
"""

import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from urllib.parse import unquote

from storytest.authored import INK, NATIVE, AuthoredGame, Explorable
from storytest.hosted import patterns
from storytest.hosted.variables import has_code, variable_uses
from storytest.playtest.coverage import PREFIXES, Source
from storytest.playtest.evidence import Evidence
from storytest.playtest.findings import (
    BEHIND,
    ERROR,
    FAILED,
    LEFT_OUT,
    LOOP,
    PASSED,
    THROWN,
    UNREACHABLE,
    Findings,
    Problem,
    VariableUse,
    listed,
)
from storytest.twine.story import Passage
from textgames.errors import did_you_mean
from textgames.files import home, read_text
from textgames.wording import counted, one_line

EXPECTATION = "expectation"

Detector = Callable[[Source, Evidence, Findings], Iterator[Problem]]


def with_problems(source: Source, evidence: Evidence, findings: Findings) -> Findings:
    """The findings with their problems, except those that the TOML allows."""
    problems = [one for detect in DETECTORS for one in detect(source, evidence, findings)]
    allowed = [one for one in problems if source.rules.allows(one.kind, one.passage)]
    rest = [one for one in problems if one not in allowed]
    rest = _grouped(rest)
    if not findings.has_lines:
        rest = [one if one.kind == EXPECTATION else replace(one, line=None) for one in rest]
        unseen = [replace(one, line=None) for one in findings.never_reached]
        findings = replace(findings, never_reached=unseen)
    problems = sorted(dict.fromkeys(rest), key=lambda one: one.order)
    count = findings.allowed + len(allowed)
    return replace(findings, problems=tuple(problems), allowed=count)


def _grouped(problems: list[Problem]) -> list[Problem]:
    """Report an error once that several passages show, such as that of a header."""
    groups: dict[tuple[str, str], list[Problem]] = {}
    for problem in problems:
        groups.setdefault((problem.kind, problem.text), []).append(problem)
    result = []
    for first, *others in groups.values():
        names = sorted({one.passage for one in others} - {first.passage})
        also = f" (also in {listed(names)})" if names and first.kind in (ERROR, THROWN) else ""
        result += [replace(first, text=first.text + also)] if also else [first, *others]
    return result


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
    yield from findings.broken_links


def thrown_errors(source: Source, evidence: Evidence, findings: Findings) -> Iterator[Problem]:
    yield from (issue for issue in findings.errors if not findings.is_broken_link(issue))


def dead_ends(source: Source, evidence: Evidence, findings: Findings) -> Iterator[Problem]:
    """Yield error pages, traps and loops, except pages that a problem above explains."""
    known = {issue.passage for issue in findings.errors}
    known |= {passage for passage, *_ in evidence.faults}
    loops = []
    for issue in findings.dead_ends:
        if issue.passage in known or findings.is_broken_link(issue):
            continue
        if issue.kind != LOOP:
            yield issue
        elif not findings.follows_error(issue):
            loops.append(issue)
    if loops:
        first = loops[0]
        more = f", nor from {counted(len(loops) - 1, 'other passage')}" if len(loops) > 1 else ""
        text = f"no ending can be reached from here{more}"
        yield replace(first, text=text, line=source.pages.get(first.passage))


def unreachable(source: Source, evidence: Evidence, findings: Findings) -> Iterator[Problem]:
    """Yield passages that cannot be reached, but not those that are behind one of them.

    Only a test that followed every path can tell.
    """
    if not findings.exact:
        return
    unreached = {issue.passage for issue in findings.never_reached}
    links = {name: source.links.get(name, set()) & unreached for name in unreached}
    traps = " ".join(issue.text for issue in findings.dead_ends if issue.kind == "trap")
    behind: set[str] = set()
    for issue in sorted(findings.never_reached, key=lambda issue: issue.kind == BEHIND):
        is_behind = issue.kind == BEHIND and issue.passage in behind
        is_trapped = f'its link to "{issue.passage}" does not show' in traps  # reported there
        if is_behind or is_trapped:
            continue
        hidden = _reached_from(issue.passage, links) - behind
        behind |= hidden
        if issue.kind == LEFT_OUT:  # a player may get there
            continue
        more = len(hidden - {issue.passage})
        rest = f"; behind it: {counted(more, 'passage')}" if more else ""
        text = f"it cannot be reached: {issue.text}{rest}"
        yield replace(issue, kind=UNREACHABLE, text=text)


def _reached_from(start: str, links: dict[str, set[str]]) -> set[str]:
    names = {start}
    queue = [start]
    while queue:
        new = links.get(queue.pop(), set()) - names
        names |= new
        queue.extend(new)
    return names


# --- the variables of a story, and where its source uses them

# Formats whose variables can be read from the source.
WITH_DOLLARS = ("sugarcube", "harlowe", "sugarcane", "jonah", "responsive", "")
# Chapbook: a line such as "gold (condition): value" above "--", or {… for: 'gold'}.
CHAPBOOK_SET = re.compile(r"(?m)^(?!config\b)([A-Za-z_]\w*)[^\s():]*[ \t]*(\(.*\))?[ \t]*:(.*)$")
CHAPBOOK_BOUND = re.compile(r"\bfor:\s*['\"]([A-Za-z_]\w*)")
SNOWMAN = re.compile(r"(?<![\w'’.])s\.([A-Za-z_]\w*)(?!\w*\()(\s*(?:[-+*/]?=(?!=)|\+\+|--))?")


class VariableUses:
    """The variables of a story, by the name that the author writes, and where they are used."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.story = source.story
        self.by_name: dict[str, VariableUse] = {}
        format_name = source.format_name
        # Variables that each passage displays or copies whatever happens.
        self.displayed: dict[str, set[str]] = {}
        if isinstance(source.game, AuthoredGame) and source.engine == INK:
            for name, (read, settings) in source.game.variable_uses.items():
                self._add(name, read, settings)
        elif source.engine and format_name in WITH_DOLLARS:
            self._read_passages()
        elif source.engine and format_name in PREFIXES:
            for name, passage in self.story.passages.items():
                if not {"stylesheet", "script"} & {*passage.tags}:
                    self._read_code(name, patterns.COMMENT.sub("", passage.text))
            if format_name == "chapbook":  # words that no passage sets are no variables
                self.by_name = {name: use for name, use in self.by_name.items() if use.set_in}

    def is_named_in_code(self, name: str) -> bool:
        """Whether a script or a rule may set or read a variable."""
        return patterns.WORD.findall(name)[-1] in self._words_in_code

    @cached_property
    def _words_in_code(self) -> Collection[str]:
        passages = self.story.passages.values()
        if any(patterns.COMPUTED_NAME.search(passage.text) for passage in passages):
            return {patterns.WORD.findall(name)[-1] for name in self.by_name}
        texts = [passage.text for passage in passages if has_code(passage)]
        return frozenset(patterns.WORD.findall(" ".join((*texts, repr(self.source.rules)))))

    def _add(self, passage: str, read: Collection[str], settings: Collection[str]) -> None:
        for name in sorted({*settings, *read}):
            use = self.by_name.setdefault(name, VariableUse())
            use.set_in += [passage] * (name in settings)
            use.read_in += [passage] * (name in read)

    def _read_code(self, passage: str, text: str) -> None:
        """Add the variables of a passage in Snowman, or all words of code in Chapbook."""
        uses = [(f"s.{name}", is_set) for name, is_set in SNOWMAN.findall(text)]
        read = {name for name, is_set in uses if not is_set}
        settings = {name for name, is_set in uses if is_set}
        if self.source.format_name == "chapbook":
            head, dashes, rest = f"\n{text}".partition("\n--\n")
            lines = CHAPBOOK_SET.findall(head) if dashes else []
            settings = {name for name, *_ in lines}.union(CHAPBOOK_BOUND.findall(text))
            read = set(patterns.WORD.findall(rest or text))
            for name, *code in lines:
                read |= set(patterns.WORD.findall(" ".join(code))) - {name}
        self._add(passage, read, settings)

    def _read_passages(self) -> None:
        game = self.source.game
        facts = None
        if self.source.engine == NATIVE and isinstance(game, Explorable):
            facts = game.script.facts
        for name, passage in self.story.passages.items():
            if "stylesheet" in passage.tags or "script" in passage.tags:
                continue
            text = patterns.COMMENT.sub("", passage.text)
            uses = variable_uses(text)
            read = set(uses.read | uses.stored).union(*(names for _, names in uses.settings))
            settings = {target for target, _ in uses.settings}
            bound = {next(filter(None, names)) for names in patterns.BOUND.findall(text)}
            read -= {"args"}  # of SugarCube's widgets
            if facts is not None:  # text such as $x is no variable there
                read &= facts.read
                bound = bound & facts.written | (read & facts.prompts)
            read &= set(patterns.VARIABLE.findall(patterns.BOUND.sub(" ", text)))
            self._add(name, {f"${v}" for v in read}, {f"${v}" for v in settings | bound})
            block = patterns.BLOCK.search(text)
            before = variable_uses(text[: block.start()] if block else text)
            sources = (names for _, names in before.settings)
            displayed = before.read.union(*sources) & read - bound
            self.displayed[name] = {f"${variable}" for variable in displayed}


# --- problems that need more than the pages: variables, numbers, files, names, errors on a page

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
    """Yield the pictures and sounds that are not where the story looks for them, in one line."""
    path = Path(source.story.source)
    is_uploaded = path.is_relative_to(home() / "serve")  # without its files
    if not source.story.source or not path.exists() or is_uploaded:
        return
    folders = [path, path.parent] if path.is_dir() else [path.parent]
    places: dict[str, tuple[str, int | None]] = {}  # passage and line of each missing file
    for passage in source.story.passages.values():
        for start, name in _files_in(passage, source.engine):
            if name in source.story.passages or any((one / name).exists() for one in folders):
                continue
            line = None
            if source.engine != INK:
                line = passage.line_in_file(1 + passage.text.count("\n", 0, start))
            places.setdefault(name, (passage.name, line))
    if places:
        files = "file" if len(places) == 1 else f"{len(places):,} files"
        verb = "does" if len(places) == 1 else "do"
        names = listed([f'"{name}"' for name in places])
        what = f"the {files} {names} {verb} not exist next to the story"
        place = next(iter(places.values()))
        yield Problem("missing file", what, *place, severity="warning")


def _files_in(passage: Passage, engine: str) -> Iterator[tuple[int, str]]:
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
            passages = [one for one in shown_in if name not in evidence.always_set.get(one, {name})]
            what = f"{name} is shown before it is set"
        if passages:
            passage = passages[0]
            path = evidence.unset.get((passage, name)) or evidence.passages.get(passage)
            line = source.pages.get(passage)
            yield Problem("unset variable", what, passage, line, path, "warning")


def numbers(source: Source, evidence: Evidence, findings: Findings) -> Iterator[Problem]:
    """Yield numbers that fall below zero, unless the story or its rules expect it."""
    texts = "\n".join(passage.text for passage in source.story.passages.values())
    path = Path(source.story.source)
    if path.suffix.lower() == ".ink" and path.is_file():
        texts = read_text(path)
    rules = " ".join(source.rules.forbidden)
    for variable, clicks in evidence.below_zero.items():
        plain = variable.lstrip("$")
        is_expected = variable in rules or re.search(rf"\b{plain}{EXPECTS_NEGATIVE}", texts)
        first = next(iter(evidence.variables[variable].values()))
        is_falling = not isinstance(first, (int, float)) or first >= 0
        if is_falling and not is_expected:
            what = f"{source.name_of(variable)} falls below zero: is that meant?"
            yield Problem("number below zero", what, path=clicks, severity="hint")


DETECTORS: tuple[Detector, ...] = (
    *(failed_expectations, broken_links, thrown_errors, dead_ends, unreachable),
    *(page_faults, duplicates, missing_files, variables, numbers),
)
