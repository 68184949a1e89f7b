"""Memoised rendering of pages, and the state of an episode.

A rendering is a path: read one cell, draw one outcome, read another cell, and so on to a scene.
The paths of one move form a tree, so a move that was rendered before with the same answers costs a
few look-ups.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field

from drrn.errors import InputError
from drrn.stories.twine import values as js
from drrn.stories.twine.layout import RestartLinks, verdict
from drrn.stories.twine.page import (
    Chances,
    Draw,
    EveryDraw,
    Expression,
    Link,
    Page,
    Snapshot,
    click_cycle,
)
from drrn.stories.twine.rules import Rules
from drrn.stories.twine.script import Script
from drrn.stories.twine.values import Value

MOST_CACHED = 200_000  # scenes and questions; beyond that, pages are rendered each time
MOST_REDIRECTS = 100  # consecutive <<goto>>s


@dataclass(eq=False, slots=True)
class Scene:
    """A rendered page: what the player sees, and the changes of the state."""

    passage: str
    text: str
    actions: tuple[str, ...]
    moves: tuple[Move, ...]
    reward: float
    writes: dict[str, Value]
    rule: int | None  # the ending rule that matched
    passages: tuple[str, ...]  # on the page, displayed ones included
    hypertext: bool
    redirects: tuple[Redirect, ...] = ()  # by <<goto>>, in stories with <<back>>

    @property
    def ended(self) -> bool:
        return not self.moves


@dataclass(eq=False, slots=True)
class Question:
    """A cell to read or an outcome to draw, and the result of each answer."""

    cell: str
    chances: Chances  # of a random draw; 0 for a cell
    answers: dict[Value, Scene | Question] = field(default_factory=dict)


@dataclass(eq=False, slots=True)
class Move:
    """A move to a passage by a link; it holds the tree of its earlier renderings."""

    target: str
    setter: Expression | None = None
    mark: str | None = None
    back: int | None = None
    opening: bool = False  # the first page of an episode
    snapshot: Snapshot | None = None  # the page after the click, if the move stays on it
    cache: Scene | Question | None = None


Redirect = tuple[Move, "dict[str, Value]"]  # a move by <<goto>>, and the writes before it


def key_of(value: Value) -> Value:
    """Return a key that distinguishes true from 1 and [true] from [1], which Python does not."""
    return f"\0{value!r}" if isinstance(value, (bool, tuple)) else value


class Renderer:
    """Renders the pages of a script under its rules."""

    def __init__(self, script: Script, rules: Rules) -> None:
        self.script = script
        self.rules = rules
        self.opening = Move(script.story.start, opening=True)
        self.restarts = RestartLinks(script.story)
        self.cached = 0
        self._moves: dict[Hashable, Move] = {}

    def render(self, move: Move, cells: Mapping[str, Value], draw: Draw) -> Scene:
        """Return the scene of a move; `cells` are not changed, the scene's `writes` say how."""
        node = move.cache
        outcomes: list[int] = []
        while node.__class__ is Question:
            answer: Value
            if node.chances:
                answer = draw(node.chances)
                outcomes.append(answer)
            else:
                answer = cells.get(node.cell, 0)
                if answer.__class__ is bool or answer.__class__ is tuple:
                    answer = key_of(answer)
            node = node.answers.get(answer)
        return node if node is not None else self._render(move, cells, draw, outcomes)  # type: ignore[return-value]

    def outcomes(self, move: Move, cells: Mapping[str, Value]) -> Iterator[tuple[float, Scene]]:
        """Yield every possible scene of a move with its probability."""
        draws = EveryDraw()
        while draws.advance():
            scene = self.render(move, cells, draws.draw)
            yield draws.probability, scene

    def move(self, link: Link) -> Move:
        """Return the one move of all links with the same effect."""
        source, setter = link.setter or (None, None)
        key = (link.target, source, link.mark, link.back)
        if key not in self._moves:
            self._moves[key] = Move(link.target, setter, link.mark, link.back)
        return self._moves[key]

    def _render(
        self, move: Move, cells: Mapping[str, Value], draw: Draw, outcomes: list[int]
    ) -> Scene:
        earlier = iter(outcomes)  # draws on the path through the cache

        def next_outcome(chances: Chances) -> int:
            outcome = next(earlier, None)
            return draw(chances) if outcome is None else outcome

        page = Page(move.target, self.script.nodes, self.script.tags, cells, next_outcome)
        try:
            redirects = self._fill(page, move)
            scene = self._scene(page, move, redirects)
        except InputError as error:
            source = self.script.story.source
            if str(error).startswith(source):
                raise
            raise InputError(f"{source}, {error}") from error
        self._store(move, page, scene)
        return scene

    def _fill(self, page: Page, move: Move) -> tuple[Redirect, ...]:
        """Render the move's passage and the targets of its <<goto>>s; return those."""
        if move.snapshot is not None:
            move.snapshot.restore(page)
            return ()
        if move.setter is not None:
            move.setter(page)
        if move.opening and "StoryInit" in self.script.nodes:
            page.capture(self.script.nodes["StoryInit"])
            page.redirect = ""  # no page is displayed yet that could be left
        page.display(move.target)
        redirects: list[Redirect] = []
        while page.redirect:
            redirects.append(self._follow_redirect(page, len(redirects)))
        return tuple(redirects)

    def _follow_redirect(self, page: Page, count: int) -> Redirect:
        """Replace the page by its <<goto>>'s target; update cells like `Journey.follow`."""
        target = page.redirect
        page.redirect = ""
        if count >= MOST_REDIRECTS:
            raise InputError(
                f'passage "{page.passage}" goes to "{target}" and so on without end: '
                "a <<goto>> that leads back to itself needs an <<if>> that stops it"
            )
        tracked = self.script.facts.tracked
        writes = dict(page.writes)
        if "history" in tracked:
            page.write("moved", True)
            writes["moved"] = True
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
        page.display(target)
        return self.move(Link("", target)), writes

    def _scene(self, page: Page, move: Move, redirects: tuple[Redirect, ...]) -> Scene:
        result = verdict(self.rules, self.restarts, page, opening=move.opening)
        # without duplicates
        actions = {(label, self._link_move(page, link)): None for label, link in result.links}
        return Scene(
            passage=page.passage,
            text=result.text,
            actions=tuple(label for label, _ in actions),
            moves=tuple(next_move for _, next_move in actions),
            reward=result.reward,
            writes=page.writes,
            rule=result.rule,
            passages=tuple(dict.fromkeys(page.passages)),
            hypertext=result.hypertext,
            redirects=redirects if "history" in self.script.facts.tracked else (),
        )

    def _link_move(self, page: Page, link: Link) -> Move:
        if link.cycle is None:
            return self.move(link)
        snapshot = click_cycle(page, link, link.cycle)
        key = (page.passage, snapshot.key)
        if key not in self._moves:
            self._moves[key] = Move(page.passage, snapshot=snapshot)
        return self._moves[key]

    def _store(self, move: Move, page: Page, scene: Scene) -> None:
        """Add the scene to the move's tree, at the end of the page's trail."""
        if self.cached > MOST_CACHED:
            return
        self.cached += len(page.trail) + 1
        answers: dict[Value, Scene | Question] = {}
        root: Scene | Question | None = move.cache
        last: Value = None
        node = root
        for subject, answer in page.trail:
            if not isinstance(node, Question):
                is_cell = isinstance(subject, str)
                node = Question(subject, 0) if is_cell else Question("", subject)  # type: ignore[arg-type]
                if root is None:
                    root = node
                else:
                    answers[last] = node
            answers = node.answers
            last = key_of(answer)
            node = answers.get(last)
        if page.trail:
            answers[last] = scene
            move.cache = root
        else:
            move.cache = scene


@dataclass(slots=True)
class Journey:
    """The state of an episode: the cells, and for <<back>> earlier moves with the cells before."""

    cells: dict[str, Value] = field(default_factory=dict)
    history: list[tuple[Move, dict[str, Value]]] = field(default_factory=list)

    def copy(self) -> Journey:
        return Journey(dict(self.cells), list(self.history))

    @property
    def identity(self) -> Hashable:
        """The cells as a key: a cell of 0 is like a missing one, and true is not 1."""
        return _cells_key(self.cells)

    @property
    def whole_identity(self) -> Hashable:
        """The cells and the history as a key."""
        return (self.identity, tuple((move, _cells_key(cells)) for move, cells in self.history))

    def follow(self, move: Move, renderer: Renderer) -> Move:
        """Update the engine's cells before rendering; return the earlier move of a move back."""
        if move.snapshot is not None:  # it stays on the page
            return move
        tracked = renderer.script.facts.tracked
        cells = self.cells
        if move.back is not None:
            move = self._go_back(move)
        elif "history" in tracked:
            if self.history:
                cells["moved"] = True
            self.history.append((move, dict(cells)))
        if move.mark:
            cells[move.mark] = True
        for cell in ("turns", f"visited {move.target}"):
            if cell.split(" ")[0] in tracked:
                count = cells.get(cell, 0)
                cells[cell] = count + 1 if isinstance(count, int) else 1
        if "last" in tracked or "previous" in tracked:
            here = cells.get("here")
            if here is not None:
                cells["last"] = here
            if here is not None and here != move.target:
                cells["previous"] = here
            cells["here"] = move.target
        return move

    def arrive(self, scene: Scene) -> None:
        """Apply the writes of a scene; its redirects become part of the history."""
        for move, writes in scene.redirects:
            self.history.append((move, {**self.cells, **writes}))
        self.cells.update(scene.writes)

    def after(self, scene: Scene) -> Journey:
        """Return the journey at the scene: this one if the scene writes nothing."""
        if not scene.writes:
            return self
        if scene.redirects:
            journey = self.copy()
            journey.arrive(scene)
            return journey
        return Journey({**self.cells, **scene.writes}, self.history)

    def _go_back(self, move: Move) -> Move:
        """Restore the cells before an earlier move, and return that move."""
        steps = move.back or 1
        if move.target:
            earlier_moves = enumerate(self.history[:-1])
            indices = [i for i, (earlier, _) in earlier_moves if earlier.target == move.target]
            steps = len(self.history) - 1 - indices[-1] if indices else 1
        steps = min(steps, len(self.history) - 1)
        del self.history[len(self.history) - steps :]
        earlier, before = self.history[-1]
        self.cells.clear()
        self.cells.update(before)
        return earlier


def _cells_key(cells: dict[str, Value]) -> Hashable:
    items = cells.items()
    return frozenset((c, key_of(v)) for c, v in items if v.__class__ is bool or v != 0)
