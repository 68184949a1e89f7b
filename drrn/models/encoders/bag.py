"""The paper's encoder: a text's bag of words times a matrix, the first layer of every model.

The matrix takes no part in automatic differentiation: the gradient of the encoded texts is carried
to the words that occur in them, δW₁ = δ₁ sᵀ, and to no others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from drrn.models.encoders.base import Encoder, Gradient, Leaves, TextBatch, Weights, distinct_texts
from drrn.models.word_table import bag_sums
from drrn.text import Bags, Ids, Lexicon, gathered


class BagOfWords(Encoder):
    """A text's vector is the sum of its words' vectors, each as often as the word occurs."""

    def gather(self, model: Weights, texts: Lexicon, ids: Ids) -> list[TextBatch]:
        return list(bag_batches(model, self.name, texts.bags(self.norm), ids))


@dataclass(frozen=True)
class BagBatch:
    """Bags as rows of a flat word table; vectors of another encoder may be added to their sums."""

    table: str
    room: int  # rows of one replica in the flat table
    rows: Ids  # [W], words of all bags end to end
    counts: NDArray[np.float32]  # [W]
    ends: Ids  # [R · U + 1], where each bag begins, and where the last one ends
    index: Tensor  # [R, N]
    addend: TextBatch | None = None  # the same texts in the same order

    def encode(self, model: Weights, leaves: Leaves | None) -> Tensor:
        table = model.tables[self.table]
        vectors = bag_sums(table.rows(self.room), self.rows, self.ends[:-1], self.counts)
        vectors = vectors.view(len(table.seeds), -1, table.width)
        if leaves is not None:
            leaves.append((self, vectors.requires_grad_()))
        if self.addend is None:
            return vectors
        return vectors + self.addend.encode(model, leaves)

    def gradient(self, model: Weights, back: Tensor) -> Gradient:
        """Sum the gradients of the texts of each word: the transposed bags."""
        table = model.tables[self.table]
        order = _argsort(self.rows)
        ranked = self.rows[order]
        first = np.flatnonzero(np.diff(ranked, prepend=-1))
        texts = np.repeat(np.arange(len(self.ends) - 1), np.diff(self.ends))[order]
        values = bag_sums(back.reshape(-1, table.width), texts, first, self.counts[order])
        return table, torch.from_numpy(ranked[first]).to(table.device), values


def bag_batches(
    model: Weights, name: str, bags: Bags, ids: Ids, addends: list[TextBatch] | None = None
) -> list[BagBatch]:
    """Gather the bags of several batches of ids [K, R, N] (-1: no text) for a table."""
    table = model.tables[name]
    table.make_room()
    room = table.weight.shape[1]
    batches, replicas, _ = ids.shape
    unique, index = distinct_texts(ids, model.device)
    across = unique.shape[1]
    words, counts, lengths = gathered(bags, unique.ravel())
    ends = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=ends[1:])
    per_replica = ends[across::across] - ends[:-1:across]
    rows = words + np.repeat(np.tile(np.arange(replicas) * room, batches), per_replica)
    size = replicas * across
    result = []
    for k in range(batches):
        span = ends[k * size : (k + 1) * size + 1]
        some = slice(span[0], span[-1])
        addend = addends[k] if addends else None
        result.append(
            BagBatch(name, room, rows[some], counts[some], span - span[0], index[k], addend)
        )
    return result


def _argsort(rows: Ids) -> Ids:
    """Sort stably; numbers below 2¹⁶ by their digits, which is several times as fast."""
    small = len(rows) > 0 and rows.max() < 2**16
    return np.argsort(rows.astype(np.uint16) if small else rows, kind="stable")
