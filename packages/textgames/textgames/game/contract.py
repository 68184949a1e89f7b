"""The contract of games: an observation has a text and actions; a step takes the index of one.

A game must have `name`, `reset` and `step`. It may also have:

    title        str, for people                          default: its name
    max_steps    int, the step limit of an episode        default: 500
    training     recommended settings, by name            default: none
    ending       str, the name of the ending reached      default: "the end"
    stopped      bool, the game truncated the episode     default: False
    another()    an independent copy of the game          default: None, one episode at a time
    most_copies  int, how many may play at once           default: 64
    close()      releases resources                       default: nothing
    fingerprint  str, a hash of what results depend on    default: a hash of class and name
    sources      what it was made from, by name           default: nothing
    evaluation() the game that evaluations play           default: None, the game itself
    highest_return  float, the best possible return       default: None, not known

Functions of this module read them. What else a game can do is a protocol: an `Enumerable` game can
be compiled, a `StoryGame` names its endings and has editions. `SeededGame` is the base class of our
own games and implements `StoryGame`.
"""

import copy
import hashlib
import math
import operator
import random
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from types import NoneType
from typing import Any, Protocol, TypeVar, runtime_checkable

from textgames.errors import InputError
from textgames.notebook import html

THE_END = "the end"

Outcomes = Iterable[tuple[float, Hashable]]  # probabilities and states
Copy = TypeVar("Copy", bound="SeededGame")


@dataclass(frozen=True, slots=True)
class Observation:
    """What a player sees, and the reward for arriving there."""

    text: str
    actions: tuple[str, ...] = ()  # none: the episode has ended
    reward: float = 0.0

    @property
    def ended(self) -> bool:
        """Whether the episode has ended."""
        return not self.actions

    def _repr_html_(self) -> str | None:
        parts = {"text": self.text, "actions": self.actions, "reward": self.reward}
        return html("observation.html", **parts)


@runtime_checkable
class Game(Protocol):
    """A game: a name, `reset` and `step`. An agent sees only the observations.

    Example:
        >>> class Coin:
        ...     name = "coin"
        ...     def reset(self, seed=None):
        ...         return textgames.Observation("Heads or tails?", ("Heads", "Tails"))
        ...     def step(self, index):
        ...         return textgames.Observation("It was heads.", (), 1.0 - index)
    """

    name: str

    def reset(self, seed: int | None = None) -> Observation:
        """Start a new episode. A seed restarts the random generator; None continues it."""

    def step(self, index: int) -> Observation:
        """Take the action at `index` of the last observation."""


@runtime_checkable
class Enumerable(Protocol):
    """A game that lists the possible outcomes of each action, so that it can be compiled.

    A state is any hashable value that determines the rest of the episode. The reward of
    `look(state)` is paid for arriving there.
    """

    def opening(self) -> Outcomes:
        """Return (probability, state) for each possible start of an episode."""

    def outcomes(self, state: Any, index: int) -> Outcomes:
        """Return (probability, state) for each possible outcome of the action at `index`."""

    def look(self, state: Any) -> Observation:
        """Return the observation of a state; the order of its actions depends on it alone."""


@runtime_checkable
class Searchable(Protocol):
    """A game that searches its states itself, for instance to ignore irrelevant variables."""

    def reachable_states(
        self, limit: int, memory: int, progress: Callable[[int], None] | None = None
    ) -> Any:
        """Return `textgames.compiled.search.States`."""


@runtime_checkable
class StoryGame(Protocol):
    """A game whose endings have names, and whose texts may come in several editions.

    A subclass has these defaults.
    """

    shuffle: bool = False  # whether actions are in a new order each time
    kind: str = ""  # such as "parser"; "" if its pages show it
    note: str = ""  # what a reader of results should know about the game
    scripts: str = ""  # code of the author, which may name passages
    step_reward: float = 0.0  # for a step that does not end the game
    search_seconds: float | None = None  # time limit of a search of its states
    paraphrase_sets: Sequence[str] = ()  # names of the sets of other words that its texts have

    @property
    def edition(self) -> str:
        """What a player sees although the fingerprint leaves it out."""
        return ""

    @property
    def warnings(self) -> Sequence[str]:
        """What is left out of the game, a line for each kind."""
        return ()

    def ending_at(self, state: Any) -> str:
        """Return the name of the ending at a state."""
        return THE_END

    def face_at(self, state: Any) -> Any:
        """Return `textgames.compiled.search.Face`; None if `look` has all that there is."""
        return None


@runtime_checkable
class Solved(Protocol):
    """A game that knows the value of each action that it shows, and of best and random play.

    A game that can be compiled is solved by `textgames.compiled.oracle` instead.
    """

    optimum: float  # expected return of best play
    random_score: float  # of random play

    def q_star(self) -> Sequence[float]:
        """Return Q* of each action of the current page: reward, then best play."""


def looks_like_a_game(thing: object) -> bool:
    """Whether it is an object (not a class) with a name, `reset` and `step`."""
    return not isinstance(thing, type) and isinstance(thing, Game)


def check_index(index: int, count: int, *, stopped: bool = False) -> None:
    """Raise an error if `index` is not one of `count` actions, or if the episode is over."""
    if not count or stopped:
        cause = "was truncated" if stopped else "has ended or has not started"
        raise RuntimeError(f"the episode {cause}; call reset()")
    if not 0 <= index < count:
        raise IndexError(f"action {index} is out of range; choose from 0 to {count - 1}")


def checked(game: Game, observation: Any, step: int = 0) -> Observation:
    """Return the observation with plain values, or raise an `InputError` that names its fault.

    `step` is the number of the step that showed it, 0 for the first page or an unknown one.
    """
    fault = _fault(observation)
    if fault:
        at = f", step {step}" if step else ""
        raise InputError(f"{game.name}{at}: {fault} (see docs/textgames/games.md)")
    text = observation.text
    actions = observation.actions
    if (
        observation.reward.__class__ is float
        and actions.__class__ is tuple
        and text.__class__ is str
        and all(action.__class__ is str for action in actions)
    ):
        return observation  # type: ignore[no-any-return]
    return Observation(str(text), tuple(map(str, actions)), float(observation.reward))


def _fault(observation: Any) -> str:
    if not isinstance(observation, Observation):
        kind = type(observation).__name__
        return f"reset and step must return a textgames.Observation, not {kind}"
    text = observation.text
    actions = observation.actions
    reward = observation.reward
    if not isinstance(text, str):
        return f"the text of an observation must be a str, not {type(text).__name__}"
    if isinstance(actions, (str, NoneType)) or not all(isinstance(a, str) for a in actions):
        return f"the actions of an observation must be a tuple of str, not {actions!r:.60}"
    rule = ""
    if not isinstance(reward, Real) or reward != reward:
        rule = "a finite number"
    elif not _is_learnable(reward):
        rule = "0 or from 1e-30 to 1e15 in size"
    if rule:
        text = f'{_number_text(reward)} on the page "{text:.40}"'
        return f"the reward of an observation must be {rule}, not {text}"
    return ""


def _is_learnable(reward: Any) -> bool:
    """Whether the squares of returns of 1,000 such rewards are numbers of single precision."""
    return bool(reward == 0 or 1e-30 <= abs(reward) <= 1e15)


def _number_text(value: Any) -> str:
    try:
        return f"{value!r:.60}"
    except ValueError:  # Python writes no integer of thousands of digits
        return "a larger one"


class SeededGame(StoryGame, ABC):
    """Base class of our games: a random generator, shuffled actions and independent copies."""

    def __init__(self, name: str, *, shuffle: bool) -> None:
        self.name = name
        self.shuffle = shuffle
        self._random = random.Random()
        self._state: Any = None
        self._options: Sequence[Any] = ()  # what `_take` needs for each action of the page

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}>"

    @abstractmethod
    def _open(self) -> Observation:
        """Start an episode and set `_options`."""

    @abstractmethod
    def _take(self, option: Any) -> Observation:
        """Take the action behind an option and set `_options`."""

    @abstractmethod
    def look(self, state: Any) -> Observation:
        """Return the page of a state, with its actions in their fixed order."""

    @abstractmethod
    def ending_at(self, state: Any) -> str:
        """Return the name of the ending at a state."""

    @property
    def state(self) -> Any:
        """The state of the episode; None before its start."""
        return self._state

    @property
    def ending(self) -> str | None:
        """The name of the ending that the episode reached; None before the end."""
        state = self.state
        return None if state is None or self._options else self.ending_at(state)

    def another(self: Copy) -> Copy:
        """Return a copy with its own episode and random generator; all else is shared."""
        twin = copy.copy(self)
        twin._random = random.Random()
        twin._state = None
        twin._options = ()
        return twin

    def reset(self, seed: int | None = None) -> Observation:
        if seed is not None:
            # Salted: a player who seeds its generator with the same number is independent.
            self._random = random.Random(f"game {operator.index(seed)}")
        return self._open()

    def step(self, index: int) -> Observation:
        options = self._options
        if not 0 <= index < len(options):
            check_index(index, len(options))
        return self._take(options[index])

    def _show(self, state: Any) -> Observation:
        """Go to a state; its actions are the options, in random order."""
        self._state = state
        page = self.look(state)
        self._options = self._random_order(len(page.actions))
        actions = tuple(page.actions[index] for index in self._options)
        return Observation(page.text, actions, page.reward)

    def _random_order(self, count: int) -> Sequence[int]:
        return self._random.sample(range(count), count) if self.shuffle else range(count)


# --- optional attributes


class _PlainStory(StoryGame):
    """The story that a game is if nothing else is known."""


def story_of(game: Game) -> StoryGame:
    """Return the game as a story, with defaults for one that is not."""
    return game if isinstance(game, StoryGame) else _PlainStory()


def title_of(game: Game) -> str:
    """Return the game's title."""
    title = getattr(game, "title", None)
    return title if isinstance(title, str) and title else game.name


def step_limit_of(game: Game) -> int:
    """Return the number of steps after which an episode is truncated."""
    return _count(game, "max_steps", 500)


def most_copies_of(game: Game) -> int:
    """Return how many copies of the game may play at once. Each may be large."""
    return _count(game, "most_copies", 64)


def training_of(game: Game) -> Mapping[str, Any]:
    """Return the settings that the game recommends, by name."""
    return _attribute(game, "training", Mapping, "a mapping of settings") or {}


def highest_return_of(game: Game) -> float | None:
    """Return the best possible return; None if it is not known."""
    value = _attribute(game, "highest_return", Real, "a finite number")
    return None if value is None else float(value)


def has_fingerprint(game: Game) -> bool:
    """Whether the game defines a fingerprint."""
    return _attribute(game, "fingerprint", str, "a non-empty str") is not None


def fingerprint_of(game: Game) -> str:
    """Return a hash of what results depend on: the game's, or one of its class and name."""
    if has_fingerprint(game):
        return game.fingerprint  # type: ignore[attr-defined, no-any-return]
    kind = type(game)
    # Recorded results have the name that our modules had before this package was split off.
    module = re.sub(r"^textgames\b", "drrn", kind.__module__)
    identity = f"{module}\0{kind.__qualname__}\0{game.name}"
    return hashlib.sha256(identity.encode()).hexdigest()


def sources_of(game: Game) -> dict[str, Any]:
    """What the game was made from, for a run's record."""
    return dict(getattr(game, "sources", {}))


def ending_of(game: Game, observation: Observation) -> str | None:
    """Return the name of the ending; None while the observation has actions."""
    return None if observation.actions else str(getattr(game, "ending", None) or THE_END)


def is_stopped(game: Game) -> bool:
    """Whether the game truncated the episode: actions remain, but it must be reset."""
    return bool(getattr(game, "stopped", False))


def another(game: Game) -> Game | None:
    """Return an independent copy of the game; None if it cannot be copied."""
    twin: Game | None = _call(game, "another")
    if twin is not None and not looks_like_a_game(twin):
        kind = type(twin).__name__
        raise InputError(f"{game.name}: another() returned a {kind}, which is not a game")
    return twin


def evaluation_game_of(game: Game) -> Game | None:
    """Return the game that evaluations play, such as another fold of it; None: the game itself."""
    other: Game | None = _call(game, "evaluation")
    return other


def close(game: Game) -> None:
    """Call the game's `close` method, if it has one."""
    _call(game, "close")


def _call(game: Game, name: str) -> Any:
    method = getattr(game, name, None)
    return method() if callable(method) else None


def _attribute(game: Game, name: str, kind: type, words: str) -> Any:
    """Return an attribute; None if the game has none, an `InputError` if it is something else."""
    value = getattr(game, name, None)
    is_valid = isinstance(value, kind) and not isinstance(value, bool)
    if isinstance(value, Real):
        is_valid &= math.isfinite(value)
    if value is not None and (not is_valid or value == ""):
        raise InputError(f"{game.name}: {name} must be {words}, not {value!r:.60}")
    return value


def _count(game: Game, name: str, default: int) -> int:
    words = "a whole number of at least 1"
    value = _attribute(game, name, Integral, words)
    if value is not None and value < 1:
        raise InputError(f"{game.name}: {name} must be {words}, not {value}")
    return default if value is None else int(value)


# --- a check of the whole contract


class ContractError(AssertionError):
    """A game breaks the contract; the message names the rule and the step."""


def check_game(game: Game, *, seed: int = 0, episodes: int = 3, max_steps: int = 500) -> None:
    """Play some random episodes and raise a `ContractError` if the game breaks the contract.

    The same seed and choices must show the same pages, the reward of the first observation must be
    0, and an index out of range must raise an error.
    """
    name = getattr(game, "name", None)
    _expect(isinstance(name, str) and name != "", "its name must be a non-empty str")
    for number in range(seed, seed + episodes):
        pages = _transcript(game, number, max_steps)
        same = pages == _transcript(game, number, max_steps)
        _expect(same, f"the same seed ({number}) and choices gave two different episodes")
        _expect(pages[0].reward == 0, "the reward of the first observation must be 0")
        if pages[-1].ended:
            _expect_refusal(game, 0, "step() after an ending must raise an error")
    actions = game.reset(seed).actions
    for index in (len(actions), -1):
        _expect_refusal(game, index, f"an index out of range ({index}) must raise an error")


def _transcript(game: Game, seed: int, max_steps: int) -> list[Observation]:
    choose = random.Random(seed)
    pages: list[Observation] = []
    page = game.reset(seed)
    while True:
        where = f"seed {seed}, step {len(pages)}"
        pages.append(page)
        fault = _fault(page)
        _expect(not fault, f"{where}: {fault}")
        _expect(isinstance(page.actions, tuple), f"{where}: actions must be a tuple")
        _expect(all(map(str.strip, page.actions)), f"{where}: an action is blank")
        if page.ended or len(pages) > max_steps or is_stopped(game):
            return pages
        page = game.step(choose.randrange(len(page.actions)))


def _expect_refusal(game: Game, index: int, rule: str) -> None:
    try:
        game.step(index)
    except (LookupError, ValueError, RuntimeError):
        return
    raise ContractError(rule)


def _expect(holds: bool, rule: str) -> None:
    if not holds:
        raise ContractError(rule)
