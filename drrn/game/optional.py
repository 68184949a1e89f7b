"""Optional attributes of a game, and their defaults.

A game must have `name`, `reset` and `step` (see `contract`). It may have any of these attributes as well:

    title        str, for people                          default: its name
    max_steps    int, the step limit of an episode        default: 500
    training     recommended settings, by name            default: none
    ending       str, the name of the ending it is on     default: "the end"
    stopped      bool, it truncated the episode itself    default: False
    another()    an independent copy of the game          default: None, one episode at a time
    most_copies  int, how many may play at once           default: 64
    close()      releases what a copy holds               default: nothing
    fingerprint  str, a hash of what results depend on    default: a hash of its class and its name
    sources      what it was made from, by name           default: nothing

The functions of this module read them. Six more are read by other modules: `shuffle` (actions are shown in a new order
each time; compiled/compile and assemble), `edition` (str, what the fingerprint leaves out and a player still sees;
compiled/cache), `ending_at(state)` (the ending's name at a state; compiled/search), `kind` (str, such as "parser";
authoring/survey), `position` (where a story stands; authoring/sightings), and what makes a game authored
(stories/authored).
"""

from __future__ import annotations

import hashlib
import operator
from collections.abc import Mapping
from typing import Any

from drrn.errors import InputError
from drrn.game.contract import Game, Observation, looks_like_a_game

STEP_LIMIT = 500  # of a game that names none
MOST_COPIES = 64  # of a game that says nothing of it: each may be large
THE_END = "the end"  # the one ending of a game that names none


def title_of(game: Game) -> str:
    """What people call the game."""
    title = getattr(game, "title", None)
    return title if isinstance(title, str) and title else game.name


def step_limit_of(game: Game) -> int:
    """The step limit: the number of steps after which a loop truncates the episode."""
    return _count(game, "max_steps", STEP_LIMIT)


def training_of(game: Game) -> Mapping[str, Any]:
    """The settings that the game recommends, by name."""
    settings = getattr(game, "training", None)
    if settings is None:
        return {}
    if not isinstance(settings, Mapping):
        raise InputError(
            f"{game.name}: training must be settings by name, not {type(settings).__name__}"
        )
    return settings


def ending_of(game: Game, observation: Observation) -> str | None:
    """The name of the ending that the game stands on; None while the observation has actions."""
    return None if observation.actions else str(getattr(game, "ending", None) or THE_END)


def is_stopped(game: Game) -> bool:
    """Whether the game itself truncated the episode: actions remain, but it must be reset."""
    return bool(getattr(game, "stopped", False))


def another(game: Game) -> Game | None:
    """A copy of the game with its own episode and random generator; None if the game cannot be copied."""
    copied = getattr(game, "another", None)
    twin = copied() if callable(copied) else None
    if twin is not None and not looks_like_a_game(twin):
        raise InputError(
            f"{game.name}: another() returned a {type(twin).__name__}, which is no game"
        )
    return twin


def most_copies_of(game: Game) -> int:
    """How many copies of the game may play at once."""
    return _count(game, "most_copies", MOST_COPIES)


def close(game: Game) -> None:
    """Release what the game holds, if it has a `close` method."""
    closing = getattr(game, "close", None)
    if callable(closing):
        closing()


def has_fingerprint(game: Game) -> bool:
    """Whether the game has a fingerprint of its own."""
    return getattr(game, "fingerprint", None) is not None


def fingerprint_of(game: Game) -> str:
    """A hash of all that results depend on: the game's own, or else one of its class and its name."""
    if has_fingerprint(game):
        own = game.fingerprint  # type: ignore[attr-defined]
        if not isinstance(own, str) or not own:
            raise InputError(
                f"{game.name}: fingerprint must be a str that is not empty, not {own!r}"
            )
        return own
    kind = type(game)
    return hashlib.sha256(
        f"{kind.__module__}\0{kind.__qualname__}\0{game.name}".encode()
    ).hexdigest()


def sources_of(game: Game) -> dict[str, Any]:
    """What the game was made from, as a run's folder should record it."""
    return dict(getattr(game, "sources", {}))


def _count(game: Game, name: str, default: int) -> int:
    """A whole number from 1 up that a game says, or the default."""
    given = getattr(game, name, None)
    if given is None:
        return default
    try:
        count = operator.index(given)
    except TypeError as error:
        raise InputError(f"{game.name}: {name} must be a whole number, not {given!r}") from error
    if count < 1:
        raise InputError(f"{game.name}: {name} is {count}; it must be at least 1")
    return count
