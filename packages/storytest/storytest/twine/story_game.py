"""A Twine story as a game, played by our own interpreter, and a search of its states.

The search merges states that differ only in cells that no longer matter: a cell matters on a page
if some path may read it before writing it. Which paths exist is known only after they were
rendered, so the search starts with nothing that matters, learns, and starts again when it has
learned more. When it ends without having learned anything, no two different states were merged.
"""

import itertools
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from operator import itemgetter
from typing import Any

from storytest.authored import NATIVE, Explorable, Position, Progress
from storytest.twine.renderer import Move, Renderer, Scene, cells_key, count_visit, key_of
from storytest.twine.rules import Rules
from storytest.twine.script import Problem, Script
from storytest.twine.values import Value
from textgames.compiled.search import Face, States, TooLargeError
from textgames.game.contract import Observation

Values = tuple[int, ...]  # ids of the values of the cells that matter


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

    def __init__(self) -> None:
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
                matters = ahead.reads.union(*later)
                changed |= not matters <= moves[move]
                moves[move] |= matters
            for cells, face_moves in zip(faces, self.moves, strict=True):
                cells.update(*(moves[move] for move in face_moves))
        for move, ahead in self.ahead.items():
            ahead.matters = tuple(sorted(moves[move]))
        self.on_face = [tuple(sorted(cells)) for cells in faces]


# --- search of the states


def reachable_states(
    renderer: Renderer, limit: int, memory: int, progress: Progress | None = None
) -> States:
    """All states of a story. Row 0 is the opening.

    Raises:
        TooLargeError: more than `limit` states, or about `memory` bytes.
    """
    run = _StateSearch(renderer, limit, memory, progress)
    while not run.complete():
        run.live.learn()
    run.states.faces = [scene.face for scene in run.faces]
    pages = renderer.script.story.pages
    run.states.unreached = tuple(name for name in pages if name not in run.passages)
    return run.states


class _StateSearch:
    def __init__(
        self, renderer: Renderer, limit: int, memory: int, progress: Progress | None
    ) -> None:
        self.renderer = renderer
        self.limit = limit
        self.memory = memory
        self.progress = progress
        self.live = LiveCells()
        self.tracked = renderer.script.facts.tracked
        self.values: list[Value] = [0]  # by id; a cell that was never set is 0
        self._ids: dict[Value, int] = {0: 0}
        self.faces: list[Scene] = []
        self.passages: set[str] = set()
        self._face_of: dict[Scene, tuple[int, frozenset[str]]] = {}
        self._face_ids: dict[Hashable, int] = {}
        self._learn_from_cache()

    def _learn_from_cache(self) -> None:
        queue = [self.renderer.opening]
        visited = set(queue)
        while queue:
            move = queue.pop()
            reads, scenes = _cached(move)
            self.live.add_leads(move, reads, [self._face(scene) for scene in scenes])
            for scene in scenes:
                fresh = dict.fromkeys(one for one in scene.moves if one not in visited)
                queue += fresh
                visited.update(fresh)
        self.live.learn()

    def complete(self, first_states: int = 500) -> bool:
        """Search from the start. It is incomplete if a cell that matters was not known."""
        self.states = States()
        self.ids: dict[tuple[int, Values], int] = {}
        self.keys: list[tuple[int, Values]] = []
        self.rows: dict[tuple[Move, Values], int] = {}
        self._projections: dict[int, list[tuple[Move, Callable[[Values], Values]]]] = {}
        self.incomplete = False
        # After this number of states an incomplete search stops; until then it may learn more.
        enough = 0
        opening = self.renderer.opening
        self._row(opening, (0,) * len(self.live.ahead[opening].matters))
        for done, key in enumerate(self.keys, 1):  # the list grows during the loop
            self._expand(*key)
            if self.progress and done % 1000 == 0:
                self.progress(done)
            if self.incomplete:
                enough = enough or first_states + 2 * len(self.keys)
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
        row = self.rows.get((move, values))
        if row is None:
            row = self.rows[move, values] = len(self.rows)
            self._add_row(move, values)
        return row

    def _add_row(self, move: Move, values: Values) -> None:
        matters = self.live.ahead[move].matters
        stored = {cell: self.values[i] for cell, i in zip(matters, values, strict=True)}
        count_visit(move, stored, self.tracked)
        # Counters that increased from a value that was not stored are unknown.
        cells = KnownCells({cell: stored[cell] for cell in matters})
        outcomes: dict[int, float] = {}
        leads: list[tuple[int, frozenset[str]]] = []
        reads: Iterable[str] = ()
        try:
            for probability, scene in self.renderer.outcomes(move, cells):
                face, written = self._face(scene)
                leads.append((face, written))
                state = self._state(face, KnownCells({**cells, **scene.writes}))
                outcomes[state] = outcomes.get(state, 0.0) + probability
                self._check_size(move, len(leads))
        except UnknownCellError as unknown:
            self.incomplete = True
            reads = unknown.args
        self.live.add_leads(move, reads, leads)
        self.states.add_row(outcomes, len(values))

    def _state(self, face: int, cells: KnownCells) -> int:
        key = (face, tuple([self._id(cells.get(cell)) for cell in self.live.on_face[face]]))
        state = self.ids.get(key)
        if state is None:
            state = self.ids[key] = len(self.keys)
            self.keys.append(key)
            self.states.count_state(8 * len(key[1]))
        return state

    def _id(self, value: Value) -> int:
        key = value if value.__class__ is int else key_of(value)
        number = self._ids.get(key)
        if number is None:
            number = self._ids[key] = len(self.values)
            self.values.append(value)
        return number

    def _face(self, scene: Scene) -> tuple[int, frozenset[str]]:
        """The id of what a scene displays and offers, and the cells it writes."""
        face = self._face_of.get(scene)
        if face is None:
            number = self._face_ids.setdefault(scene.key, len(self.faces))
            if number == len(self.faces):
                self.faces.append(scene)
                self.live.add_face(scene.moves)
            self.passages.update(scene.passages)
            face = self._face_of[scene] = (number, frozenset(scene.writes))
        return face

    def _check_size(self, move: Move, outcomes: int) -> None:
        if len(self.keys) > self.limit:
            raise TooLargeError(f"it has more than {self.limit:,} states{self._growth()}")
        if self.states.bytes > self.memory:
            size = f"{len(self.keys):,} states take more than {self.memory / 2**20:,.0f} MB"
            raise TooLargeError(f"its {size}{self._growth()}")
        if outcomes > self.limit:
            message = f'passage "{move.target}" has more than {self.limit:,} random outcomes'
            raise TooLargeError(message)

    def _growth(self) -> str:
        pairs: set[tuple[str, int]] = set()
        for face, values in self.keys:
            pairs.update(zip(self.live.on_face[face], values, strict=True))
        counts = Counter(cell for cell, _ in pairs).most_common(1)
        if not counts or counts[0][1] < 100:
            return ""
        cell, count = counts[0]
        return f"; {cell} alone has {count:,} values, so it may grow without end"


def _cached(move: Move) -> tuple[set[str], list[Scene]]:
    reads = set()
    scenes = []
    nodes = [*move.cache.values()]
    while nodes:
        node = nodes.pop()
        if isinstance(node, Scene):
            scenes.append(node)
            continue
        if isinstance(node.subject, str):
            reads.add(node.subject)
        nodes += node.answers.values()
    return reads, scenes


def _projection(cells: tuple[str, ...], targets: tuple[str, ...]) -> Callable[[Values], Values]:
    indices = [cells.index(cell) for cell in targets]
    if len(indices) < 2:
        return lambda values: tuple([values[index] for index in indices])
    return itemgetter(*indices)


# --- the game

# All orders of up to 5 actions, so that a shuffle is one draw.
ORDERS = [list(itertools.permutations(range(n))) for n in range(6)]


class StoryState:
    """A scene and every variable. Players cannot distinguish equal states."""

    def __init__(self, scene: Scene, cells: Mapping[str, Value]) -> None:
        self.scene = scene
        self.cells = cells

    @cached_property
    def key(self) -> Hashable:
        return self.scene.key, cells_key(self.cells)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StoryState) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


class TwineGame(Explorable):
    """Plays a script under its rules. Players see only the observations."""

    engine = NATIVE
    most_copies = 10**9  # a copy is a small state: all renderings are shared

    def __init__(self, name: str, script: Script, rules: Rules, **options: Any) -> None:
        super().__init__(name, script, rules, **options)
        self.renderer = Renderer(script, rules, self.restarts, self.paraphrases)
        self.links = script.links
        self.asked = script.facts.prompts
        self.scene: Scene | None = None
        self._cells: dict[str, Value] = {}
        self._tracked = script.facts.tracked

    def another(self) -> "TwineGame":
        twin = super().another()
        twin.scene = None
        twin._cells = {}
        return twin

    @property
    def state(self) -> StoryState | None:
        return StoryState(self.scene, dict(self._cells)) if self.scene is not None else None

    @property
    def problems(self) -> Sequence[Problem]:
        return self.script.problems

    @property
    def edition(self) -> str:
        return f"{super().edition} {self.script.lenient}"

    # --- playing

    def _open(self) -> Observation:
        self._cells = {}
        return self._take(self.renderer.opening)

    def _take(self, move: Move) -> Observation:
        cells = self._cells
        if self._tracked:
            count_visit(move, cells, self._tracked)
        draw = self._random.random
        self.scene = scene = self.renderer.render(move, cells, lambda count: int(draw() * count))
        if scene.writes:
            cells.update(scene.writes)
        count = len(scene.moves)
        if count < len(ORDERS):
            orders = ORDERS[count]
            number = int(draw() * len(orders)) if self.shuffle and count > 1 else 0
            order: Sequence[int] = orders[number]
        else:
            order = self._random_order(count)
        face = scene.face
        self._options = tuple(scene.moves[i] for i in order)
        return Observation(face.text, tuple(face.actions[i] for i in order), face.reward)

    def set_variables(self, values: Mapping[str, Value]) -> Observation:
        """Show the current passage again, with other values of variables."""
        if self.scene is None:
            raise RuntimeError("the episode has not started; call reset()")
        self._cells.update(values)
        return self._take(Move(self.scene.face.passage))

    # --- for authors, and for compiling

    def reachable_states(self, limit: int, memory: int, progress: Progress | None = None) -> States:
        """The states of the story, and their number if every variable counted."""
        raw = self.explore(min(limit, 50_000), progress)  # first: the search learns from it
        states = reachable_states(self.renderer, limit, memory, progress)
        states.raw_states = len(raw.visited)
        states.raw_complete = raw.complete
        return states

    def face_at(self, state: StoryState) -> Face:
        return state.scene.face

    def key_of(self, state: Any) -> Hashable:
        """The key of a state without its reward."""
        scene = state.scene
        return (scene.face.text, scene.moves, scene.rule, cells_key(state.cells))

    def opening(self) -> Iterator[tuple[float, StoryState]]:
        return self._outcomes(self.renderer.opening, {})

    def outcomes(self, state: StoryState, index: int) -> Iterator[tuple[float, StoryState]]:
        return self._outcomes(state.scene.moves[index], state.cells)

    def _outcomes(
        self, move: Move, before: Mapping[str, Value]
    ) -> Iterator[tuple[float, StoryState]]:
        if self._tracked:
            cells = dict(before)
            count_visit(move, cells, self._tracked)
            before = cells
        for probability, scene in self.renderer.outcomes(move, before):
            after = {**before, **scene.writes} if scene.writes else before
            yield probability, StoryState(scene, after)

    def position_at(self, state: StoryState) -> Position:
        scene = state.scene
        return Position(scene.face.passage, scene.passages, state.cells)
