"""What a recurrent pass keeps for its way back, and the way back in pieces of many words.

Memory is used again from update to update, since fresh pages cost as much as the arithmetic does. A single replica's
matrices stand without the replica axis: PyTorch's product of two matrices is faster than that of two stacks of one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from drrn.models.encoders.recurrent import WordSteps
from drrn.models.encoders.workspace import keep_room, taken_room
from drrn.text import Ids

PIECE = 512  # words of the way back that are taken together: what is computed of them stays in the processor's cache


class PassMemory:
    """What the steps of a pass make: states [R, count, H], and gates of so many widths side by side.

    They are kept for the way back, which must give them back in the end; or else two blocks are used by turns.
    """

    def __init__(
        self, steps: WordSteps, like: Tensor, parts: Sequence[tuple[int, int]], *, keep: bool
    ) -> None:
        """`parts` are those of the gates that a step takes up, from one width to another."""
        self.replicas, width = like.shape[:2]
        rows = [self.replicas * count for count in steps.counts]
        wide = max(end for _, end in parts)
        first = self.replicas * steps.lengths.shape[1]
        total = sum(rows) if keep else 2 * first
        sizes = [first * width, total * width, total * wide * width]
        self.room: Tensor | None = (
            taken_room(sum(sizes), like) if keep else like.new_empty(sum(sizes))
        )
        _, states, gates = torch.split_with_sizes(self.room[: sum(sizes)], sizes)
        self.states = self.room[: sum(sizes[:2])].view(-1, width)
        self.gates = gates.view(-1, wide * width)
        self.first = self._shaped(self.states[:first].zero_())  # the states before the first words
        taken = [
            states.view(-1, width),
            *(self.gates[:, begin * width : end * width] for begin, end in parts),
        ]
        split = _in_steps if keep else _by_turns
        self.blocks = [
            split(self.gates, rows),
            *(list(map(self._shaped, split(each, rows))) for each in taken),
        ]

    def _shaped(self, rows: Tensor) -> Tensor:
        return rows if self.replicas == 1 else rows.view(self.replicas, -1, rows.shape[1])

    def kept(self, piece: PassPiece) -> tuple[Tensor, Tensor]:
        """The states before the words of a piece, and their gates: copies."""
        if self.room is None:
            raise RuntimeError(
                "the way back was gone before: a recurrent pass is differentiated once"
            )
        states = self.states.index_select(0, piece.states)
        gates = self.gates.index_select(0, piece.gates)
        return self._shaped(states), self._shaped(gates)

    def give_back(self) -> None:
        keep_room(self.room)
        self.room = None
        self.blocks = []


def _in_steps(rows: Tensor, counts: list[int]) -> list[Tensor]:
    return list(torch.split_with_sizes(rows, counts))


def _by_turns(rows: Tensor, counts: list[int]) -> list[Tensor]:
    """The first half and the second in turn; a step that is like the last but one has its very tensor."""
    halves = rows.chunk(2)
    made = {(turn, count): halves[turn][:count] for turn in (0, 1) for count in set(counts)}
    return [made[number % 2, count] for number, count in enumerate(counts)]


@dataclass(frozen=True)
class PassPiece:
    """Some steps that follow each other, and of their N words those that something comes back to."""

    counts: list[int]  # of each step
    states: Tensor  # [R · N], where the state before each word stands among all
    gates: Tensor  # [R · N], where its gates stand
    rows: Tensor  # [R · N], the word's row

    def backwards(self, values: Sequence[Tensor]) -> Iterator[Iterator[Tensor]]:
        """Of each of the values [R, N, …] its parts, from the last step to the first."""
        dim = values[-1].dim() - 2
        return (reversed(torch.split_with_sizes(value, self.counts, dim=dim)) for value in values)


class Needed:
    """The texts that something came back to, [R, U, H]; their words in pieces, the last first."""

    def __init__(self, steps: WordSteps, back: Tensor) -> None:
        self.steps = steps
        self.device = back.device
        self.replicas = len(back)
        found = steps.needed(back)
        self.texts = np.arange(back.shape[1]) if found is None else found
        self.counts: list[int] = np.searchsorted(self.texts, steps.counts).tolist()

    def chosen(self, back: Tensor) -> Tensor:
        """What came back to them."""
        return back.index_select(1, self._there(self.texts))

    def pieces(self) -> Iterator[PassPiece]:
        """As many steps at once as `PIECE` words have room for, or one."""
        end, states, gates, words = (
            len(self.counts),
            *map(self._there, self._places()),
        )  # [R, T] each
        stop = sum(self.counts)
        while end:
            begin = end - 1
            count = self.counts[end - 1]
            while begin and count + self.counts[begin - 1] <= PIECE:
                begin -= 1
                count += self.counts[begin]
            span = slice(stop - count, stop)
            if count:
                yield PassPiece(
                    self.counts[begin:end],
                    *(part[:, span].reshape(-1) for part in (states, gates, words)),
                )
            end = begin
            stop = stop - count

    def _places(self) -> tuple[Ids, Ids, Ids]:
        """Of all words, step after step: where the states before them stand, their gates, their rows; [R, T] each."""
        step = np.repeat(np.arange(len(self.counts)), self.counts)
        text = (
            np.concatenate([self.texts[:count] for count in self.counts]) if self.counts else step
        )
        texts = self.steps.lengths.shape[1]
        starts = np.array(self.steps.starts)
        counts = np.array(self.steps.counts, np.int64)
        replica = np.arange(self.replicas)[:, None]
        gates = self.replicas * starts[step] + replica * counts[step] + text
        # of the step before
        start = np.append(0, self.replicas * (texts + starts))
        count = np.append(texts, counts)
        return (
            start[step] + replica * count[step] + text,
            gates,
            self.steps.words[:, starts[step] + text],
        )

    def _there(self, array: Ids) -> Tensor:
        return torch.from_numpy(array).to(self.device)


def matrices(stack: Tensor) -> Tensor:
    """Of one replica, without its axis."""
    return stack[0] if len(stack) == 1 else stack


def adding_to(like: Tensor) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
    """What adds the product of two matrices, or of two stacks of several, to a third."""
    return Tensor.addmm_ if len(like) == 1 else Tensor.baddbmm_
