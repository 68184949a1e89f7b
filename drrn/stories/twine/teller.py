"""Memoised telling of pages: what a page becomes is remembered by what it read and drew.

A telling is a walk: read this cell, draw that lot, read another cell, and so to a scene. The walks out of one move form
a tree, so a move that was told before under the same answers costs a few look-ups instead of a telling.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field

from drrn.errors import InputError
from drrn.stories.twine import values as js
from drrn.stories.twine.beginnings import Beginnings
from drrn.stories.twine.cycles import PageSoFar, key_of_page, turned
from drrn.stories.twine.lots import Chances, EveryLot
from drrn.stories.twine.page import Expression, Link, Page
from drrn.stories.twine.rules import Rules
from drrn.stories.twine.script import Script
from drrn.stories.twine.values import Value
from drrn.stories.twine.verdict import verdict

MOST_REMEMBERED = 200_000  # scenes and questions; past that, pages are told anew each time

MOST_ONWARD = 100  # <<goto>>s from page to page without the player's doing

Lot = Callable[[Chances], int]


@dataclass(eq=False, slots=True)
class Scene:
    """A page told: what the player sees, and what became of the state."""

    passage: str
    text: str
    actions: tuple[str, ...]
    moves: tuple[Move, ...]
    reward: float
    writes: dict[str, Value]
    rule: int | None  # the ending rule that matched
    shown: tuple[str, ...]
    hypertext: bool
    onward: tuple[Onward, ...] = ()  # the way here by <<goto>>, where a story goes back

    @property
    def ended(self) -> bool:
        return not self.moves


@dataclass(eq=False, slots=True)
class Question:
    """A cell to read or a lot to draw, and where each answer leads."""

    cell: str
    chances: Chances  # of a lot; 0 for a cell
    answers: dict[Value, Scene | Question] = field(default_factory=dict)


@dataclass(eq=False, slots=True)
class Move:
    """To a passage, by way of a link; it holds the tree of what came of it before."""

    target: str
    setter: Expression | None = None
    mark: str | None = None
    back: int | None = None
    opening: bool = False  # the first page of an episode
    so_far: PageSoFar | None = None  # the page as it then stands, where the move stays on it
    told: Scene | Question | None = None


Onward = tuple[
    Move, "dict[str, Value]"
]  # a passage gone on to without a link, and what was written before


def key_of(value: Value) -> Value:
    """The value as a key: true is not 1, nor [true] [1], though Python holds them equal."""
    return f"\0{value!r}" if isinstance(value, (bool, tuple)) else value


class Teller:
    """Tells a script's pages under its rules."""

    def __init__(self, script: Script, rules: Rules) -> None:
        self.script = script
        self.rules = rules
        self.opening = Move(script.story.start, opening=True)
        self.beginnings = Beginnings(script.story)
        self.remembered = 0
        self._moves: dict[Hashable, Move] = {}

    def tell(self, move: Move, cells: Mapping[str, Value], lot: Lot) -> Scene:
        """The scene a move leads to; `cells` are left as they are, the scene's `writes` tell what changes."""
        node = move.told
        drawn: list[int] = []
        while node.__class__ is Question:
            answer: Value
            if node.chances:
                answer = lot(node.chances)
                drawn.append(answer)
            else:
                answer = cells.get(node.cell, 0)
                if answer.__class__ is bool or answer.__class__ is tuple:
                    answer = key_of(answer)
            node = node.answers.get(answer)
        return node if node is not None else self._tell_anew(move, cells, lot, drawn)  # type: ignore[return-value]

    def outcomes(self, move: Move, cells: Mapping[str, Value]) -> Iterator[tuple[float, Scene]]:
        """Every scene that chance can make of a move, with its probability."""
        lots = EveryLot()
        while lots.again():
            scene = self.tell(move, cells, lots.draw)
            yield lots.probability, scene

    def _tell_anew(
        self, move: Move, cells: Mapping[str, Value], lot: Lot, drawn: list[int]
    ) -> Scene:
        ahead = iter(drawn)  # lots already drawn on the way here count

        def next_lot(chances: Chances) -> int:
            given = next(ahead, None)
            return lot(chances) if given is None else given

        page = Page(move.target, self.script.nodes, self.script.tags, cells, next_lot)
        try:
            onward = self._tell_page(page, move)
            scene = self._scene(page, move, onward)
        except InputError as error:
            source = self.script.story.source
            raise (
                error if str(error).startswith(source) else InputError(f"{source}, {error}")
            ) from error
        self._remember(move, page, scene)
        return scene

    def _tell_page(self, page: Page, move: Move) -> tuple[Onward, ...]:
        """Fill the page, and go on where it has a <<goto>>; the moves that were made so."""
        if move.so_far is not None:
            move.so_far.put_on(page)
            return ()
        if move.setter is not None:
            move.setter(page)
        if move.opening and "StoryInit" in self.script.nodes:
            page.muted(self.script.nodes["StoryInit"])
            page.onward = ""  # nothing is shown yet that could be left
        page.show(move.target)
        gone: list[Onward] = []
        while page.onward:
            gone.append(self._go_on(page, len(gone)))
        return tuple(gone)

    def _go_on(self, page: Page, times: int) -> Onward:
        """Tell the passage that takes the page's place, and keep what a journey keeps of a move (`Journey.follow`)."""
        target = page.onward
        page.onward = ""
        if times >= MOST_ONWARD:
            raise InputError(
                f'passage "{page.passage}" goes on to "{target}" and so without end: '
                "a <<goto>> that comes back to itself needs an <<if>> that stops it"
            )
        tracked = self.script.facts.tracked
        before = dict(page.writes)
        if "history" in tracked:
            page.write("moved", True)
        for cell in ("turns", f"visited {target}"):
            if cell.split(" ")[0] in tracked:
                page.write(cell, js.add(page.read(cell), 1))
        if "last" in tracked or "previous" in tracked:
            page.write("last", page.passage)
            if page.passage != target:
                page.write("previous", page.passage)
            page.write("here", target)
        page.pieces.clear()
        page.length = 0
        page.passage = target
        page.show(target)
        return self.move(Link("", target)), before | {
            "moved": True
        } if "history" in tracked else before

    def _scene(self, page: Page, move: Move, onward: tuple[Onward, ...]) -> Scene:
        judged = verdict(self.rules, self.beginnings, page, opening=move.opening)
        offered = {(label, self._move_on(page, link)): None for label, link in judged.links}
        return Scene(
            passage=page.passage,
            text=judged.text,
            actions=tuple(label for label, _ in offered),
            moves=tuple(onward for _, onward in offered),
            reward=judged.reward,
            writes=page.writes,
            rule=judged.rule,
            shown=tuple(dict.fromkeys(page.shown)),
            hypertext=judged.hypertext,
            onward=onward if "history" in self.script.facts.tracked else (),
        )

    def _move_on(self, page: Page, link: Link) -> Move:
        """The one move for all links that do the same; that of a cycling link leads to the page as it then stands."""
        if link.cycle is None:
            return self.move(link)
        so_far = turned(page, link, link.cycle)
        key = (page.passage, key_of_page(so_far))
        if key not in self._moves:
            self._moves[key] = Move(page.passage, so_far=so_far)
        return self._moves[key]

    def move(self, link: Link) -> Move:
        """The one move for all links that lead alike."""
        setter = link.setter
        key = (link.target, setter[0] if setter else None, link.mark, link.back)
        if key not in self._moves:
            self._moves[key] = Move(
                link.target, setter[1] if setter else None, link.mark, link.back
            )
        return self._moves[key]

    def _remember(self, move: Move, page: Page, scene: Scene) -> None:
        """Hang the scene into the move's tree, at the end of the page's trail."""
        if self.remembered > MOST_REMEMBERED:
            return
        self.remembered += len(page.trail) + 1
        place: dict[Value, Scene | Question] = {}
        first: Scene | Question | None = move.told
        last: Value = None
        node = first
        for asked, answer in page.trail:
            if not isinstance(node, Question):
                node = Question(asked, 0) if isinstance(asked, str) else Question("", asked)
                if first is None:
                    first = node
                else:
                    place[last] = node
            place = node.answers
            last = key_of(answer)
            node = place.get(last)
        if page.trail:
            place[last] = scene
            move.told = first
        else:
            move.told = scene
