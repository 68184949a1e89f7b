"""Coverage of a story: passages and links, dead ends, values, and what is missing."""

import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import cached_property

from storytest.authored import INK, NATIVE, AuthoredGame
from storytest.hosted import patterns
from storytest.hosted.variables import condition_around, is_shared
from storytest.playtest import findings
from storytest.playtest.evidence import Evidence, is_number
from storytest.playtest.findings import Coverage, Problem, Values
from storytest.twine import script
from storytest.twine.layout import ENDING
from storytest.twine.rules import Rules
from storytest.twine.story import Passage, Story, split_link
from storytest.twine.values import Value
from textgames.compiled.search import EndingId
from textgames.errors import did_you_mean
from textgames.game.contract import Game
from textgames.wording import one_line

NOWHERE = ", which is not a passage"  # how the reader reports a link without a target
BLANK = "double-click this passage to edit it."  # Twine's text of a new passage

PREFIXES = {"chapbook": "", "snowman": "s."}  # of variables, in the author's code

Pair = tuple[str, str]  # a passage, and one that it links to


class Source:
    """The story that a game was read from, with its links. It is empty for other games."""

    def __init__(self, game: Game) -> None:
        self.story = Story("", {})
        self.rules = Rules()
        self.engine = ""
        self.problems: Sequence[script.Problem] = ()
        # Links that are not actions (they restart the story, or it ends there), and why.
        self.no_actions: Mapping[Pair, str] = {}
        self.skipped: Sequence[str] = ()  # what keeps play from being that of a browser
        self.game = game
        if isinstance(game, AuthoredGame):
            self.story = game.story
            self.rules = game.rules
            self.engine = game.engine
            self.problems = game.problems
            self.no_actions = game.left_out
            self.skipped = game.skipped
        self.format_name = self.story.format.split("-")[0].split(" ")[0]  # without its version

    @cached_property
    def links(self) -> dict[str, set[str]]:
        """The passages that each passage links to, displays or, if it was not parsed, names."""
        if not isinstance(self.game, AuthoredGame):
            return {}
        parsed = {name: set(targets) for name, targets in self.game.links.items()}
        if self.engine == INK:
            return parsed
        links = {}
        for name in self.pages:
            text = patterns.COMMENT.sub("", self.story.pages[name].text)
            names = {split_link(body)[1] for body in patterns.LINK.findall(text)}
            names |= {one or other for one, other in patterns.QUOTED_TEXT.findall(text)}
            links[name] = parsed.get(name, names) & self.pages.keys()
        return links

    def offered(self, name: str) -> set[str]:
        """The passages to which a passage has links, not those that it only names."""
        if self.engine == INK:
            return self.links[name]
        page = self.story.pages.get(name)
        text = patterns.NOT_DISPLAYED.sub("", page.text) if page else ""
        if not patterns.CLICK_MACRO.search(text):
            text = patterns.AUTOMATIC.sub("", text)
        return {target for _, _, target in _links_in(text)} & self.pages.keys()

    def condition(self, name: str, target: str) -> str:
        """The condition under which a passage displays its link to another one, or ""."""
        page = self.story.pages.get(name)
        if page is None or self.engine == INK:
            return ""
        text = patterns.COMMENT.sub(lambda hidden: " " * len(hidden[0]), page.text)
        starts = [start for start, _, to in _links_in(text) if to == target]
        return one_line(condition_around(text, starts[0])) if starts else ""

    def name_of(self, variable: str) -> str:
        """A variable as the author writes it: $gold, gold (Ink, Chapbook) or s.gold."""
        prefix = "" if self.engine == INK else PREFIXES.get(self.format_name, "$")
        return prefix + variable.lstrip("$")

    def reward(self, key: EndingId) -> float:
        """What an ending pays, without payments for events on its page."""
        if not self.engine:
            return key.reward
        if key.rule is None:
            return self.rules.default_reward
        return self.rules.endings[key.rule].reward

    @cached_property
    def pages(self) -> dict[str, int]:
        """Passages that a player can reach, not those that only code runs, with their lines."""
        passages = self.story.passages.values()
        shared = [passage for passage in passages if is_shared(passage)]
        tags = {tag for one in shared for tag in patterns.LOOKED_UP_TAG.findall(one.text)}
        pages = [page for page in passages if page not in shared and tags.isdisjoint(page.tags)]
        return {page.name: page.line for page in pages}

    @property
    def pairs(self) -> set[Pair]:
        """All links."""
        return {(name, target) for name, targets in self.links.items() for target in targets}

    @property
    def unsupported(self) -> list[script.Problem]:
        """Macros that the native interpreter does not support and skipped."""
        if self.engine != NATIVE:
            return []
        return [problem for problem in self.problems if NOWHERE not in problem.what]


def passages_covered(source: Source, evidence: Evidence) -> Coverage:
    """Count the passages that were seen."""
    return Coverage(len(source.pages.keys() & evidence.passages.keys()), len(source.pages))


def links_covered(source: Source, evidence: Evidence) -> Coverage:
    """Count the links that led to their target, among the links that are actions."""
    written = {(name, target) for name in source.links for target in source.offered(name)}
    pairs = (written | (source.pairs & evidence.links)) - (set(source.no_actions) - evidence.links)
    return Coverage(len(pairs & evidence.links), len(pairs))


def never_reached(source: Source, evidence: Evidence) -> list[Problem]:
    """List the passages that were never reached, in the story's order, with what leads there."""
    texts = [passage.text for passage in source.story.passages.values()]
    texts.append(getattr(source.game, "scripts", ""))
    computes = (patterns.COMPUTED_LINK, patterns.MOVES)
    unnamed = "no link leads there"
    if any(pattern.search(text) for pattern in computes for text in texts):
        unnamed = "no link names it, although code may compute its name"
    issues = []
    for name, line in source.pages.items():
        if name in evidence.passages:
            continue
        origins = sorted(one for one, to in source.links.items() if name in to and one != name)
        reached = [origin for origin in origins if origin in evidence.passages]
        actions = [origin for origin in reached if (origin, name) not in source.no_actions]
        via = (actions or reached or [""])[0]
        why = unnamed
        if reached:
            why = f'"{via}" names it{_obstacle(source, evidence, via, name)}'
        elif origins:
            why = f'only "{origins[0]}" leads there, which was not reached either'
        kind = findings.UNREACHABLE
        if origins and not actions:
            kind = findings.LEFT_OUT if reached else findings.BEHIND
        issues.append(Problem(kind, why, name, line, evidence.passages.get(via), "warning"))
    return issues


def _obstacle(source: Source, evidence: Evidence, passage: str, target: str) -> str:
    """What is known about a link that was never taken: its condition, or other choices first."""
    if reason := source.no_actions.get((passage, target)):
        return f", but {reason}"
    if passage in evidence.asking:
        return "; it asks for a typed word, which [inputs] in the TOML can give"
    if condition := source.condition(passage, target):
        return f", if {condition}{_values_in(source, evidence, condition)}"
    if any(page.passage == passage and page.untried for page in evidence.pages.values()):
        return "; not every choice there was tried"
    return ""


def _values_in(source: Source, evidence: Evidence, condition: str) -> str:
    """Describe the values that the variables of a condition had."""
    words = patterns.VARIABLE.findall(condition)
    words = words or [w for w in patterns.WORD.findall(condition) if f"${w}" in evidence.variables]
    result = ""
    for name in dict.fromkeys(words):
        values = list(evidence.variables.get(f"${name}", {}).values())
        was = f"was {values_text(values)}" if values else "was never set"
        result += f"; {source.name_of(name)} {was}"
    return result


def broken_links(source: Source, evidence: Evidence) -> list[Problem]:
    """List links to passages that do not exist, except computed ones."""
    if source.engine == INK:
        return []
    errors = {key.passage: record.path for key, record in evidence.endings.items()}
    problems = []
    for passage in source.story.pages.values():
        for target, what, line in _broken_in(passage, source.story):
            path = errors.get(target) or evidence.passages.get(passage.name)
            targets = (target,)
            problems.append(
                Problem(findings.BROKEN, what, passage.name, line, path, "error", targets)
            )
    return problems


def _links_in(text: str) -> list[tuple[int, str, str]]:
    """List the links in the source of a passage: position, label or "", target."""
    links = [(match.start(), *split_link(match[1])) for match in patterns.LINK.finditer(text)]
    for match in patterns.LINK_MACRO.finditer(text):
        links.append((match.start(), "", next(filter(None, match.groups()))))
    return sorted(links)


def _broken_in(passage: Passage, story: Story) -> Iterator[tuple[str, str, int]]:
    text = patterns.NOT_DISPLAYED.sub(lambda hidden: "\n" * hidden[0].count("\n"), passage.text)
    reported = {""}
    for start, label, target in _links_in(text):
        is_known = target in reported or target in story.passages
        if is_known or patterns.COMPUTED_TARGET.search(target):
            continue
        reported.add(target)
        near = did_you_mean(target, story.pages)
        line = passage.line + text.count("\n", 0, start)
        link = f'"{one_line(label)}"' if label and label != target else "a link"
        what = f'{link} leads to "{target}", which is not a passage.{near}'
        yield target, what, line


def dead_ends(source: Source, evidence: Evidence) -> list[Problem]:
    """List pages that ended although they were probably not meant to."""
    issues = []
    for key, ending in evidence.endings.items():
        if key.rule is not None:
            continue
        page = source.story.pages.get(key.passage)
        severity: findings.Severity = "warning"
        if ending.failure:
            kind = findings.ERROR
            severity = "error"
            what = "the page has an error, and no links"
        elif page and page.text.strip().casefold() in ("", BLANK):
            kind = findings.UNWRITTEN
            what = "it is not written yet"
        elif why := _trapped(source, key, ending.text, evidence):
            kind = findings.TRAP
            what = f"the story stops here: {why}"
        else:
            continue
        line = source.pages.get(key.passage)
        path = ending.failure or ending.path
        issues.append(Problem(kind, what, key.passage, line, path, severity))
    return issues


def _trapped(source: Source, key: EndingId, text: str, evidence: Evidence) -> str:
    """Explain why a page is not meant to end the story. For an ending, there is no reason.

    If the TOML lists endings, no other page is one. Else a page with links that are not offered is
    none.
    """
    has_list = bool(source.rules.endings)
    is_named = ENDING["name"].search(key.passage) or ENDING["text"].search(text)
    if not source.engine or (not has_list and (source.rules.ends or is_named)):
        return ""
    why = "it is not in the TOML's list of endings" if has_list else ""
    if source.engine == INK:  # which ends by -> END alone; other ends are errors
        return why
    links = source.offered(key.passage) - {key.passage}
    targets = sorted(to for to in links if (key.passage, to) not in source.no_actions)
    if _has_exit(key.passage, evidence):
        reason = "at other times it has choices"
    elif targets:
        reason = f'its link to "{targets[0]}" does not show'
    else:
        return why
    return f"{reason}, and {why}" if why else reason


def _has_exit(passage: str, evidence: Evidence) -> bool:
    pages = [page for page in evidence.pages.values() if page.passage == passage]
    steps = [page.successors.values() for page in pages if page.path.curious < 2]
    after = {key for step in steps for keys in step for key in keys}
    return any(evidence.pages[key].passage != passage for key in after if key in evidence.pages)


def errors(source: Source, evidence: Evidence) -> list[Problem]:
    """List the errors that were thrown."""
    issues = []
    for error, path in evidence.errors.items():
        name, _, message = error.partition(": ")
        what = message.removeprefix(source.story.source).lstrip(":, ")
        what = re.sub(r"^(?=\w*Error: )", "the story's code fails: ", what)
        what = what if name else f"a script failed when the story started: {what}"
        passage = source.story.passages.get(name)
        line = passage.line if passage else None
        issues.append(Problem(findings.THROWN, what, name, line, path))
    return issues


def loops(evidence: Evidence, least_visits: int = 20) -> list[Problem]:
    """List pages from which no ending was reached although every action was tried.

    In a story without endings, these are pages from which its start was not reached either. Pages
    with fewer than `least_visits` are not reported: an action may work later.
    """
    pages = evidence.pages
    start = None if evidence.endings else next((page.passage for page in pages.values()), None)
    escaping = {k for k, one in pages.items() if one.ending or one.untried or one.passage == start}
    origins: dict[Hashable, set[Hashable]] = {}
    for key, page in pages.items():
        for successor in set().union(*page.successors.values()):
            origins.setdefault(successor, set()).add(key)
    queue = list(escaping)
    while queue:
        for key in origins.get(queue.pop(), set()) - escaping:
            escaping.add(key)
            queue.append(key)
    stuck = [page for key, page in pages.items() if key not in escaping]
    if any(page.visits < least_visits for page in stuck):
        return []
    issues: dict[str, Problem] = {}
    what = "a loop without a way out: no ending was reached from here"
    for page in sorted(stuck, key=lambda page: len(page.path)):
        name = page.passage or " ".join(page.path.comes_to.split())[:40]
        issues.setdefault(name, Problem(findings.LOOP, what, name, None, page.path, "warning"))
    return list(issues.values())


def variable_values(source: Source, evidence: Evidence) -> list[Values]:
    """List the values of every variable, by name."""
    return [
        Values(source.name_of(name), len(values), values_text(list(values.values())))
        for name, values in sorted(evidence.variables.items())
    ]


def values_text(values: list[Value], most: int = 8) -> str:
    """Format the values of a variable: a range of numbers, or the first few."""
    numbers = [value for value in values if is_number(value)]
    rest = len(values) - most
    if rest > 0 and len(numbers) == len(values):
        return f"{min(numbers):g} to {max(numbers):g}"
    more = f" and {rest:,} more" if rest > 0 else ""
    others = sorted((value for value in values if not is_number(value)), key=repr)
    return ", ".join(map(_value, [*sorted(numbers), *others][:most])) + more


def _value(value: Value) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if value is None:
        return "(an object)"
    if isinstance(value, (int, float)):
        return f"{value:g}"
    if isinstance(value, (tuple, list)):
        return _shortened(f"[{', '.join(map(_value, value))}]")
    return _shortened(f'"{value}"' if isinstance(value, str) else str(value))


def _shortened(text: str, most: int = 30) -> str:
    text = one_line(text)
    return text if len(text) <= most else text[: most - 1] + "…"
