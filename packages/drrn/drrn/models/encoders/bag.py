"""The paper's encoder: a text's bag of words times a matrix, the first layer of every model.

The matrix takes no part in automatic differentiation: the gradient of the encoded texts is carried
to the words that occur in them, δW₁ = δ₁ sᵀ, and to no others.
"""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from drrn.models.encoders.base import Encoder, Gradient, Leaves, TextBatch, Weights, distinct_texts
from drrn.models.word_table import bag_sums
from drrn.text import Lexicon
from textgames.arrays import Ids, starts_of


@dataclass(frozen=True)
class BagBatch:
    """Bags as rows of a flat word table. Vectors of another encoder may be added to their sums."""

    table: str
    rows: Ids  # [W], words of all bags end to end
    counts: NDArray[np.float32]  # [W]
    ends: Ids  # [R · U + 1], where each bag begins, and where the last one ends
    index: Tensor  # [R, N]
    addend: TextBatch | None = None  # the same texts in the same order

    def encode(self, model: Weights, leaves: Leaves | None) -> Tensor:
        table = model.tables[self.table]
        flat = table.weight.view(-1, table.width)
        vectors = bag_sums(flat, self.rows, self.ends[:-1], self.counts)
        vectors = vectors.view(len(table.seeds), -1, table.width)
        if leaves is not None:
            leaves.append((self.gradient, vectors.requires_grad_()))
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


def gather_bags(encoder: Encoder, model: Weights, texts: Lexicon, ids: Ids) -> list[BagBatch]:
    """Gather the bags of several batches of texts: ids [K, R, N], -1 where there is no text."""
    table = model.tables[encoder.name]
    if table.weight.shape[1] < len(table.vocabulary.spelled):  # no replica has met the new words
        table.make_room()
    unique, index = distinct_texts(ids, model.device)
    words, counts, lengths = texts.bags(unique.ravel())
    size = ids.shape[1] * unique.shape[1]  # distinct texts of a batch
    replica = np.arange(unique.size) % size // unique.shape[1]
    rows = words + np.repeat(replica * table.weight.shape[1], lengths)
    ends = starts_of(lengths)
    batches = []
    for k, own_index in enumerate(index):
        own = ends[k * size : (k + 1) * size + 1]
        some = slice(own[0], own[-1])
        batches.append(BagBatch(encoder.name, rows[some], counts[some], own - own[0], own_index))
    return batches


class BagOfWords(Encoder):
    """A text's vector is the sum of its words' vectors, each as often as the word occurs."""

    gather = gather_bags


def _argsort(rows: Ids) -> Ids:
    """Sort stably. Numbers below 2¹⁶ are sorted by their digits, which is several times as fast."""
    small = len(rows) > 0 and rows.max() < 2**16
    return np.argsort(rows.astype(np.uint16) if small else rows, kind="stable")
