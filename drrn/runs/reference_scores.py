"""Reference scores: random play, and the best possible where it is known."""

from __future__ import annotations

from dataclasses import dataclass, replace

from drrn.errors import InputError
from drrn.compiled.solve import best, random_play
from drrn.compiled.game import Compiled
from drrn.game.contract import Game
from drrn.game.optional import another, step_limit_of
from drrn.game.episodes import play_episodes, random_policy, summarise


@dataclass(frozen=True)
class ReferenceScores:
    """Mean final rewards; and mean returns, where the game pays on the way."""

    random: float
    best: float | None  # None: not known
    random_return: float | None = None  # None: it is the final reward
    best_return: float | None = None  # None: it is the final reward, or is not known


def reference_scores(game: Game, compiled: Compiled | None, episodes: int) -> ReferenceScores:
    """Exact, where the game was compiled; else random play is played, so many episodes."""
    if compiled is None:
        played = summarise(play_episodes(another(game) or game, random_policy(0), episodes, 0))
        random = played.mean_final_reward
        total = played.mean_return
        return ReferenceScores(random, None, total if abs(total - random) > 1e-9 else None)
    random_score = random_play(compiled, step_limit_of(game))
    known = ReferenceScores(random_score.final_reward, _best(compiled, None))
    if not compiled.reward[~compiled.ended].any():
        return known
    return replace(known, random_return=random_score.total, best_return=_best(compiled, 1.0))


def _best(compiled: Compiled, discount: float | None) -> float | None:
    try:
        return best(compiled, discount).score
    except InputError:  # no bound, or none found: no reason to stop a training
        return None
