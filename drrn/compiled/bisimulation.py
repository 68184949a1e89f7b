"""Bisimulation: which states no continuation can tell apart, so that they may be merged.

Each state has a hash of what it shows; round after round it takes in the hashes of where its actions lead, with their
probabilities, until no more states fall apart. Equal hashes (of 64 bits) are then one state.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from drrn.compiled.graph import Floats, Ints

Hashes = NDArray[np.uint64]

MOST_WORK = 400_000_000  # look-ups
ROUNDS = 8  # between two counts of the hashes
SCALE = math.lcm(*range(1, 37))  # so that thirds, sixths, tenths … add up exactly as whole numbers


def alike(
    kind: Ints,
    first: Ints,
    action: Ints,
    row: Ints,
    row_first: Ints,
    successor: Ints,
    probability: Floats,
) -> tuple[Hashes, Hashes]:
    """Hashes of the states and of the rows, equal where no continuation tells them apart.

    `kind` numbers what a state shows and pays, `action` what each slot says; their order does not count.
    """
    weight = np.rint(probability * SCALE).astype(np.uint64)
    said = mixed(action.astype(np.uint64))
    shown = states = mixed(kind.astype(np.uint64) + np.uint64(1))
    distinct = 0
    work = 0
    while (now := len(np.unique(states))) > distinct:
        distinct = now
        work += ROUNDS * (len(states) + len(successor))
        if (
            work > MOST_WORK
        ):  # long chains take as many rounds as they are long: better unmerged than in an hour
            states = mixed(np.arange(len(states), dtype=np.uint64))
            break
        for _ in range(ROUNDS):
            rows = _sums(weight * states[successor], row_first)
            states = mixed(shown + mixed(_sums(mixed(rows[row] + said), first)))
    return states, _sums(weight * states[successor], row_first)


def mixed(x: Hashes) -> Hashes:
    """SplitMix64: every bit of the result depends on every bit of x."""
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    x ^= x >> np.uint64(31)
    return x


def _sums(values: Hashes, first: Ints) -> Hashes:
    """The sum of each stretch, 0 of an empty one, all modulo 2⁶⁴."""
    reached = np.concatenate([np.zeros(1, np.uint64), np.cumsum(values, dtype=np.uint64)])
    sums: Hashes = reached[first[1:]] - reached[first[:-1]]
    return sums
