"""Statistics over seeds and games: bootstrap intervals, normalised scores, interquartile mean.

As reviewers expect since Agarwal et al. 2021 (arXiv:2108.13264): seeds are resampled within each
game, and the interval is that of the percentiles.
"""

import math
import statistics
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 10_000
CONFIDENCE = 0.95
TAILS = [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2]


def interquartile_mean(values: NDArray[Any]) -> NDArray[Any]:
    """Return the mean of the middle half along the last axis; a quarter is cut at each end."""
    ordered = np.sort(values, axis=-1)
    cut = ordered.shape[-1] // 4
    middle: NDArray[Any] = ordered[..., cut : ordered.shape[-1] - cut]
    mean: NDArray[Any] = middle.mean(axis=-1)
    return mean


def interval_of_mean(scores: Sequence[float], seed: int = 0) -> tuple[float, float] | None:
    """Return the 95 % bootstrap interval of a mean over seeds; None for a single seed."""
    if len(scores) < 2:
        return None
    low, high = np.quantile(_resampled_means(scores, np.random.default_rng(seed)), TAILS).tolist()
    return low, high


def interquartile_interval(
    games: Sequence[Sequence[float]], seed: int = 0
) -> tuple[float, tuple[float, float]]:
    """Return the interquartile mean over the seeds of all games, with its 95 % interval.

    Scores must be normalised. Each game has a list of the scores of its seeds.
    """
    generator = np.random.default_rng(seed)
    value = float(interquartile_mean(np.concatenate([np.array(scores) for scores in games])))
    samples = [
        np.array(scores)[generator.integers(len(scores), size=(RESAMPLES, len(scores)))]
        for scores in games
    ]
    low, high = np.quantile(interquartile_mean(np.concatenate(samples, axis=1)), TAILS).tolist()
    return value, (low, high)


def normalised(score: float, random: float, best: float) -> float:
    """Return a score where 0 is random play and 1 the best possible; 0 if both are the same."""
    return (score - random) / (best - random) if best != random else 0.0


def difference_of(first: Sequence[float], other: Sequence[float], seed: int = 0) -> dict[str, Any]:
    """Return the difference of two means over seeds, with a bootstrap percentile interval.

    The seeds of each run are resampled separately. Deviations are widened by √(n / (n - 1)), since
    resampling a few seeds underestimates the spread.

    Returns:
        `difference`; `low` and `high`, the interval; `clear`, whether it excludes 0. There is no
        interval (None) if either run has a single seed.
    """
    difference = statistics.fmean(other) - statistics.fmean(first)
    if min(len(first), len(other)) < 2:
        return {"difference": difference, "low": None, "high": None, "clear": None}
    generator = np.random.default_rng(seed)
    differences = _resampled_means(other, generator) - _resampled_means(first, generator)
    low, high = np.quantile(differences, TAILS).tolist()
    return {"difference": difference, "low": low, "high": high, "clear": not low <= 0 <= high}


def _resampled_means(scores: Sequence[float], generator: np.random.Generator) -> NDArray[Any]:
    values = np.array(scores)
    count = len(scores)
    widened = values.mean() + (values - values.mean()) * math.sqrt(count / (count - 1))
    means: NDArray[Any] = widened[generator.integers(count, size=(RESAMPLES, count))].mean(axis=1)
    return means
