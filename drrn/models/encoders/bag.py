"""The paper's encoder: a text's bag of words times a matrix, the first layer of every model.

A text is encoded once for each replica that asks for it. The table takes no part in automatic differentiation: what
comes back to the encoded texts is carried to the words that occur in them, δW₁ = δ₁ sᵀ, and to no others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from drrn.models.encoders.base import Encoder, Leaves, Look, Weights
from drrn.models.encoders.word_table import WordTable, bag_sums, distinct
from drrn.text import Bags, Ids, Lexicon


class BagOfWords(Encoder):
    """Vectors are sums of word vectors, each as often as its word occurs."""

    def build(self, model: Weights) -> None:
        model.add_table(self.name, self.side, self.width)

    def look_up(self, model: Weights, texts: Lexicon, ids: Ids) -> list[Look]:
        table = model.tables[self.name]
        table.make_room()
        return list(
            bag_looks(self.name, texts.bags(self.norm), ids, table.weight.shape[1], model.device)
        )


@dataclass(frozen=True)
class BagLook:
    """Bags to be summed in a table: each distinct text of a replica once, as a bag of rows of the flat table."""

    table: str
    rows: Ids  # [W], words of all bags end to end
    counts: NDArray[np.float32]  # [W]
    ends: Ids  # [R · U + 1], where each bag begins, and where the last one ends
    places: Tensor  # [R, N], each asked text among the R · U encoded ones
    room: int  # rows a replica has in the flat table

    def encode(self, model: Weights, leaves: Leaves | None) -> Tensor:
        table = model.tables[self.table]
        vectors = bag_sums(table.rows(self.room), self.rows, self.ends[:-1], self.counts)
        vectors = vectors.view(len(table.seeds), -1, table.width)
        if leaves is not None:
            leaves.keep(self, vectors)
        return vectors

    def gradient(self, model: Weights, back: Tensor) -> tuple[WordTable, Tensor, Tensor]:
        table = model.tables[self.table]
        order = _argsort(self.rows)
        ranked = self.rows[order]
        first = np.flatnonzero(np.diff(ranked, prepend=-1))
        texts = np.repeat(np.arange(len(self.ends) - 1), np.diff(self.ends))[order]
        values = bag_sums(
            back.reshape(-1, table.width), texts, first, self.counts[order]
        )  # each word's bag of texts
        return table, torch.from_numpy(ranked[first]).to(table.device), values


def bag_looks(table: str, bags: Bags, ids: Ids, room: int, device: torch.device) -> list[BagLook]:
    """Looks for several batches at once, [K, R, N] ids (-1: no text), in tables with `room` rows a replica."""
    batches, replicas, count = ids.shape
    unique, places = distinct(ids.reshape(batches * replicas, count))
    across = unique.shape[1]
    words, counts, lengths = bags.gathered(unique.ravel())
    ends = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=ends[1:])
    per_group = ends[across::across] - ends[:-1:across]
    rows = words + np.repeat(np.tile(np.arange(replicas) * room, batches), per_group)
    places = places.reshape(batches, replicas, count) + (np.arange(replicas) * across)[:, None]
    at = torch.from_numpy(places).to(device)
    looks = []
    size = replicas * across
    for k in range(batches):
        span = ends[k * size : (k + 1) * size + 1]
        words_of = slice(span[0], span[-1])
        looks.append(BagLook(table, rows[words_of], counts[words_of], span - span[0], at[k], room))
    return looks


def _argsort(rows: Ids) -> Ids:
    """Sorting small numbers by their digits is several times faster."""
    small = len(rows) > 0 and rows.max() < 2**16
    return np.argsort(rows.astype(np.uint16) if small else rows, kind="stable")
