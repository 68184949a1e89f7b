"""`compile_game`: from a story to every state it can reach, as arrays."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from drrn.errors import InputError
from drrn.games.compiled.assemble import assemble
from drrn.games.compiled.cache import cache_folder, load, place, save
from drrn.games.compiled.game import Compiled
from drrn.games.stories.explore import explore
from drrn.games.stories.states import States, TooLargeError, reachable_states
from drrn.games.stories.story_game import StoryGame

LIMIT = 200_000  # states
MEMORY = 2_000  # MB
RAW_LIMIT = 50_000  # states with all their variables are counted only so far


def compile_game(
    game: StoryGame,
    *,
    limit: int = LIMIT,
    memory: int = MEMORY,
    progress: Callable[[int], None] | None = None,
    cache: Path | bool = True,
) -> Compiled:
    """The game as arrays, from the cache where it was compiled before; `InputError` says why it cannot be.

    `limit` is in states and `memory` in MB (both about; a game in the cache needs neither); `progress` is told how many
    states were searched; `cache` is a folder, True for the usual one, False for none.
    """
    folder = cache_folder() if cache is True else cache or None
    path = place(game, folder) if folder else None
    compiled = load(path, game.shuffle) if path else None
    if compiled is None:
        compiled = _compiled(game, limit, memory, progress)
        if path:
            save(compiled, path)
    return compiled


def _compiled(game: StoryGame, limit: int, memory: int, progress: Callable[[int], None] | None) -> Compiled:
    if "history" in game.script.facts.tracked:
        raise _refusal(game, "its <<back>> makes every way to a page a state of its own")
    raw = explore(game, RAW_LIMIT)  # first, since the search learns from what was told
    try:
        states = reachable_states(game, limit, memory * 2**20, progress)
    except TooLargeError as error:
        raise _refusal(game, f"{error}; raise the limit, or play it uncompiled") from error
    _check_playable(game, states)
    return assemble(game, states, raw.states, raw.complete)


def _check_playable(game: StoryGame, states: States) -> None:
    opening = states.successor[: states.row_first[1]]
    if all(states.faces[states.face[state]].ended for state in opening):
        raise _refusal(game, f'its start, passage "{game.script.story.start}", has no links, so it ends at once')
    if not any(states.faces[face].ended for face in set(states.face)):
        raise _refusal(game, f"no ending can be reached: each of its {len(states):,} states has a link onward")


def _refusal(game: StoryGame, why: str) -> InputError:
    return InputError(f"{game.name} cannot be compiled: {why}")
