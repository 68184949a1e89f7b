"""`compile_game`: all reachable states of a game as arrays."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from drrn.compiled import cache as files
from drrn.compiled.assemble import assemble
from drrn.compiled.game import Compiled
from drrn.compiled.graph import States, TooLargeError, refusal
from drrn.compiled.search import breadth_first
from drrn.errors import InputError
from drrn.game.contract import Game, looks_like_a_game
from drrn.game.enumerable import Enumerable, Searchable
from drrn.game.optional import has_fingerprint

LIMIT = 200_000  # states
MOST_STATES = 50_000  # of a game that is compiled without being asked for
MEMORY = 2_000  # MB

Progress = Callable[[int], None]


def compile_game(
    game: Game,
    *,
    limit: int = LIMIT,
    memory: int = MEMORY,
    progress: Progress | None = None,
    cache: Path | bool = True,
) -> Compiled:
    """Find every state that a game can reach and store them as arrays.

    Args:
        game: A game that lists its outcomes (see `drrn.game.enumerable`).
        limit: Largest number of states.
        memory: Largest size in MB (approximate).
        progress: Called with the number of states found so far.
        cache: A folder for compiled games, True for the default one, False for none. A game
            without a fingerprint is not cached, since changes to it could not be detected.

    Raises:
        InputError: The game cannot be compiled; the message says why.

    Example:
        >>> game = drrn.compile_game(drrn.make("long-watch"))
        >>> drrn.best(game).score
    """
    if not looks_like_a_game(game):
        raise InputError(
            f"a value of type {type(game).__name__} is not a game; "
            "open a name with drrn.make, or pass a game"
        )
    if isinstance(game, Compiled):
        return game
    _check_outcomes_listed(game)
    folder = files.cache_folder() if cache is True else cache or None
    path = files.cache_path(game, folder) if folder and has_fingerprint(game) else None
    shuffle = bool(getattr(game, "shuffle", False))
    compiled = files.load_compiled(path, shuffle) if path else None
    if compiled is None:
        compiled = assemble(game, _search_once(game, path, limit, memory * 2**20, progress))
        # a result that a small limit truncated is not cached
        if path and (compiled.raw_complete or limit >= MOST_STATES):
            files.save_compiled(compiled, path)
    return compiled


def _check_outcomes_listed(game: Game) -> None:
    if isinstance(game, (Enumerable, Searchable)):
        return
    methods = {"opening": "()", "outcomes": "(state, index)", "look": "(state)"}
    missing = [name + arguments for name, arguments in methods.items() if not hasattr(game, name)]
    raise refusal(
        game,
        f"it does not list its outcomes: {type(game).__name__} lacks {', '.join(missing)} "
        "(see docs/games.md)",
    )


def can_be_compiled(game: Game) -> bool:
    """Whether the game lists its outcomes; it may still have too many states."""
    return isinstance(game, (Compiled, Enumerable, Searchable))


def _search_once(
    game: Game, path: Path | None, limit: int, memory: int, progress: Progress | None
) -> States:
    """Return the game's states; a failed search with a time limit is recorded, not repeated."""
    seconds = getattr(game, "search_seconds", None)
    if path is None or seconds is None:
        return _search(game, limit, memory, progress)
    if reason := files.load_refusal(path, seconds):
        raise InputError(reason)
    try:
        return _search(game, limit, memory, progress)
    except InputError as error:
        files.save_refusal(path, seconds, str(error))
        raise


def _search(game: Game, limit: int, memory: int, progress: Progress | None) -> States:
    try:
        if isinstance(game, Searchable):
            states: States = game.reachable_states(limit, memory, progress)
        else:
            states = breadth_first(game, limit, memory, progress)
    except TooLargeError as error:
        raise refusal(game, f"{error}; raise the limit, or play it uncompiled") from error
    opening = [
        states.faces[states.face[state]] for state in states.successor[: states.row_first[1]]
    ]
    if all(face.ended for face in opening):
        passage = opening[0].passage
        what = f', passage "{passage}", has no links' if passage else " has no actions"
        raise refusal(game, f"its first page{what}, so it ends at once")
    return states
