"""Small random weights that depend on a name and a seed only, never on the order in which words were met.

So a word has the same first weights whether it was loaded beforehand or met late, and a replica has the same ones alone
as inside a batch of five.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

# Uniform in ±0.1: a bag of 75 words then reaches a hidden unit with a spread of about 0.6, where tanh still bends
# little, and first Q-values differ by less than 1, so that softmax begins by exploring.
SCALE = 0.1

STEP = np.uint64(0x9E3779B97F4A7C15)
MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
MIX_2 = np.uint64(0x94D049BB133111EB)


def small_random(
    names: Sequence[str], width: int, seed: int, scale: float = SCALE
) -> NDArray[np.float32]:
    """A row of `width` numbers, uniform in ±scale, for each name: [names, width]."""
    keys = np.array([_key(name, seed) for name in names], np.uint64).reshape(-1, 1)
    with np.errstate(over="ignore"):
        z = keys + STEP * np.arange(1, width + 1, dtype=np.uint64)  # SplitMix64, one stream a name
        z = (z ^ (z >> np.uint64(30))) * MIX_1
        z = (z ^ (z >> np.uint64(27))) * MIX_2
        z = z ^ (z >> np.uint64(31))
    unit = (z >> np.uint64(40)).astype(np.float32) / np.float32(2**24)  # [0, 1)
    rows: NDArray[np.float32] = (2 * unit - 1) * np.float32(scale)
    return rows


def _key(name: str, seed: int) -> int:
    return int.from_bytes(
        hashlib.blake2b(f"{seed} {name}".encode(), digest_size=8).digest(), "little"
    )
