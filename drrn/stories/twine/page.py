"""A page during rendering: what its passages read, write, draw at random, print and link to."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Union

from drrn.errors import InputError
from drrn.stories.twine.story import LONGEST_PASSAGE
from drrn.stories.twine.values import Value

DEEPEST = 60  # nested displays, <<if>>s and printed markup
MOST_DISPLAYS = 2_000  # on one page

Node = Callable[["Page"], None]  # prints, links or changes something
Expression = Callable[["Page"], Value]
# A number of equally likely outcomes, or the probability of each outcome.
Chances = Union[int, "tuple[float, ...]"]
Draw = Callable[[Chances], int]  # returns the index of an outcome


# --- random draws


def outcome_of(chances: Chances, uniform: float) -> int:
    """Return the outcome that a uniform number from 0 to 1 selects."""
    if isinstance(chances, int):
        return int(uniform * chances)
    for outcome, probability in enumerate(chances):
        uniform -= probability
        if uniform < 0:
            return outcome
    return len(chances) - 1


class EveryDraw:
    """A source of random draws that enumerates every sequence of outcomes, like an odometer.

    draws = EveryDraw()
    while draws.advance():
        ...  # call draws.draw; then draws.probability is the probability of this sequence
    """

    def __init__(self) -> None:
        self.outcomes: list[int] = []
        self.chances: list[Chances] = []
        self.position = -1  # draws of the present sequence; -1 before the first

    def advance(self) -> bool:
        """Start the next sequence; return False if there is none."""
        if self.position >= 0:
            while self.outcomes and self.outcomes[-1] + 1 == _count(self.chances[-1]):
                self.outcomes.pop()
                self.chances.pop()
            if not self.outcomes:
                return False
            self.outcomes[-1] += 1
        self.position = 0
        return True

    def draw(self, chances: Chances) -> int:
        if self.position == len(self.outcomes):  # a new draw of this sequence
            self.outcomes.append(0)
            self.chances.append(chances)
        self.position += 1
        return self.outcomes[self.position - 1]

    @property
    def probability(self) -> float:
        """Of the present sequence; equally likely outcomes divide once, to round only once."""
        divisor = 1
        product = 1.0
        for chances, outcome in zip(self.chances, self.outcomes, strict=True):
            if isinstance(chances, int):
                divisor *= chances
            else:
                product *= chances[outcome]
        return product / divisor


def _count(chances: Chances) -> int:
    return chances if isinstance(chances, int) else len(chances)


def unit_shares(low: float, high: float) -> tuple[int, tuple[float, ...]]:
    """Return the floor of `low` and the share of the interval in each unit from there on."""
    first = math.floor(low)
    last = math.ceil(high)
    parts = (min(k + 1, high) - max(k, low) for k in range(first, max(last, first + 1)))
    return first, tuple(part / (high - low) for part in parts)


# --- links


@dataclass(eq=False, slots=True)
class Link:
    """A link of a page."""

    label: str
    target: str
    setter: tuple[str, Expression] | None = None  # its source, and its effect when taken
    mark: str | None = None  # a cell that becomes true when taken
    back: int | None = None  # the number of pages to go back, variables included
    cycle: Cycle | None = None  # of a link that stays on the page and changes its words


@dataclass(frozen=True, slots=True)
class Cycle:
    """The labels that a cycling link displays in turn, and the cell that stores them."""

    words: tuple[str, ...]
    at: int = 0
    cell: str = ""  # '' if nothing is stored
    last: str = ""  # "end": the last label is plain text; "out": the link then disappears

    def piece(self, passage: str) -> str | Link:
        """Return the link, or the plain text that replaces it at its end."""
        if self.at == len(self.words):
            return ""
        words = self.words[self.at]
        stops = self.last == "end" and self.at == len(self.words) - 1
        return words if stops else Link(words, passage, cycle=self)

    def next(self) -> tuple[Cycle, dict[str, Value]]:
        """Return the link after a click, and the cells that the click writes."""
        at = self.at + 1 if self.last == "out" else (self.at + 1) % len(self.words)
        words = "" if at == len(self.words) else self.words[at]
        return replace(self, at=at), {self.cell: words} if self.cell else {}


# --- the page


@dataclass(eq=False, slots=True)
class Page:
    """A page during rendering, and the state that it reads and writes.

    State consists of cells: `$name` is a variable, other names belong to the engine (`visited …`,
    `turns`, `clicked …`). `trail` records every cell read and every random draw: two renderings
    with the same trail are the same page.
    """

    passage: str
    script: Mapping[str, Node]
    tags: Mapping[str, tuple[str, ...]]
    cells: Mapping[str, Value]
    draw_outcome: Draw  # the only source of randomness
    trail: list[tuple[str | Chances, Value]] = field(default_factory=list)
    writes: dict[str, Value] = field(default_factory=dict)
    pieces: list[str | Link] = field(default_factory=list)
    passages: list[str] = field(default_factory=list)  # on this page, displayed ones included
    parameters: tuple[Value, ...] = ()
    redirect: str = ""  # the passage that replaces this page, by <<goto>>
    depth: int = 0
    length: int = 0
    _cache: dict[str, Value] = field(default_factory=dict)

    def read(self, cell: str) -> Value:
        """Return the cell's value; 0 if it was never written."""
        if cell in self.writes:
            return self.writes[cell]
        if cell not in self._cache:
            value = self._cache[cell] = self.cells.get(cell, 0)
            self.trail.append((cell, value))
        return self._cache[cell]

    def write(self, cell: str, value: Value) -> None:
        self.writes[cell] = value

    def draw(self, outcomes: int) -> int:
        """Draw one of `outcomes` equally likely numbers from 0 up."""
        if outcomes <= 1:
            return 0
        outcome = self.draw_outcome(outcomes)
        self.trail.append((outcomes, outcome))
        return outcome

    def draw_by(self, probabilities: tuple[float, ...]) -> int:
        """Draw a number from 0 up by its probability; no probability is 0."""
        if len(set(probabilities)) == 1:
            return self.draw(len(probabilities))
        outcome = self.draw_outcome(probabilities)
        self.trail.append((probabilities, outcome))
        return outcome

    def print(self, text: str) -> None:
        self.length += len(text)
        if self.length > LONGEST_PASSAGE:
            raise InputError(
                f'passage "{self.passage}" makes a page of more than {LONGEST_PASSAGE:,} '
                "characters: look for a <<display>> or a variable that grows"
            )
        self.pieces.append(text)

    def add_link(self, link: Link) -> None:
        self.print("")
        self.pieces.append(link)

    def display(self, name: str, parameters: tuple[Value, ...] = ()) -> None:
        """Render a passage here, as <<display>> does."""
        if self.depth >= DEEPEST or len(self.passages) >= MOST_DISPLAYS:
            chain = " → ".join(f'"{passage}"' for passage in (*self.passages[-3:], name))
            raise InputError(
                f'passage "{self.passage}" displays passages without end ({chain}): '
                "a <<display>> that leads back to itself needs an <<if>> that stops it"
            )
        self.passages.append(name)
        outer = self.parameters
        self.parameters = parameters
        self.run_nested(self.script[name])
        self.parameters = outer

    def run_nested(self, node: Node) -> None:
        """Run a node inside another; limits the depth of Python's stack."""
        if self.depth >= DEEPEST:
            raise InputError(
                f'passage "{self.passage}": more than {DEEPEST} nested passages and blocks: '
                "look for markup that prints itself, or a <<display>> inside many <<if>>s"
            )
        self.depth += 1
        node(self)
        self.depth -= 1

    def capture(self, node: Node) -> list[str | Link]:
        """Return the text and links of a node without adding them to the page."""
        pieces = self.pieces
        self.pieces = []
        node(self)
        captured = self.pieces
        self.pieces = pieces
        return captured


class Snapshot(NamedTuple):
    """A page after a click on one of its cycling links: its pieces, and what the click writes."""

    passages: tuple[str, ...]
    pieces: tuple[str | Link, ...]
    writes: Mapping[str, Value]

    def restore(self, page: Page) -> None:
        page.passages.extend(self.passages)
        page.pieces.extend(self.pieces)
        page.writes.update(self.writes)

    @property
    def key(self) -> Hashable:
        """Two pages with the same key display and do the same."""
        return (self.passages, tuple(map(_piece_key, self.pieces)), tuple(self.writes.items()))


def click_cycle(page: Page, link: Link, cycle: Cycle) -> Snapshot:
    """Return the page after a click on a cycling link."""
    after, writes = cycle.next()
    pieces = (after.piece(page.passage) if piece is link else piece for piece in page.pieces)
    return Snapshot(tuple(page.passages), tuple(pieces), writes)


def _piece_key(piece: str | Link) -> Hashable:
    if isinstance(piece, str):
        return piece
    setter = piece.setter[0] if piece.setter else None
    return (piece.label, piece.target, setter, piece.mark, piece.back, piece.cycle)
