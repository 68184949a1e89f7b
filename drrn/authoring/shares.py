"""Shares as people read them."""

from __future__ import annotations


def share(of_all: float) -> str:
    """A share in per cent; what is tiny, or nearly all, is never rounded to nothing or to all."""
    if of_all <= 0:
        return "0 %"
    if of_all < 0.0005:
        return "< 0.1 %"
    if 0.9995 <= of_all < 1 - 1e-12:
        return "> 99.9 %"
    return f"{100 * of_all:.1f} %" if of_all < 1 - 1e-12 else "100 %"
