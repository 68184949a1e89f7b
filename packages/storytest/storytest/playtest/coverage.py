"""Coverage of a story: passages and links, dead ends, values, what is missing, and advice."""

import math
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import cached_property

from storytest.authored import INK, NATIVE, AuthoredGame
from storytest.hosted import patterns
from storytest.hosted.game import HostedGame
from storytest.hosted.variables import condition_around, is_shared
from storytest.playtest import findings
from storytest.playtest.evidence import Evidence, is_number
from storytest.playtest.findings import Coverage, Issue, Values, upper_share
from storytest.twine.layout import ENDING
from storytest.twine.rules import Rules
from storytest.twine.script import Problem
from storytest.twine.story import Passage, Story, split_link
from storytest.twine.values import Value
from textgames.compiled.search import EndingId
from textgames.errors import did_you_mean
from textgames.game.contract import Game
from textgames.wording import counted, one_line, percent

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
        self.problems: Sequence[Problem] = ()
        # Links that are not actions (they restart the story, or it ends there), and why.
        self.no_actions: Mapping[Pair, str] = {}
        self.game = game
        if isinstance(game, AuthoredGame):
            self.story = game.story
            self.rules = game.rules
            self.engine = game.engine
            self.problems = game.problems
            self.no_actions = game.left_out
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
    def unsupported(self) -> list[Problem]:
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


def untaken_links(source: Source, evidence: Evidence, *, exact: bool) -> list[Issue]:
    """List links that were never taken, although both of their passages were reached."""
    issues: list[Issue] = []
    if exact and not evidence.complete:  # untried links are not known to be untaken
        return issues
    for name in source.links:
        targets = source.offered(name) & evidence.passages.keys() - {name}
        pairs = {(name, target) for target in targets} - evidence.links - set(source.no_actions)
        untaken = tuple(sorted(target for _, target in pairs))
        if untaken and name in evidence.passages:
            line = source.story.passages[name].line
            issues.append(Issue(name, f"to {', '.join(untaken)}", line, targets=untaken))
    return issues


def never_reached(source: Source, evidence: Evidence, *, exact: bool) -> list[Issue]:
    """List the passages that were never reached, in the story's order, each with the reason."""
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
        if reached:
            blocked = "" if actions else source.no_actions[via, name]
            why = f'"{via}" names it, but {blocked or _untaken(source, evidence, via, name, exact)}'
        elif origins:
            why = f'only "{origins[0]}" leads there, which is never reached either'
        elif source.links:
            why = unnamed
        else:
            why = "" if exact else _seldom(evidence)
        kind = findings.BEHIND if origins and not reached else ""
        is_sure = why == "no link leads there"
        issues.append(Issue(name, why, line, evidence.passages.get(via), kind, is_sure=is_sure))
    return issues


def _untaken(source: Source, evidence: Evidence, passage: str, target: str, exact: bool) -> str:
    condition = source.condition(passage, target)
    link = (
        f"the condition of that link ({condition})" if condition else "the condition of that link"
    )
    if exact:
        return f"{link} never holds"
    pages = evidence.pages.values()
    if any(page.passage == passage and page.untried for page in pages):
        return f"not every link there was tried within the time limit ({_seldom(evidence)})"
    return f"{link} was never met ({_seldom(evidence)})"


def _seldom(evidence: Evidence) -> str:
    games = evidence.random.games
    if games <= 10:
        return "few games were played"
    return f"if at all, in less than {percent(upper_share(games)).lstrip('< ')} of random games"


def broken_links(source: Source) -> list[Issue]:
    """List links to passages that do not exist, except computed ones."""
    if source.engine == INK:
        return []
    if source.engine == NATIVE and not source.unsupported:
        issues = []
        for problem in source.problems:
            link, nowhere, _ = problem.what.partition(f'"{NOWHERE}')
            if nowhere:
                targets = (link.rpartition(' "')[2],)
                issues.append(Issue(problem.passage, problem.what, problem.line, targets=targets))
        return issues
    pages = source.story.pages.values()
    return [issue for passage in pages for issue in _broken_in(passage, source.story)]


def _links_in(text: str) -> list[tuple[int, str, str]]:
    """List the links in the source of a passage: position, label or "", target."""
    links = [(match.start(), *split_link(match[1])) for match in patterns.LINK.finditer(text)]
    for match in patterns.LINK_MACRO.finditer(text):
        links.append((match.start(), "", next(filter(None, match.groups()))))
    return sorted(links)


def _broken_in(passage: Passage, story: Story) -> Iterator[Issue]:
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
        yield Issue(passage.name, what, line, targets=(target,))


def dead_ends(source: Source, evidence: Evidence) -> list[Issue]:
    """List pages that ended although they were probably not meant to."""
    issues = []
    for key, ending in evidence.endings.items():
        if key.rule is not None:
            continue
        if ending.failure:
            kind = findings.ERROR
            what = "the page has an error, and no links"
        elif error := patterns.ENGINE_ERROR.search(ending.text):
            kind = findings.ERROR
            what = f"the page shows an error: {error[0].strip()[:120]}"
        elif ending.text.strip().casefold() == BLANK:
            kind = findings.UNWRITTEN
            what = "it is not written yet: it has only Twine's placeholder"
        elif key.passage in source.story.pages and not source.story.pages[key.passage].text.strip():
            kind = findings.UNWRITTEN
            what = "it is not written yet: it is empty"
        elif why := _trapped(source, key, ending.text, evidence):
            kind = findings.TRAP
            what = f"the story stops here: {why}"
        else:
            continue
        issues.append(Issue(key.passage, what, path=ending.failure or ending.path, kind=kind))
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


def errors(source: Source, evidence: Evidence) -> list[Issue]:
    """List the errors that were thrown."""
    issues = []
    file = source.story.source
    for error, path in evidence.errors.items():
        name, _, message = error.partition(": ")
        what = message.removeprefix(file).lstrip(":, ")
        what = what if name else f"a script failed when the story started: {what}"
        passage = source.story.passages.get(name)
        issues.append(Issue(name, what, passage.line if passage else 0, path))
    return issues


def loops(evidence: Evidence, least_visits: int = 20) -> list[Issue]:
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
    issues: dict[str, Issue] = {}
    what = "a loop without a way out: no ending was reached from here"
    for page in sorted(stuck, key=lambda page: len(page.path)):
        name = page.passage or " ".join(page.path.comes_to.split())[:40]
        issues.setdefault(name, Issue(name, what, path=page.path, kind=findings.LOOP))
    return list(issues.values())


def advice(source: Source, evidence: Evidence) -> list[str]:
    """Tell the author what to write into the TOML if no ending was seen."""
    if not source.engine or not evidence.pages or evidence.endings:
        return []
    return [
        'No page ends the story. In its TOML, ends = { passage = "…" } or ends = { tag = "…" } '
        "names the pages that end it.",
        'If an ending has a link back to the start, restart = ["^Play again$"] keeps it from '
        "counting as an action.",
    ]


def variable_values(source: Source, evidence: Evidence) -> list[Values]:
    """List the values of every variable, by name."""
    return [
        Values(
            source.name_of(name),
            len(values),
            values_text(list(values.values()), is_cut=len(values) >= evidence.max_values),
        )
        for name, values in sorted(evidence.variables.items())
    ]


def values_text(values: list[Value], most: int = 8, *, is_cut: bool = False) -> str:
    """Format the values of a variable: a range of numbers, or the first few."""
    numbers = [value for value in values if is_number(value)]
    rest = len(values) - most
    if rest > 0 and len(numbers) == len(values):
        return f"{min(numbers):g} to {max(numbers):g}"
    more = f" and {rest:,} more" if rest > 0 else ""
    if is_cut:
        more = " and many more"
    return ", ".join(map(_value, sorted(values, key=_order)[:most])) + more


def _order(value: Value) -> tuple[bool, float, str]:
    """Sort numbers before other values."""
    number = float(value) if isinstance(value, (int, float)) else 0.0
    return not isinstance(value, (int, float)), number, repr(value)


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


# --- what stands in the way of passages that were not reached, and the cure


def obstacles(
    source: Source, evidence: Evidence, *, exact: bool, limit: float, most: int = 6
) -> list[str]:
    """Name what hides the passages that were not reached, the largest part first, and the cure.

    Args:
        source: The story.
        evidence: What was observed.
        exact: Whether every path was followed.
        limit: The play-test's time limit in seconds. Four times as much is advised.
        most: How many obstacles to name.
    """
    passages = evidence.passages
    cure = f"--seconds {max(1, math.ceil(4 * limit))}"
    unreached = [name for name in source.pages if name not in passages]
    behind: dict[str, list[str]] = {}
    for name in unreached:
        passage, target = _gate(source, evidence, name)
        if line := _obstacle(source, evidence, passage, target, exact, cure):
            behind.setdefault(line, []).append(name)
    lines = []
    hidden = [name for name in source.pages if name in passages and passages[name].curious]
    if hidden:
        lines.append(
            f'{counted(len(hidden), "passage")}, such as "{hidden[0]}", reached only by games that '
            "type in words, do not wait for timers, or move the pointer; [inputs] in the TOML "
            "gives random games the words to type in."
        )
    for line, names in sorted(behind.items(), key=lambda item: -len(item[1]))[:most]:
        such_as = "" if len(names) == 1 else "such as "
        lines.append(f'{counted(len(names), "passage")}, {such_as}"{names[0]}": {line}')
    is_late = evidence.last_news > 0.6 * evidence.visits
    if unreached and not exact and is_late:
        more = f"more time will find more ({cure})"
        lines.append(f"New passages turned up until the end: {more}.")
    return lines


def _gate(source: Source, evidence: Evidence, name: str) -> tuple[str, str]:
    """The reached passage that should lead to another one, and its link. Both may be ""."""
    queue = [name]
    for target in queue:
        origins = [one for one, to in source.links.items() if target in to]
        for origin in origins:
            if origin in evidence.passages:
                return ("", "") if (origin, target) in source.no_actions else (origin, target)
        queue += [origin for origin in origins if origin not in queue]
    # No link leads there: perhaps code does, once the right word is typed.
    return (min(evidence.asking), name) if len(evidence.asking) == 1 else ("", "")


def _obstacle(
    source: Source, evidence: Evidence, passage: str, target: str, exact: bool, cure: str
) -> str:
    if passage in evidence.asking:
        return (
            f'"{passage}" asks for a typed word or passcode; {_tried(source.game)}. '
            "Give the word in [inputs] of the TOML."
        )
    if exact or not passage:  # a condition that never holds is a problem
        return ""
    text = source.story.passages[passage].text
    link = f'its link to "{target}"'
    if patterns.DRAGGED.search(text):
        return (
            f'"{passage}" has things to drag, and not every way to drag is played. Play it by hand.'
        )
    if condition := source.condition(passage, target):
        values = _values_in(source, evidence, passage, condition)
        check = f"Check where the story sets it, or use {cure}."
        return f'"{passage}" shows {link} only if {condition}{values}. {check}'
    if share := _puzzling_share(evidence, passage):
        puzzle = "a puzzle, or clicks in some order"
        copy = "test a copy that starts behind it"
        return f'"{passage}" took {percent(share)} of all clicks: {puzzle}. Use {cure}, or {copy}.'
    if any(page.passage == passage and page.untried for page in evidence.pages.values()):
        return f'not every link of "{passage}" was tried in the time. Use {cure}.'
    if patterns.TIMED.search(text):
        return f'a timer of "{passage}" hides "{target}", or shows it late. Use {cure}.'
    if patterns.DRAWN.search(text):
        return f'a random draw in "{passage}". Use {cure}.'
    return f'"{passage}" names "{target}" and never showed it. Check when it does.'


def _tried(game: Game, most: int = 5) -> str:
    words = list(dict.fromkeys(game.stage.words)) if isinstance(game, HostedGame) else []
    if not words:
        return "the story compares with no word that could be tried"
    listed = ", ".join(words[:most]) + (", …" if len(words) > most else "")
    return f"{counted(len(words), 'word')} of the story did not help ({listed})"


def _values_in(source: Source, evidence: Evidence, passage: str, condition: str) -> str:
    """Describe the values that the variables of a condition in a passage had."""
    names = patterns.VARIABLE.findall(condition)
    words = names or [w for w in patterns.WORD.findall(condition) if f"${w}" in evidence.variables]
    result = " (a random draw)" if patterns.DRAWN.search(condition) else ""
    for name in dict.fromkeys(words):
        entries = list(evidence.variables.get(f"${name}", {}).values())
        only = "only " if len(entries) == 1 else ""
        was = f"was {only}{values_text(entries)}" if entries else "was never set"
        if entries and (passage, f"${name}") in evidence.unset:
            was += ", and had no value on some visits to that passage"
        result += f"; {source.name_of(name)} {was}"
    return result


def _puzzling_share(
    evidence: Evidence, passage: str, least: float = 0.2, least_visits: int = 200
) -> float:
    """The share of the clicks in a passage that games seldom left, or 0 if it is small."""
    pages = evidence.pages
    visits: Counter[str] = Counter()
    for page in pages.values():
        visits[page.passage] += page.visits
    share = visits[passage] / max(1, visits.total())
    if visits[passage] < least_visits or share < least:
        return 0.0
    own = [page for page in pages.values() if page.passage == passage]
    after = [
        pages[key].passage for page in own for keys in page.successors.values() for key in keys
    ]
    return share if after and 2 * after.count(passage) >= len(after) else 0.0
