"""The contract of games: show a text and actions, take the index of one, show the next text.

Optional attributes are listed in `optional`; `enumerable` says what a game needs to be compiled.
"""

from __future__ import annotations

import math
import random
import re
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


# Markup that must not reach a player: links, macros, entities, and the tags that stories use.
PAIRED_TAGS = (
    "a|b|button|center|div|em|font|h[1-6]|html|i|li|ol|p|script|small|span|strong|style|sup|table|"
    "t[dr]|u"
)
MARKUP = re.compile(
    rf"<<[A-Za-z$/]|\[\[|<(?:br|hr|img|input)(?:\s[^<>]*)?/?>|"
    rf"<(?P<name>{PAIRED_TAGS})(?:\s[^<>]*)?>|&(?:#\d+|#x[\da-f]+|[a-z]+);",
    re.I,
)


class ContractError(AssertionError):
    """A game breaks the contract; the message names the rule and the step."""


def check_game(
    game: Game, *, seed: int = 0, episodes: int = 3, max_steps: int = 500, markup: bool = False
) -> None:
    """Play some random episodes and raise a `ContractError` if the game breaks the contract.

    The same seed and choices must show the same pages, the first observation must pay nothing, and
    an index out of range must be refused. Texts must be free of markup (links, macros, entities, a
    tag with its closing tag), unless `markup=True` allows it.
    """
    name = getattr(game, "name", None)
    _expect(isinstance(name, str) and name != "", "a game has a name that is a non-empty str")
    for number in range(seed, seed + episodes):
        pages = _transcript(game, number, max_steps, markup)
        same = pages == _transcript(game, number, max_steps, markup)
        _expect(same, f"the same seed ({number}) and choices gave two different episodes")
        _expect(pages[0].reward == 0, "the first observation of an episode pays nothing")
        if pages[-1].ended:
            _expect_refusal(game, 0, "stepping after the ending must be refused")
    actions = game.reset(seed).actions
    for index in (len(actions), -1):
        _expect_refusal(game, index, f"an index out of range ({index}) must be refused")


def _transcript(game: Game, seed: int, max_steps: int, markup: bool) -> list[Observation]:
    choose = random.Random(seed)
    page = game.reset(seed)
    pages = [page]
    _check_observation(page, f"seed {seed}, step 0", markup)
    while not page.ended and len(pages) <= max_steps and not getattr(game, "stopped", False):
        page = game.step(choose.randrange(len(page.actions)))
        pages.append(page)
        _check_observation(page, f"seed {seed}, step {len(pages) - 1}", markup)
    return pages


def _check_observation(observation: Observation, where: str, markup: bool) -> None:
    fault = _fault(observation)
    _expect(not fault, f"{where}: {fault}")
    _expect(isinstance(observation.actions, tuple), f"{where}: actions must be a tuple")
    for text in () if markup else (observation.text, *observation.actions):
        mark = _markup(text)
        hint = "(intended? use check_game(game, markup=True))"
        _expect(mark is None, f"{where}: markup {mark!r} in {text[:80]!r} {hint}")
    has_words = all(action.strip() for action in observation.actions)
    _expect(has_words, f"{where}: an action without words")


def _markup(text: str) -> str | None:
    """Return the first markup in a text; a tag without its closing tag is plain text."""
    lower = text.lower()
    for match in MARKUP.finditer(text):
        if match["name"] is None or f"</{match['name'].lower()}>" in lower:
            return match.group()
    return None


def _expect_refusal(game: Game, index: int, rule: str) -> None:
    try:
        game.step(index)
    except (LookupError, ValueError, RuntimeError):
        return
    raise ContractError(rule)


def _expect(holds: bool, rule: str) -> None:
    if not holds:
        raise ContractError(rule)
