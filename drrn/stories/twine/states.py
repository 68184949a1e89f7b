"""Searches of a story's states.

`explore` visits pages with all their variables. `search_story` merges states that differ only in
cells that no longer matter: a cell matters on a page if some path may read it before writing it.
Which paths exist is known only after they were rendered, so the search starts with nothing that
matters, learns, and starts again when it has learned more. When it ends without having learned
anything, no two different states were merged.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Protocol

from drrn.compiled.graph import (
    CELL_BYTES,
    OUTCOME_BYTES,
    ROW_BYTES,
    STATE_BYTES,
    Face,
    States,
    TooLargeError,
    refusal,
)
from drrn.game.contract import Game
from drrn.stories.authored import EXPLORE_LIMIT, Exploration
from drrn.stories.twine.renderer import Journey, Move, Question, Renderer, Scene
from drrn.stories.twine.values import Value

FIRST_STATES = 500  # to search at least before starting again
RAW_LIMIT = 50_000  # of states with all their variables

Progress = Callable[[int], None]
Values = tuple[int, ...]  # ids of the values of the cells that matter


class RenderedGame(Game, Protocol):
    """A game whose pages a renderer makes."""

    renderer: Renderer

    def face(self, scene: Scene) -> Face:
        """Return what a scene displays and pays."""
        ...


# --- exploration


@dataclass
class StoryExploration(Exploration):
    """An exploration with the scene of each face."""

    scenes: list[Scene] = field(default_factory=list)


def explore(
    game: RenderedGame, limit: int = EXPLORE_LIMIT, progress: Progress | None = None
) -> StoryExploration:
    """Visit states, those with new pages first, until all are visited or the limit is reached."""
    search = _Exploration(game, limit)
    search.arrive(game.renderer.opening, Journey())
    while (search.fresh or search.stale) and len(search.states) < limit:
        scene, journey = (search.fresh or search.stale).popleft()
        for move in scene.moves:
            search.arrive(move, journey)
        if progress:
            progress(len(search.states))
    result = search.result
    result.states = len(search.states)
    result.complete &= not search.fresh and not search.stale
    return result


class _Exploration:
    """An exploration in progress; states with new pages and with known pages wait in two queues."""

    def __init__(self, game: RenderedGame, limit: int) -> None:
        self.game = game
        self.renderer = game.renderer
        self.tracked = bool(game.renderer.script.facts.tracked)
        self.limit = limit
        self.result = StoryExploration(complete=True)
        self.states: set[Hashable] = set()
        self.pages: set[Hashable] = set()
        self.fresh: deque[tuple[Scene, Journey]] = deque()
        self.stale: deque[tuple[Scene, Journey]] = deque()

    def arrive(self, move: Move, journey: Journey) -> None:
        """Add every outcome of a move."""
        if self.tracked or move.mark:
            journey = journey.copy()
            move = journey.follow(move, self.renderer)
        for number, (probability, scene) in enumerate(self.renderer.outcomes(move, journey.cells)):
            self.result.stochastic |= probability < 1
            if number >= self.limit or len(self.states) >= self.limit:
                self.result.complete = False
                break
            self._add(scene, journey)

    def _add(self, scene: Scene, journey: Journey) -> None:
        result = self.result
        result.shown.update(scene.passages)
        after = journey.after(scene)
        state = (scene.text, scene.moves, scene.rule, after.identity)
        if state in self.states:
            return
        self.states.add(state)
        page = (scene.text, scene.actions, scene.rule)
        if page in self.pages:
            self.stale.append((scene, after))
            return
        self.pages.add(page)
        result.scenes.append(scene)
        result.faces.append(self.game.face(scene))
        self.fresh.append((scene, after))


# --- cells that matter


class UnknownCellError(Exception):
    """A cell was read that was not known to matter, so its value was not stored."""


class KnownCells(dict[str, Value]):
    """The cells whose values are stored."""

    def get(self, cell: str, default: Value = 0) -> Value:  # type: ignore[override]
        try:
            return self[cell]
        except KeyError:
            raise UnknownCellError(cell) from None


@dataclass
class _Ahead:
    """What is known of a move: the cells it reads, its faces with the cells written before."""

    reads: set[str] = field(default_factory=set)
    leads: set[tuple[int, frozenset[str]]] = field(default_factory=set)
    matters: tuple[str, ...] = ()  # before the move


class LiveCells:
    """The cells that matter before each move and on each face: the least fixed point."""

    def __init__(self, tracked: set[str]) -> None:
        self.tracked = tracked
        self.ahead: dict[Move, _Ahead] = {}
        self.moves: list[tuple[Move, ...]] = []  # of each face
        self.on_face: list[tuple[str, ...]] = []

    def add_face(self, moves: tuple[Move, ...]) -> None:
        self.moves.append(moves)
        cells = [self.ahead.setdefault(move, _Ahead()).matters for move in moves]
        self.on_face.append(tuple(sorted(set().union(*cells))))

    def add_leads(
        self, move: Move, reads: Iterable[str], leads: Iterable[tuple[int, frozenset[str]]]
    ) -> None:
        ahead = self.ahead.setdefault(move, _Ahead())
        ahead.reads.update(reads)
        ahead.leads.update(leads)

    def learn(self) -> None:
        """Propagate the cells that matter until nothing changes."""
        faces = [set(cells) for cells in self.on_face]
        moves = {move: set(ahead.matters) for move, ahead in self.ahead.items()}
        changed = True
        while changed:
            changed = False
            for move, ahead in self.ahead.items():
                later = (faces[face] - written for face, written in ahead.leads)
                matters = self._before(move, ahead.reads.union(*later))
                changed |= not matters <= moves[move]
                moves[move] |= matters
            for cells, face_moves in zip(faces, self.moves, strict=True):
                cells.update(*(moves[move] for move in face_moves))
        for move, ahead in self.ahead.items():
            ahead.matters = tuple(sorted(moves[move]))
        self.on_face = [tuple(sorted(cells)) for cells in faces]

    def _before(self, move: Move, matters: set[str]) -> set[str]:
        """Return what matters before `Journey.follow`, given what matters after it."""
        if move.snapshot is not None:
            return matters
        before = matters - {move.mark or ""}
        if "last" in self.tracked or "previous" in self.tracked:
            before.discard("here")
            if not before.isdisjoint(("last", "previous")):
                before.add("here")
        return before


# --- search of the states


def search_story(
    game: RenderedGame, limit: int, memory: int, progress: Progress | None = None
) -> States:
    """Return the states of a story, and their number if every variable counted."""
    if "history" in game.renderer.script.facts.tracked:
        raise refusal(game, "its <<back>> makes every path to a page a separate state")
    raw = explore(game, min(limit, RAW_LIMIT), progress)  # first: the search learns from it
    states = reachable_states(game, limit, memory, progress)
    states.raw_states = raw.states
    states.raw_complete = raw.complete
    return states


def reachable_states(
    game: RenderedGame, limit: int, memory: int, progress: Progress | None = None
) -> States:
    """Return all states; row 0 is the opening.

    Raises:
        TooLargeError: more than `limit` states, or about `memory` bytes.
    """
    search = _StateSearch(game, limit, memory, progress)
    while not search.complete():
        search.live.learn()
    search.states.faces = [game.face(scene) for scene in search.faces]
    pages = game.renderer.script.story.pages
    search.states.unreached = tuple(name for name in pages if name not in search.passages)
    return search.states


class _Interned:
    """Ids of cell values; 0 has the id 0. True is not 1, and a list is not its only item."""

    def __init__(self) -> None:
        self.values: list[Value] = []
        self.ids: dict[Hashable, int] = {}
        self.id(0)

    def id(self, value: Value) -> int:
        key = value if value.__class__ is int else _typed(value)
        number = self.ids.get(key)
        if number is None:
            number = self.ids[key] = len(self.values)
            self.values.append(value)
        return number


def _typed(value: Value) -> Hashable:
    if isinstance(value, tuple):
        return ("list", *map(_typed, value))
    if isinstance(value, bool) or value != value:
        return (str(value),)
    return value


class _StateSearch:
    """Repeated searches, until the cells that matter are known."""

    def __init__(
        self, game: RenderedGame, limit: int, memory: int, progress: Progress | None
    ) -> None:
        self.renderer = game.renderer
        self.limit = limit
        self.memory = memory
        self.progress = progress
        self.opening = game.renderer.opening
        self.live = LiveCells(game.renderer.script.facts.tracked)
        self.interned = _Interned()
        self.faces: list[Scene] = []
        self.passages: set[str] = set()
        self._face_of: dict[Scene, tuple[int, frozenset[str]]] = {}
        self._face_ids: dict[Hashable, int] = {}
        self._learn_from_cache()

    def _learn_from_cache(self) -> None:
        """Learn from the renderings before this search."""
        queue = [self.opening]
        visited = {self.opening}
        while queue:
            move = queue.pop()
            reads, scenes = _cached(move)
            self.live.add_leads(move, reads, [self._face(scene) for scene in scenes])
            for next_move in (next_move for scene in scenes for next_move in scene.moves):
                if next_move not in visited:
                    visited.add(next_move)
                    queue.append(next_move)
        self.live.learn()

    def complete(self) -> bool:
        """Search from the start; return False if a cell that matters was not known."""
        self.states = States()
        self.ids: dict[tuple[int, Values], int] = {}
        self.keys: list[tuple[int, Values]] = []
        self.rows: dict[tuple[Move, Values], int] = {}
        self.bytes = 0
        self._projections: dict[int, list[tuple[Move, Callable[[Values], Values]]]] = {}
        self.incomplete = False
        # After this number of states an incomplete search stops; until then it may learn more.
        enough = 0
        # No cell is set at the start.
        self._row(self.opening, (0,) * len(self.live.ahead[self.opening].matters))
        done = 0
        while done < len(self.keys):
            self._expand(*self.keys[done])
            done += 1
            if self.progress and done % 1000 == 0:
                self.progress(done)
            if self.incomplete:
                enough = enough or FIRST_STATES + 2 * len(self.keys)
                if len(self.keys) > enough:
                    break
        return not self.incomplete

    def _expand(self, face: int, values: Values) -> None:
        states = self.states
        if face not in self._projections:
            cells = self.live.on_face[face]
            moves = self.faces[face].moves
            ahead = self.live.ahead
            self._projections[face] = [(m, _projection(cells, ahead[m].matters)) for m in moves]
        for move, projection in self._projections[face]:
            states.row.append(self._row(move, projection(values)))
        states.first.append(len(states.row))
        states.face.append(face)

    def _row(self, move: Move, values: Values) -> int:
        """Return the row of a move with the values that matter to it."""
        row = self.rows.get((move, values))
        if row is None:
            row = self.rows[move, values] = len(self.rows)
            self._add_row(move, values)
        return row

    def _add_row(self, move: Move, values: Values) -> None:
        matters = self.live.ahead[move].matters
        stored = self.interned.values
        journey = Journey({cell: stored[i] for cell, i in zip(matters, values, strict=True)})
        target = journey.follow(move, self.renderer)
        # Counters that the journey increased from a value that was not stored are unknown.
        sure = (*matters, move.mark, "here", "last", "previous")
        cells = KnownCells({cell: value for cell, value in journey.cells.items() if cell in sure})
        outcomes: dict[int, float] = {}
        leads: list[tuple[int, frozenset[str]]] = []
        reads: Iterable[str] = ()
        try:
            for probability, scene in self.renderer.outcomes(target, cells):
                face, written = self._face(scene)
                leads.append((face, written))
                state = self._state(face, KnownCells({**cells, **scene.writes}))
                outcomes[state] = outcomes.get(state, 0.0) + probability
                self._check_size(move, len(leads))
        except UnknownCellError as unknown:
            self.incomplete = True
            reads = unknown.args
        self.live.add_leads(move, reads, leads)
        self.states.add_row(outcomes)
        self.bytes += ROW_BYTES + CELL_BYTES * len(values) + OUTCOME_BYTES * len(outcomes)

    def _state(self, face: int, cells: KnownCells) -> int:
        intern = self.interned.id
        key = (face, tuple([intern(cells.get(cell)) for cell in self.live.on_face[face]]))
        state = self.ids.get(key)
        if state is None:
            state = self.ids[key] = len(self.keys)
            self.keys.append(key)
            self.bytes += STATE_BYTES + CELL_BYTES * len(key[1])
        return state

    def _face(self, scene: Scene) -> tuple[int, frozenset[str]]:
        """Return the id of what a scene displays and offers, and the cells it writes."""
        face = self._face_of.get(scene)
        if face is None:
            ending = (scene.rule, scene.passage) if scene.ended else None
            key = (scene.text, scene.actions, scene.moves, scene.reward, ending)
            number = self._face_ids.setdefault(key, len(self.faces))
            if number == len(self.faces):
                self.faces.append(scene)
                self.live.add_face(scene.moves)
            self.passages.update(scene.passages)
            face = self._face_of[scene] = (number, frozenset(scene.writes))
        return face

    def _check_size(self, move: Move, outcomes: int) -> None:
        if len(self.keys) > self.limit:
            raise TooLargeError(f"it has more than {self.limit:,} states{self._growth()}")
        if self.bytes > self.memory:
            size = f"{len(self.keys):,} states take more than {self.memory / 2**20:,.0f} MB"
            raise TooLargeError(f"its {size}{self._growth()}")
        if outcomes > self.limit:
            raise TooLargeError(
                f'passage "{move.target}" has more than {self.limit:,} random outcomes'
            )

    def _growth(self) -> str:
        """Name the cell with the most values, if it has at least 100."""
        pairs: set[tuple[str, int]] = set()
        for face, values in self.keys:
            pairs.update(zip(self.live.on_face[face], values, strict=True))
        counts = Counter(cell for cell, _ in pairs).most_common(1)
        if not counts or counts[0][1] < 100:
            return ""
        cell, count = counts[0]
        return f"; {cell} alone has {count:,} values: does it grow without end?"


def _cached(move: Move) -> tuple[set[str], list[Scene]]:
    """Return the cells that renderings of a move have read, and their scenes."""
    reads = set()
    scenes = []
    nodes = [move.cache]
    while nodes:
        node = nodes.pop()
        if isinstance(node, Question):
            if node.cell:
                reads.add(node.cell)
            nodes += node.answers.values()
        elif node is not None:
            scenes.append(node)
    return reads, scenes


def _projection(cells: tuple[str, ...], targets: tuple[str, ...]) -> Callable[[Values], Values]:
    """Return the function that selects the values of the target cells."""
    indices = [cells.index(cell) for cell in targets]
    if not indices:
        return lambda values: ()
    if len(indices) == 1:
        only = indices[0]
        return lambda values: (values[only],)
    return itemgetter(*indices)
