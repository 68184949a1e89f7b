"""Measures of players: regret, softmax-equivalent α, normalised scores with bootstrap intervals."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from statistics import fmean

import numpy as np

from textgames.estimate import Estimate, mean_of
from textgames.intervals import interval_of_mean, normalised
from textgames_arena.match import Decision, Result


@dataclass(frozen=True)
class Interval:
    """A mean and its 95 % bootstrap interval. That of a single match has no width."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Measures:
    """How a player plays a game."""

    episodes: int
    score: Estimate  # final reward
    returns: Estimate
    steps: Estimate
    normalised: Interval  # return: 0 is random play, 100 best play
    adjusted: Interval  # the same without luck
    regret: Estimate  # of an episode
    mean_regret: float  # of a decision
    among_best: float  # share of decisions
    readable: float  # share of decisions
    alpha: float
    tokens: tuple[int, int]  # of prompts and answers, in all


def measures(results: Sequence[Result], best: float, random: float) -> Measures:
    """Measure a player by its matches. `best` and `random` are the exact expected returns."""
    decisions = [decision for result in results for decision in result.decisions]
    count = max(len(decisions), 1)
    returns = [result.episode.total for result in results]
    regrets = [result.regret for result in results]

    def interval(values: Sequence[float]) -> Interval:
        mean = fmean(values)
        ends = (mean, *(interval_of_mean(values) or (mean, mean)))
        return Interval(*(100 * normalised(end, random, best) for end in ends))

    return Measures(
        episodes=len(results),
        score=_mean([result.episode.final_reward for result in results]),
        returns=_mean(returns),
        steps=_mean([float(result.episode.steps) for result in results]),
        normalised=interval(returns),
        adjusted=interval([best - regret for regret in regrets]),
        regret=_mean(regrets),
        mean_regret=sum(regrets) / count,
        among_best=sum(decision.regret == 0 for decision in decisions) / count,
        readable=sum(decision.readable for decision in decisions) / count,
        alpha=softmax_alpha(decisions),
        tokens=(sum(r.tokens[0] for r in results), sum(r.tokens[1] for r in results)),
    )


def _mean(values: Sequence[float]) -> Estimate:
    return mean_of(values) or Estimate(0.0)


def softmax_alpha(decisions: Sequence[Decision]) -> float:
    """The α ≥ 0 whose softmax over Q* most likely makes these decisions.

    The likelihood of choices a is ∏ exp(α Q*(a)) / Σ exp(α Q*). Its logarithm is concave in α, so
    the derivative has one root: 0 for a player no better than random, infinity without regret.
    """
    open_choices = [each for each in decisions if any(each.gaps)]
    regret = sum(each.regret for each in open_choices)
    if regret == 0:
        return float("inf") if open_choices else 0.0
    rows = zip_longest(*(each.gaps for each in open_choices), fillvalue=np.nan)
    gaps = np.array(list(rows))  # [most actions, decisions]

    def expected_regret(alpha: float) -> float:
        weights = np.exp(-alpha * gaps)
        return float((np.nansum(weights * gaps, axis=0) / np.nansum(weights, axis=0)).sum())

    low = 0.0
    high = 1e6 / float(np.nanmax(gaps))
    if expected_regret(low) <= regret:
        return low
    for _ in range(100):
        middle = (low + high) / 2
        if expected_regret(middle) > regret:
            low = middle
        else:
            high = middle
    return (low + high) / 2
