"""Text encodings that are used twice: a cache, and one pass over pages and next pages.

Both save time with encoders that read word by word.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from drrn.models.base import Model, Pages, Readers, pick
from drrn.models.encoders.base import Leaves, TextBatch, Weights
from drrn.text import Lexicon
from textgames.arrays import Ids

UNKNOWN = -1


# --- the cache


@dataclass(frozen=True)
class EncodedBatch:
    """Texts whose vectors are cached, in the requested order."""

    vectors: Tensor  # [R, N, H]
    index: Tensor | None = None

    def encode(self, model: Weights, leaves: Leaves | None) -> Tensor:
        return self.vectors


def encoding_caches(model: Model) -> Readers:
    """Caches for encoders that are slow, unless they read pairs. `Model.read` takes them.

    A stepped game shows the same pages again and again: each replica encodes a page once in a round
    of play.
    """
    slow = [name for name, encoder in model.encoders.items() if encoder.reads_at_once]
    return {} if model.reads_pairs else {name: EncodingCache(model, name) for name in slow}


class EncodingCache:
    """The vectors of one encoder's texts, by replica and id, for one store and fixed weights."""

    def __init__(self, model: Model, name: str, limit: int = 2**15) -> None:
        """`limit` is the number of vectors, of all replicas, after which the cache starts again."""
        self.limit = limit
        self.encoder = model.encoders[name]
        self.count = 0
        self.rows = np.full((len(model.seeds), 1), UNKNOWN)  # [R, texts + 1]; column 0: no text
        self.vectors = torch.empty(0, self.encoder.width, device=model.device)

    def gather(self, model: Model, texts: Lexicon, ids: Ids) -> list[EncodedBatch]:
        """Gather ids [K, R, N], -1 where there is no text, and encode those that are not cached."""
        return [self._gather(model, texts, some) for some in ids]

    def _gather(self, model: Model, texts: Lexicon, ids: Ids) -> EncodedBatch:
        if self.count > self.limit:
            self.rows[:] = UNKNOWN
            self.count = 0
        size = self.rows.shape[1]
        need = int(ids.max()) + 2
        if need > size:
            self.rows = np.pad(self.rows, [(0, 0), (0, need)], constant_values=UNKNOWN)
        at = np.arange(len(ids))[:, None], ids + 1
        unknown = self.rows[at] == UNKNOWN
        if unknown.any():
            self._encode(model, texts, np.where(unknown, ids, -1))
        rows = torch.from_numpy(self.rows[at]).to(model.device)
        return EncodedBatch(functional.embedding(rows, self.vectors))

    def _encode(self, model: Model, texts: Lexicon, ids: Ids) -> None:
        """Encode texts for all replicas.

        The vectors are valid for replicas that request them and for those that know all their
        words: these will soon request them.
        """
        unique = np.unique(ids)
        everywhere = np.broadcast_to(unique, (len(ids), len(unique)))
        batch = self.encoder.gather(model, texts, everywhere[None])[0]
        vectors = pick(batch.encode(model, None), batch.index).flatten(0, 1)  # [R · U, H]
        start = self.count
        self.count += len(vectors)
        if self.count > len(self.vectors):
            room = vectors.new_empty(len(self.vectors) + len(vectors), vectors.shape[1])
            self.vectors = torch.cat([self.vectors[:start], room])
        self.vectors[start : self.count] = vectors
        rows = np.arange(start, self.count).reshape(everywhere.shape)
        _, known = model.tables[self.encoder.name].known_words(texts, everywhere)
        requested = (everywhere[:, :, None] == ids[:, None, :]).any(axis=2)
        replicas, at = np.nonzero(requested | (known == texts.lengths(unique)))
        self.rows[replicas, unique[at] + 1] = rows[replicas, at]


# --- pages and next pages


@dataclass(frozen=True)
class SharedBatch:
    """The texts of pages, or of next pages, which both have one `batch` and one `encoding`.

    The side that is differentiated must be encoded first. The other one gets the same vectors, as
    constants.
    """

    batch: TextBatch
    span: slice  # of this side among the texts of both
    encoding: list[Tensor] = field(default_factory=list)  # empty until the texts are encoded

    @property
    def index(self) -> Tensor | None:
        return None if self.batch.index is None else self.batch.index[:, self.span]

    def encode(self, model: Weights, leaves: Leaves | None) -> Tensor:
        if leaves is not None or not self.encoding:
            self.encoding[:] = [self.batch.encode(model, leaves)]
        vectors = self.encoding[0] if leaves is not None else self.encoding[0].detach()
        return vectors[:, self.span] if self.batch.index is None else vectors


def read_together(
    model: Model, pages: Pages, after: Pages, readers: Readers
) -> Iterator[tuple[Pages, Pages]]:
    """Read several batches of pages, and of the pages after them, [K, R, B] each.

    A text that is on both sides is encoded once. `readers` replace encoders.
    """
    chosen = {**model.encoders, **readers}
    now = model.reads(pages)
    then = model.reads(after)
    batches = {}
    for name, ids in now.items():
        texts = model.store.side[model.encoders[name].side]
        both = np.concatenate([ids, then[name]], axis=-1)
        batches[name] = chosen[name].gather(model, texts, both)
    for k in range(len(pages.states)):
        first = pages[k]
        second = after[k]
        for name, ids in now.items():
            shared = SharedBatch(batches[name][k], slice(ids.shape[-1]))
            first.texts[name] = shared
            second.texts[name] = replace(shared, span=slice(ids.shape[-1], None))
        yield first, second
