"""Which variables of a hosted story each passage sets and reads, and which may still be read later.

Passages in Harlowe and SugarCube are read by patterns, not run. Text that no pattern recognises
counts as read, and a passage may lead to every passage whose name occurs in it, so the analysis
keeps too much of a state, never too little.
"""

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import NamedTuple

from storytest.hosted import patterns
from storytest.twine.story import RECOGNITION, Passage, Story

SHARED_TAGS = frozenset(RECOGNITION["shared_tags"].split())  # displayed with any page
SIDE_BAR = frozenset(RECOGNITION["side_bar"].split())  # of SugarCube
UPDATES = ("+=", "-=", "*=", "/=", "%=", "++", "--")  # depend on the old value


@dataclass(frozen=True)
class VariableUses:
    """What one passage does with variables."""

    read: frozenset[str]  # outside of settings
    settings: tuple[tuple[str, frozenset[str]], ...]  # variable, and those its value depends on
    overwritten: frozenset[str]  # set unconditionally, before anything else reads them
    later: bool  # whether something may run after the page is displayed
    stored: frozenset[str] = frozenset()  # named in texts or code that are stored in variables

    def needs(self, useful: frozenset[str]) -> set[str]:
        """The useful variables that this passage reads, also to set a useful one."""
        sources = (names for target, names in self.settings if target in useful)
        return set(self.read.union(*sources) & useful)


def variable_uses(text: str) -> VariableUses:
    """What the text of a passage in Harlowe or SugarCube does with variables."""
    settings: list[tuple[str, frozenset[str]]] = []
    overwritten: set[str] = set()
    mentioned: set[str] = set()
    stored: set[str] = set()
    read: set[str] = set()
    block = patterns.BLOCK.search(text)
    unconditional = block.start() if block else len(text)
    for piece in _pieces(text):
        target = piece.target
        names = frozenset(patterns.VARIABLE.findall(piece.value))
        if piece.macro:
            stored |= named_in_values(piece.value, hooks=piece.macro == "(")
        if not target:
            read |= names
        else:
            is_update = piece.operator in UPDATES or re.search(r"\bit\b", piece.text)
            if piece.end <= unconditional and not is_update and target not in names | mentioned:
                overwritten.add(target)
            settings.append((target, names - {target}))
            mentioned.add(target)
        mentioned |= names
    later = patterns.LATER.search(text) is not None
    return VariableUses(
        frozenset(read), tuple(settings), frozenset(overwritten), later, frozenset(stored)
    )


def named_in_values(source: str, *, hooks: bool) -> set[str]:
    """The variables in texts and code that are a value, which may be used anywhere.

    With `hooks`, square brackets contain text of the story, as in Harlowe. Else they are lists.
    """
    if not patterns.RUN_LATER.search(source) and not (hooks and "[" in source):
        source = " ".join(patterns.QUOTED.findall(source))
    return set(patterns.VARIABLE.findall(source))


class _Piece(NamedTuple):
    text: str
    value: str
    target: str = ""  # the variable, if the part is a plain setting
    operator: str = ""  # between variable and value
    end: int = 0  # of the macro
    macro: str = ""  # its first letter


def _pieces(text: str) -> Iterator[_Piece]:
    done = 0
    matches = [*patterns.HARLOWE_SET.finditer(text), *patterns.SUGARCUBE_SET.finditer(text)]
    for opening in sorted(matches, key=lambda match: match.start()):
        if opening.start() < done:
            continue
        macro = opening[0][0]
        closing = {"(": ")", "<": ">>"}.get(macro, "]]")
        end, parts = _macro_parts(text, opening.end(), closing)
        if not parts:
            continue
        between = text[done : opening.start()]
        yield _Piece(between, between)
        for part in parts:
            if match := patterns.TARGET.fullmatch(part):
                yield _Piece(part, match[3], match[1], match[2], end, macro)
            elif match := patterns.INTO.fullmatch(part):
                yield _Piece(part, match[1], match[2], end=end, macro=macro)
            else:
                yield _Piece(part, part, macro=macro)
        done = end
    yield _Piece(text[done:], text[done:])


def _macro_parts(text: str, start: int, closing: str) -> tuple[int, list[str]]:
    """The end of a macro and its parts, split at commas outside brackets and quotes."""
    parts: list[str] = []
    part_start = start
    index = start
    depth = 0
    quote = ""
    while index < len(text):
        letter = text[index]
        if quote:
            index += letter == "\\"
            quote = "" if letter == quote else quote
        elif depth == 0 and text.startswith(closing, index):
            return index + len(closing), [*parts, text[part_start:index]]
        elif letter in "\"'`":
            possessive = letter == "'" and index and text[index - 1].isalnum()  # in Harlowe
            quote = "" if possessive else letter
        elif letter in "([{":
            depth += 1
        elif letter in ")]}":
            depth -= 1
        elif letter in ",;" and depth == 0:
            parts.append(text[part_start:index])
            part_start = index + 1
        index += 1
    return start, []


def condition_around(text: str, position: int) -> str:
    """The innermost condition under which a position of a passage is displayed, or ""."""
    blocks: list[tuple[int, str]] = []
    for match in patterns.IF_BLOCK.finditer(text, 0, position):  # SugarCube, Snowman
        if match["start"] is not None:
            blocks.append((match.start(), match["start"].strip()))
        elif blocks:
            _, before = blocks.pop()
            if match["middle"] is not None:
                blocks.append((match.start(), match["middle"].strip() or f"not ({before})"))
    conditions = blocks[-1:]
    for match in patterns.IF_HOOK.finditer(text, 0, position):  # Harlowe
        end, parts = _macro_parts(text, match.end(), ")")
        hook = end + len(text[end:]) - len(text[end:].lstrip())
        if parts and text[hook : hook + 1] == "[" and hook < position:
            hook_end, _ = _macro_parts(text, hook + 1, "]")
            if position < hook_end or hook_end == hook + 1:
                is_not = "not " * (match[1].lower() == "unless")
                conditions.append((match.start(), is_not + ", ".join(parts).strip()))
    for match in patterns.IF_MODIFIER.finditer(text, 0, position):  # Chapbook: up to the next one
        is_not = "not " * (match[1] == "unless")
        conditions.append((match.start(), is_not + (match[2] or "").strip()))
    return max(conditions, default=(0, ""))[1]


class Lookahead:
    """The passages that may follow each passage, and the variables that may still be read."""

    def __init__(self, story: Story, understood: bool) -> None:
        """`understood`: known macros, and a dollar sign wherever a variable is named."""
        self.story = story
        self.understood = understood
        texts = [passage.text for passage in story.passages.values()]
        self._has_computed_names = any(map(patterns.COMPUTED_NAME.search, texts))
        self._shared = [name for name, passage in story.passages.items() if is_shared(passage)]
        self.always_read: Collection[str] = ()  # variables that the rules read
        self.reached_from = cache(self._reached_from)

    def may_be_read(self, passage: str, variable: str) -> bool:
        """Whether a variable may still matter while a passage is displayed."""
        if not self.understood or self._has_computed_names or passage not in self._live_after:
            return True
        names = (self._live_after[passage], self._read_everywhere, self.always_read)
        return any(variable in part for part in names)

    def _reached_from(self, passage: str) -> frozenset[str]:
        reached = {passage, *self._shared}
        waiting = list(reached)
        while waiting:
            for name in self.leads_to.get(waiting.pop(), frozenset()) - reached:
                reached.add(name)
                waiting.append(name)
        return frozenset(reached)

    @cached_property
    def leads_to(self) -> dict[str, frozenset[str]]:
        passages = self.story.passages
        every = frozenset(name for name in passages if name)
        if not self.understood:
            return dict.fromkeys(passages, every)
        shared = [passages[name] for name in self._shared]
        for passage in shared:
            pattern = patterns.MOVES if "script" in passage.tags else patterns.COMPUTED_LINK
            if pattern.search(passage.text):
                return dict.fromkeys(passages, every)
        from_shared = frozenset[str]().union(*(_named(passage, every) for passage in shared))
        leads_to = {}
        for name, passage in passages.items():
            computed = patterns.COMPUTED_LINK.search(passage.text)
            leads_to[name] = every if computed else _named(passage, every) | from_shared
        return leads_to

    @cached_property
    def _uses(self) -> dict[str, VariableUses]:
        return {name: _uses_of(passage) for name, passage in self.story.passages.items()}

    @cached_property
    def _useful(self) -> frozenset[str]:
        """Variables that are read for more than to set others that are never read."""
        all_uses = self._uses.values()
        useful = set(self.always_read).union(*(uses.read | uses.stored for uses in all_uses))
        settings = [setting for uses in all_uses for setting in uses.settings]
        more = useful
        while more:
            sources = (names for target, names in settings if target in useful)
            more = set[str]().union(*sources) - useful
            useful |= more
        return frozenset(useful)

    @cached_property
    def _needs(self) -> dict[str, set[str]]:
        needs = {name: uses.needs(self._useful) for name, uses in self._uses.items()}
        called = {}
        for name, passage in self.story.passages.items():
            calls = self._widget_calls.items()
            called[name] = [widget for widget, call in calls if call.search(passage.text)]
        for _ in self._widget_calls:  # widgets may call others
            for name, widgets in called.items():
                needs[name] = needs[name].union(*(needs[widget] for widget in widgets))
        return needs

    @cached_property
    def _widget_calls(self) -> dict[str, re.Pattern[str]]:
        """For each passage that only defines widgets, the pattern of their calls."""
        calls = {}
        for name, passage in self.story.passages.items():
            if "widget" in passage.tags and "script" not in passage.tags:
                widgets = "|".join(map(re.escape, patterns.WIDGET.findall(passage.text)))
                calls[name] = re.compile(rf"<<(?:{widgets})(?![\w-])" if widgets else r"(?!)")
        return calls

    @cached_property
    def _read_everywhere(self) -> frozenset[str]:
        shared = (name for name in self._shared if name not in self._widget_calls)
        needs = (self._needs[name] for name in shared if not self._is_inert(name))
        stored = (uses.stored for uses in self._uses.values())
        return frozenset[str]().union(*needs, *stored)

    def _is_inert(self, name: str) -> bool:
        """Whether a passage runs before the story, or in a side bar, and changes nothing."""
        if not self.story.format.startswith("sugarcube"):
            return False
        if name == "StoryInit":
            return True
        return name in SIDE_BAR and not patterns.CHANGES.search(self.story.passages[name].text)

    @cached_property
    def _live_before(self) -> dict[str, set[str]]:
        """The variables that may be read from a passage on, when it is entered (a fixed point)."""
        live = {name: needs - self._uses[name].overwritten for name, needs in self._needs.items()}
        changed = True
        while changed:
            changed = False
            for name, targets in self.leads_to.items():
                after = set[str]().union(*(live[target] for target in targets))
                more = after - self._uses[name].overwritten - live[name]
                live[name] |= more
                changed |= bool(more)
        return live

    @cached_property
    def _live_after(self) -> dict[str, set[str]]:
        """The variables that may be read once a passage is displayed."""
        live = {}
        for name, targets in self.leads_to.items():
            needs = self._needs[name] if self._uses[name].later else set[str]()
            live[name] = needs.union(*(self._live_before[target] for target in targets))
        return live


def is_shared(passage: Passage) -> bool:
    """Whether a passage can be displayed with any page: a header, widget or script."""
    return not passage.is_page or not SHARED_TAGS.isdisjoint(passage.tags)


def _uses_of(passage: Passage) -> VariableUses:
    """What a passage does. Code may omit dollar signs and may run at any time."""
    text = passage.text
    uses = variable_uses(text)
    conditions = patterns.STORYLET.findall(text)
    stored = uses.stored.union(*(patterns.VARIABLE.findall(condition) for condition in conditions))
    if not has_code(passage):
        return replace(uses, stored=stored)
    read = uses.read.union(patterns.WORD.findall(text), patterns.VARIABLE.findall(text))
    stored |= named_in_values(patterns.VARIABLE_CALL.sub("", text), hooks=False)
    return VariableUses(read, (), frozenset(), True, stored)


def has_code(passage: Passage) -> bool:
    """Whether a passage has code, which may name variables without a dollar sign."""
    return "script" in passage.tags or patterns.CODE.search(passage.text) is not None


def _named(passage: Passage, names: Iterable[str]) -> frozenset[str]:
    return frozenset(name for name in names if name in passage.text)
