"""Reference scores: random play, and the best possible where it is known."""

from __future__ import annotations

from dataclasses import dataclass

from drrn.errors import InputError
from drrn.exact.solve import best, random_play
from drrn.games import Compiled, Game
from drrn.games.optional import another, step_limit_of
from drrn.playing.episodes import play_episodes, random_policy, summarise


@dataclass(frozen=True)
class ReferenceScores:
    """Mean final rewards."""

    random: float
    best: float | None  # None: not known


def reference_scores(game: Game, compiled: Compiled | None, episodes: int) -> ReferenceScores:
    """Exact, where the game was compiled; else random play is played, so many episodes."""
    if compiled is not None:
        try:
            most = best(compiled).score
        except InputError:  # no bound, or none found: no reason to stop a training
            most = None
        return ReferenceScores(random_play(compiled, step_limit_of(game)).final_reward, most)
    played = play_episodes(another(game) or game, random_policy(0), episodes, 0)
    return ReferenceScores(summarise(played).mean_final_reward, None)
