"""Arrays of parts that are laid end to end, arrays that grow, and hashes of 64 bits."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int64]
Hashes = NDArray[np.uint64]

GAMMA = np.uint64(0x9E3779B97F4A7C15)  # SplitMix64's step from one number to the next


def ranges(starts: NDArray[np.integer], counts: NDArray[np.integer]) -> Ids:
    """start, start + 1 … for each start, as many as its count, end to end."""
    before = np.cumsum(counts) - counts
    numbers: Ids = np.repeat(starts - before, counts) + np.arange(int(counts.sum()))
    return numbers


def starts_of(counts: Sequence[int] | Ids) -> Ids:
    """Where parts of these sizes start when laid end to end, and where the last one ends."""
    starts = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=starts[1:])
    return starts


def room(array: NDArray, size: int) -> NDArray:  # type: ignore[type-arg]
    """The array, or a copy at least half as long again if `size` does not fit."""
    if size <= len(array):
        return array
    return np.pad(array, (0, max(size - len(array), len(array) // 2)))


def mix(x: Hashes) -> Hashes:
    """SplitMix64: every bit of the result depends on every bit of x."""
    x = x + GAMMA
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    x ^= x >> np.uint64(31)
    return x
