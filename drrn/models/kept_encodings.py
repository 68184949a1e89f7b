"""Vectors of texts that are kept while weights stay as they are: games show the same pages again and again.

It pays for encoders that read word by word, in games that are stepped: a page is then read once for each replica and
each round of play, however many episodes come by it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from drrn.models.base import Model, Pages, picked, texts_of
from drrn.models.encoders.base import Leaves, Look, Weights
from drrn.text import Ids, Store

MOST_KEPT = 2**15  # vectors of an encoder, of all replicas; then it begins anew
UNKNOWN = -1


@dataclass(frozen=True)
class KeptLook:
    """Texts whose vectors are known, as they were asked for."""

    vectors: Tensor  # [R, N, H]
    places: Tensor | None = None

    def encode(self, model: Weights, leaves: Leaves | None) -> Tensor:
        return self.vectors


class KeptEncodings:
    """A model's Q-values, each distinct text of a replica encoded once: for one store, while nothing is learned."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self._kept = {
            name: KeptVectors(model, name)
            for name, of in model.encoders.items()
            if of.reads_at_once
        }

    @staticmethod
    def suits(model: Model) -> bool:
        """Whether it saves anything: where a text's vector is slow to make, and depends on no other text."""
        return not model.reads_pairs and any(
            encoder.reads_at_once for encoder in model.encoders.values()
        )

    def q(self, pages: Pages, store: Store) -> Tensor:
        """Q-values [R, B, A] of pages, as `Model.q` gives them."""
        return self.model.q(pages, store, self._look_up)

    def _look_up(self, name: str, ids: Ids, store: Store) -> Sequence[Look]:
        if name not in self._kept:
            return self.model.look_up(name, ids, store)
        return [self._kept[name].look(some, store) for some in ids]


class KeptVectors:
    """The vectors of one encoder's texts, in rows by replica and id."""

    def __init__(self, model: Model, name: str) -> None:
        self.model = model
        self.name = name
        self._count = 0
        self._rows = np.full((len(model.seeds), 1), UNKNOWN)  # [R, texts + 1]
        self._vectors = torch.empty(0, model.encoders[name].width, device=model.device)

    def look(self, ids: Ids, store: Store) -> KeptLook:
        """What ids [R, N] need, -1 where there is no text; those that are not known yet are encoded now."""
        if self._count > MOST_KEPT:
            self._rows = np.full_like(self._rows, UNKNOWN)
            self._count = 0
        if (lacking := int(ids.max()) + 2 - self._rows.shape[1]) > 0:
            more = np.full((len(ids), lacking + self._rows.shape[1]), UNKNOWN)
            self._rows = np.concatenate([self._rows, more], axis=1)
        at = np.arange(len(ids))[:, None], ids + 1  # the first is of no text
        if (unknown := self._rows[at] == UNKNOWN).any():
            self._encode(np.where(unknown, ids, -1), store)
        return KeptLook(
            functional.embedding(
                torch.from_numpy(self._rows[at]).to(self.model.device), self._vectors
            )
        )

    def _encode(self, ids: Ids, store: Store) -> None:
        """Encode texts for the replicas that ask, and for those that know all their words: others soon show them."""
        wanted = np.unique(ids)
        everywhere = np.broadcast_to(wanted, (len(ids), len(wanted)))
        look = self.model.look_up(self.name, everywhere[None], store)[0]
        found = picked(look.encode(self.model, None), look.places).flatten(0, 1)  # [R · U, H]
        begin = self._count
        self._count = self._count + len(found)
        if self._count > len(self._vectors):
            room = found.new_empty(
                len(self._vectors) + len(found), found.shape[1]
            )  # twice as much, at the least
            self._vectors = torch.cat([self._vectors[:begin], room])
        self._vectors[begin : self._count] = found
        rows = np.arange(begin, self._count).reshape(everywhere.shape)
        lasting = self._all_known(wanted, store) | (everywhere[:, :, None] == ids[:, None, :]).any(
            axis=2
        )
        replicas, at = np.nonzero(lasting)
        self._rows[replicas, wanted[at] + 1] = rows[replicas, at]

    def _all_known(self, ids: Ids, store: Store) -> NDArray[np.bool_]:
        """Whether each replica knows all words of each text, [R, U]: what it meets later changes nothing then."""
        texts = texts_of(store, self.model.encoders[self.name])
        table = self.model.tables[self.name]
        found = [
            table.known[:, texts.words_of(ids[[at]])].all(axis=1)
            for at in range(len(ids))
            if ids[at] >= 0
        ]
        none = [np.ones(len(table.seeds), bool)] if ids[0] < 0 else []
        return np.stack([*none, *found], axis=1)
