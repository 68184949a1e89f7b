"""A parsed story, ready to be told, and what a dialect is."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from drrn.games.stories.page import Expression, Node
from drrn.games.stories.story import Passage, Story

DEFAULT_ANSWER = "Alex"  # what the player is called where a story asks and no [inputs] answers


class ExpressionError(Exception):
    """What cannot be read in an expression, and why."""


@dataclass(frozen=True, order=True, slots=True)
class Problem:
    """What cannot be played, and where it stands."""

    line: int
    passage: str
    what: str

    def __str__(self) -> str:
        return f'line {self.line}, passage "{self.passage}": {self.what}'


@dataclass
class Facts:
    """What a story's expressions touch, for the checks that read no page."""

    read: set[str] = field(default_factory=set)  # variables, without the $
    written: set[str] = field(default_factory=set)
    tracked: set[str] = field(default_factory=set)  # what the engine must keep: visited, turns, previous …
    chance: bool = False
    asked: set[str] = field(default_factory=set)  # variables that the player is asked to fill in


@dataclass(frozen=True)
class Dialect:
    """A language that stories are written in: how its passages and expressions are read, and what is not its own.

    A reader lists what it cannot play in `script.problems` and never raises for it; a parser of expressions raises
    `ExpressionError`.
    """

    name: str
    formats: tuple[str, ...]  # story formats that are written in it: how their names begin, in lower case
    read_passage: Callable[[Script, Passage, frozenset[str]], Node]
    parse: Callable[[str, Facts], Expression]  # for the `where` of rules, which speak of the story's variables
    functions: Collection[str] = ()  # that expressions may call
    foreign: re.Pattern[str] | None = None  # code of the format that is not spoken here, as it is seen in a line
    refused: bool = False  # whether a story with such code is refused whole, not by the list of what it holds


@dataclass
class Script:
    """A node for each passage, and what was learned while reading them."""

    story: Story
    dialect: Dialect
    answers: dict[str, str]  # to what the story asks the player
    lenient: bool = False  # whether what fails while playing is left out, too
    nodes: dict[str, Node] = field(default_factory=dict)
    tags: dict[str, tuple[str, ...]] = field(default_factory=dict)
    links: dict[str, set[str]] = field(default_factory=dict)  # passage → passages that it names
    expressions: dict[str, Expression] = field(default_factory=dict)  # by source, so that each is parsed once
    facts: Facts = field(default_factory=Facts)
    problems: list[Problem] = field(default_factory=list)
