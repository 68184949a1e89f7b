"""Search of a hosted story's states: all of them, to be compiled; or as many as time allows, to be looked at."""

from __future__ import annotations

import contextlib
import time
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from drrn.compiled.reached import States, refusal
from drrn.compiled.search import breadth_first
from drrn.stories.hosted.ahead import is_beside
from drrn.stories.hosted.stage import LostError, OutOfTimeError, UnlistedError
from drrn.stories.twine.states import Exploration

if TYPE_CHECKING:
    from drrn.stories.hosted.hosted_game import HostedGame, HostedState

DEEPEST = 15  # steps that are taken one after the other before the next is tried: engines keep the whole way
SAMPLES = 3  # of what a step leads to, where its outcomes cannot be listed


def reachable(
    game: HostedGame, limit: int, memory: int, progress: Callable[[int], None] | None
) -> States:
    """Every state; `TooLargeError` where there are too many for the time, an `InputError` where chance has no odds."""
    if game.stage.matters.goes_back:
        raise refusal(
            game,
            "it goes back in its history (an undo), which makes every way to a page a state of its own",
        )
    game.stage.until = time.monotonic() + game.search_seconds
    try:
        _go_everywhere(game, limit, progress)
        states = breadth_first(game, limit, memory, progress)
    except UnlistedError as error:
        raise refusal(game, f"{error}; play it uncompiled") from error
    except OutOfTimeError as error:
        found = (
            f"after {game.search_seconds:.0f} seconds {len(game.stage.moments):,} states were found"
        )
        raise refusal(
            game,
            f"{found}, and more lay ahead; search it longer by --seconds, or play it uncompiled",
        ) from error
    finally:
        game.stage.until = None
    shown = {face.passage for face in states.faces}
    states.unreached = tuple(
        name
        for name, passage in game.story.pages.items()
        if name not in shown and not is_beside(passage)
    )
    return states


def _go_everywhere(game: HostedGame, limit: int, progress: Callable[[int], None] | None) -> None:
    """Meet every state depth first: the engine then goes on from where it stands, and is put back half as often.

    Not where the engine cannot be put back: the way to each state should then be short, since it is gone again.
    """
    if any(state.moment.saved is None for _, state in game.opening()):
        return
    seen: set[HostedState] = set()
    waiting: list[Iterator[tuple[float, HostedState]]] = [iter(game.opening())]
    while waiting and len(seen) <= limit:
        state = next((state for _, state in waiting[-1] if state not in seen), None)
        if state is None:
            waiting.pop()
            continue
        seen.add(state)
        if len(waiting) < DEEPEST:
            waiting.append(_after(game, state))
        if progress and len(seen) % 20 == 0:
            progress(len(seen))


def _after(game: HostedGame, state: HostedState) -> Iterator[tuple[float, HostedState]]:
    for index in range(len(game.face_at(state).actions)):
        yield from game.outcomes(state, index)


def explored(game: HostedGame, limit: int, progress: Callable[[int], None] | None) -> Exploration:
    """What can be reached in so many states and within the time, pages not seen before first."""
    search = _Search(game, limit)
    deadline = time.monotonic() + game.search_seconds
    search.arrive(game.opening, game.opening_by)
    while (
        (search.fresh or search.stale) and len(search.seen) < limit and time.monotonic() < deadline
    ):
        state = (search.fresh or search.stale).popleft()
        for index in range(len(game.face_at(state).actions)):
            search.arrive(partial(game.outcomes, state, index), partial(game.after, state, index))
        if progress:
            progress(len(search.seen))
    search.found.states = len(search.seen)
    search.found.complete &= not search.fresh and not search.stale
    return search.found


class _Search:
    """A search under way: what was seen, and the states yet to be left, by whether their pages are new or known."""

    def __init__(self, game: HostedGame, limit: int) -> None:
        self.game = game
        self.limit = limit
        self.found = Exploration(complete=True)
        self.seen: set[HostedState] = set()
        self.pages: set[Hashable] = set()
        self.fresh: deque[HostedState] = deque()
        self.stale: deque[HostedState] = deque()

    def arrive(
        self,
        listed: Callable[[], Iterable[tuple[float, HostedState]]],
        sampled: Callable[[int], HostedState],
    ) -> None:
        """Meet whatever chance makes of a step; some of it, where that cannot be listed."""
        try:
            for chance, state in listed():
                self.found.stochastic |= chance < 1
                self._meet(state)
                if len(self.seen) >= self.limit:
                    break
        except LostError:
            self.found.complete = False
        except UnlistedError:
            self.found.complete = False
            self.found.stochastic = True
            with contextlib.suppress(LostError):
                for key in range(SAMPLES):
                    self._meet(sampled(key))

    def _meet(self, state: HostedState) -> None:
        if state in self.seen:
            return
        self.seen.add(state)
        face = self.game.face_at(state)
        self.found.shown.add(face.passage)
        page = (face.text, face.actions, face.ending)
        (self.stale if page in self.pages else self.fresh).append(state)
        if page not in self.pages:
            self.pages.add(page)
            self.found.faces.append(face)
