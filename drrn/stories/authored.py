"""Story games: what the tools for authors need of a game.

`AuthoredGame` is the base class of the games that play stories: `StoryGame` (our interpreter),
`HostedGame` (the engine in a published page) and `InkGame`. A subclass writes `_open` and `_take`,
and the properties of its story. Agents see the observations only.
"""

from __future__ import annotations

import copy
import hashlib
import operator
import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol, TypeVar, runtime_checkable

from drrn.compiled.search import Face
from drrn.errors import InputError
from drrn.game.contract import Game, Observation
from drrn.stories.twine.rules import DEFAULT_SET, Rules, read_paraphrases
from drrn.stories.twine.script import Problem
from drrn.stories.twine.story import Story
from drrn.stories.twine.values import Value

NATIVE = "native"  # our interpreter of Twine 1
HOSTED = "hosted"  # the engine that a published page contains
INK = "ink"
EXPLORE_LIMIT = 100_000  # states

Copy = TypeVar("Copy", bound="AuthoredGame")


@dataclass(frozen=True, slots=True)
class Position:
    """The state behind a page, as the author of the story knows it."""

    passage: str = ""  # "" in a game without passages
    shown: tuple[str, ...] = ()  # passages displayed on the page, included ones too
    # `$name` is a variable of the story, any other name belongs to the engine
    cells: Mapping[str, Value] = field(default_factory=dict)
    rule: int | None = None  # index of the [[ending]] that matched
    errors: tuple[str, ...] = ()  # "passage: message" of script errors on the last step
    history: tuple[str, ...] = ()  # passages entered so far, if the engine records them

    @property
    def variables(self) -> dict[str, Value]:
        return {name: value for name, value in self.cells.items() if name.startswith("$")}


@dataclass
class Exploration:
    """The pages that a search of a story reached."""

    faces: list[Face] = field(default_factory=list)  # distinct by text, actions and ending
    shown: set[str] = field(default_factory=set)  # passages
    states: int = 0
    complete: bool = False  # whether every reachable state was visited
    stochastic: bool = False


class AuthoredGame(ABC):
    """Base class of the games that play a story under the rules of its TOML file."""

    engine: str  # NATIVE, HOSTED or INK

    def __init__(
        self, name: str, rules: Rules, *, shuffle: bool, paraphrases: Mapping[str, str] | None
    ) -> None:
        self.name = name
        self.rules = rules
        self.shuffle = shuffle
        self.paraphrases = paraphrases or {}
        self._random = random.Random()
        self._options: Sequence[Any] = ()  # what `_take` needs for each action of the page

    @property
    @abstractmethod
    def story(self) -> Story:
        """The passages of the story."""

    @property
    @abstractmethod
    def ending(self) -> str | None:
        """The ending of the episode: its rule's passage, or its own; None before the end."""

    @property
    @abstractmethod
    def position(self) -> Position:
        """The state behind the page."""

    @abstractmethod
    def position_at(self, state: Any) -> Position:
        """Return the position of one of the game's states."""

    @abstractmethod
    def _open(self) -> Observation:
        """Start an episode and set `_options`."""

    @abstractmethod
    def _take(self, option: Any) -> Observation:
        """Take the action behind an option and set `_options`."""

    @abstractmethod
    def _forget_episode(self) -> None:
        """Drop the state of the episode; called on a new copy of the game."""

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
    def links(self) -> Mapping[str, Collection[str]]:
        """Passages that each passage leads to; empty if only the engine can tell."""
        return {}

    @property
    def left_out(self) -> Mapping[tuple[str, str], str]:
        """Links that are not actions, by passage and target, with the reason."""
        return {}

    @property
    def problems(self) -> Sequence[Problem]:
        """Problems of the story: unsupported code, or errors of its scripts so far."""
        return ()

    @property
    def asked(self) -> Collection[str]:
        """Variables that the story asks the player to type in."""
        return ()

    @property
    def errors(self) -> Sequence[str]:
        """Errors of the engine so far that belong to no passage."""
        return ()

    def another(self: Copy) -> Copy:
        """Return a copy with its own episode and random generator; the story is shared."""
        twin = copy.copy(self)
        twin._random = random.Random()
        twin._options = ()
        twin._forget_episode()
        return twin

    def reset(self, seed: int | None = None) -> Observation:
        if seed is not None:
            # Salted: a player who seeds its generator with the same number is independent.
            self._random = random.Random(f"game {operator.index(seed)}")
        return self._open()

    def step(self, index: int) -> Observation:
        options = self._options
        if not options:
            raise RuntimeError("the episode has ended or has not started; call reset()")
        if not 0 <= index < len(options):
            last = len(options) - 1
            raise IndexError(f"action {index} of {len(options)}: choose one from 0 to {last}")
        return self._take(options[index])

    def _reworded(self, actions: Iterable[str]) -> tuple[str, ...]:
        return tuple(self.paraphrases.get(action, action) for action in actions)

    def _random_order(self, count: int) -> Sequence[int]:
        return self._random.sample(range(count), count) if self.shuffle else range(count)

    def _ending_name(self, rule: int | None, passage: str) -> str:
        """Return the passage that an ending is named after: its rule's, or else its own."""
        of_rule = self.rules.endings[rule].condition.passage if rule is not None else None
        return of_rule or passage


@runtime_checkable
class Explorable(Game, Protocol):
    """A story whose pages can be explored without playing it."""

    @property
    def story(self) -> Story: ...
    @property
    def rules(self) -> Rules: ...
    @property
    def problems(self) -> Sequence[Problem]: ...
    @property
    def asked(self) -> Collection[str]: ...

    def explore(self, limit: int, progress: Callable[[int], None] | None = None) -> Exploration:
        """Visit up to `limit` states, new pages first."""
        ...


@runtime_checkable
class TimedSearch(Protocol):
    """A game whose engine is slow, so that a search of its states has a time limit."""

    search_seconds: float


def explorable(game: Game, purpose: str) -> Explorable:
    """Return the game if it is an explorable story.

    Raises:
        InputError: It is not; the message names the purpose that needs one.
    """
    if isinstance(game, Explorable):
        return game
    raise InputError(f"{game.name}: {purpose} needs a Twine story; give the path of one")


def paraphrases_of(game: Game, name: str = DEFAULT_SET) -> Mapping[str, str] | None:
    """Return a set of paraphrases, original → paraphrase; None if the game has no such set."""
    path = game.rules.paraphrases.get(name) if isinstance(game, Explorable) else None
    return read_paraphrases(path) if path is not None else None


def fingerprint_of_story(story: Story, rules: Rules) -> str:
    """Return a hash of the passages and rules, without the paths and tests in the rules."""
    values = asdict(rules) | {"story": "", "paraphrases": ""}
    del values["expectations"], values["forbidden"]  # not part of play
    values["restart"] = () if rules.restart is None else rules.restart or "none"
    payments = (payment["condition"] for payment in (*values["endings"], *values["events"]))
    for condition in (*values["ends"], *payments):
        condition["_where"] = None  # a closure that differs per process; `where` has its source
    digest = hashlib.sha256()
    for passage in story.passages.values():
        digest.update(repr((passage.name, passage.text, passage.tags)).encode())
    digest.update(repr((story.start, values)).encode())
    return digest.hexdigest()
