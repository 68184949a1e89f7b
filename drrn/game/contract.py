"""The contract of games: an observation has a text and actions; a step takes the index of one.

Optional attributes are listed in `optional`; `enumerable` says what a game needs to be compiled.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from numbers import Real
from types import NoneType
from typing import Any, Protocol, runtime_checkable

from drrn.errors import InputError


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


@runtime_checkable
class Game(Protocol):
    """A game: a name, `reset` and `step`. An agent sees only the observations.

    Example:
        >>> class Coin:
        ...     name = "coin"
        ...     def reset(self, seed=None):
        ...         return drrn.Observation("Heads or tails?", ("Heads", "Tails"))
        ...     def step(self, index):
        ...         return drrn.Observation("It was heads.", (), 1.0 - index)
    """

    name: str

    def reset(self, seed: int | None = None) -> Observation:
        """Start a new episode. A seed restarts the random generator; None continues it."""
        ...

    def step(self, index: int) -> Observation:
        """Take the action at `index` of the last observation."""
        ...


def looks_like_a_game(thing: object) -> bool:
    """Whether it is an object (not a class) with a name, `reset` and `step`."""
    return not isinstance(thing, type) and isinstance(thing, Game)


def check_index(index: int, count: int, *, stopped: bool = False) -> None:
    """Refuse an index that is not one of `count` actions, or any if the episode is over."""
    if not count or stopped:
        cause = "was truncated" if stopped else "has ended or has not started"
        raise RuntimeError(f"the episode {cause}; call reset()")
    if not 0 <= index < count:
        raise IndexError(f"action {index} of {count}: choose one from 0 to {count - 1}")


def checked(game: Game, observation: Any) -> Observation:
    """Return the observation with plain values, or raise an `InputError` that names its fault."""
    fault = _fault(observation)
    if fault:
        raise InputError(f"{game.name}: {fault} (see docs/games.md)")
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
        return f"reset and step must return a drrn.Observation, not {kind}"
    text = observation.text
    actions = observation.actions
    reward = observation.reward
    if not isinstance(text, str):
        return f"the text of an observation must be a str, not {type(text).__name__}"
    if isinstance(actions, (str, NoneType)) or not all(isinstance(a, str) for a in actions):
        return f"the actions of an observation must be a tuple of str, not {actions!r:.60}"
    if not isinstance(reward, Real) or not math.isfinite(reward):
        return f"the reward of an observation must be a finite number, not {reward!r:.60}"
    return ""


class ContractError(AssertionError):
    """A game breaks the contract; the message names the rule and the step."""


def check_game(game: Game, *, seed: int = 0, episodes: int = 3, max_steps: int = 500) -> None:
    """Play some random episodes and raise a `ContractError` if the game breaks the contract.

    The same seed and choices must show the same pages, the first observation must pay nothing, and
    an index out of range must be refused.
    """
    name = getattr(game, "name", None)
    _expect(isinstance(name, str) and name != "", "a game has a name that is a non-empty str")
    for number in range(seed, seed + episodes):
        pages = _transcript(game, number, max_steps)
        same = pages == _transcript(game, number, max_steps)
        _expect(same, f"the same seed ({number}) and choices gave two different episodes")
        _expect(pages[0].reward == 0, "the first observation of an episode pays nothing")
        if pages[-1].ended:
            _expect_refusal(game, 0, "stepping after the ending must be refused")
    actions = game.reset(seed).actions
    for index in (len(actions), -1):
        _expect_refusal(game, index, f"an index out of range ({index}) must be refused")


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
        _expect(all(map(str.strip, page.actions)), f"{where}: an action without words")
        if page.ended or len(pages) > max_steps or getattr(game, "stopped", False):
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
