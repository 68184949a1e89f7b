"""A story as a game: it keeps the state, shuffles the actions, and steps."""

from __future__ import annotations

import copy
import itertools
import operator
import random
from collections.abc import Mapping, Sequence

from drrn.games.contract import Observation
from drrn.games.stories.journey import Journey
from drrn.games.stories.rules import Rules
from drrn.games.stories.script import Script
from drrn.games.stories.teller import Move, Scene, Teller

# All orders of up to 5 actions, so that a shuffle is one draw and a view once made serves again.
ORDERS = [list(itertools.permutations(range(n))) for n in range(6)]

MOST_VIEWS = 200_000  # kept; a story whose pages never repeat makes them without end

View = tuple[Observation, tuple[Move, ...]]


class StoryGame:
    """Plays a script under its rules. `name` and the observations are all that an agent may see."""

    def __init__(
        self,
        name: str,
        script: Script,
        rules: Rules,
        *,
        shuffle: bool = True,
        paraphrases: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self.script, self.rules = script, rules
        self.teller = Teller(script, rules)
        self.shuffle = shuffle
        self.paraphrases = paraphrases or {}
        self._tracks = bool(script.facts.tracked)
        self._random = random.Random()  # by chance, until a seed is given
        self._journey = Journey()
        self._moves: tuple[Move, ...] = ()
        self._views: dict[tuple[Scene, int], View] = {}
        self.scene: Scene | None = None  # for tools and people, not for agents

    @property
    def title(self) -> str:
        return self.rules.title or self.script.story.title or self.name

    @property
    def ending(self) -> str | None:
        """The passage that ended the story (a rule's own, where one matched); None while it goes on."""
        if self.scene is None or not self.scene.ended:
            return None
        rule = self.scene.rule
        named = self.rules.endings[rule].condition.passage if rule is not None else None
        return named or self.scene.passage

    def another(self) -> StoryGame:
        """The same game once more, with a state and generator of its own; what was told is shared."""
        twin = copy.copy(self)
        twin._random, twin._journey, twin._moves, twin.scene = random.Random(), Journey(), (), None
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
            raise IndexError(f"action {index} of {len(moves)}: choose one from 0 to {len(moves) - 1}")
        return self._arrive(moves[index])

    def _arrive(self, move: Move) -> Observation:
        if self._tracks or move.mark:
            move = self._journey.follow(move, self.teller)
        cells, draw = self._journey.cells, self._random.random
        self.scene = scene = self.teller.tell(move, cells, lambda outcomes: int(draw() * outcomes))
        if scene.writes:
            cells.update(scene.writes)
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
            view = self._view(scene, self._random.sample(range(count), count) if self.shuffle else range(count))
        observation, self._moves = view
        return observation

    def _view(self, scene: Scene, order: Sequence[int]) -> View:
        words = [self.paraphrases.get(action, action) for action in scene.actions]
        observation = Observation(scene.text, tuple(words[i] for i in order), scene.reward)
        return observation, tuple(scene.moves[i] for i in order)
