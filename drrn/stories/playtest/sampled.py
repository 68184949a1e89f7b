"""Numbers found by sampling: shares and means, each with its standard error."""

from __future__ import annotations

import math
from dataclasses import dataclass

from drrn.stories.playtest.shares import share_error


@dataclass(frozen=True)
class SampledValue:
    """A number found by sampling, and its standard error."""

    mean: float
    error: float


def share_of(count: int, games: int) -> SampledValue | None:
    """The share that so many of all games had, with an error that is never 0; None where no game was played."""
    return SampledValue(count / games, share_error(count, games)) if games else None


def mean_of(values: list[float]) -> SampledValue | None:
    """The mean and its standard error; None where there are no values."""
    if not values:
        return None
    mean = math.fsum(values) / len(values)
    spread = math.fsum((value - mean) ** 2 for value in values) / max(len(values) - 1, 1)
    return SampledValue(mean, math.sqrt(spread / len(values)))
