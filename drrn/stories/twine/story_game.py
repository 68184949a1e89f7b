"""A story as a game: it keeps the state of an episode, shuffles the actions, and steps."""

from __future__ import annotations

import copy
import itertools
import operator
import random
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from drrn.compiled.graph import EndingId, Face, States
from drrn.game.contract import Observation
from drrn.stories.authored import EXPLORE_LIMIT as LIMIT
from drrn.stories.authored import Exploration, Position, fingerprint_of_story
from drrn.stories.twine.explore import explore
from drrn.stories.twine.journey import Journey
from drrn.stories.twine.lots import outcome_of
from drrn.stories.twine.rules import Rules
from drrn.stories.twine.script import Problem, Script
from drrn.stories.twine.states import search_story
from drrn.stories.twine.story import Story
from drrn.stories.twine.teller import Move, Scene, Teller

# All orders of up to 5 actions, so that a shuffle is one draw and a view once made serves again.
ORDERS = [list(itertools.permutations(range(n))) for n in range(6)]

MOST_VIEWS = 200_000  # kept; a story whose pages never repeat makes them without end

View = tuple[Observation, tuple[Move, ...]]


class StoryGame:
    """Plays a script under its rules. `name` and the observations are all that an agent may see."""

    most_copies = 10**9  # a copy is a small state: all that was told is shared

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
        self.name = name
        self.script = script
        self.rules = rules
        self.teller = Teller(script, rules)
        self.shuffle = shuffle
        self.paraphrases = paraphrases or {}
        self.sources = dict(
            sources or {}
        )  # what it was made from, where it was added from its authors' files
        self._tracks = bool(script.facts.tracked)
        self._random = random.Random()  # by chance, until a seed is given
        self._journey = Journey()
        self._moves: tuple[Move, ...] = ()
        self._views: dict[tuple[Scene, int], View] = {}
        self.scene: Scene | None = None  # for tools and people, not for agents

    @property
    def left_out(self) -> Mapping[tuple[str, str], str]:
        """Links of pages met so far that are no actions, by passage and target, and why."""
        return self.teller.beginnings.left_out

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
        """The passage that ended the story (a rule's own, where one matched); None while it goes on."""
        return self._ending(self.scene) if self.scene is not None and self.scene.ended else None

    @property
    def fingerprint(self) -> str:
        """A hash of the story, its rewards and its answers: what a result belongs to."""
        return fingerprint_of_story(self.story, self.rules)

    @property
    def edition(self) -> str:
        """How it is told, beside what the fingerprint covers."""
        return repr(
            (
                sorted(self.paraphrases.items()),
                sorted(self.script.answers.items()),
                self.script.lenient,
            )
        )

    def another(self) -> StoryGame:
        """The same game once more, with a state and generator of its own; what was told is shared."""
        twin = copy.copy(self)
        twin._random = random.Random()
        twin._journey = Journey()
        twin._moves = ()
        twin.scene = None
        return twin

    def reset(self, seed: int | None = None) -> Observation:
        if seed is not None:
            # Salted, so that a player who seeds a generator of their own with the same number is independent of it.
            self._random = random.Random(f"game {operator.index(seed)}")
        self._journey = Journey()
        return self._arrive(self.teller.opening)

    def step(self, index: int) -> Observation:
        moves = self._moves
        if not moves:
            raise RuntimeError("the story has ended, or has not begun: call reset()")
        if not 0 <= index < len(moves):
            raise IndexError(
                f"action {index} of {len(moves)}: choose one from 0 to {len(moves) - 1}"
            )
        return self._arrive(moves[index])

    def _arrive(self, move: Move) -> Observation:
        if self._tracks or move.mark:
            move = self._journey.follow(move, self.teller)
        cells = self._journey.cells
        draw = self._random.random
        self.scene = scene = self.teller.tell(
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
            view = self._view(
                scene, self._random.sample(range(count), count) if self.shuffle else range(count)
            )
        observation, self._moves = view
        return observation

    def _view(self, scene: Scene, order: Sequence[int]) -> View:
        words = [self.paraphrases.get(action, action) for action in scene.actions]
        observation = Observation(scene.text, tuple(words[i] for i in order), scene.reward)
        return observation, tuple(scene.moves[i] for i in order)

    def _ending(self, scene: Scene) -> str:
        named = self.rules.endings[scene.rule].condition.passage if scene.rule is not None else None
        return named or scene.passage

    # --- what it can also do: be read by its author, and be compiled

    @property
    def story(self) -> Story:
        return self.script.story

    @property
    def problems(self) -> Sequence[Problem]:
        return self.script.problems

    @property
    def asked(self) -> Collection[str]:
        return self.script.facts.asked

    def explore(
        self, limit: int = LIMIT, progress: Callable[[int], None] | None = None
    ) -> Exploration:
        return explore(self, limit, progress)

    def reachable_states(
        self, limit: int, memory: int, progress: Callable[[int], None] | None = None
    ) -> States:
        return search_story(self, limit, memory, progress)

    def opening(self) -> Iterator[tuple[float, StoryState]]:
        return self._outcomes(self.teller.opening, Journey())

    def outcomes(self, state: StoryState, index: int) -> Iterator[tuple[float, StoryState]]:
        return self._outcomes(state.scene.moves[index], state.journey)

    def look(self, state: StoryState) -> Observation:
        return self._view(state.scene, range(len(state.scene.moves)))[0]

    def ending_at(self, state: StoryState) -> str:
        return self._ending(state.scene)

    @property
    def position(self) -> Position:
        """Where the episode stands behind its page, for tools and people."""
        return _position(self.scene, self._journey.cells) if self.scene else Position()

    def position_at(self, state: StoryState) -> Position:
        return _position(state.scene, state.journey.cells)

    def face(self, scene: Scene) -> Face:
        """What a scene shows and pays."""
        ending = EndingId(self._ending(scene), scene.rule) if scene.ended else None
        actions = tuple(self.paraphrases.get(action, action) for action in scene.actions)
        return Face(scene.text, actions, scene.reward, scene.passage, ending, scene.hypertext)

    def _outcomes(self, move: Move, before: Journey) -> Iterator[tuple[float, StoryState]]:
        journey = before.copy()
        move = journey.follow(move, self.teller)
        for probability, scene in self.teller.outcomes(move, journey.cells):
            yield probability, StoryState(scene, journey.after(scene))


class StoryState:
    """A state of a story: a scene and every variable. Two are equal where no player could tell them apart."""

    __slots__ = ("journey", "key", "scene")

    def __init__(self, scene: Scene, journey: Journey) -> None:
        self.scene = scene
        self.journey = journey
        ending = (scene.rule, scene.passage) if scene.ended else None
        self.key = (
            scene.text,
            scene.actions,
            scene.moves,
            scene.reward,
            ending,
            journey.whole_identity,
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StoryState) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


def _position(scene: Scene, cells: Mapping[str, Any]) -> Position:
    return Position(scene.passage, scene.shown, {**cells}, scene.rule if scene.ended else None)
