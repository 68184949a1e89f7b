"""A parsed story, ready to be rendered, and what cannot be played of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from drrn.stories.twine.page import Expression, Node
from drrn.stories.twine.story import Story

DEFAULT_ANSWER = "Alex"  # the player's name if a story asks and [inputs] has no answer

FIRST_LOCATIONS = 3  # listed for problems of one cause


class ExpressionError(Exception):
    """An expression cannot be parsed; the message has the reason."""


@dataclass(frozen=True, order=True, slots=True)
class Problem:
    """Something that cannot be played, and its location."""

    line: int  # of the file
    passage: str
    what: str
    within: int = 0  # line of the passage, from 1; 0 if unknown
    cause: str = ""  # groups problems of one cause, if that is not `what`

    @property
    def location(self) -> str:
        within = f"line {self.within} of " if self.within else ""
        return f'line {self.line}, {within}passage "{self.passage}"'

    def __str__(self) -> str:
        return f"{self.location}: {self.what}"


def summarise(problems: Iterable[Problem]) -> list[str]:
    """Return one line for each cause, with its count and the first locations."""
    groups: dict[str, list[Problem]] = {}
    for problem in problems:
        groups.setdefault(problem.cause or problem.what, []).append(problem)
    lines = []
    for cause, group in groups.items():
        if len(group) == 1:
            lines.append(str(group[0]))
            continue
        first = "; ".join(problem.location for problem in group[:FIRST_LOCATIONS])
        more = len(group) - FIRST_LOCATIONS
        rest = f"; and {more} more" if more > 0 else ""
        lines.append(f"{cause}: {len(group)} times: {first}{rest}")
    return lines


@dataclass
class Facts:
    """What a story's expressions use; variables are without the $."""

    read: set[str] = field(default_factory=set)
    written: set[str] = field(default_factory=set)
    tracked: set[str] = field(default_factory=set)  # engine state: visited, turns, previous …
    chance: bool = False
    prompts: set[str] = field(default_factory=set)  # variables that the player fills in


@dataclass
class Script:
    """A node for each passage, and what was learned when parsing them."""

    story: Story
    answers: dict[str, str]  # to the story's questions to the player
    lenient: bool = False  # skip what fails during play as well
    nodes: dict[str, Node] = field(default_factory=dict)
    tags: dict[str, tuple[str, ...]] = field(default_factory=dict)
    links: dict[str, set[str]] = field(default_factory=dict)  # passage → passages it names
    expressions: dict[str, Expression] = field(default_factory=dict)  # by source
    facts: Facts = field(default_factory=Facts)
    problems: list[Problem] = field(default_factory=list)
    unknown: set[str] = field(default_factory=set)  # unsupported macros, in lower case
