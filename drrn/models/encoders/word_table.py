"""Word vectors of all replicas, in tables that grow with the vocabulary; and sums of their rows."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from drrn.models.initial import SCALE, small_random
from drrn.text import Ids, Lexicon, Vocabulary


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


class WordTable:
    """Word vectors of all replicas, [R, V, H]; V grows with the vocabulary.

    A replica's row is zero until that replica has met the word, so an unknown word counts for nothing.
    """

    def __init__(
        self, name: str, vocabulary: Vocabulary, width: int, seeds: list[int], device: torch.device
    ) -> None:
        self.name = name
        self.vocabulary = vocabulary
        self.width = width
        self.seeds = seeds
        self.device = device
        self.scale = SCALE
        self.given: Callable[[list[str]], tuple[NDArray[np.float32], Any]] | None = (
            None  # words' first rows, if given
        )
        self.weight = torch.zeros(len(seeds), 0, width, device=device)
        self.known = np.zeros((len(seeds), 0), bool)

    def meet(self, replica: int, word_ids: Ids) -> None:
        """Give the replica first weights for words that are new to it."""
        self.make_room()
        new = np.unique(word_ids[~self.known[replica, word_ids]])
        if len(new) == 0:
            return
        rows = self._first_rows(
            [self.vocabulary.spelled[number] for number in new], self.seeds[replica]
        )
        self.weight[replica, torch.from_numpy(new).to(self.device)] = torch.from_numpy(rows).to(
            self.device
        )
        self.known[replica, new] = True

    def meet_all(self, word_ids: Ids) -> None:
        """Give every replica first weights for words that are new to it."""
        self.make_room()
        for replica in np.flatnonzero(~self.known[:, word_ids].all(axis=1)).tolist():
            self.meet(replica, word_ids)

    def _first_rows(self, words: list[str], seed: int) -> NDArray[np.float32]:
        if self.given is not None:
            return self.given(words)[0]
        return small_random([f"{self.name} {word}" for word in words], self.width, seed, self.scale)

    def words_met(self, texts: Lexicon, ids: Ids) -> tuple[Ids, Ids]:
        """Of texts [R, U] (-1: no text) the words that each replica has met, end to end, and how many there are of each
        text [R, U]. A word that another replica alone has met counts for nothing, as if this one were alone."""
        lengths = np.where(ids < 0, 0, texts.starts[ids + 1] - texts.starts[ids])
        words = texts.words_of(ids[lengths > 0])
        text = np.repeat(np.arange(ids.size), lengths.ravel())
        met = self.known[text // ids.shape[1], words]
        if met.all():
            return words, lengths
        return words[met], np.bincount(text[met], minlength=ids.size).reshape(ids.shape)

    def rows(self, room: int) -> Tensor:
        """The table of all replicas end to end, each with `room` rows: [R · room, H]."""
        self.make_room(room)
        return self.weight[:, :room].reshape(-1, self.width)  # a frozen copy may have more room

    def state(self) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """The vectors of all words [R, V, H], and which of them each replica knows [R, V]."""
        self.make_room()
        words = len(self.vocabulary)
        return self.weight[:, :words].cpu().numpy(), self.known[:, :words]

    def restore(self, weight: NDArray[np.float32], known: NDArray[np.bool_]) -> None:
        self.weight = torch.from_numpy(weight).to(self.device)
        self.known = known

    def frozen(self) -> WordTable:
        twin = copy.copy(self)
        twin.weight = self.weight.clone()
        twin.known = self.known.copy()
        return twin

    def follow(self, table: WordTable, replicas: Tensor) -> None:
        """Of a frozen copy: take over the rows of the replicas [R] that are true."""
        self.weight = renewed(self.weight, table.weight, replicas)
        self.known = (
            table.known.copy()
        )  # a frozen copy meets no words: this only keeps it as long as the weight

    def make_room(self, room: int = 0) -> None:
        """Rows for every word of the vocabulary, or so many; doubling, so that growing stays cheap."""
        need = room or len(self.vocabulary)
        have = self.weight.shape[1]
        if need <= have:
            return
        room = room or max(need, 2 * have)
        weight = torch.zeros(len(self.seeds), room, self.width, device=self.device)
        weight[:, :have] = self.weight
        known = np.zeros((len(self.seeds), room), bool)
        known[:, :have] = self.known
        self.weight = weight
        self.known = known
