"""A hosted story as a game: a Twine story played by the engine that its published file carries."""

from __future__ import annotations

import copy
import hashlib
import operator
import random
import weakref
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from drrn.compiled.graph import EndingPlace
from drrn.compiled.reached import Face, States
from drrn.game.contract import Observation
from drrn.stories.hosted.moments import Moment
from drrn.stories.hosted.repeated import Repeated
from drrn.stories.hosted.searching import explored, reachable
from drrn.stories.hosted.stage import LostError, Stage
from drrn.stories.twine.layout import RestartLinks, verdict
from drrn.stories.twine.page import Page, Position
from drrn.stories.twine.rules import Rules, fingerprint_of_story
from drrn.stories.twine.script import Problem, Script
from drrn.stories.twine.states import LIMIT, Exploration
from drrn.stories.twine.story import Story
from drrn.stories.twine.values import Value


@dataclass(frozen=True)
class HostedState:
    """A state of an episode: a moment of the story, and the events that have paid."""

    moment: Moment
    paid: frozenset[str] = frozenset()
    opening: bool = False


@dataclass(frozen=True)
class Staged:
    """What a state shows and pays, and what its actions do."""

    face: Face
    links: tuple[int, ...]  # of the page, one for each action
    paid: frozenset[str]  # events that have paid, those of this page among them


# What each moment shows, by the events that have paid and by whether it is the opening; as long as the moment is kept.
ScenesByMoment = weakref.WeakKeyDictionary[Moment, dict[tuple[frozenset[str], bool], Staged]]


class HostedGame:
    """Plays a story by its own engine, under the rules of its TOML."""

    most_copies = 4  # as many as there are engines: each stands on a page of its own
    search_seconds = (
        60.0  # in which its states are searched; what takes longer is played by the engine
    )

    def __init__(
        self,
        name: str,
        stage: Stage,
        script: Script,
        rules: Rules,
        *,
        page: str,
        shuffle: bool = True,
        paraphrases: Mapping[str, str] | None = None,
    ) -> None:
        """`page` is the published file's text: what results belong to."""
        self.name = name
        self.stage = stage
        self.script = script
        self.rules = rules
        self.shuffle = shuffle
        self.paraphrases = paraphrases or {}
        self._digest = hashlib.sha256(page.encode("utf-8", "surrogatepass")).hexdigest()
        self._random = random.Random()
        self._scenes: ScenesByMoment = weakref.WeakKeyDictionary()
        self._repeated = Repeated(script.story)
        self._beginnings = RestartLinks(script.story)
        self._order: Sequence[int] = ()
        self.stopped = False  # whether the episode was cut short, since its page was lost
        self.state: HostedState | None = None  # for tools and people, not for agents
        stage.users += 1

    @property
    def title(self) -> str:
        return self.rules.title or self.story.title or self.name

    @property
    def max_steps(self) -> int:
        return self.rules.max_steps

    @property
    def training(self) -> Mapping[str, Any]:
        return self.rules.training

    @property
    def ending(self) -> str | None:
        """The passage that ended the story (a rule's own, where one matched); None while it goes on."""
        return (
            self.ending_at(self.state) if self.state and not self._scene(self.state).links else None
        )

    @property
    def fingerprint(self) -> str:
        """A hash of the story, its engine, its rewards and its answers: what a result belongs to."""
        told = fingerprint_of_story(self.story, self.rules) + self._digest
        return hashlib.sha256(told.encode()).hexdigest()

    @property
    def edition(self) -> str:
        """How it is told, beside what the fingerprint covers."""
        return repr((sorted(self.paraphrases.items()), sorted(self.script.answers.items())))

    def another(self) -> HostedGame:
        """The same game once more, with an episode and a generator of its own; the engines are shared."""
        twin = copy.copy(self)
        twin._random = random.Random()
        twin._order = ()
        twin.state = None
        self.stage.users += 1
        return twin

    def close(self) -> None:
        """Let go of the engines, if no other copy plays."""
        self.stage.users -= 1
        if self.stage.users <= 0:
            self.stage.close()

    def reset(self, seed: int | None = None) -> Observation:
        if seed is not None:
            # Salted, so that a player who seeds a generator of their own with the same number is independent of it.
            self._random = random.Random(f"game {operator.index(seed)}")
        self.stopped = False
        return self._arrive(self.opening_by(self._random.getrandbits(32)))

    def step(self, index: int) -> Observation:
        scene = self._scene(self.state) if self.state else None
        if scene is None or not scene.links:
            raise RuntimeError("the story has ended, or has not begun: call reset()")
        if not 0 <= index < len(self._order):
            raise IndexError(
                f"action {index} of {len(self._order)}: choose one from 0 to {len(self._order) - 1}"
            )
        assert self.state is not None
        try:
            return self._arrive(
                self.after(self.state, self._order[index], self._random.getrandbits(32))
            )
        except LostError:  # the page is as it was, and the episode goes no further
            self.stopped = True
            return Observation(scene.face.text, tuple(scene.face.actions[i] for i in self._order))

    def _arrive(self, state: HostedState) -> Observation:
        self.state = state
        face = self._scene(state).face
        count = len(face.actions)
        self._order = self._random.sample(range(count), count) if self.shuffle else range(count)
        return Observation(face.text, tuple(face.actions[i] for i in self._order), face.reward)

    # --- what it can also do: be read by its author, and be compiled

    @property
    def story(self) -> Story:
        return self.script.story

    @property
    def problems(self) -> Sequence[Problem]:
        """What the story's own scripts threw so far."""
        thrown = (error.partition(": ") for error in self.stage.errors)
        return [Problem(self._line(passage), passage, what) for passage, _, what in thrown]

    @property
    def left_out(self) -> Mapping[tuple[str, str], str]:
        """Links of pages met so far that are no actions, by passage and target, and why."""
        return self._beginnings.left_out

    def _line(self, passage: str) -> int:
        found = self.story.passages.get(passage)
        return found.line if found else 1

    @property
    def asked(self) -> Collection[str]:
        return self.script.facts.asked

    def opening(self) -> Iterator[tuple[float, HostedState]]:
        for chance, moment in self.stage.openings():
            yield chance, HostedState(moment, opening=True)

    def outcomes(self, state: HostedState, index: int) -> Iterator[tuple[float, HostedState]]:
        scene = self._scene(state)
        for chance, moment in self.stage.outcomes(state.moment, scene.links[index]):
            yield chance, HostedState(moment, scene.paid)

    def opening_by(self, key: int) -> HostedState:
        """The state that an episode begins in, by the chance of a key."""
        return HostedState(self.stage.opening(key), opening=True)

    def after(self, state: HostedState, index: int, key: int) -> HostedState:
        """The state that the action at an index leads to, by the chance of a key."""
        scene = self._scene(state)
        return HostedState(self.stage.follow(state.moment, scene.links[index], key), scene.paid)

    def reachable_states(
        self, limit: int, memory: int, progress: Callable[[int], None] | None = None
    ) -> States:
        return reachable(self, limit, memory, progress)

    def explore(
        self, limit: int = LIMIT, progress: Callable[[int], None] | None = None
    ) -> Exploration:
        return explored(self, limit, progress)

    def look(self, state: HostedState) -> Observation:
        face = self._scene(state).face
        return Observation(face.text, face.actions, face.reward)

    def ending_at(self, state: HostedState) -> str:
        ending = self._scene(state).face.ending
        return ending.passage if ending else ""

    def face_at(self, state: HostedState) -> Face:
        """What a state shows and pays, with its passage and the rule of its ending."""
        return self._scene(state).face

    def _scene(self, state: HostedState) -> Staged:
        scenes = self._scenes.setdefault(state.moment, {})
        key = (state.paid, state.opening)
        if key not in scenes:
            scenes[key] = self._judged(state)
        return scenes[key]

    @property
    def position(self) -> Position:
        """Where the episode stands behind its page, for tools and people."""
        return self.position_at(self.state) if self.state else Position()

    def position_at(self, state: HostedState) -> Position:
        shown = state.moment.shown
        ending = self._scene(state).face.ending
        cells = {f"${name}": plain_value(value) for name, value in shown.variables.items()}
        rule = ending.rule if ending else None
        return Position(shown.passage, (shown.passage,), cells, rule, shown.errors, shown.history)

    def _judged(self, state: HostedState) -> Staged:
        shown = state.moment.shown
        cells: dict[str, Value] = {
            f"${name}": plain_value(value) for name, value in shown.variables.items()
        }
        cells |= dict.fromkeys(state.paid, True)
        page = Page(shown.passage, {}, self.script.tags, cells, lambda chances: 0)
        page.pieces = list(shown.pieces)
        page.shown = [shown.passage] if shown.passage in self.script.tags else []
        judged = verdict(self.rules, self._beginnings, page, opening=state.opening)
        numbers = {id(link): number for number, link in enumerate(shown.links)}
        named = (
            self.rules.endings[judged.rule].condition.passage if judged.rule is not None else None
        )
        links = self._repeated.once(judged.links)
        face = Face(
            judged.text,
            tuple(self.paraphrases.get(label, label) for label, _ in links),
            judged.reward,
            shown.passage,
            None if judged.links else EndingPlace(named or shown.passage, judged.rule),
            judged.hypertext,
        )
        return Staged(
            face, tuple(numbers[id(link)] for _, link in links), state.paid.union(page.writes)
        )


def plain_value(value: Any) -> Value:
    """A value of the engine as our rules compare it: lists are tuples, and what has names in it is none of theirs."""
    if isinstance(value, list):
        return tuple(map(plain_value, value))
    return value if isinstance(value, (int, float, str, bool)) else None
