"""The contract of games: a game shows a text and its actions, takes the index of one, and shows the next text.

Optional attributes of a game are listed in `optional`; what it needs to be compiled, in `enumerable`.
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
    """What a player sees: a text and the actions to choose from; and the reward for having arrived there."""

    text: str
    actions: tuple[str, ...] = ()  # none: the episode has ended
    reward: float = 0.0

    @property
    def ended(self) -> bool:
        """Whether the episode has ended here."""
        return not self.actions


@runtime_checkable
class Game(Protocol):
    """What every game must have: a name, `reset` and `step`. An agent sees only the observations."""

    name: str

    def reset(self, seed: int | None = None) -> Observation:
        """Start a new episode; a seed restarts the game's random generator, None continues with it as it is."""
        ...

    def step(self, index: int) -> Observation:
        """Take the action at `index` of the last observation's actions."""
        ...


def looks_like_a_game(thing: object) -> bool:
    """Whether it is an object (not a class) with a name that can be reset and stepped."""
    return not isinstance(thing, type) and isinstance(thing, Game)


def checked(game: Game, observation: Any) -> Observation:
    """The observation with plain values, or a sentence that says what is wrong with it."""
    if not isinstance(observation, Observation):
        what = f"reset and step must return a drrn.Observation, not {type(observation).__name__}"
    elif not isinstance(observation.text, str):
        what = f"the text of an observation must be a str, not {type(observation.text).__name__}"
    elif isinstance(observation.actions, (str, NoneType)) or not all(
        isinstance(action, str) for action in observation.actions
    ):
        what = (
            f"the actions of an observation must be a tuple of str, not {observation.actions!r:.60}"
        )
    elif not isinstance(observation.reward, Real) or not math.isfinite(observation.reward):
        what = (
            f"the reward of an observation must be a finite number, not {observation.reward!r:.60}"
        )
    elif (
        observation.reward.__class__ is float
        and observation.actions.__class__ is tuple
        and _exactly_str(observation)
    ):
        return observation
    else:
        return Observation(
            str(observation.text), tuple(map(str, observation.actions)), float(observation.reward)
        )
    raise InputError(f"{game.name}: {what}: see docs/games.md")


def _exactly_str(observation: Observation) -> bool:
    return observation.text.__class__ is str and all(
        action.__class__ is str for action in observation.actions
    )


# What must never reach a player: links, macros, entities, and the tags that stories use.
PAIRED = "a|b|button|center|div|em|font|h[1-6]|html|i|li|ol|p|script|small|span|strong|style|sup|table|t[dr]|u"
MARKUP = re.compile(
    rf"<<[A-Za-z$/]|\[\[|<(?:br|hr|img|input)(?:\s[^<>]*)?/?>|<(?P<name>{PAIRED})(?:\s[^<>]*)?>|"
    r"&(?:#\d+|#x[\da-f]+|[a-z]+);",
    re.I,
)


class ContractError(AssertionError):
    """A game that breaks the contract; the message says which clause, and where."""


def check_game(
    game: Game, *, seed: int = 0, episodes: int = 3, max_steps: int = 500, markup: bool = False
) -> None:
    """Play some random episodes and raise `ContractError`, which names the rule, if the game breaks the contract.

    The same seed and choices must show the same pages, the first observation must pay nothing, and an action that is
    not there must be refused. Texts must be free of markup (links, macros, entities, a tag with its closing tag),
    unless `markup=True` allows it.
    """
    name = getattr(game, "name", None)
    _expect(isinstance(name, str) and name != "", "a game has a name that is a non-empty str")
    for episode in range(episodes):
        first, second = (_transcript(game, seed + episode, max_steps, markup) for _ in range(2))
        _expect(
            first == second,
            f"the same seed ({seed + episode}) and choices gave two different episodes",
        )
        _expect(first[0].reward == 0, "the first observation of an episode pays nothing")
        if first[-1].ended:
            _expect_refusal(game, 0, "stepping after the end must be refused")
    start = game.reset(seed)
    for index in (len(start.actions), -1):
        _expect_refusal(game, index, f"an index out of range ({index}) must be refused")


def _transcript(game: Game, seed: int, max_steps: int, markup: bool) -> list[Observation]:
    choose = random.Random(seed)
    transcript = [game.reset(seed)]
    _check_observation(transcript[0], f"seed {seed}, step 0", markup)
    while (
        not transcript[-1].ended
        and len(transcript) <= max_steps
        and not getattr(game, "stopped", False)
    ):
        transcript.append(game.step(choose.randrange(len(transcript[-1].actions))))
        _check_observation(transcript[-1], f"seed {seed}, step {len(transcript) - 1}", markup)
    return transcript


def _check_observation(observation: Observation, place: str, markup: bool) -> None:
    _expect(isinstance(observation, Observation), f"{place}: not an Observation")
    _expect(isinstance(observation.actions, tuple), f"{place}: actions must be a tuple")
    for text in (observation.text, *observation.actions):
        _expect(isinstance(text, str), f"{place}: {text!r} is not a str")
        mark = None if markup else _markup(text)
        _expect(
            mark is None,
            f"{place}: markup {mark!r} in {text[:80]!r} (on purpose? check_game(game, markup=True))",
        )
    _expect(
        all(action.strip() for action in observation.actions), f"{place}: an action without words"
    )
    number = isinstance(observation.reward, Real) and math.isfinite(observation.reward)
    _expect(number, f"{place}: the reward {observation.reward!r} is not a finite number")


def _markup(text: str) -> str | None:
    """The first markup in a text. A tag without its end is none: the page speaks of it."""
    ends = text.lower()
    for found in MARKUP.finditer(text):
        if found["name"] is None or f"</{found['name'].lower()}>" in ends:
            return found.group()
    return None


def _expect_refusal(game: Game, index: int, clause: str) -> None:
    try:
        game.step(index)
    except (LookupError, ValueError, RuntimeError):
        return
    raise ContractError(clause)


def _expect(holds: bool, clause: str) -> None:
    if not holds:
        raise ContractError(clause)
