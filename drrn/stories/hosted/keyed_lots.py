"""The lots of one step, by a key: chance.js works out the same numbers, so neither has to ask the other."""

from __future__ import annotations

from collections.abc import Callable

GOLDEN = 0x9E3779B9  # 2³² divided by the golden ratio: multiples of it are spread evenly
WORD = 0xFFFFFFFF


def scrambled(number: int) -> int:
    """A 32-bit number scrambled so that neighbours have nothing in common."""
    mixed = number & WORD
    mixed = ((mixed ^ (mixed >> 16)) * 0x21F0AAAD) & WORD
    mixed = ((mixed ^ (mixed >> 15)) * 0x735A2D97) & WORD
    return mixed ^ (mixed >> 15)


def lots_of(key: int) -> Callable[[int], int]:
    """The lots that a step with this key draws, in turn: each is asked with its number of outcomes."""
    place = 0

    def lot(outcomes: int) -> int:
        nonlocal place
        place += 1
        return scrambled(key + place * GOLDEN) * outcomes >> 32

    return lot
