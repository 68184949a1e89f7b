"""The first layer of every model: a table of word vectors, and bags of words times it.

A text is encoded once for each replica that asks for it. The table takes no part in autograd: what comes back to the
encoded texts is carried to the words that occur in them, δW₁ = δ₁ sᵀ, and to no others.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from drrn.models.initial import SCALE, small_random
from drrn.text import Ids, Lexicon, bags_of


def distinct(ids: Ids) -> tuple[Ids, Ids]:
    """Each row's distinct ids, padded with -1 to one length, and where each id stands among them: [G, U], [G, N]."""
    groups, count = ids.shape
    order = np.argsort(ids, axis=1, kind="stable")
    row = np.arange(groups)[:, None]
    ranked = ids[row, order]
    rank = np.zeros((groups, count), np.int64)
    np.cumsum(ranked[:, 1:] != ranked[:, :-1], axis=1, out=rank[:, 1:])
    unique = np.full((groups, int(rank[:, -1].max()) + 1), -1, np.int64)
    unique[row, rank] = ranked
    places = np.empty_like(rank)
    places[row, order] = rank
    return unique, places


def fitted(kept: Tensor, like: Tensor) -> Tensor:
    """A tensor in the shape of another: cut, or filled up with zeros."""
    fresh = torch.zeros_like(like)
    common = tuple(slice(min(sizes)) for sizes in zip(kept.shape, like.shape, strict=True))
    fresh[common] = kept[common]
    return fresh


def renewed(old: Tensor, new: Tensor, replicas: Tensor) -> Tensor:
    """The new in the replicas [R] that are true, the old in the others, with the new one's room."""
    return torch.where(replicas.view(-1, 1, 1), new, fitted(old, new))


def bag_sums(rows: Tensor, members: Ids, starts: Ids, counts: NDArray[np.float32]) -> Tensor:
    """Sums of rows [N, H], each times its count: a bag's members begin at its start and end where the next begins."""
    return functional.embedding_bag(
        torch.from_numpy(members).to(rows.device),
        rows,
        torch.from_numpy(starts).to(rows.device),
        mode="sum",
        per_sample_weights=torch.from_numpy(counts).to(rows.device),
    )


@dataclass(frozen=True)
class Look:
    """Texts to be looked up in a table: each distinct one of a replica once, as a bag of rows of the flat table."""

    rows: Ids  # [W], words of all bags end to end
    counts: NDArray[np.float32]  # [W]
    ends: Ids  # [R · U + 1], where each bag begins, and where the last one ends
    places: Tensor  # [R, N], each asked text among the R · U encoded ones
    room: int  # rows a replica has in the flat table


def look_up(lexicon: Lexicon, ids: Ids, room: int, device: torch.device) -> list[Look]:
    """Looks for several batches at once, [K, R, N] ids (-1: no text), in tables with `room` rows a replica."""
    batches, replicas, count = ids.shape
    unique, places = distinct(ids.reshape(batches * replicas, count))
    across = unique.shape[1]
    words, counts, lengths = bags_of(lexicon, unique.ravel())
    ends = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=ends[1:])
    per_group = ends[across::across] - ends[:-1:across]
    rows = words + np.repeat(np.tile(np.arange(replicas) * room, batches), per_group)
    places = places.reshape(batches, replicas, count) + (np.arange(replicas) * across)[:, None]
    at = torch.from_numpy(places).to(device)
    looks, size = [], replicas * across
    for k in range(batches):
        span = ends[k * size : (k + 1) * size + 1]
        words_of = slice(span[0], span[-1])
        looks.append(Look(rows[words_of], counts[words_of], span - span[0], at[k], room))
    return looks


class WordTable:
    """Word vectors of all replicas, [R, V, H]; V grows with the lexicon.

    A replica's row is zero until that replica has met the word, so an unknown word counts for nothing.
    """

    def __init__(self, name: str, lexicon: Lexicon, width: int, seeds: list[int], device: torch.device) -> None:
        self.name, self.lexicon, self.width, self.seeds, self.device = name, lexicon, width, seeds, device
        self.scale = SCALE
        self.weight = torch.zeros(len(seeds), 0, width, device=device)
        self.known = np.zeros((len(seeds), 0), bool)

    def meet(self, replica: int, word_ids: Ids) -> None:
        """Give the replica first weights for words that are new to it."""
        self.make_room()
        new = np.unique(word_ids[~self.known[replica, word_ids]])
        if len(new) == 0:
            return
        names = [f"{self.name} {self.lexicon.spelled[number]}" for number in new]
        rows = small_random(names, self.width, self.seeds[replica], self.scale)
        self.weight[replica, torch.from_numpy(new).to(self.device)] = torch.from_numpy(rows).to(self.device)
        self.known[replica, new] = True

    def encode(self, look: Look) -> Tensor:
        """Bags of texts times the table: vectors [R, U, H]."""
        self.make_room(look.room)
        rows = self.weight[:, : look.room].reshape(-1, self.width)  # a frozen copy may have more room
        vectors = bag_sums(rows, look.rows, look.ends[:-1], look.counts)
        return vectors.view(len(self.seeds), -1, self.width)

    def gradient(self, look: Look, back: Tensor) -> tuple[Tensor, Tensor]:
        """What comes back to the encoded texts, carried to their words: rows of the flat table, and values [W, H]."""
        order = _argsort(look.rows)
        ranked = look.rows[order]
        first = np.flatnonzero(np.diff(ranked, prepend=-1))
        texts = np.repeat(np.arange(len(look.ends) - 1), np.diff(look.ends))[order]
        values = bag_sums(back.reshape(-1, self.width), texts, first, look.counts[order])  # each word's bag of texts
        return torch.from_numpy(ranked[first]).to(self.device), values

    def frozen(self) -> WordTable:
        twin = copy.copy(self)
        twin.weight, twin.known = self.weight.clone(), self.known.copy()
        return twin

    def follow(self, table: WordTable, replicas: Tensor) -> None:
        """Of a frozen copy: take over the rows of the replicas [R] that are true."""
        self.weight = renewed(self.weight, table.weight, replicas)
        self.known = table.known.copy()  # a frozen copy meets no words: this only keeps it as long as the weight

    def make_room(self, room: int = 0) -> None:
        """Rows for every word of the lexicon, or so many; doubling, so that growing stays cheap."""
        need, have = room or len(self.lexicon.spelled), self.weight.shape[1]
        if need <= have:
            return
        room = room or max(need, 2 * have)
        weight = torch.zeros(len(self.seeds), room, self.width, device=self.device)
        weight[:, :have] = self.weight
        known = np.zeros((len(self.seeds), room), bool)
        known[:, :have] = self.known
        self.weight, self.known = weight, known


def _argsort(rows: Ids) -> Ids:
    """Sorting small numbers by their digits is several times faster."""
    small = len(rows) > 0 and rows.max() < 2**16
    return np.argsort(rows.astype(np.uint16) if small else rows, kind="stable")
