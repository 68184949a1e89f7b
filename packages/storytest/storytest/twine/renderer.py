"""Memoised rendering of pages.

A rendering is a path: read one cell, draw one outcome, read another cell, and so on to a scene.
The paths of one move form a tree, so a move that was rendered before with the same answers costs a
few look-ups.
"""

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from storytest.twine.layout import RestartLinks, judge_page
from storytest.twine.rules import Rules
from storytest.twine.script import Draw, EveryDraw, Expression, Link, Page, Script
from storytest.twine.values import GrowthError, Value
from textgames.compiled.search import Face
from textgames.errors import InputError


@dataclass(eq=False, slots=True)
class Scene:
    """A rendered page: what the player sees, and the changes of the state."""

    face: Face
    moves: "tuple[Move, ...]"
    writes: dict[str, Value]
    passages: tuple[str, ...]  # on the page, displayed ones included

    @property
    def rule(self) -> int | None:
        """The rule of its ending."""
        return self.face.ending.rule if self.face.ending else None

    @property
    def key(self) -> Hashable:
        """Two scenes with the same key look the same and lead to the same pages."""
        face = self.face
        ending = (self.rule, face.passage) if face.ending else None
        return (face.text, face.actions, self.moves, face.reward, ending)


@dataclass(eq=False, slots=True)
class Question:
    """A cell to read or a random draw, and the result of each answer."""

    subject: str | int
    answers: "dict[Value, Scene | Question]" = field(default_factory=dict)


@dataclass(eq=False, slots=True)
class Move:
    """A move to a passage by a link, with the tree of its earlier renderings."""

    target: str
    setter: Expression | None = None
    opening: bool = False  # the first page of an episode
    # The root of the tree is under None, like the answer to a question.
    cache: dict[Value, Scene | Question] = field(default_factory=dict)


def key_of(value: Value) -> Value:
    """A key that distinguishes true from 1, which Python does not."""
    return f"\0{value!r}" if isinstance(value, bool) else value


class Renderer:
    """Renders the pages of a script under its rules."""

    def __init__(
        self, script: Script, rules: Rules, restarts: RestartLinks, paraphrases: Mapping[str, str]
    ) -> None:
        self.script = script
        self.rules = rules
        self.restarts = restarts
        self.paraphrases = paraphrases
        self.opening = Move(script.story.start, opening=True)
        self.cached = 0
        self._moves: dict[Hashable, Move] = {}

    def render(self, move: Move, cells: Mapping[str, Value], draw: Draw) -> Scene:
        """The scene of a move. It does not change `cells`: the changes are the scene's `writes`."""
        node = move.cache.get(None)
        outcomes: list[int] = []
        while node.__class__ is Question:
            subject = node.subject
            answer: Value
            if subject.__class__ is str:
                answer = cells.get(subject, 0)
                if answer.__class__ is bool:
                    answer = key_of(answer)
            else:
                answer = draw(subject)  # type: ignore[arg-type]
                outcomes.append(answer)
            node = node.answers.get(answer)
        return node if node is not None else self._render(move, cells, draw, outcomes)  # type: ignore[return-value]

    def outcomes(self, move: Move, cells: Mapping[str, Value]) -> Iterator[tuple[float, Scene]]:
        draws = EveryDraw()
        while draws.advance():
            scene = self.render(move, cells, draws.draw)
            yield draws.probability, scene

    def _render(
        self, move: Move, cells: Mapping[str, Value], draw: Draw, outcomes: list[int]
    ) -> Scene:
        earlier = iter(outcomes)  # draws on the path through the cache

        def next_outcome(count: int) -> int:
            outcome = next(earlier, None)
            return draw(count) if outcome is None else outcome

        script = self.script
        page = Page(move.target, script.nodes, script.tags, cells, next_outcome, script.limits)
        try:
            if move.setter is not None:
                move.setter(page)
            if move.opening and "StoryInit" in self.script.nodes:
                page.capture(self.script.nodes["StoryInit"])
            page.display(move.target)
            scene = self._scene(page, move.opening)
        except InputError as error:
            what = str(error)
            if isinstance(error, GrowthError):
                what = f'passage "{(page.passages or [page.passage])[-1]}" makes {error}: limit it'
            raise InputError(f"{self.script.story.source}, {what}") from error
        self._store(move, page, scene)
        return scene

    def _scene(self, page: Page, opening: bool) -> Scene:
        face, links = judge_page(self.rules, self.restarts, page, opening=opening)
        choices = {(label, self._move(link)): None for label, link in links}  # no duplicates
        actions = tuple(self.paraphrases.get(label, label) for label, _ in choices)
        moves = tuple(move for _, move in choices)
        passages = tuple(dict.fromkeys(page.passages))
        return Scene(replace(face, actions=actions), moves, page.writes, passages)

    def _move(self, link: Link) -> Move:
        source, setter = link.setter or (None, None)
        key = (link.target, source)
        if key not in self._moves:
            self._moves[key] = Move(link.target, setter)
        return self._moves[key]

    def _store(self, move: Move, page: Page, scene: Scene) -> None:
        """Add the scene to the move's tree, at the end of the page's trail."""
        if self.cached > self.script.limits.renderings:
            return
        self.cached += len(page.trail) + 1
        answers = move.cache
        last: Value = None
        for subject, answer in page.trail:
            node = answers.get(last)
            if not isinstance(node, Question):
                node = answers[last] = Question(subject)
            answers = node.answers
            last = key_of(answer)
        answers[last] = scene


def count_visit(move: Move, cells: dict[str, Value], tracked: set[str]) -> None:
    """Update the engine's cells before a move is rendered."""
    for cell in ("turns", f"visited {move.target}"):
        if cell.split(" ")[0] in tracked:
            count = cells.get(cell, 0)
            cells[cell] = count + 1 if isinstance(count, int) else 1


def cells_key(cells: Mapping[str, Value]) -> Hashable:
    """The cells as a key: a cell of 0 is like a missing one, and true is not 1."""
    items = cells.items()
    return frozenset((c, key_of(v)) for c, v in items if v.__class__ is bool or v != 0)
