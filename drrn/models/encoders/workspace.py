"""Memory of recurrent passes, used again from update to update: fresh pages cost as much as the arithmetic does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

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
        row, most = self.replicas * self.width * sum(parts), steps.count_of(0)
        self.room: Tensor | None = _taken(steps.count * row, like) if keep else like.new_empty(2 * most * row)
        sizes = [count * self.replicas * self.width * part for _, count in steps for part in parts]
        if keep:
            pieces = list(torch.split_with_sizes(self.room[: steps.count * row], sizes))
        else:  # the two blocks by turns; a step that is like the last but one has its very tensors
            halves = self.room.chunk(2) if most else ()
            widest = [most * self.replicas * self.width * part for part in parts]
            turns = [torch.split_with_sizes(half, widest) for half in halves]
            pieces = [piece[:size] for piece, size in zip(_by_turns(turns, len(parts), len(sizes)), sizes, strict=True)]
        shapes = [(self.replicas, count, part * self.width) for _, count in steps for part in parts]
        views = [piece.view(shape) for piece, shape in zip(pieces, shapes, strict=True)]
        self.blocks = [views[at : at + len(parts)] for at in range(0, len(views), len(parts))]

    def __getitem__(self, number: int) -> list[Tensor]:
        if self.room is None:
            raise RuntimeError("the way back was gone before: a recurrent pass is differentiated once")
        return self.blocks[number]

    def give_back(self) -> None:
        if self.room is not None and len(_spare) < MOST_SPARE:
            _spare.append(self.room)
        self.room, self.blocks = None, []


def _by_turns(turns: Sequence[Sequence[Tensor]], parts: int, count: int) -> list[Tensor]:
    """The parts of two blocks, one after the other, so many in all."""
    return [turns[at // parts % 2][at % parts] for at in range(count)]


def _taken(size: int, like: Tensor) -> Tensor:
    """Room for so many numbers: one that was given back, or a new one."""
    for number, room in enumerate(_spare):
        if room.numel() >= size and (room.device, room.dtype) == (like.device, like.dtype):
            return _spare.pop(number)
    if len(_spare) == MOST_SPARE:
        _spare.pop(0)
    return like.new_empty(size)


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
        self.rows, self.used = max(most, ROWS), 0
        self.before = like.new_empty(self.replicas, self.rows, self.width)
        self.back = [like.new_empty(self.replicas, self.rows, part * self.width) for part in parts]
        self.products = [like.new_zeros(self.replicas, self.width, part * self.width) for part in parts]
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


class States:
    """The states of a pass, step after step: [R, count, H] each. They are kept for the way back, which must give them
    back in the end; or else two blocks are used by turns."""

    def __init__(self, steps: WordSteps, like: Tensor, *, keep: bool) -> None:
        replicas, width = like.shape[:2]
        self.steps, texts = steps, steps.lengths.shape[1]
        self.counts = [count for _, count in steps]
        size = replicas * (texts + (steps.count if keep else 2 * texts)) * width
        self.room: Tensor | None = _taken(size, like) if keep else like.new_empty(size)
        self.all = self.room[:size].view(replicas, -1, width)  # [R, U + T, H], those before the first words first
        self.first = self.all[:, :texts].zero_()
        if keep:
            self.blocks = list(self.all[:, texts:].split(self.counts, dim=1))
        else:
            turns = self.all[:, texts : 2 * texts], self.all[:, 2 * texts :]
            self.blocks = [turns[number % 2][:, :count] for number, count in enumerate(self.counts)]

    def __iter__(self) -> Iterator[Tensor]:
        return iter(self.blocks)

    def before(self, piece: Piece) -> Tensor:
        """The states before the words of a piece."""
        if self.room is None:
            raise RuntimeError("the way back was gone before: a recurrent pass is differentiated once")
        return self.all.index_select(1, piece.states)

    def give_back(self) -> None:
        if self.room is not None and len(_spare) < MOST_SPARE:
            _spare.append(self.room)
        self.room, self.blocks = None, []


@dataclass(frozen=True)
class Piece:
    """Some steps that follow each other, and of their words those that something comes back to."""

    counts: list[int]  # of each step, how many words
    states: Tensor  # [N], of each word, where the state before it stands among all
    rows: Tensor  # [R · N], the words' rows

    @property
    def count(self) -> int:
        return sum(self.counts)

    def steps_back(self, *values: Tensor) -> Iterator[tuple[Any, ...]]:
        """From the last step to the first: how many words, and of each of the values [R, N, …] their part."""
        parts = [value.split(self.counts, dim=1) for value in values]
        return reversed(list(zip(self.counts, *parts, strict=True)))


class Needed:
    """The texts that something came back to, [R, U, H]; their words in pieces, the last first."""

    def __init__(self, steps: WordSteps, back: Tensor) -> None:
        self.steps, self.device = steps, back.device
        self.texts, found = np.arange(back.shape[1]), steps.needed(back)
        if found is not None:
            self.texts = found
        self.counts = np.searchsorted(self.texts, [count for _, count in steps]).tolist()
        self.most = max(ROWS, max(self.counts, default=0))

    def chosen(self, back: Tensor) -> Tensor:
        """What came back to them."""
        return back.index_select(1, torch.from_numpy(self.texts).to(self.device))

    def pieces(self) -> Iterator[Piece]:
        """As many steps as have room together."""
        end = len(self.counts)
        words = torch.from_numpy(self.steps.words).to(self.device)
        before = [0, *(self.steps.lengths.shape[1] + start for start in self.steps.starts)]  # of each step
        while end:
            begin, count = end - 1, self.counts[end - 1]
            while begin and count + self.counts[begin - 1] <= self.most:
                begin -= 1
                count += self.counts[begin]
            steps = range(begin, end)
            states = np.concatenate([before[step] + self.texts[: self.counts[step]] for step in steps])
            at = np.concatenate([self.steps.starts[step] + self.texts[: self.counts[step]] for step in steps])
            rows = words[:, torch.from_numpy(at).to(self.device)].reshape(-1)
            yield Piece(self.counts[begin:end], torch.from_numpy(states).to(self.device), rows)
            end = begin


def add_product(total: Tensor, one: Tensor, other: Tensor) -> None:
    """total += one · other, of matrices [R, …]; a single one goes by the faster call."""
    if len(total) == 1:
        total[0].addmm_(one[0], other[0])
    else:
        total.baddbmm_(one, other)
