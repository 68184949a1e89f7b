"""Random play by sampling, for a game that cannot be compiled: shares and means, each with its standard error."""

from __future__ import annotations

import math
import random
import time
from collections import Counter
from collections.abc import Callable, Hashable
from dataclasses import dataclass

from drrn.authoring.shares import share_error
from drrn.games.compiled.graph import EndingPlace
from drrn.games.contract import Game
from drrn.games.optional import step_limit_of

GAMES = 200
SECONDS = 30.0  # at most; fewer games are played where they are slow


@dataclass(frozen=True)
class SampledValue:
    """A number found by sampling, and its standard error."""

    mean: float
    error: float


@dataclass(frozen=True)
class SampledPlay:
    """What so many games of uniformly random play came to."""

    games: int
    max_steps: int  # where a game was stopped
    final_reward: SampledValue  # 0 in a game that was stopped
    steps: SampledValue
    stopped: SampledValue  # the share of games that were
    endings: dict[Hashable, SampledValue]  # the share of each ending, by its place


def sampled_play(
    game: Game, games: int = GAMES, *, seconds: float = SECONDS, progress: Callable[[int], None] | None = None
) -> SampledPlay | None:
    """Play games at random, by a fixed seed; None where the game does not tell its endings apart."""
    if not hasattr(game, "face_at"):
        return None
    rewards: list[float] = []
    steps: list[float] = []
    ended: Counter[EndingPlace | None] = Counter()
    until = time.monotonic() + seconds
    for number in range(games):
        if number > 1 and time.monotonic() > until:
            break
        ending, reward, taken = _played(game, number)
        ended[ending] += 1
        rewards.append(reward)
        steps.append(taken)
        if progress:
            progress(number + 1)
    shares: dict[Hashable, SampledValue] = {
        place: _share(count, len(steps)) for place, count in ended.items() if place is not None
    }
    stopped = _share(ended[None], len(steps))
    return SampledPlay(len(steps), step_limit_of(game), _mean(rewards), _mean(steps), stopped, shares)


def _played(game: Game, seed: int) -> tuple[EndingPlace | None, float, int]:
    """One game: its ending, None where it was stopped; its final reward; its steps."""
    choose = random.Random(seed)
    seen, steps = game.reset(seed), 0
    while not seen.ended and steps < step_limit_of(game):
        seen = game.step(choose.randrange(len(seen.actions)))
        steps += 1
    if not seen.ended:
        return None, 0.0, steps
    ending: EndingPlace | None = game.face_at(game.state).ending  # type: ignore[attr-defined]
    return ending, seen.reward, steps


def share_of(count: int, games: int) -> SampledValue | None:
    """The share that so many of all games had, with an error that is never 0; None where no game was played."""
    return SampledValue(count / games, share_error(count, games)) if games else None


def mean_of(values: list[float]) -> SampledValue | None:
    """The mean and its standard error; None where there are no values."""
    return _mean(values) if values else None


def _share(count: int, games: int) -> SampledValue:
    share = count / games
    return SampledValue(share, math.sqrt(share * (1 - share) / games))


def _mean(values: list[float]) -> SampledValue:
    mean = math.fsum(values) / len(values)
    spread = math.fsum((value - mean) ** 2 for value in values) / max(len(values) - 1, 1)
    return SampledValue(mean, math.sqrt(spread / len(values)))
