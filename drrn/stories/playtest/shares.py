"""Shares as people read them."""

from __future__ import annotations

import math


def share_error(count: int, games: int) -> float:
    """The standard error of a share that so many of all games had; never 0, though all games came out alike.

    One success and one failure are added before it is worked out (Agresti and Coull's way), which matters in few games.
    """
    likely = (count + 1) / (games + 2)
    return math.sqrt(likely * (1 - likely) / games)


def share(of_all: float) -> str:
    """A share in per cent; what is tiny, or nearly all, is never rounded to nothing or to all."""
    if of_all <= 0:
        return "0 %"
    if of_all < 0.0005:
        return "< 0.1 %"
    if 0.9995 <= of_all < 1 - 1e-12:
        return "> 99.9 %"
    return f"{100 * of_all:.1f} %" if of_all < 1 - 1e-12 else "100 %"
