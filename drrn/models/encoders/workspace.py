"""Memory of recurrent passes, used again from update to update: fresh pages cost as much as the arithmetic does."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from drrn.models.encoders.recurrent import WordSteps
from drrn.text import Ids

ROWS = 1024  # words whose products with the states before them are made at once
MOST_SPARE = 2  # rooms that are kept for the next passes: of states, and of actions

_spare: list[Tensor] = []


class Blocks:
    """What each step of a pass makes: tensors [R, count, H · part], one for each part.

    They are kept for the way back, which must give them back in the end; or else two blocks are used by turns.
    """

    def __init__(self, steps: WordSteps, like: Tensor, parts: Sequence[int], *, keep: bool) -> None:
        self.replicas, self.width = like.shape[:2]
        row = self.replicas * self.width * sum(parts)
        most = steps.count_of(0)
        self.room: Tensor | None = (
            taken_room(steps.count * row, like) if keep else like.new_empty(2 * most * row)
        )
        sizes = [count * self.replicas * self.width * part for _, count in steps for part in parts]
        if keep:
            pieces = list(torch.split_with_sizes(self.room[: steps.count * row], sizes))
        else:  # the two blocks by turns; a step that is like the last but one has its very tensors
            halves = self.room.chunk(2) if most else ()
            widest = [most * self.replicas * self.width * part for part in parts]
            turns = [torch.split_with_sizes(half, widest) for half in halves]
            pieces = [
                piece[:size]
                for piece, size in zip(_by_turns(turns, len(parts), len(sizes)), sizes, strict=True)
            ]
        shapes = [(self.replicas, count, part * self.width) for _, count in steps for part in parts]
        views = [piece.view(shape) for piece, shape in zip(pieces, shapes, strict=True)]
        self.blocks = [views[at : at + len(parts)] for at in range(0, len(views), len(parts))]

    def __getitem__(self, number: int) -> list[Tensor]:
        if self.room is None:
            raise RuntimeError(
                "the way back was gone before: a recurrent pass is differentiated once"
            )
        return self.blocks[number]

    def give_back(self) -> None:
        keep_room(self.room)
        self.room = None
        self.blocks = []


def _by_turns(turns: Sequence[Sequence[Tensor]], parts: int, count: int) -> list[Tensor]:
    """The parts of two blocks, one after the other, so many in all."""
    return [turns[at // parts % 2][at % parts] for at in range(count)]


def taken_room(size: int, like: Tensor) -> Tensor:
    """Room for so many numbers: one that was given back, or a new one."""
    for number, room in enumerate(_spare):
        if room.numel() >= size and (room.device, room.dtype) == (like.device, like.dtype):
            return _spare.pop(number)
    if len(_spare) == MOST_SPARE:
        _spare.pop(0)
    return like.new_empty(size)


def keep_room(room: Tensor | None) -> None:
    """For the next pass that needs one."""
    if room is not None and len(_spare) < MOST_SPARE:
        _spare.append(room)


class Chosen:
    """The rows of some texts out of what all of them have, [R, count, …]: of the first `count` texts, those needed."""

    def __init__(self, needed: Ids | None, device: torch.device) -> None:
        self.needed = needed
        self.at = None if needed is None else torch.from_numpy(needed).to(device)

    def __len__(self) -> int:
        return 0 if self.needed is None else len(self.needed)

    def count(self, count: int) -> int:
        return count if self.needed is None else int(np.searchsorted(self.needed, count))

    def __call__(self, values: Tensor, count: int) -> Tensor:
        """`count` is how many of the needed are among the rows."""
        return values if self.at is None else values.index_select(1, self.at[:count])


class Collected:
    """Products of the states before words with what came back to them, summed over all words: many words at once."""

    def __init__(self, like: Tensor, most: int, parts: Sequence[int]) -> None:
        self.replicas, self.width = like.shape[:2]
        self.rows = max(most, ROWS)
        self.used = 0
        self.before = like.new_empty(self.replicas, self.rows, self.width)
        self.back = [like.new_empty(self.replicas, self.rows, part * self.width) for part in parts]
        self.products = [
            like.new_zeros(self.replicas, self.width, part * self.width) for part in parts
        ]
        self.sums = [like.new_zeros(self.replicas, 1, part * self.width) for part in parts]

    def next(self, count: int) -> list[Tensor]:
        """Places [R, count, …] for the states before a step's words, and for what came back."""
        if self.used + count > self.rows:
            self._flush()
        span = slice(self.used, self.used + count)
        self.used += count
        return [self.before[:, span], *(part[:, span] for part in self.back)]

    def finished(self) -> tuple[list[Tensor], list[Tensor]]:
        """The products [R, H, …] and the plain sums [R, 1, …] of each part."""
        self._flush()
        return self.products, self.sums

    def _flush(self) -> None:
        towards = self.before[:, : self.used].transpose(1, 2)
        for part, product, total in zip(self.back, self.products, self.sums, strict=True):
            product.baddbmm_(towards, part[:, : self.used])
            total.add_(part[:, : self.used].sum(1, keepdim=True))
        self.used = 0
