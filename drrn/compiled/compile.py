"""`compile_game`: every state that a game can reach, as arrays."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from drrn.compiled.assemble import assemble
from drrn.compiled.cache import (
    cache_folder,
    keep_refusal,
    kept_refusal,
    load_compiled,
    place,
    save_compiled,
)
from drrn.compiled.game import Compiled
from drrn.compiled.reached import States, TooLargeError, refusal
from drrn.compiled.search import breadth_first
from drrn.errors import InputError
from drrn.game.contract import Game, looks_like_a_game
from drrn.game.enumerable import Enumerable, Searchable
from drrn.game.optional import has_fingerprint

LIMIT = 200_000  # states
MOST_STATES = 50_000  # of a game that is compiled along the way, though nobody asked for it
MEMORY = 2_000  # MB


def compile_game(
    game: Game,
    *,
    limit: int = LIMIT,
    memory: int = MEMORY,
    progress: Callable[[int], None] | None = None,
    cache: Path | bool = True,
) -> Compiled:
    """Compile a game: find every state that it can reach, and store them as arrays.

    `InputError` says why a game cannot be compiled. `limit` is the largest number of states, `memory` the largest size
    in MB (both approximate). `progress` is called with the number of states found so far. Compiled games are cached:
    `cache` is a folder, True for the usual one, False for none. A game without its own fingerprint is not cached, since
    nobody could tell when it has changed.
    """
    if not looks_like_a_game(game):
        raise InputError(
            f"a {type(game).__name__} is no game: open a name with drrn.make, or give an object of a game"
        )
    if isinstance(game, Compiled):
        return game
    if not isinstance(game, (Enumerable, Searchable)):
        raise refusal(
            game,
            f"it lists no outcomes: {type(game).__name__} lacks {_missing(game)} (see docs/games.md)",
        )
    folder = cache_folder() if cache is True else cache or None
    path = place(game, folder) if folder and has_fingerprint(game) else None
    compiled = load_compiled(path, bool(getattr(game, "shuffle", False))) if path else None
    if compiled is None:
        compiled = assemble(game, _searched(game, path, limit, memory * 2**20, progress))
        if path and (
            compiled.raw_complete or limit >= MOST_STATES
        ):  # what a small limit cut short is not the game's
            save_compiled(compiled, path)
    return compiled


def _searched(
    game: Game, path: Path | None, limit: int, memory: int, progress: Callable[[int], None] | None
) -> States:
    """The game's states. A game that is searched for a time (`search_seconds`) is not searched in vain twice."""
    seconds = getattr(game, "search_seconds", None)
    if path is None or seconds is None:
        return _states(game, limit, memory, progress)
    if why := kept_refusal(path, seconds):
        raise InputError(why)
    try:
        return _states(game, limit, memory, progress)
    except InputError as error:
        keep_refusal(path, seconds, str(error))
        raise


def can_be_compiled(game: Game) -> bool:
    """Whether the game lists its outcomes; it may still have too many states."""
    return isinstance(game, (Compiled, Enumerable, Searchable))


def _states(game: Game, limit: int, memory: int, progress: Callable[[int], None] | None) -> States:
    """What the game's own search reaches, where it has one; else what a breadth-first search does."""
    try:
        if isinstance(game, Searchable):
            states = game.reachable_states(limit, memory, progress)
        else:
            states = breadth_first(game, limit, memory, progress)
    except TooLargeError as error:
        raise refusal(game, f"{error}; raise the limit, or play it uncompiled") from error
    _check_playable(game, states)
    return states


def _check_playable(game: Game, states: States) -> None:
    opening = [
        states.faces[states.face[state]] for state in states.successor[: states.row_first[1]]
    ]
    passage = opening[0].passage  # a story has passages and links, other games have actions
    if all(face.ended for face in opening):
        what = f', passage "{passage}", has no links' if passage else " has no actions"
        raise refusal(game, f"its start{what}, so it ends at once")


def _missing(game: Game) -> str:
    signatures = {
        "opening": "opening()",
        "outcomes": "outcomes(state, index)",
        "look": "look(state)",
    }
    return ", ".join(signature for name, signature in signatures.items() if not hasattr(game, name))
