"""Exhaustive exploration of a story: every page that choices and chance can reach, up to a limit of states."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from drrn.games.stories.journey import Journey
from drrn.games.stories.teller import Move, Scene

if TYPE_CHECKING:
    from drrn.games.stories.story_game import StoryGame

LIMIT = 100_000


@dataclass
class Exploration:
    """What was reached. `scenes` are distinct to a player: by text, actions and ending."""

    scenes: list[Scene] = field(default_factory=list)
    shown: set[str] = field(default_factory=set)  # passages
    states: int = 0
    complete: bool = False  # every reachable state was seen
    stochastic: bool = False


def explore(game: StoryGame, limit: int = LIMIT, progress: Callable[[int], None] | None = None) -> Exploration:
    """Visit states, those with a page not seen before first, until there are no more or the limit is reached."""
    found = Exploration(complete=True)
    seen: set[Hashable] = set()
    pages: set[Hashable] = set()
    fresh: deque[tuple[Scene, Journey]] = deque()
    stale: deque[tuple[Scene, Journey]] = deque()

    def arrive(move: Move, journey: Journey) -> None:
        if game.script.facts.tracked or move.mark:
            journey = journey.copy()
            move = journey.follow(move, game.teller)
        many = False
        for number, (probability, scene) in enumerate(game.teller.outcomes(move, journey.cells)):
            many |= probability < 1
            if number >= limit or len(seen) >= limit:  # a page can draw more lots than there is time for
                found.complete = False
                break
            found.shown.update(scene.shown)
            after = Journey({**journey.cells, **scene.writes}, journey.history) if scene.writes else journey
            state = (scene.text, scene.moves, scene.rule, after.identity)
            if state in seen:
                continue
            seen.add(state)
            page = (scene.text, scene.actions, scene.rule)
            is_new = page not in pages
            if is_new:
                pages.add(page)
                found.scenes.append(scene)
            (fresh if is_new else stale).append((scene, after))
        found.stochastic |= many

    arrive(game.teller.opening, Journey())
    while (fresh or stale) and len(seen) < limit:
        scene, journey = (fresh or stale).popleft()
        for move in scene.moves:
            arrive(move, journey)
        if progress:
            progress(len(seen))
    found.states = len(seen)
    found.complete &= not fresh and not stale
    return found
