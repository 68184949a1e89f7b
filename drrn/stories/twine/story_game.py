"""A story as a game: keeps the state of an episode, shuffles the actions, and steps."""

from __future__ import annotations

import copy
import itertools
import operator
import random
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from drrn.compiled.graph import EndingPlace
from drrn.compiled.reached import Face, States
from drrn.errors import InputError
from drrn.game.contract import Observation
from drrn.stories.twine.page import Position, outcome_of
from drrn.stories.twine.renderer import Journey, Move, Renderer, Scene
from drrn.stories.twine.rules import Rules, fingerprint_of_story
from drrn.stories.twine.script import Problem, Script
from drrn.stories.twine.states import LIMIT, Exploration, explore, search_story
from drrn.stories.twine.story import Story

# All orders of up to 5 actions, so that a shuffle is one draw and views can be cached.
ORDERS = [list(itertools.permutations(range(n))) for n in range(6)]
MOST_VIEWS = 200_000  # cached; a story whose pages never repeat makes more and more
MOST_OPENINGS = 100  # random openings that are checked for text and actions

View = tuple[Observation, tuple[Move, ...]]


class StoryGame:
    """Plays a script under its rules. Agents see only `name` and the observations."""

    most_copies = 10**9  # a copy is a small state: all renderings are shared

    def __init__(
        self,
        name: str,
        script: Script,
        rules: Rules,
        *,
        shuffle: bool = True,
        paraphrases: Mapping[str, str] | None = None,
        sources: Mapping[str, Any] | None = None,
    ) -> None:
        """`sources` say what the game was made from, if it comes from its authors' files."""
        self.name = name
        self.script = script
        self.rules = rules
        self.renderer = Renderer(script, rules)
        self.shuffle = shuffle
        self.paraphrases = paraphrases or {}
        self.sources = dict(sources or {})
        self._tracks = bool(script.facts.tracked)
        self._random = random.Random()  # unseeded until `reset` gets a seed
        self._journey = Journey()
        self._moves: tuple[Move, ...] = ()
        self._views: dict[tuple[Scene, int], View] = {}
        self.scene: Scene | None = None  # for tools and people, not for agents

    @property
    def left_out(self) -> Mapping[tuple[str, str], str]:
        """(passage, target) of links that are not actions, on pages so far, and the reason."""
        return self.renderer.restarts.left_out

    @property
    def title(self) -> str:
        return self.rules.title or self.script.story.title or self.name

    @property
    def max_steps(self) -> int:
        return self.rules.max_steps

    @property
    def training(self) -> Mapping[str, Any]:
        return self.rules.training

    @property
    def ending(self) -> str | None:
        """The passage that ended the story (that of the rule, if one matched), or None."""
        return self._ending(self.scene) if self.scene is not None and self.scene.ended else None

    @property
    def fingerprint(self) -> str:
        """A hash of the story, its rewards and its answers."""
        return fingerprint_of_story(self.story, self.rules)

    @property
    def edition(self) -> str:
        """What changes the texts of the game but not its fingerprint."""
        paraphrases = sorted(self.paraphrases.items())
        return repr((paraphrases, sorted(self.script.answers.items()), self.script.lenient))

    def another(self) -> StoryGame:
        """Return a copy with its own episode and generator; renderings are shared."""
        twin = copy.copy(self)
        twin._random = random.Random()
        twin._journey = Journey()
        twin._moves = ()
        twin.scene = None
        return twin

    def reset(self, seed: int | None = None) -> Observation:
        if seed is not None:
            # Salted, so that a player's generator with the same seed is independent of it.
            self._random = random.Random(f"game {operator.index(seed)}")
        self._journey = Journey()
        return self._arrive(self.renderer.opening)

    def step(self, index: int) -> Observation:
        moves = self._moves
        if not moves:
            raise RuntimeError("the story has ended or has not started: call reset()")
        if not 0 <= index < len(moves):
            raise IndexError(
                f"action {index} of {len(moves)}: choose one from 0 to {len(moves) - 1}"
            )
        return self._arrive(moves[index])

    def _arrive(self, move: Move) -> Observation:
        if self._tracks or move.mark:
            move = self._journey.follow(move, self.renderer)
        cells = self._journey.cells
        draw = self._random.random
        self.scene = scene = self.renderer.render(
            move, cells, lambda chances: outcome_of(chances, draw())
        )
        if scene.writes:
            self._journey.arrive(scene)
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
            indices = self._random.sample(range(count), count) if self.shuffle else range(count)
            view = self._view(scene, indices)
        observation, self._moves = view
        return observation

    def _view(self, scene: Scene, order: Sequence[int]) -> View:
        words = [self.paraphrases.get(action, action) for action in scene.actions]
        observation = Observation(scene.text, tuple(words[i] for i in order), scene.reward)
        return observation, tuple(scene.moves[i] for i in order)

    def _ending(self, scene: Scene) -> str:
        if scene.rule is None:
            return scene.passage
        return self.rules.endings[scene.rule].condition.passage or scene.passage

    # --- for authors, and for compiling

    @property
    def story(self) -> Story:
        return self.script.story

    @property
    def problems(self) -> Sequence[Problem]:
        return self.script.problems

    @property
    def prompts(self) -> Collection[str]:
        return self.script.facts.prompts

    def explore(
        self, limit: int = LIMIT, progress: Callable[[int], None] | None = None
    ) -> Exploration:
        return explore(self, limit, progress)

    def reachable_states(
        self, limit: int, memory: int, progress: Callable[[int], None] | None = None
    ) -> States:
        return search_story(self, limit, memory, progress)

    def opening(self) -> Iterator[tuple[float, StoryState]]:
        return self._outcomes(self.renderer.opening, Journey())

    def outcomes(self, state: StoryState, index: int) -> Iterator[tuple[float, StoryState]]:
        return self._outcomes(state.scene.moves[index], state.journey)

    def look(self, state: StoryState) -> Observation:
        return self._view(state.scene, range(len(state.scene.moves)))[0]

    def ending_at(self, state: StoryState) -> str:
        return self._ending(state.scene)

    @property
    def position(self) -> Position:
        """The author's view of the episode's position."""
        return _position(self.scene, self._journey.cells) if self.scene else Position()

    def position_at(self, state: StoryState) -> Position:
        return _position(state.scene, state.journey.cells)

    def face(self, scene: Scene) -> Face:
        """Return what a scene displays and pays."""
        ending = EndingPlace(self._ending(scene), scene.rule) if scene.ended else None
        actions = tuple(self.paraphrases.get(action, action) for action in scene.actions)
        return Face(scene.text, actions, scene.reward, scene.passage, ending, scene.hypertext)

    def _outcomes(self, move: Move, before: Journey) -> Iterator[tuple[float, StoryState]]:
        journey = before.copy()
        move = journey.follow(move, self.renderer)
        for probability, scene in self.renderer.outcomes(move, journey.cells):
            yield probability, StoryState(scene, journey.after(scene))

    def note_empty_opening(self) -> None:
        """After lenient reading, add a problem if no opening page has text or actions."""
        if not self.problems or len(self.story.pages) < 2:
            return
        try:
            scenes = [state.scene for _, state in islice(self.opening(), MOST_OPENINGS)]
        except InputError:  # playing the story reports it
            return
        missing = []
        if not any(scene.text for scene in scenes):
            missing.append("text")
        if not any(scene.moves for scene in scenes):
            missing.append("any action")
        if missing:
            what = f"what was left out leaves the opening page without {' and '.join(missing)}"
            if "any action" in missing:
                what += ", so that no other passage can be reached"
            start = self.story.passages[self.story.start]
            self.script.problems.append(Problem(start.line, start.name, what))


class StoryState:
    """A scene and every variable; equal states are indistinguishable to players."""

    __slots__ = ("journey", "key", "scene")

    def __init__(self, scene: Scene, journey: Journey) -> None:
        self.scene = scene
        self.journey = journey
        ending = (scene.rule, scene.passage) if scene.ended else None
        face = (scene.text, scene.actions, scene.moves, scene.reward, ending)
        self.key = (*face, journey.whole_identity)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StoryState) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


def _position(scene: Scene, cells: Mapping[str, Any]) -> Position:
    rule = scene.rule if scene.ended else None
    return Position(scene.passage, scene.passages, {**cells}, rule)
