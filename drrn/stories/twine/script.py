"""A parsed story, ready to be told, and what a dialect is."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field

from drrn.stories.twine.page import Expression, Node
from drrn.stories.twine.story import Passage, Story

DEFAULT_ANSWER = "Alex"  # what the player is called where a story asks and no [inputs] answers

IGNORE = "ignore"
# What the rules may say that an unknown macro means: nothing, or the same as one that is known.
MEANINGS = (
    IGNORE,
    *"goto display print set choice button cyclinglink textinput back return".split(),
)
FIRST_PLACES = 3  # that a line of a complaint names


class ExpressionError(Exception):
    """What cannot be read in an expression, and why."""


@dataclass(frozen=True, order=True, slots=True)
class Problem:
    """What cannot be played, and where it stands."""

    line: int  # of the file
    passage: str
    what: str
    within: int = 0  # line of the passage, from 1; 0 where there is none to name
    cause: str = ""  # what it has in common with others, where that is not all of `what`

    @property
    def place(self) -> str:
        within = f"line {self.within} of " if self.within else ""
        return f'line {self.line}, {within}passage "{self.passage}"'

    def __str__(self) -> str:
        return f"{self.place}: {self.what}"


def grouped(problems: Iterable[Problem]) -> list[str]:
    """One line for each cause; where it stands several times, how often and the first places."""
    groups: dict[str, list[Problem]] = {}
    for problem in problems:
        groups.setdefault(problem.cause or problem.what, []).append(problem)
    return [
        str(group[0]) if len(group) == 1 else _summary(cause, group)
        for cause, group in groups.items()
    ]


def _summary(cause: str, group: list[Problem]) -> str:
    first = "; ".join(problem.place for problem in group[:FIRST_PLACES])
    more = len(group) - FIRST_PLACES
    return f"{cause}: {len(group)} times: {first}{f'; and {more} more' if more > 0 else ''}"


@dataclass
class Facts:
    """What a story's expressions touch, for the checks that read no page."""

    read: set[str] = field(default_factory=set)  # variables, without the $
    written: set[str] = field(default_factory=set)
    tracked: set[str] = field(
        default_factory=set
    )  # what the engine must keep: visited, turns, previous …
    chance: bool = False
    asked: set[str] = field(default_factory=set)  # variables that the player is asked to fill in


@dataclass(frozen=True)
class Dialect:
    """A language that stories are written in: how its passages and expressions are read, and what is not its own.

    A reader lists what it cannot play in `script.problems` and never raises for it; a parser of expressions raises
    `ExpressionError`.
    """

    name: str
    formats: tuple[
        str, ...
    ]  # story formats that are written in it: how their names begin, in lower case
    read_passage: Callable[[Script, Passage, frozenset[str]], Node]
    parse: Callable[
        [str, Facts], Expression
    ]  # for the `where` of rules, which speak of the story's variables
    functions: Collection[str] = ()  # that expressions may call
    foreign: re.Pattern[str] | None = (
        None  # code of the format that is not spoken here, as it is seen in a line
    )
    refused: bool = (
        False  # whether a story with such code is refused whole, not by the list of what it holds
    )
    title: str = ""  # what a message calls it
    macros: Collection[
        str
    ] = ()  # not spoken here, but a story that names no format is known by them


@dataclass
class Script:
    """A node for each passage, and what was learned while reading them."""

    story: Story
    dialect: Dialect
    answers: dict[str, str]  # to what the story asks the player
    lenient: bool = False  # whether what fails while playing is left out, too
    macros: Mapping[str, str] = field(
        default_factory=dict
    )  # what the rules say of macros, by name in lower case
    nodes: dict[str, Node] = field(default_factory=dict)
    tags: dict[str, tuple[str, ...]] = field(default_factory=dict)
    links: dict[str, set[str]] = field(default_factory=dict)  # passage → passages that it names
    expressions: dict[str, Expression] = field(
        default_factory=dict
    )  # by source, so that each is parsed once
    facts: Facts = field(default_factory=Facts)
    problems: list[Problem] = field(default_factory=list)
    unknown: set[str] = field(
        default_factory=set
    )  # names of macros that are not supported, in lower case
