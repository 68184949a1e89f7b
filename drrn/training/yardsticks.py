"""What a score is measured against: random play, and the best possible where it is known."""

from __future__ import annotations

from dataclasses import dataclass

from drrn.errors import InputError
from drrn.exact.solve import best, random_play
from drrn.games import Compiled, StoryGame
from drrn.playing.episodes import play, random_policy, summarise


@dataclass(frozen=True)
class Yardsticks:
    """Mean final rewards."""

    random: float
    best: float | None  # None: not known


def yardsticks(game: StoryGame, compiled: Compiled | None) -> Yardsticks:
    """Exact, where the game was compiled; else random play is played."""
    if compiled is not None:
        try:
            most = best(compiled).score
        except InputError:  # no bound, or none found: no reason to stop a training
            most = None
        return Yardsticks(random_play(compiled, game.rules.max_steps).final_reward, most)
    return Yardsticks(summarise(play(game.another(), random_policy(0), 2000, 0)).mean_final_reward, None)
