"""Optional attributes of a game, and their defaults.

A game must have `name`, `reset` and `step` (see `contract`). It may also have:

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

The functions of this module read them. Other modules read `shuffle` (actions are shown in a new
order each time), `edition` (str, what a player sees although the fingerprint leaves it out),
`ending_at(state)` (the ending's name at a state) and `kind` (str, such as "parser").
"""

from __future__ import annotations

import hashlib
import operator
from collections.abc import Mapping
from typing import Any

from drrn.errors import InputError
from drrn.game.contract import Game, Observation, looks_like_a_game

STEP_LIMIT = 500
MOST_COPIES = 64  # each copy may be large
THE_END = "the end"


def title_of(game: Game) -> str:
    """Return the game's title."""
    title = getattr(game, "title", None)
    return title if isinstance(title, str) and title else game.name


def step_limit_of(game: Game) -> int:
    """Return the number of steps after which an episode is truncated."""
    return _count(game, "max_steps", STEP_LIMIT)


def training_of(game: Game) -> Mapping[str, Any]:
    """Return the settings that the game recommends, by name."""
    settings = getattr(game, "training", None)
    if settings is None:
        return {}
    if not isinstance(settings, Mapping):
        kind = type(settings).__name__
        raise InputError(f"{game.name}: training must be a mapping of settings, not {kind}")
    return settings


def ending_of(game: Game, observation: Observation) -> str | None:
    """Return the name of the ending; None while the observation has actions."""
    return None if observation.actions else str(getattr(game, "ending", None) or THE_END)


def is_stopped(game: Game) -> bool:
    """Whether the game truncated the episode: actions remain, but it must be reset."""
    return bool(getattr(game, "stopped", False))


def another(game: Game) -> Game | None:
    """Return an independent copy of the game; None if it cannot be copied."""
    copy = getattr(game, "another", None)
    twin = copy() if callable(copy) else None
    if twin is not None and not looks_like_a_game(twin):
        kind = type(twin).__name__
        raise InputError(f"{game.name}: another() returned a {kind}, which is not a game")
    return twin


def most_copies_of(game: Game) -> int:
    """Return how many copies of the game may play at once."""
    return _count(game, "most_copies", MOST_COPIES)


def close(game: Game) -> None:
    """Call the game's `close` method, if it has one."""
    method = getattr(game, "close", None)
    if callable(method):
        method()


def has_fingerprint(game: Game) -> bool:
    """Whether the game defines a fingerprint."""
    return getattr(game, "fingerprint", None) is not None


def fingerprint_of(game: Game) -> str:
    """Return a hash of what results depend on: the game's, or one of its class and name."""
    if has_fingerprint(game):
        fingerprint = game.fingerprint  # type: ignore[attr-defined]
        if not isinstance(fingerprint, str) or not fingerprint:
            raise InputError(
                f"{game.name}: fingerprint must be a non-empty str, not {fingerprint!r}"
            )
        return fingerprint
    kind = type(game)
    identity = f"{kind.__module__}\0{kind.__qualname__}\0{game.name}"
    return hashlib.sha256(identity.encode()).hexdigest()


def sources_of(game: Game) -> dict[str, Any]:
    """Return what the game was made from, for a run's record."""
    return dict(getattr(game, "sources", {}))


def _count(game: Game, name: str, default: int) -> int:
    value = getattr(game, name, None)
    if value is None:
        return default
    try:
        count = operator.index(value)
    except TypeError as error:
        raise InputError(f"{game.name}: {name} must be a whole number, not {value!r}") from error
    if count < 1:
        raise InputError(f"{game.name}: {name} is {count}; it must be at least 1")
    return count
