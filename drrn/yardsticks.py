"""What a score is measured against: random play, and the best possible where it is known."""

from __future__ import annotations

from dataclasses import dataclass

from drrn.episodes import play, random_policy, summarise
from drrn.games import StoryGame


@dataclass(frozen=True)
class Yardsticks:
    random: float  # mean final reward
    best: float | None  # None: not known


def yardsticks(game: StoryGame, episodes: int = 2000) -> Yardsticks:
    """Random play is played."""
    return Yardsticks(summarise(play(game.another(), random_policy(0), episodes, 0)).mean_final_reward, None)
