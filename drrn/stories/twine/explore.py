"""Exhaustive exploration of a story: every page that choices and chance can reach, up to a limit of states."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from drrn.stories.authored import EXPLORE_LIMIT as LIMIT
from drrn.stories.authored import Exploration
from drrn.stories.twine.journey import Journey
from drrn.stories.twine.teller import Move, Scene

if TYPE_CHECKING:
    from drrn.stories.twine.story_game import StoryGame


@dataclass
class StoryExploration(Exploration):
    """An exploration with its scenes, one for each of the `faces`."""

    scenes: list[Scene] = field(default_factory=list)


def explore(
    game: StoryGame, limit: int = LIMIT, progress: Callable[[int], None] | None = None
) -> StoryExploration:
    """Visit states, those with a page not seen before first, until there are no more or the limit is reached."""
    search = _Search(game, limit)
    found = search.found
    seen = search.seen
    fresh = search.fresh
    stale = search.stale
    search.arrive(game.teller.opening, Journey())
    while (fresh or stale) and len(seen) < limit:
        scene, journey = (fresh or stale).popleft()
        for move in scene.moves:
            search.arrive(move, journey)
        if progress:
            progress(len(seen))
    found.states = len(seen)
    found.complete &= not fresh and not stale
    return found


class _Search:
    """A search under way: what was seen, and the states yet to be left, by whether their pages are new or known."""

    def __init__(self, game: StoryGame, limit: int) -> None:
        self.face = game.face
        self.teller = game.teller
        self.tracked = bool(game.script.facts.tracked)
        self.limit = limit
        self.found = StoryExploration(complete=True)
        self.seen: set[Hashable] = set()
        self.pages: set[Hashable] = set()
        self.fresh: deque[tuple[Scene, Journey]] = deque()
        self.stale: deque[tuple[Scene, Journey]] = deque()

    def arrive(self, move: Move, journey: Journey) -> None:
        """Meet whatever chance makes of a move."""
        if self.tracked or move.mark:
            journey = journey.copy()
            move = journey.follow(move, self.teller)
        many = False
        for number, (probability, scene) in enumerate(self.teller.outcomes(move, journey.cells)):
            many |= probability < 1
            if (
                number >= self.limit or len(self.seen) >= self.limit
            ):  # a page can draw more lots than there is time for
                self.found.complete = False
                break
            self._meet(scene, journey)
        self.found.stochastic |= many

    def _meet(self, scene: Scene, journey: Journey) -> None:
        """Keep a state that was not seen before, to be left in its turn."""
        self.found.shown.update(scene.shown)
        after = journey.after(scene)
        state = (scene.text, scene.moves, scene.rule, after.identity)
        if state in self.seen:
            return
        self.seen.add(state)
        page = (scene.text, scene.actions, scene.rule)
        if page in self.pages:
            self.stale.append((scene, after))
            return
        self.pages.add(page)
        self.found.scenes.append(scene)
        self.found.faces.append(self.face(scene))
        self.fresh.append((scene, after))
