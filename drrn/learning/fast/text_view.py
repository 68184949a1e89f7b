"""A word table seen from the texts of some batches: what the first layer makes of each, kept true while words move.

A step of plain SGD moves the words by -η Xᵀδ, X being the bags of words, and so what X W gives by -η X Xᵀδ. The
overlaps X Xᵀ of a story's texts never change. So with few texts a step is one small dense product, and the words
themselves are moved once, after many batches: the same sums as word by word, in another order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from drrn.models.encoders.base import Leaves, Weights
from drrn.models.word_table import WordTable, bag_sums
from drrn.text import Bags, Ids

MOST_TEXTS = 2048  # of a side: their overlaps take 16 MB


@dataclass(frozen=True)
class Recall:
    """Texts of a view that one batch asks for."""

    view: TextView
    texts: (
        Tensor | None
    )  # [R · N], among the view's; None: every text is given, as there are fewer than asked for
    rows: Tensor | None  # [R · N], the same among those of all replicas end to end
    index: (
        Tensor | None
    )  # [R, N], each asked text among those given; None: they are given as asked for

    def encode(self, model: Weights, leaves: Leaves | None) -> Tensor:
        vectors = self.view.encode(self.rows)
        if leaves is not None:
            leaves.add(self, vectors)
        return vectors

    def gradient(self, model: Weights, back: Tensor) -> tuple[WordTable, Tensor, Tensor]:
        raise NotImplementedError("a view moves its texts itself")


class TextView:
    """Vectors of the view's texts, [R, T, H]; the last text is the empty one."""

    def __init__(
        self, table: WordTable, bags: Bags, asked: Sequence[Ids], overlaps: Tensor
    ) -> None:
        """`asked` are the ids that will be asked for, -1 the empty text; `overlaps` are of all texts."""
        self.table = table
        wanted = np.zeros(len(overlaps), bool)
        wanted[-1] = True
        for ids in asked:
            wanted[ids] = True
        self.place = np.cumsum(wanted) - 1  # of each text in this view
        texts = np.flatnonzero(wanted)
        chosen = torch.from_numpy(texts).to(table.device)
        self.overlaps = overlaps[chosen[:, None], chosen]
        texts[-1] = -1
        words, self.counts, lengths = bags.gathered(texts)
        found, self.words = np.unique(words, return_inverse=True)
        self.found = torch.from_numpy(found).to(table.device)
        self.texts = np.repeat(np.arange(len(texts)), lengths)
        across = len(table.seeds) * table.width
        rows = (
            self.table.weight[:, self.found].transpose(0, 1).reshape(len(found), across)
        )  # [V, R · H]
        summed = bag_sums(rows, self.words, np.cumsum(lengths) - lengths, self.counts)
        self.vectors = (
            summed.view(len(texts), len(table.seeds), table.width).transpose(0, 1).contiguous()
        )
        self.moved = torch.zeros_like(self.vectors)

    def recalls(self, asked: Ids) -> list[Recall]:
        """For several batches of ids, [K, R, N]."""
        ids = self.place[asked]
        batches, replicas, count = ids.shape
        most = self.vectors.shape[1]
        rows = torch.from_numpy(ids + np.arange(replicas)[:, None] * most).to(self.table.device)
        if count >= most:
            return [Recall(self, None, None, rows[k]) for k in range(batches)]
        texts = torch.from_numpy(ids).to(self.table.device).reshape(batches, -1)
        flat = rows.reshape(batches, -1)
        return [Recall(self, texts[k], flat[k], None) for k in range(batches)]

    def encode(self, rows: Tensor | None) -> Tensor:
        """The texts at some rows, named as in `Recall`, [R, N, H]; or all of them, [R, T, H]."""
        if rows is None:
            return self.vectors.detach()
        replicas, most, width = self.vectors.shape
        return (
            self.vectors.view(replicas * most, width)
            .index_select(0, rows)
            .view(replicas, -1, width)
        )

    def move(self, texts: Tensor | None, rows: Tensor | None, back: Tensor, rate: float) -> None:
        """A step of SGD, for what comes back to some texts [R, N, H], or to all; they are named as in `Recall`."""
        replicas, most, width = self.vectors.shape
        if texts is None:
            overlaps = self.overlaps.expand(replicas, most, most)
        else:
            overlaps = self.overlaps.index_select(0, texts).view(replicas, -1, most).transpose(1, 2)
        self.vectors.baddbmm_(overlaps, back, alpha=-rate)
        if rows is None:
            self.moved.add_(back)
        else:
            self.moved.view(replicas * most, width).index_add_(0, rows, back.reshape(-1, width))

    def settle(self, rate: float) -> None:
        """Carry all moves to the words."""
        replicas, most, width = self.vectors.shape
        order = np.argsort(self.words, kind="stable")
        starts = np.searchsorted(self.words[order], np.arange(len(self.found)))
        by_text = self.moved.transpose(0, 1).reshape(most, -1)  # [T, R · H]
        summed = bag_sums(by_text, self.texts[order], starts, self.counts[order])
        steps = summed.view(len(self.found), replicas, width).transpose(0, 1)
        self.table.weight.index_add_(1, self.found, steps, alpha=-rate)


def overlaps_of(bags: Bags, words: int, device: torch.device) -> Tensor:
    """How many words each two texts share, X Xᵀ, with an empty text at the end: [T + 1, T + 1]."""
    texts = np.repeat(np.arange(bags.count), np.diff(bags.starts))
    word_ids = bags.word_ids.astype(np.int64)
    matrix = np.zeros((words, bags.count + 1), np.float32)
    matrix[word_ids, texts] = bags.counts
    return bag_sums(torch.from_numpy(matrix), word_ids, bags.starts, bags.counts).to(device)
