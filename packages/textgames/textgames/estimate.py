"""Estimates: a mean or a share with its standard error."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from textgames.wording import percent


@dataclass(frozen=True)
class Estimate:
    """A number and its standard error, which is 0 if the number is exact."""

    mean: float
    error: float = 0.0

    def __str__(self) -> str:
        """Format a number, with its error if it has one."""
        return f"{self.mean:,.2f} ± {self.error:,.2f}" if self.error else f"{self.mean:,.2f}"

    @property
    def percent(self) -> str:
        """Format a share in per cent, with its error if it has one."""
        return f"{percent(self.mean)} ± {percent(self.error)}" if self.error else percent(self.mean)


def share_of(count: int, games: int) -> Estimate | None:
    """Estimate the share of games that had some result.

    The standard error adds one success and one failure (Agresti and Coull), so it is never 0.
    Without games, there is no estimate.
    """
    if not games:
        return None
    likely = (count + 1) / (games + 2)
    return Estimate(count / games, math.sqrt(likely * (1 - likely) / games))


def mean_of(values: Sequence[float]) -> Estimate | None:
    """Estimate a mean, if there are values."""
    if not values:
        return None
    mean = math.fsum(values) / len(values)
    spread = math.fsum((value - mean) ** 2 for value in values) / max(len(values) - 1, 1)
    return Estimate(mean, math.sqrt(spread / len(values)))
