"""Statistics over seeds: bootstrap intervals and normalised scores.

As reviewers expect since Agarwal et al. 2021 (arXiv:2108.13264): seeds are resampled, and the
interval is that of the percentiles.
"""

import math
import statistics
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


def interval_of_mean(scores: Sequence[float], seed: int = 0) -> tuple[float, float] | None:
    """The 95 % bootstrap interval of a mean over seeds, or None for a single seed."""
    if len(scores) < 2:
        return None
    return _percentiles(_resampled_means(scores, np.random.default_rng(seed)))


def normalised(score: float, random: float, best: float) -> float:
    """The score where 0 is random play and 1 the best possible. It is 0 if both are equal."""
    return (score - random) / (best - random) if best != random else 0.0


def difference_of(first: Sequence[float], other: Sequence[float], seed: int = 0) -> dict[str, Any]:
    """The difference of two means over seeds, with a bootstrap percentile interval.

    The seeds of each run are resampled separately. Deviations are widened by √(n / (n - 1)), since
    resampling a few seeds underestimates the spread.

    Returns:
        The `difference`, the interval from `low` to `high`, and whether it excludes 0 (`clear`).
        There is no interval (None) if either run has a single seed.
    """
    difference = statistics.fmean(other) - statistics.fmean(first)
    if min(len(first), len(other)) < 2:
        return {"difference": difference, "low": None, "high": None, "clear": None}
    generator = np.random.default_rng(seed)
    differences = _resampled_means(other, generator) - _resampled_means(first, generator)
    low, high = _percentiles(differences)
    return {"difference": difference, "low": low, "high": high, "clear": not low <= 0 <= high}


def _percentiles(values: NDArray[Any], confidence: float = 0.95) -> tuple[float, float]:
    """The interval that holds this share of the values, with equal tails."""
    low, high = np.quantile(values, [(1 - confidence) / 2, (1 + confidence) / 2]).tolist()
    return low, high


def _resampled_means(
    scores: Sequence[float], generator: np.random.Generator, resamples: int = 10_000
) -> NDArray[Any]:
    values = np.array(scores)
    count = len(scores)
    widened = values.mean() + (values - values.mean()) * math.sqrt(count / (count - 1))
    means: NDArray[Any] = widened[generator.integers(count, size=(resamples, count))].mean(axis=1)
    return means
