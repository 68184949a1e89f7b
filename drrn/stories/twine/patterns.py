"""Patterns of a TOML (`regex`, `drop`, `restart`), which must not take for ever, whatever they and the text are.

Python's `re` tries one way after another and may try more ways than there is time for. So the ways are counted first:
where they are few, `re` searches; else the text is read once, with all places of the pattern where it may stand kept at
once (Thompson's simulation of a nondeterministic automaton), which takes the text's length times the pattern's. What
that cannot do, back-references and looking ahead or behind, is refused beside repeats that could take for ever.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from typing import Any

from drrn.stories.twine.story import LONGEST_PASSAGE

if sys.version_info >= (3, 11):
    from re import _constants as sre
    from re import _parser as parser
else:
    import sre_constants as sre
    import sre_parse as parser

MOST_WAYS = 10_000_000  # that `re` may try: a second, about
MOST_PLACES = 20_000  # of an automaton
REPEATS = (sre.MAX_REPEAT, sre.MIN_REPEAT)
CATEGORIES = {
    sre.CATEGORY_DIGIT: r"\d", sre.CATEGORY_NOT_DIGIT: r"\D", sre.CATEGORY_SPACE: r"\s",
    sre.CATEGORY_NOT_SPACE: r"\S", sre.CATEGORY_WORD: r"\w", sre.CATEGORY_NOT_WORD: r"\W",
}  # fmt: skip

Holds = Callable[[str], bool]  # of a character
Stands = Callable[[str, int], bool]  # of a place in a text


class Pattern:
    """A pattern that is found in a text or not, in a time that follows the length of both; else an `re.error`."""

    def __init__(self, source: str, flags: int = 0) -> None:
        self.made_of = source, flags
        self.found_by_re = re.compile(source, flags)
        self.tree: Any = parser.parse(source, flags)
        self.automaton: Automaton | None = None
        if self._ways(LONGEST_PASSAGE) > MOST_WAYS:
            self.automaton = Automaton(self.tree, self.found_by_re.flags)

    def __repr__(self) -> str:
        return repr(self.found_by_re)  # as it stands in the hashes of stories

    def __reduce__(self) -> tuple[type[Pattern], tuple[str, int]]:
        return Pattern, self.made_of  # what is made of it cannot be copied

    def search(self, text: str) -> bool:
        """Whether the pattern is in the text."""
        if self.automaton is None or self._ways(len(text)) <= MOST_WAYS:
            return self.found_by_re.search(text) is not None
        return self.automaton.found_in(text)

    def _ways(self, length: int) -> float:
        return (length + 1) * ways(self.tree, length)


def ways(tree: Any, length: int) -> float:
    """In how many ways a pattern could be tried from one place of a text, at most."""
    product = 1.0
    for operation, argument in tree:
        if operation in REPEATS:
            product *= _ways_to_repeat(argument, length)
        elif operation is sre.BRANCH:
            product *= sum(ways(branch, length) for branch in argument[1])
        elif operation in (sre.SUBPATTERN, sre.ASSERT, sre.ASSERT_NOT):
            product *= ways(argument[-1], length)
        elif operation not in (sre.LITERAL, sre.NOT_LITERAL, sre.ANY, sre.IN, sre.AT):
            product *= length + 1.0  # it may be of any length
    return product


def _ways_to_repeat(repeat: tuple[int, int, Any], length: int) -> float:
    least, most, body = repeat
    times = min(int(most), length)
    once = ways(body, length)
    try:
        return max(1.0, times - least + 1.0) * (once**times if once > 1 else 1.0)
    except OverflowError:
        return float("inf")


class Automaton:
    """A pattern as places: each takes a character that holds and leads on, or leads on without one."""

    def __init__(self, tree: Any, flags: int) -> None:
        self.takes: list[Holds | None] = []  # None: leads on without a character
        self.stands: list[Stands | None] = []  # where that may be, if not everywhere
        self.onward: list[list[int]] = []
        self.end = self._place([])
        self.start = self._sequence(tree, self.end, flags)

    def found_in(self, text: str) -> bool:
        here: set[int] = set()
        for at in range(len(text) + 1):
            here = self._reached({*here, self.start}, text, at)
            if self.end in here:
                return True
            if at < len(text):
                character = text[at]
                taking = ((place, self.takes[place]) for place in here)
                here = {
                    self.onward[place][0]
                    for place, takes in taking
                    if takes is not None and takes(character)
                }
        return False

    def _reached(self, places: set[int], text: str, at: int) -> set[int]:
        """These places, and those that they lead to without a character."""
        found = set(places)
        left = list(places)
        while left:
            place = left.pop()
            stands = self.stands[place]
            if self.takes[place] is None and (stands is None or stands(text, at)):
                new = [onward for onward in self.onward[place] if onward not in found]
                found.update(new)
                left += new
        return found

    # --- making it, from the end of the pattern to its beginning

    def _place(
        self, onward: Sequence[int], takes: Holds | None = None, stands: Stands | None = None
    ) -> int:
        if len(self.takes) >= MOST_PLACES:
            raise re.error("it repeats too much: write smaller numbers in its braces")
        self.takes.append(takes)
        self.stands.append(stands)
        self.onward.append(list(onward))
        return len(self.takes) - 1

    def _sequence(self, tree: Any, after: int, flags: int) -> int:
        for operation, argument in reversed(list(tree)):
            after = self._part(operation, argument, after, flags)
        return after

    def _part(self, operation: Any, argument: Any, after: int, flags: int) -> int:
        if operation is sre.BRANCH:
            return self._place([self._sequence(branch, after, flags) for branch in argument[1]])
        if operation is sre.SUBPATTERN:
            _, added, removed, body = argument
            return self._sequence(body, after, (flags | added) & ~removed)
        if operation in REPEATS:
            return self._repeat(argument, after, flags)
        if operation is sre.AT:
            return self._place([after], stands=_standing(argument, flags))
        return self._place([after], takes=_holding(operation, argument, flags))

    def _repeat(self, repeat: tuple[int, int, Any], after: int, flags: int) -> int:
        least, most, body = repeat
        if most is sre.MAXREPEAT:
            loop = self._place([after])
            self.onward[loop].append(self._sequence(body, loop, flags))
            entry = loop
        else:
            entry = after
            for _ in range(int(most) - least):
                entry = self._place([after, self._sequence(body, entry, flags)])
        for _ in range(least):
            entry = self._sequence(body, entry, flags)
        return entry


def _holding(operation: Any, argument: Any, flags: int) -> Holds:
    """What a character must be; capitals count alike where the pattern says so."""
    if operation is sre.ANY:
        return (
            (lambda character: True) if flags & re.DOTALL else (lambda character: character != "\n")
        )
    items = {
        sre.LITERAL: [(sre.LITERAL, argument)],
        sre.NOT_LITERAL: [(sre.LITERAL, argument)],
        sre.IN: argument,
    }
    if operation not in items:
        raise re.error(
            "it could take for ever: leave out back-references and looking ahead or behind, or its repeats"
        )
    holds = [_item(kind, value) for kind, value in items[operation] if kind is not sre.NEGATE]
    negated = operation is sre.NOT_LITERAL or any(
        kind is sre.NEGATE for kind, _ in items[operation]
    )

    def accepts(character: str) -> bool:
        variants = (
            (character, character.lower(), character.upper())
            if flags & re.IGNORECASE
            else (character,)
        )
        return any(hold(variant) for hold in holds for variant in variants) != negated

    return accepts


def _item(kind: Any, value: Any) -> Holds:
    if kind is sre.LITERAL:
        return lambda character: character == chr(value)
    if kind is sre.RANGE:
        return lambda character: len(character) == 1 and value[0] <= ord(character) <= value[1]
    category = re.compile(CATEGORIES[value])
    return lambda character: category.match(character) is not None


def _standing(where: Any, flags: int) -> Stands:
    """Where an anchor holds: asked of `re`, which looks at that place alone."""
    lines = flags & re.MULTILINE
    source = {
        sre.AT_BEGINNING: "^", sre.AT_BEGINNING_STRING: r"\A", sre.AT_BOUNDARY: r"\b",
        sre.AT_NON_BOUNDARY: r"\B", sre.AT_END: "$", sre.AT_END_STRING: r"\Z",
    }[where]  # fmt: skip
    anchor = re.compile(source, lines)
    return lambda text, at: anchor.match(text, at) is not None
