"""State search of a story with liveness: a state is a page and the cells that may yet matter.

A cell matters on a page if some way onward may read it before it is written. What ways onward there are is known only
once they were gone, so the search begins with nothing that matters, learns, and begins anew when it has learned more;
when it ends without having learned anything, no two states that differ were taken for one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable
from operator import itemgetter
from typing import TYPE_CHECKING

from drrn.compiled.graph import (
    CELL_BYTES,
    OUTCOME_BYTES,
    ROW_BYTES,
    STATE_BYTES,
    States,
    TooLargeError,
    refusal,
)
from drrn.stories.twine.explore import explore
from drrn.stories.twine.journey import Journey
from drrn.stories.twine.liveness import KnownCells, LiveCells, UnknownCellError
from drrn.stories.twine.teller import Move, Question, Scene
from drrn.stories.twine.values import Value

if TYPE_CHECKING:
    from drrn.stories.twine.story_game import StoryGame

FIRST_LOOK = 500  # states to search at least before beginning anew
RAW_LIMIT = 50_000  # states with all their variables are counted only so far

Values = tuple[int, ...]  # of the cells that matter, by number


def search_story(
    game: StoryGame, limit: int, memory: int, progress: Callable[[int], None] | None = None
) -> States:
    """The states of a story, and how many there would be if every variable counted."""
    if "history" in game.script.facts.tracked:
        raise refusal(game, "its <<back>> makes every way to a page a state of its own")
    raw = explore(
        game, min(limit, RAW_LIMIT), progress
    )  # first, since the search learns from what was told
    states = reachable_states(game, limit, memory, progress)
    states.raw_states = raw.states
    states.raw_complete = raw.complete
    return states


def reachable_states(
    game: StoryGame, limit: int, memory: int, progress: Callable[[int], None] | None = None
) -> States:
    """All states, row 0 being the opening; `TooLargeError` past so many states or about so many bytes."""
    search = _Search(game, limit, memory, progress)
    while not search.complete():
        search.matters.learn()
    search.states.faces = [game.face(scene) for scene in search.faces]
    search.states.unreached = tuple(name for name in game.story.pages if name not in search.shown)
    return search.states


class _Interned:
    """Interned values of cells: each distinct one gets the next id, 0 being that of 0.

    True is not 1, and a list is not its only item.
    """

    def __init__(self) -> None:
        self.values: list[Value] = []
        self.numbers: dict[Hashable, int] = {}
        self.number(0)

    def number(self, value: Value) -> int:
        key = value if value.__class__ is int else _typed(value)
        found = self.numbers.get(key)
        if found is None:
            found = self.numbers[key] = len(self.values)
            self.values.append(value)
        return found


def _typed(value: Value) -> Hashable:
    if isinstance(value, tuple):
        return ("list", *map(_typed, value))
    if isinstance(value, bool) or value != value:
        return (str(value),)
    return value


class _Search:
    """One search after another, until what matters is known."""

    def __init__(
        self, game: StoryGame, limit: int, memory: int, progress: Callable[[int], None] | None
    ) -> None:
        self.game = game
        self.limit = limit
        self.memory = memory
        self.progress = progress
        self.opening = game.teller.opening
        self.matters = LiveCells(game.script.facts.tracked)
        self.interned = _Interned()
        self.faces: list[Scene] = []
        self.shown: set[str] = set()
        self._face_of: dict[Scene, tuple[int, frozenset[str]]] = {}
        self._face_numbers: dict[Hashable, int] = {}
        self._recall(self.opening)

    def _recall(self, move: Move) -> None:
        """Learn from what the teller remembers of tellings before this search."""
        moves = [move]
        seen = {move}
        while moves:
            move = moves.pop()
            reads, scenes = _remembered(move)
            self.matters.see(move, reads, [self._face(scene) for scene in scenes])
            for onward in (onward for scene in scenes for onward in scene.moves):
                if onward not in seen:
                    seen.add(onward)
                    moves.append(onward)
        self.matters.learn()

    def complete(self) -> bool:
        """Search from the start; False where something that matters was left out."""
        self.states = States()
        self.numbers: dict[tuple[int, Values], int] = {}
        self.keys: list[tuple[int, Values]] = []
        self.rows: dict[tuple[Move, Values], int] = {}
        self.bytes = 0
        self._projections: dict[int, list[tuple[Move, Callable[[Values], Values]]]] = {}
        self.incomplete = False  # a cell was asked for that was not known to matter
        enough = 0  # states after which to begin anew, once that is known to be needed; till then more may be learned
        self._row(
            self.opening, (0,) * len(self.matters.ahead[self.opening].matters)
        )  # nothing is set yet
        done = 0
        while done < len(self.keys):
            self._expand(*self.keys[done])
            done += 1
            if self.progress and done % 1000 == 0:
                self.progress(done)
            if self.incomplete:
                enough = enough or FIRST_LOOK + 2 * len(self.keys)
                if len(self.keys) > enough:
                    break
        return not self.incomplete

    def _expand(self, face: int, values: Values) -> None:
        states = self.states
        if face not in self._projections:
            cells = self.matters.on_face[face]
            moves = self.faces[face].moves
            self._projections[face] = [
                (m, _projection(cells, self.matters.ahead[m].matters)) for m in moves
            ]
        for move, projection in self._projections[face]:
            states.row.append(self._row(move, projection(values)))
        states.first.append(len(states.row))
        states.face.append(face)

    def _row(self, move: Move, values: Values) -> int:
        """The number of a move with the cells that matter to it; its outcomes are found the first time."""
        number = self.rows.get((move, values))
        if number is None:
            number = self.rows[move, values] = len(self.rows)
            self._find_outcomes(move, values)
        return number

    def _find_outcomes(self, move: Move, values: Values) -> None:
        matters = self.matters.ahead[move].matters
        states = self.states
        kept = self.interned.values
        journey = Journey(
            {cell: kept[number] for cell, number in zip(matters, values, strict=True)}
        )
        told = journey.follow(move, self.game.teller)
        # What the journey counts on from a value that was left out is not known.
        sure = (*matters, move.mark, "here", "last", "previous")
        cells = KnownCells({cell: value for cell, value in journey.cells.items() if cell in sure})
        outcomes: dict[int, float] = {}
        leads: list[tuple[int, frozenset[str]]] = []
        try:
            for probability, scene in self.game.teller.outcomes(told, cells):
                face, written = self._face(scene)
                leads.append((face, written))
                state = self._state(face, KnownCells({**cells, **scene.writes}))
                outcomes[state] = outcomes.get(state, 0.0) + probability
                self._check_size(move, len(leads))
        except UnknownCellError as unknown:
            self.incomplete = True
            self.matters.see(move, unknown.args, leads)
        else:
            self.matters.see(move, (), leads)
        states.add_row(outcomes)
        self.bytes += ROW_BYTES + CELL_BYTES * len(values) + OUTCOME_BYTES * len(outcomes)

    def _state(self, face: int, cells: KnownCells) -> int:
        number = self.interned.number
        key = (face, tuple([number(cells.get(cell)) for cell in self.matters.on_face[face]]))
        found = self.numbers.get(key)
        if found is None:
            found = self.numbers[key] = len(self.keys)
            self.keys.append(key)
            self.bytes += STATE_BYTES + CELL_BYTES * len(key[1])
        return found

    def _face(self, scene: Scene) -> tuple[int, frozenset[str]]:
        """The number of what a scene shows and offers, and the cells it wrote."""
        found = self._face_of.get(scene)
        if found is None:
            ending = (scene.rule, scene.passage) if scene.ended else None
            key = (scene.text, scene.actions, scene.moves, scene.reward, ending)
            number = self._face_numbers.setdefault(key, len(self.faces))
            if number == len(self.faces):
                self.faces.append(scene)
                self.matters.add_face(scene.moves)
            self.shown.update(scene.shown)
            found = self._face_of[scene] = (number, frozenset(scene.writes))
        return found

    def _check_size(self, move: Move, outcomes: int) -> None:
        if len(self.keys) > self.limit:
            raise TooLargeError(f"it has more than {self.limit:,} states{self._growth()}")
        if self.bytes > self.memory:
            size = f"{len(self.keys):,} states take more than {self.memory / 2**20:,.0f} MB"
            raise TooLargeError(f"its {size}{self._growth()}")
        if outcomes > self.limit:
            raise TooLargeError(
                f'by lot, passage "{move.target}" comes out in more than {self.limit:,} ways'
            )

    def _growth(self) -> str:
        """The cell that took the most values, if one stands out."""
        seen = {
            (cell, n)
            for face, values in self.keys
            for cell, n in zip(self.matters.on_face[face], values, strict=True)
        }
        most = Counter(cell for cell, _ in seen).most_common(1)
        if not most or most[0][1] < 100:
            return ""
        return f"; {most[0][0]} alone took {most[0][1]:,} values: does it grow without end?"


def _remembered(move: Move) -> tuple[set[str], list[Scene]]:
    """The cells that tellings of a move have read, and the scenes they came to."""
    reads = set()
    scenes = []
    nodes = [move.told]
    while nodes:
        node = nodes.pop()
        if isinstance(node, Question):
            if node.cell:
                reads.add(node.cell)
            nodes += node.answers.values()
        elif node is not None:
            scenes.append(node)
    return reads, scenes


def _projection(cells: tuple[str, ...], wanted: tuple[str, ...]) -> Callable[[Values], Values]:
    """Picks the wanted cells' values out of the cells' values."""
    places = [cells.index(cell) for cell in wanted]
    if not places:
        return lambda values: ()
    if len(places) == 1:
        only = places[0]
        return lambda values: (values[only],)
    return itemgetter(*places)
