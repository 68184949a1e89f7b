"""Story games: what the tools for authors need of a game.

`AuthoredGame` is the base class of the games that play stories: `StoryGame` (our interpreter),
`HostedGame` (the engine in a published page) and `InkGame`. A subclass writes `_open`, `_take` and
`face_at`, and the properties of its story. Players see the observations only.
"""

import hashlib
import math
from abc import abstractmethod
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol, runtime_checkable

from storytest.search import Exploration, clock
from storytest.twine.layout import RestartLinks
from storytest.twine.rules import Rules
from storytest.twine.script import Problem, Script, summarise
from storytest.twine.story import Story
from storytest.twine.values import Value
from textgames.compiled.search import Face
from textgames.errors import InputError
from textgames.game.contract import Game, Observation, SeededGame

NATIVE = "native"  # our interpreter of Twine 1
HOSTED = "hosted"  # the engine that a published page contains
INK = "ink"
EXPLORE_LIMIT = 100_000  # states

Progress = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Position:
    """The state behind a page, as the author of the story knows it."""

    passage: str = ""  # "" in a game without passages
    shown: tuple[str, ...] = ()  # passages displayed on the page, included ones too
    # `$name` is a variable of the story, any other name belongs to the engine
    cells: Mapping[str, Value] = field(default_factory=dict)
    errors: tuple[str, ...] = ()  # "passage: message" of script errors on the last step
    faults: tuple[tuple[str, str], ...] = ()  # kind and text: errors and broken links on the page
    history: tuple[str, ...] = ()  # passages entered so far, if the engine records them
    asks: bool = False  # whether the page has text boxes
    words: str = ""  # words that were typed there

    @property
    def variables(self) -> dict[str, Value]:
        return {name: value for name, value in self.cells.items() if name.startswith("$")}


class AuthoredGame(SeededGame):
    """Base class of the games that play a story under the rules of its TOML file."""

    engine: str  # NATIVE, HOSTED or INK

    def __init__(
        self,
        name: str,
        story: Story,
        rules: Rules,
        *,
        shuffle: bool = True,
        paraphrases: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(name, shuffle=shuffle)
        self.story = story
        self.rules = rules
        self.paraphrases = paraphrases or {}
        self.title = rules.title or story.title or name
        self.max_steps = rules.max_steps
        self.training = rules.training
        self.step_reward = rules.step_reward
        self.paraphrase_sets = tuple(rules.paraphrases)
        # Passages that each passage leads to; empty if only the engine can tell.
        self.links: Mapping[str, Collection[str]] = {}
        # Variables that each passage reads, and those that it sets, if the engine's file has them.
        self.variable_uses: Mapping[str, tuple[Collection[str], Collection[str]]] = {}
        # Links that are not actions, by passage and target, with the reason.
        self.left_out: Mapping[tuple[str, str], str] = {}
        self.skipped: Sequence[str] = ()  # what is not played as in a browser, one line each
        self.asked: Collection[str] = ()  # variables that the player is asked to type in
        self.errors: list[str] = []  # of the engine so far, if they belong to no passage

    @abstractmethod
    def position_at(self, state: Any) -> Position:
        """The position of one of the game's states."""

    @abstractmethod
    def face_at(self, state: Any) -> Face:
        """What a state shows and pays."""

    def look(self, state: Any) -> Observation:
        face = self.face_at(state)
        return Observation(face.text, face.actions, face.reward)

    def ending_at(self, state: Any) -> str:
        """The name of an ending: its rule's passage, or its own."""
        ending = self.face_at(state).ending
        return ending.passage if ending else ""

    @property
    def fingerprint(self) -> str:
        """A hash of the passages and rules, without the paths and tests in the rules."""
        rules = self.rules
        values = asdict(rules) | {"story": "", "paraphrases": ""}
        del values["expectations"], values["forbidden"], values["allow"]  # not part of play
        values["restart"] = () if rules.restart is None else rules.restart or "none"
        payments = (payment["condition"] for payment in (*values["endings"], *values["events"]))
        for condition in (*values["ends"], *payments):
            condition["_where"] = None  # a closure that differs per process; `where` has its source
        digest = hashlib.sha256()
        for passage in self.story.passages.values():
            digest.update(repr((passage.name, passage.text, passage.tags)).encode())
        digest.update(repr((self.story.start, values)).encode())
        return digest.hexdigest()

    @property
    def edition(self) -> str:
        """What the fingerprint does not cover and a player sees."""
        return repr(sorted(self.paraphrases.items()))

    @property
    def problems(self) -> Sequence[Problem]:
        """Problems of the story: unsupported code, or errors of its scripts so far."""
        return ()

    @property
    def warnings(self) -> Sequence[str]:
        """One line for each kind of unsupported code."""
        return summarise(self.problems)

    def _reworded(self, actions: Iterable[str]) -> tuple[str, ...]:
        return tuple(self.paraphrases.get(action, action) for action in actions)


@runtime_checkable
class VariableSetter(Protocol):
    """A story whose variables can be given other values during an episode."""

    def set_variables(self, values: Mapping[str, Value]) -> Observation:
        """Show the current page again with other values of variables, which start with `$`."""


class Explorable(AuthoredGame):
    """A Twine story, whose pages can be explored without playing it."""

    search_seconds: float | None = None  # time limit of a search, if the engine is slow

    def __init__(self, name: str, script: Script, rules: Rules, **options: Any) -> None:
        """`options` are those of AuthoredGame."""
        super().__init__(name, script.story, rules, **options)
        self.script = script
        self.restarts = RestartLinks(script.story)
        self.left_out = self.restarts.left_out

    def key_of(self, state: Hashable) -> Hashable:
        """What identifies a state for an exploration."""
        return state

    def explore(self, limit: int = EXPLORE_LIMIT, progress: Progress | None = None) -> Exploration:
        """Visit up to `limit` states, new pages first."""
        until = clock() + (self.search_seconds or math.inf)
        exploration = Exploration(self, limit, until)
        exploration.run(progress)
        return exploration


def explorable(game: Game, purpose: str) -> Explorable:
    """Refuse a game that is not an explorable story, which the purpose needs."""
    if isinstance(game, Explorable):
        return game
    raise InputError(f"{game.name}: {purpose} needs a Twine story; give the path of one")
