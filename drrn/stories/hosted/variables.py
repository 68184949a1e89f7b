"""Which variables of a hosted story each passage sets and reads, and which may still be read later.

Passages in Harlowe and SugarCube are read by patterns, not run. Text that no pattern recognises
counts as read, and a passage may lead to every passage whose name occurs in it, so the analysis
keeps too much of a state, never too little.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache, cached_property

from drrn.stories.hosted import patterns
from drrn.stories.twine.story import Passage, Story

# Tags of passages that can be displayed with any page.
SHARED_TAGS = frozenset(
    "header footer startup debug-header debug-footer debug-startup script widget init".split()
)
# SugarCube's side bar.
SIDE_BAR = frozenset(
    "StoryAuthor StoryBanner StoryCaption StoryDisplayTitle StorySubtitle StoryTitle".split()
)


@dataclass(frozen=True)
class VariableUses:
    """What one passage does with variables."""

    read: frozenset[str]  # outside of settings
    settings: tuple[tuple[str, frozenset[str]], ...]  # variable, and those its value depends on
    overwritten: frozenset[str]  # set unconditionally, before anything else reads them
    later: bool  # whether something may run after the page is displayed
    stored: frozenset[str] = frozenset()  # named in texts or code that are stored in variables

    def needs(self, useful: frozenset[str]) -> set[str]:
        """Return the useful variables that this passage reads, also to set a useful one."""
        sources = (names for target, names in self.settings if target in useful)
        return set(self.read.union(*sources) & useful)


def variable_uses(text: str) -> VariableUses:
    """Return what the text of a passage in Harlowe or SugarCube does with variables."""
    settings: list[tuple[str, frozenset[str]]] = []
    overwritten: set[str] = set()
    mentioned: set[str] = set()
    stored: set[str] = set()
    rest = []
    done = 0
    block = patterns.BLOCK.search(text)
    unconditional = block.start() if block else len(text)
    for start, end, parts in _set_macros(text):
        between = text[done:start]
        rest.append(between)
        mentioned.update(patterns.VARIABLE.findall(between))
        for part in parts:
            target, source = _setting(part)
            stored |= named_in_values(source, hooks=text[start] == "(")
            names = frozenset(patterns.VARIABLE.findall(source if target else part))
            if target is None:
                rest.append(part)
            else:
                is_new = target not in names | mentioned
                if is_new and end <= unconditional and not _is_update(part):
                    overwritten.add(target)
                settings.append((target, names - {target}))
                mentioned.add(target)
            mentioned |= names
        done = end
    rest.append(text[done:])
    read = frozenset(name for piece in rest for name in patterns.VARIABLE.findall(piece))
    later = patterns.LATER.search(text) is not None
    return VariableUses(read, tuple(settings), frozenset(overwritten), later, frozenset(stored))


def named_in_values(source: str, *, hooks: bool) -> set[str]:
    """Return the variables in texts and code that are a value, which may be used anywhere.

    `hooks`: square brackets contain text of the story, as in Harlowe; otherwise they are lists.
    """
    if patterns.RUN_LATER.search(source) or (hooks and "[" in source):
        return set(patterns.VARIABLE.findall(source))
    return {
        name
        for quoted in patterns.QUOTED.findall(source)
        for name in patterns.VARIABLE.findall(quoted)
    }


def settings_in(text: str) -> tuple[str, list[tuple[str, str]]]:
    """Return the text without plain settings, and (variable, operator and value) of each."""
    rest = []
    done = 0
    settings = []
    for start, end, parts in _set_macros(text):
        rest.append(text[done:start])
        for part in parts:
            setting = patterns.TARGET.fullmatch(part)
            if setting:
                settings.append((setting[1], setting[2] + setting[3]))
            else:
                rest.append(part)
        done = end
    return "\n".join([*rest, text[done:]]), settings


def _is_update(part: str) -> bool:
    """Return whether a setting depends on the old value: `it`, +=, ++."""
    setting = patterns.TARGET.fullmatch(part)
    has_operator = setting is not None and setting[2] not in ("to", "=")
    return has_operator or re.search(r"\bit\b", part) is not None


def _setting(part: str) -> tuple[str | None, str]:
    """Return the variable that a part of a set macro sets, if that is plain, and the value."""
    if setting := patterns.TARGET.fullmatch(part):
        return setting[1], setting[3]
    if setting := patterns.INTO.fullmatch(part):
        return setting[2], setting[1]
    return None, part


def _set_macros(text: str) -> Iterator[tuple[int, int, list[str]]]:
    """Yield the start and end of each set macro, and its parts, one per variable."""
    done = 0
    matches = [*patterns.HARLOWE_SET.finditer(text), *patterns.SUGARCUBE_SET.finditer(text)]
    for opening in sorted(matches, key=lambda match: match.start()):
        if opening.start() < done:
            continue
        closing = {"(": ")", "<": ">>"}.get(opening[0][0], "]]")
        end, parts = _macro_parts(text, opening.end(), closing)
        if end > opening.end():
            done = end
            yield opening.start(), end, parts


def _macro_parts(text: str, start: int, closing: str) -> tuple[int, list[str]]:
    """Return the end of a macro and its parts, split at commas outside brackets and quotes."""
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


class Lookahead:
    """The passages that may follow each passage, and the variables that may still be read."""

    def __init__(self, story: Story, understood: bool) -> None:
        """`understood`: variables have a dollar sign wherever they are named; macros are known."""
        self.story = story
        self.understood = understood
        self.always_read: Collection[str] = ()  # variables that the rules read
        self.reached_from = cache(self._reached_from)

    def may_be_read(self, passage: str, variable: str) -> bool:
        """Return whether a variable may still matter while a passage is displayed."""
        if not self.understood or self._has_computed_names or passage not in self._live_after:
            return True
        names = (self._live_after[passage], self._read_everywhere, self.always_read)
        return any(variable in part for part in names)

    def is_named_in_code(self, variable: str) -> bool:
        """Return whether code or a rule may use a variable in a way that no macro shows."""
        if self._has_computed_names or variable in self.always_read:
            return True
        return variable in self._words_in_code

    def _reached_from(self, passage: str) -> frozenset[str]:
        """Return the passages that may be displayed from here on, including this one."""
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
    def _shared(self) -> tuple[str, ...]:
        return tuple(name for name, passage in self.story.passages.items() if is_shared(passage))

    @cached_property
    def _words_in_code(self) -> frozenset[str]:
        texts = (passage.text for passage in self.story.passages.values() if _has_code(passage))
        return frozenset(word for text in texts for word in patterns.WORD.findall(text))

    @cached_property
    def _has_computed_names(self) -> bool:
        return any(
            patterns.COMPUTED_NAME.search(passage.text) for passage in self.story.passages.values()
        )

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
        """The variables that each passage may read, itself or by the widgets that it calls."""
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
        return self._stored_arguments.union(*needs, *stored)

    @cached_property
    def _stored_arguments(self) -> frozenset[str]:
        """The variables named in arguments of widgets, if some widget stores its arguments."""
        texts = [passage.text for passage in self.story.passages.values()]
        widgets = "|".join(
            re.escape(name) for text in texts for name in patterns.WIDGET.findall(text)
        )
        if not widgets or not any(patterns.STORES_ARGUMENTS.search(text) for text in texts):
            return frozenset()
        call = re.compile(
            rf"<<({widgets})(?![\w-])(?:(?:(?!>>).)*>>(?:(?!<<\1\b).)*?<</\1>>|(?:(?!>>).)*>>)",
            re.S,
        )
        calls = (match[0] for text in texts for match in call.finditer(text))
        return frozenset(name for code in calls for name in patterns.VARIABLE.findall(code))

    def _is_inert(self, name: str) -> bool:
        """Return whether a passage runs before the story, or in a side bar, and changes nothing."""
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
    """Return whether a passage can be displayed with any page: a header, widget or script."""
    return not passage.is_page or not SHARED_TAGS.isdisjoint(passage.tags)


def _uses_of(passage: Passage) -> VariableUses:
    """Return what a passage does; code may omit dollar signs and may run at any time."""
    text = passage.text
    uses = variable_uses(text)
    conditions = patterns.STORYLET.findall(text)
    stored = uses.stored.union(*(patterns.VARIABLE.findall(condition) for condition in conditions))
    if not _has_code(passage):
        return replace(uses, stored=stored)
    read = uses.read.union(patterns.WORD.findall(text), patterns.VARIABLE.findall(text))
    stored |= named_in_values(patterns.VARIABLE_CALL.sub("", text), hooks=False)
    return VariableUses(read, (), frozenset(), True, stored)


def _has_code(passage: Passage) -> bool:
    return "script" in passage.tags or patterns.CODE.search(passage.text) is not None


def _named(passage: Passage, names: Iterable[str]) -> frozenset[str]:
    return frozenset(name for name in names if name in passage.text)
