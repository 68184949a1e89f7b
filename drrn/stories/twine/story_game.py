"""A Twine story as a game, played by our own interpreter."""

import itertools
from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from drrn.compiled.search import Face, States, refusal
from drrn.errors import InputError
from drrn.game.contract import Observation
from drrn.stories.authored import NATIVE, Explorable, Position, Progress
from drrn.stories.twine.renderer import Journey, Move, Renderer, Scene, cells_key
from drrn.stories.twine.rules import Rules
from drrn.stories.twine.script import Problem, Script
from drrn.stories.twine.states import reachable_states
from drrn.stories.twine.values import Value

# All orders of up to 5 actions, so that a shuffle is one draw and views can be cached.
ORDERS = [list(itertools.permutations(range(n))) for n in range(6)]
MOST_VIEWS = 200_000  # cached; a story whose pages never repeat makes more and more
MOST_OPENINGS = 100  # random openings that are checked for text and actions
RAW_LIMIT = 50_000  # of states with all their variables

View = tuple[Observation, tuple[Move, ...]]


class StoryState:
    """A scene and every variable; equal states are indistinguishable to players."""

    def __init__(self, scene: Scene, journey: Journey) -> None:
        self.scene = scene
        self.journey = journey

    @cached_property
    def key(self) -> Hashable:
        history = tuple((move, cells_key(cells)) for move, cells in self.journey.history)
        return self.scene.key, cells_key(self.journey.cells), history

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StoryState) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


class StoryGame(Explorable):
    """Plays a script under its rules. Agents see only `name` and the observations."""

    engine = NATIVE
    most_copies = 10**9  # a copy is a small state: all renderings are shared

    def __init__(
        self,
        name: str,
        script: Script,
        rules: Rules,
        sources: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        """`sources` say what it was made from, if it comes from its authors' files."""
        super().__init__(name, script, rules, **options)
        self.renderer = Renderer(script, rules, self.restarts, self.paraphrases)
        self.sources = dict(sources or {})
        self.links = script.links
        self.asked = script.facts.prompts
        self.scene: Scene | None = None
        self._journey = Journey()
        self._tracked = script.facts.tracked
        self._views: dict[tuple[Scene, int], View] = {}

    def another(self) -> "StoryGame":
        twin = super().another()
        twin.scene = None
        twin._journey = Journey()
        return twin

    @property
    def state(self) -> StoryState | None:
        return StoryState(self.scene, self._journey.copy()) if self.scene is not None else None

    @property
    def problems(self) -> Sequence[Problem]:
        return self.script.problems

    @property
    def edition(self) -> str:
        """What changes the texts of the game but not its fingerprint."""
        paraphrases = sorted(self.paraphrases.items())
        return repr((paraphrases, sorted(self.script.answers.items()), self.script.lenient))

    # --- playing

    def _open(self) -> Observation:
        self._journey = Journey()
        return self._take(self.renderer.opening)

    def _take(self, move: Move) -> Observation:
        journey = self._journey
        if self._tracked or move.mark:
            move = journey.follow(move, self._tracked)
        draw = self._random.random
        self.scene = scene = self.renderer.render(
            move, journey.cells, lambda count: int(draw() * count)
        )
        if scene.writes:
            journey.cells.update(scene.writes)
        count = len(scene.moves)
        if count < len(ORDERS):
            orders = ORDERS[count]
            order = int(draw() * len(orders)) if self.shuffle and count > 1 else 0
            view = self._views.get((scene, order))
            if view is None:
                if len(self._views) > MOST_VIEWS:
                    self._views.clear()
                view = self._views[scene, order] = self._view(scene, orders[order])
        else:
            view = self._view(scene, self._random_order(count))
        observation, self._options = view
        return observation

    def set_variables(self, values: Mapping[str, Value]) -> Observation:
        """Show the current passage again, with other values of variables."""
        if self.scene is None:
            raise RuntimeError("the episode has not started; call reset()")
        self._journey.cells.update(values)
        return self._take(Move(self.scene.face.passage))

    def _view(self, scene: Scene, order: Sequence[int]) -> View:
        face = scene.face
        actions = tuple(face.actions[i] for i in order)
        observation = Observation(face.text, actions, face.reward)
        return observation, tuple(scene.moves[i] for i in order)

    # --- for authors, and for compiling

    def reachable_states(self, limit: int, memory: int, progress: Progress | None = None) -> States:
        """Return the states of the story, and their number if every variable counted."""
        if "history" in self._tracked:
            raise refusal(self, "its <<back>> makes every path to a page a separate state")
        raw = self.explore(min(limit, RAW_LIMIT), progress)  # first: the search learns from it
        states = reachable_states(self.renderer, limit, memory, progress)
        states.raw_states = len(raw.visited)
        states.raw_complete = raw.complete
        return states

    def face_at(self, state: StoryState) -> Face:
        return state.scene.face

    def key_of(self, state: Any) -> Hashable:
        """Return the key of a state without what <<back>> may return to."""
        scene = state.scene
        return (scene.face.text, scene.moves, scene.rule, cells_key(state.journey.cells))

    def opening(self) -> Iterator[tuple[float, StoryState]]:
        return self._outcomes(self.renderer.opening, Journey())

    def outcomes(self, state: StoryState, index: int) -> Iterator[tuple[float, StoryState]]:
        return self._outcomes(state.scene.moves[index], state.journey)

    def _outcomes(self, move: Move, before: Journey) -> Iterator[tuple[float, StoryState]]:
        journey = before
        if self._tracked or move.mark:
            journey = before.copy()
            move = journey.follow(move, self._tracked)
        for probability, scene in self.renderer.outcomes(move, journey.cells):
            yield probability, StoryState(scene, journey.after(scene))

    def position_at(self, state: StoryState) -> Position:
        scene = state.scene
        return Position(scene.face.passage, scene.passages, state.journey.cells)

    def note_empty_opening(self) -> None:
        """After lenient reading, add a problem if no opening page has text or actions."""
        if not self.problems or len(self.story.pages) < 2:
            return
        try:
            openings = itertools.islice(self.opening(), MOST_OPENINGS)
            scenes = [state.scene for _, state in openings]
        except InputError:  # playing the story reports it
            return
        missing = [] if any(scene.face.text for scene in scenes) else ["without text"]
        if not any(scene.moves for scene in scenes):
            missing.append("without any action, so that no other passage can be reached")
        if missing:
            what = f"skipping unsupported code leaves the first page {' and '.join(missing)}"
            start = self.story.passages[self.story.start]
            self.script.problems.append(Problem(start.line, start.name, what))
