"""A page being told: what its passages read, write, draw by lot, say and offer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from drrn.errors import InputError
from drrn.stories.twine.lots import Chances
from drrn.stories.twine.story import LONGEST_PASSAGE
from drrn.stories.twine.values import Value

if TYPE_CHECKING:
    from drrn.stories.twine.cycles import Cycle

DEEPEST = 60  # displays, <<if>>s and printed markup inside one another
MOST_DISPLAYS = 2_000  # on one page

Node = Callable[["Page"], None]  # says, offers or changes something
Expression = Callable[["Page"], Value]


@dataclass(eq=False, slots=True)
class Link:
    """A way onward, as the page offers it."""

    label: str
    target: str
    setter: tuple[str, Expression] | None = None  # its source and what it does when taken
    mark: str | None = None  # a cell that becomes true when taken
    back: int | None = None  # so many pages back, variables and all
    cycle: Cycle | None = None  # of a link that stays on the page and shows other words


@dataclass(eq=False, slots=True)
class Page:
    """A page being told, and the state that it reads and writes.

    State is cells: `$name` a variable, other names the engine's own (`visited …`, `turns`, `clicked …`). Every cell
    read and every lot drawn is kept in `trail`: two tellings with the same trail are the same page.
    """

    passage: str
    script: Mapping[str, Node]
    tags: Mapping[str, tuple[str, ...]]
    cells: Mapping[str, Value]
    lot: Callable[[Chances], int]  # the one source of chance: the number of an outcome
    trail: list[tuple[str | Chances, Value]] = field(default_factory=list)
    writes: dict[str, Value] = field(default_factory=dict)
    pieces: list[str | Link] = field(default_factory=list)
    shown: list[str] = field(default_factory=list)  # passages told on this page, displays included
    parameters: tuple[Value, ...] = ()
    onward: str = ""  # the passage that takes this page's place once it is told, as <<goto>> does
    depth: int = 0
    length: int = 0
    _known: dict[str, Value] = field(default_factory=dict)

    def read(self, cell: str) -> Value:
        """The cell's value; one that was never written is 0."""
        if cell in self.writes:
            return self.writes[cell]
        if cell not in self._known:
            value = self._known[cell] = self.cells.get(cell, 0)
            self.trail.append((cell, value))
        return self._known[cell]

    def write(self, cell: str, value: Value) -> None:
        self.writes[cell] = value

    def draw(self, outcomes: int) -> int:
        """One of `outcomes` equally likely numbers from 0 up."""
        if outcomes <= 1:
            return 0
        outcome = self.lot(outcomes)
        self.trail.append((outcomes, outcome))
        return outcome

    def draw_by(self, probabilities: tuple[float, ...]) -> int:
        """A number from 0 up, each with a probability of its own; none of them is 0."""
        if len(set(probabilities)) == 1:
            return self.draw(len(probabilities))
        outcome = self.lot(probabilities)
        self.trail.append((probabilities, outcome))
        return outcome

    def say(self, text: str) -> None:
        self.length += len(text)
        if self.length > LONGEST_PASSAGE:
            raise InputError(
                f'passage "{self.passage}" makes a page of more than {LONGEST_PASSAGE:,} characters: '
                "look for a <<display>> or a variable that grows"
            )
        self.pieces.append(text)

    def offer(self, link: Link) -> None:
        self.say("")
        self.pieces.append(link)

    def show(self, name: str, parameters: tuple[Value, ...] = ()) -> None:
        """Tell a passage here, as <<display>> does."""
        if self.depth >= DEEPEST or len(self.shown) >= MOST_DISPLAYS:
            chain = " → ".join(f'"{passage}"' for passage in (*self.shown[-3:], name))
            raise InputError(
                f'passage "{self.passage}" displays passages without end ({chain}): '
                "a <<display>> that comes back to itself needs an <<if>> that stops it"
            )
        self.shown.append(name)
        outer = self.parameters
        self.parameters = parameters
        self.nested(self.script[name])
        self.parameters = outer

    def nested(self, node: Node) -> None:
        """Run a node inside another, no deeper than Python can go."""
        if self.depth >= DEEPEST:
            raise InputError(
                f'passage "{self.passage}": more than {DEEPEST} passages and blocks stand in one another: '
                "look for markup that prints itself, or for a <<display>> inside many <<if>>s"
            )
        self.depth += 1
        node(self)
        self.depth -= 1

    def muted(self, node: Node) -> list[str | Link]:
        """What a node would say and offer, kept off the page."""
        pieces = self.pieces
        self.pieces = []
        node(self)
        said = self.pieces
        self.pieces = pieces
        return said
