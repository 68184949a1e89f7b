"""What a recurrent pass keeps for its way back, and the way back in pieces of many words.

Memory is used again from update to update, since fresh pages cost as much as the arithmetic does. A single replica's
matrices stand without the replica axis: PyTorch's product of two matrices is faster than that of two stacks of one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from drrn.models.encoders.recurrent import WordSteps
from drrn.models.encoders.workspace import MOST_SPARE, _spare, _taken
from drrn.text import Ids

PIECE = 512  # words of the way back that are taken together: what is computed of them stays in the processor's cache


class PassMemory:
    """The states and the gates of each step of a pass: [R, count, H] and [R, count, gates · H].

    They are kept for the way back, which must give them back in the end; or else two blocks are used by turns.
    """

    def __init__(self, steps: WordSteps, like: Tensor, gates: int, *, keep: bool) -> None:
        replicas, width = like.shape[:2]
        texts, counts = steps.lengths.shape[1], [count for _, count in steps]
        rows = [replicas * count for count in counts]
        total, first = sum(rows) if keep else 2 * replicas * texts, replicas * texts
        self.room: Tensor | None = _taken((first + total * (1 + gates)) * width, like)
        states, gated = self.room[: (first + total * (1 + gates)) * width].split(
            [(first + total) * width, total * gates * width]
        )
        self.states, self.gates = states.view(-1, width), gated.view(-1, gates * width)
        self.shape = (replicas, -1) if replicas > 1 else (-1,)
        self.first = self.states[:first].zero_().view(*self.shape, width)
        if keep:
            after, gated = self.states[first:].split(rows), self.gates.split(rows)
        else:
            after, gated = (
                [part[number % 2 * first :][:count] for number, count in enumerate(rows)]
                for part in (self.states[first:], self.gates)
            )
        shape = self.shape
        self.blocks = (
            [block.view(*shape, width) for block in after],
            list(gated),
            [b.view(*shape, gates * width) for b in gated],
        )

    def kept(self, piece: Piece) -> tuple[Tensor, Tensor]:
        """The states before the words of a piece, and their gates: copies."""
        if self.room is None:
            raise RuntimeError("the way back was gone before: a recurrent pass is differentiated once")
        found = (part.index_select(0, at) for part, at in ((self.states, piece.states), (self.gates, piece.gates)))
        states, gates = (part.view(*self.shape, part.shape[1]) for part in found)
        return states, gates

    def give_back(self) -> None:
        if self.room is not None and len(_spare) < MOST_SPARE:
            _spare.append(self.room)
        self.room, self.blocks = None, ([], [], [])


@dataclass(frozen=True)
class Piece:
    """Some steps that follow each other, and of their N words those that something comes back to."""

    counts: list[int]  # of each step
    states: Tensor  # [R · N], where the state before each word stands among all
    gates: Tensor  # [R · N], where its gates stand
    rows: Tensor  # [R · N], the word's row

    def steps_back(self, *values: Tensor) -> Iterator[tuple[Tensor, ...]]:
        """From the last step to the first: of each of the values [R, N, …] its part."""
        dim = values[-1].dim() - 2
        return zip(*(reversed(value.split(self.counts, dim=dim)) for value in values), strict=True)


class Needed:
    """The texts that something came back to, [R, U, H]; their words in pieces, the last first."""

    def __init__(self, steps: WordSteps, back: Tensor) -> None:
        self.steps, self.device, self.replicas = steps, back.device, len(back)
        found = steps.needed(back)
        self.texts = np.arange(back.shape[1]) if found is None else found
        self.all = [count for _, count in steps]
        self.counts: list[int] = np.searchsorted(self.texts, self.all).tolist()

    def chosen(self, back: Tensor) -> Tensor:
        """What came back to them."""
        return back.index_select(1, self._there(self.texts))

    def pieces(self) -> Iterator[Piece]:
        """As many steps at once as `PIECE` words have room for, or one."""
        end = len(self.counts)
        while end:
            begin, count = end - 1, self.counts[end - 1]
            while begin and count + self.counts[begin - 1] <= PIECE:
                begin -= 1
                count += self.counts[begin]
            if count:
                yield self._piece(begin, end)
            end = begin

    def _piece(self, begin: int, end: int) -> Piece:
        replica, number = np.arange(self.replicas)[:, None], np.repeat(np.arange(begin, end), self.counts[begin:end])
        text = np.concatenate([self.texts[:count] for count in self.counts[begin:end]])
        texts, starts, counts = self.steps.lengths.shape[1], np.array(self.steps.starts), np.array(self.all)
        words = self.steps.words[:, starts[number] + text]
        gates = self.replicas * starts[number] + replica * counts[number] + text  # [R, N]
        offset, across = np.append(0, self.replicas * (texts + starts)), np.append(texts, counts)  # before each step
        states = offset[number] + replica * across[number] + text
        return Piece(self.counts[begin:end], *(self._there(array.ravel()) for array in (states, gates, words)))

    def _there(self, array: Ids) -> Tensor:
        return torch.from_numpy(array).to(self.device)


def matrices(stack: Tensor) -> Tensor:
    """Of one replica, without its axis."""
    return stack[0] if len(stack) == 1 else stack


def add_product(total: Tensor, one: Tensor, other: Tensor) -> None:
    """total += one · other, of matrices or of stacks of them."""
    (total.addmm_ if total.dim() == 2 else total.baddbmm_)(one, other)
