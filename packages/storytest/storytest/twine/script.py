"""A parsed story, what cannot be played of it, and a page during rendering."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from storytest.limits import LIMITS, Limits
from storytest.twine.story import Story
from storytest.twine.values import GrowthError, Value
from textgames.errors import InputError

DEFAULT_ANSWER = "Alex"  # the player's name if a story asks and [inputs] has no answer

Node = Callable[["Page"], object]  # prints, links or changes something; its value is not used
Expression = Callable[["Page"], Value]
Draw = Callable[[int], int]  # returns one of a number of equally likely outcomes


# --- the story


class ExpressionError(Exception):
    """An expression cannot be parsed, for the reason in the message."""


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
        return f'line {self.line} ({within}passage "{self.passage}")'

    def __str__(self) -> str:
        return f"{self.location}: {self.what}"


def summarise(problems: Iterable[Problem], locations: int = 3) -> list[str]:
    """One line for each cause, with its count and the first locations."""
    groups: dict[str, list[Problem]] = {}
    for problem in problems:
        groups.setdefault(problem.cause or problem.what, []).append(problem)
    lines = []
    for cause, group in groups.items():
        first = "; ".join(problem.location for problem in group[:locations])
        more = len(group) - locations
        rest = f"; and {more} more" if more > 0 else ""
        many = f"{cause}: {len(group)} times: {first}{rest}"
        lines.append(many if len(group) > 1 else str(group[0]))
    return lines


@dataclass
class Facts:
    """What a story's expressions use. Variables are without the $."""

    read: set[str] = field(default_factory=set)
    written: set[str] = field(default_factory=set)
    tracked: set[str] = field(default_factory=set)  # engine state: visited, turns
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
    limits: Limits = LIMITS


# --- random draws


class EveryDraw:
    """A source of random draws that enumerates every sequence of outcomes, like an odometer.

    draws = EveryDraw()
    while draws.advance():
        ...  # call draws.draw, then draws.probability
    """

    def __init__(self, most: int = 500) -> None:
        self.most = most  # draws of a sequence
        self.outcomes: list[int] = []
        self.counts: list[int] = []
        self.position = -1  # draws of the present sequence; -1 before the first

    def advance(self) -> bool:
        """Start the next sequence, if there is one."""
        if self.position >= 0:
            while self.outcomes and self.outcomes[-1] + 1 == self.counts[-1]:
                self.outcomes.pop()
                self.counts.pop()
            if not self.outcomes:
                return False
            self.outcomes[-1] += 1
        self.position = 0
        return True

    def draw(self, count: int) -> int:
        if self.position == len(self.outcomes):  # a new draw of this sequence
            if self.position >= self.most:
                raise GrowthError(f"more than {self.most:,} random draws")
            self.outcomes.append(0)
            self.counts.append(count)
        self.position += 1
        return self.outcomes[self.position - 1]

    @property
    def probability(self) -> float:
        """Probability of the present sequence, rounded only once."""
        return 1.0 / math.prod(self.counts)


# --- links


@dataclass(eq=False, slots=True)
class Link:
    """A link of a page."""

    label: str
    target: str
    setter: tuple[str, Expression] | None = None  # its source, and its effect when taken


# --- the page


@dataclass(eq=False, slots=True)
class Page:
    """A page during rendering, and the state that it reads and writes.

    State consists of cells: `$name` is a variable, other names belong to the engine (`visited …`,
    `turns`). `trail` records every cell read and every random draw: two renderings
    with the same trail are the same page.
    """

    passage: str
    script: Mapping[str, Node]
    tags: Mapping[str, tuple[str, ...]]
    cells: Mapping[str, Value]
    draw_outcome: Draw  # the only source of randomness
    limits: Limits = LIMITS
    trail: list[tuple[str | int, Value]] = field(default_factory=list)
    writes: dict[str, Value] = field(default_factory=dict)
    pieces: list[str | Link] = field(default_factory=list)
    passages: list[str] = field(default_factory=list)  # on this page, displayed ones included
    depth: int = 0
    length: int = 0
    _cache: dict[str, Value] = field(default_factory=dict)

    def read(self, cell: str) -> Value:
        """The cell's value, or 0 if it was never written."""
        if cell in self.writes:
            return self.writes[cell]
        if cell not in self._cache:
            value = self._cache[cell] = self.cells.get(cell, 0)
            self.trail.append((cell, value))
        return self._cache[cell]

    def write(self, cell: str, value: Value) -> None:
        self.writes[cell] = value

    def draw(self, count: int) -> int:
        """Draw one of a number of equally likely outcomes, from 0 up."""
        if count <= 1:
            return 0
        outcome = self.draw_outcome(count)
        self.trail.append((count, outcome))
        return outcome

    def print(self, text: str) -> None:
        self.length += len(text)
        longest = self.limits.passage_characters
        if self.length > longest:
            what = f'passage "{self.passage}" makes a page of more than {longest:,} characters'
            raise InputError(f"{what}; look for a <<display>> or a variable that grows")
        self.pieces.append(text)

    def display(self, name: str) -> None:
        limits = self.limits
        if self.depth >= limits.nested or len(self.passages) >= limits.displays:
            chain = " → ".join(f'"{passage}"' for passage in (*self.passages[-3:], name))
            what = f'passage "{self.passage}" displays passages endlessly ({chain})'
            cure = "a <<display>> that leads back to itself needs an <<if>> that stops it"
            raise InputError(f"{what}; {cure}")
        self.passages.append(name)
        self.run_nested(self.script[name])

    def run_nested(self, node: Node) -> None:
        """Run a node inside another, with a limit on the depth of Python's stack."""
        most = self.limits.nested
        if self.depth >= most:
            raise InputError(
                f'passage "{self.passage}": more than {most} nested passages and blocks; '
                "look for markup that prints itself, or a <<display>> inside many <<if>>s"
            )
        self.depth += 1
        node(self)
        self.depth -= 1

    def capture(self, node: Node) -> list[str | Link]:
        """The text and links of a node without adding them to the page."""
        pieces = self.pieces
        self.pieces = []
        node(self)
        captured = self.pieces
        self.pieces = pieces
        return captured
