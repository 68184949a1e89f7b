"""Text encodings that are computed once and used twice: a cache, and one pass over pages and next
pages.

Both save time with encoders that read word by word.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from drrn.models.base import Gather, Model, Pages, Reading, pick
from drrn.models.encoders import Leaves
from drrn.models.encoders.base import TextBatch, Weights
from drrn.text import Ids, Store

MOST_CACHED = 2**15  # vectors of an encoder, of all replicas; then the cache starts again
UNKNOWN = -1


# --- the cache


@dataclass(frozen=True)
class EncodedBatch:
    """Texts whose vectors are cached, in the requested order."""

    vectors: Tensor  # [R, N, H]
    index: Tensor | None = None

    def encode(self, model: Weights, leaves: Leaves | None) -> Tensor:
        return self.vectors


class EncodingCache:
    """Cache of text encodings, for one store, valid while the weights are unchanged.

    A stepped game shows the same pages again and again: each replica encodes a page once in a round
    of play."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self._vectors = {
            name: VectorCache(model, name)
            for name, encoder in model.encoders.items()
            if encoder.reads_at_once
        }

    @staticmethod
    def helps(model: Model) -> bool:
        """Whether the cache saves time: encoding is slow, and a text's vector depends on no other
        text."""
        slow = any(encoder.reads_at_once for encoder in model.encoders.values())
        return slow and not model.reads_pairs

    def q(self, pages: Pages, store: Store) -> Tensor:
        """Return the Q-values of pages [R, B, A], as `Model.q` does."""
        return self.model.q(pages, store, self._gather)

    def _gather(self, name: str, ids: Ids, store: Store) -> Sequence[TextBatch]:
        if name not in self._vectors:
            return self.model.gather(name, ids, store)
        return [self._vectors[name].gather(some, store) for some in ids]


class VectorCache:
    """The vectors of one encoder's texts, by replica and id."""

    def __init__(self, model: Model, name: str) -> None:
        self.model = model
        self.name = name
        self._count = 0
        self._rows = np.full((len(model.seeds), 1), UNKNOWN)  # [R, texts + 1]; column 0: no text
        self._vectors = torch.empty(0, model.encoders[name].width, device=model.device)

    def gather(self, ids: Ids, store: Store) -> EncodedBatch:
        """Gather ids [R, N], -1 where there is no text; encode those that are not cached."""
        if self._count > MOST_CACHED:
            self._rows = np.full_like(self._rows, UNKNOWN)
            self._count = 0
        size = self._rows.shape[1]
        lacking = int(ids.max()) + 2 - size
        if lacking > 0:
            more = np.full((len(ids), lacking + size), UNKNOWN)
            self._rows = np.concatenate([self._rows, more], axis=1)
        at = np.arange(len(ids))[:, None], ids + 1
        unknown = self._rows[at] == UNKNOWN
        if unknown.any():
            self._encode(np.where(unknown, ids, -1), store)
        rows = torch.from_numpy(self._rows[at]).to(self.model.device)
        return EncodedBatch(functional.embedding(rows, self._vectors))

    def _encode(self, ids: Ids, store: Store) -> None:
        """Encode texts for all replicas. The vectors are valid for those that request them and for
        those that know all their words: these will soon request them."""
        unique = np.unique(ids)
        everywhere = np.broadcast_to(unique, (len(ids), len(unique)))
        batch = self.model.gather(self.name, everywhere[None], store)[0]
        vectors = pick(batch.encode(self.model, None), batch.index).flatten(0, 1)  # [R · U, H]
        start = self._count
        self._count += len(vectors)
        if self._count > len(self._vectors):
            room = vectors.new_empty(len(self._vectors) + len(vectors), vectors.shape[1])
            self._vectors = torch.cat([self._vectors[:start], room])
        self._vectors[start : self._count] = vectors
        rows = np.arange(start, self._count).reshape(everywhere.shape)
        requested = (everywhere[:, :, None] == ids[:, None, :]).any(axis=2)
        replicas, at = np.nonzero(requested | self._all_known(unique, store))
        self._rows[replicas, unique[at] + 1] = rows[replicas, at]

    def _all_known(self, ids: Ids, store: Store) -> NDArray[np.bool_]:
        """Whether each replica knows all words of each text, [R, U], so that its vector will not
        change."""
        texts = store.side(self.model.encoders[self.name].side)
        table = self.model.tables[self.name]
        columns = [
            table.known[:, texts.words_of(ids[[at]])].all(axis=1)
            if ids[at] >= 0
            else np.ones(len(table.seeds), bool)
            for at in range(len(ids))
        ]
        return np.stack(columns, axis=1)


# --- pages and next pages


@dataclass
class SharedEncoding:
    """The texts of pages and next pages, and their vectors once they are encoded."""

    batch: TextBatch
    vectors: Tensor | None = None


@dataclass(frozen=True)
class SharedBatch:
    """The texts of pages, or of next pages. The side that is differentiated must be encoded first;
    the other one gets the same vectors, as constants."""

    shared: SharedEncoding
    span: slice  # of this side among the texts of both

    @property
    def index(self) -> Tensor | None:
        index = self.shared.batch.index
        return None if index is None else index[:, self.span]

    def encode(self, model: Weights, leaves: Leaves | None) -> Tensor:
        if leaves is not None or self.shared.vectors is None:
            self.shared.vectors = self.shared.batch.encode(model, leaves)
        vectors = self.shared.vectors if leaves is not None else self.shared.vectors.detach()
        return vectors[:, self.span] if self.shared.batch.index is None else vectors


def read_together(
    model: Model, pages: Pages, after: Pages, gather: Gather
) -> Iterator[tuple[Reading, Reading]]:
    """Yield the readings of several batches of pages and of the pages after them, [K, R, B] each; a
    text that is on both sides is encoded once."""
    now = model.reads(pages)
    then = model.reads(after)
    batches = {
        name: gather(name, np.concatenate([ids, then[name]], axis=-1), model.store)
        for name, ids in now.items()
    }
    for k in range(len(pages.states)):
        first: dict[str, TextBatch] = {}
        second: dict[str, TextBatch] = {}
        for name, ids in now.items():
            shared = SharedEncoding(batches[name][k])
            first[name] = SharedBatch(shared, slice(ids.shape[-1]))
            second[name] = SharedBatch(shared, slice(ids.shape[-1], None))
        yield Reading(pages[k], model.store, first), Reading(after[k], model.store, second)
