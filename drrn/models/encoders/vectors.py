"""Encoders of given vectors: of words (alone, with a bag of words, or trained on) and of whole
texts.

The vectors are fixed unless they are trained; one learned matrix [D, H] maps them to the first
layer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from drrn.errors import InputError
from drrn.models.encoders.bag import bag_batches
from drrn.models.encoders.base import Encoder, Leaves, TextBatch, Weights, WordBatch, distinct_texts
from drrn.models.encoders.text_vectors import SentenceTexts, TextVectors, add_noise, scaled
from drrn.models.word_table import WordTable
from drrn.text import Ids, Lexicon


class TextRows(Protocol):
    """A source of text vectors."""

    def rows_of(self, texts: Lexicon, ids: Ids) -> tuple[Tensor, Ids]:
        """Return a table of vectors, and the row of each text in it; id -1 has a zero vector."""


@dataclass(frozen=True)
class VectorBatch:
    """Texts as rows of a fixed table of vectors."""

    weight: str  # name of the learned matrix
    table: Tensor  # [T, D]
    rows: Ids  # [R, U]
    index: Tensor  # [R, N]

    def encode(self, model: Weights, leaves: Leaves | None) -> Tensor:
        flat = torch.from_numpy(self.rows.ravel())
        vectors = self.table.index_select(0, flat).view(*self.rows.shape, -1)  # [R, U, D]
        return torch.bmm(vectors.to(model.device), model.weights[self.weight])  # [R, U, H]


def vector_batches(
    weight: str, vectors: TextRows, texts: Lexicon, ids: Ids, device: torch.device
) -> list[TextBatch]:
    """Gather the vectors of several batches, [K, R, N] ids (-1: no text)."""
    batches, replicas, _ = ids.shape
    unique, index = distinct_texts(ids, device)
    table, rows = vectors.rows_of(texts, unique)
    rows = rows.reshape(batches, replicas, -1)
    return [VectorBatch(weight, table, some, index[k]) for k, some in enumerate(rows)]


class MeanOfVectors(Encoder):
    """The weighted mean of the given vectors of a text's words, times a matrix. It reads words that
    training never showed, too."""

    reads_unknown = True

    def __init__(self, model: Weights, name: str, side: str, width: int) -> None:
        super().__init__(model, name, side, width, word_width=0)
        self.weight = f"{name} vectors"
        vectors = _vectors_of(model)
        vectors.check_known(model.store.side(side).vocabulary, f"game's {side}")
        model.add_weight(self.weight, vectors.dimensions, width)

    def gather(self, model: Weights, texts: Lexicon, ids: Ids) -> list[TextBatch]:
        return vector_batches(self.weight, _vectors_of(model), texts, ids, model.device)


@dataclass(frozen=True)
class MeanLayout:
    """The words of texts, for `TrainedVectors`."""

    members: Tensor  # words of all texts end to end, as indices of the distinct words
    starts: Tensor  # [R · U], where each text begins
    unknown: Tensor | None  # [R · U, D], sums over words outside the vocabulary
    blur: Tensor | None  # [R · U, D], noise


class TrainedVectors(MeanOfVectors):
    """As `MeanOfVectors`, with the words' vectors in a word table: they start as in the file and
    are trained."""

    def __init__(self, model: Weights, name: str, side: str, width: int) -> None:
        super().__init__(model, name, side, width)
        vectors = _vectors_of(model)
        table = model.add_table(self.weight, side, vectors.dimensions)
        table.initial_rows = vectors.words.weighted

    def gather(self, model: Weights, texts: Lexicon, ids: Ids) -> list[TextBatch]:
        vectors = _vectors_of(model)
        return [self._gather_words(vectors, model.tables[self.weight], texts, some) for some in ids]

    def _gather_words(
        self, vectors: TextVectors, table: WordTable, texts: Lexicon, ids: Ids
    ) -> WordBatch:
        """Gather ids [R, N]. A text that lacks words because of noise is read with all of its
        words."""
        unique, index = distinct_texts(ids[None], table.device)
        replicas, across = unique.shape
        whole, whole_ids = texts.whole or (texts, np.arange(len(texts)))
        read = np.append(whole_ids, -1)[unique].ravel()
        lengths = np.where(read < 0, 0, whole.starts[read + 1] - whole.starts[read])
        words = whole.words_of(read[lengths > 0])
        table.meet_all(words)  # every replica starts from the file's vector
        room = table.weight.shape[1]
        flat = words + np.repeat(np.repeat(np.arange(replicas) * room, across), lengths)
        rows, members = np.unique(flat, return_inverse=True)
        unknown = vectors.sums_of_unknown(whole, read)
        blur = None
        if texts.blur is not None:
            noise = np.where(unique.reshape(-1, 1) < 0, 0, texts.blur[unique.ravel()])
            blur = torch.from_numpy(noise).to(table.device)
        layout = MeanLayout(
            torch.from_numpy(members).to(table.device),
            torch.from_numpy(np.cumsum(lengths) - lengths).to(table.device),
            None if unknown is None else torch.from_numpy(unknown).to(table.device),
            blur,
        )
        at = torch.from_numpy(rows).to(table.device)
        return WordBatch(self, self.weight, room, at, index[0], layout)

    def compose(self, model: Weights, vectors: Tensor, layout: MeanLayout) -> Tensor:
        given = _vectors_of(model)
        sums = functional.embedding_bag(layout.members, vectors, layout.starts, mode="sum")
        if layout.unknown is not None:
            sums = sums + layout.unknown
        if given.words.common is not None:
            common = torch.from_numpy(given.words.common).to(model.device)
            sums = sums - torch.outer(sums @ common, common)
        means = scaled(sums, given.scale)
        if layout.blur is not None:
            has_words = sums.norm(dim=1, keepdim=True) > 0
            means = add_noise(means, layout.blur, given.scale, has_words)
        means = means.view(len(model.seeds), -1, given.dimensions)
        return torch.bmm(means, model.weights[self.weight])


class WithBag(Encoder):
    """A bag of words, added to the vectors of the next base class."""

    def __init__(self, model: Weights, name: str, side: str, width: int) -> None:
        super().__init__(model, name, side, width)
        model.add_table(name, side, width)

    def gather(self, model: Weights, texts: Lexicon, ids: Ids) -> list[TextBatch]:
        addends = super().gather(model, texts, ids)
        return list(bag_batches(model, self.name, texts.bags(self.norm), ids, addends))


class BagAndVectors(WithBag, MeanOfVectors):
    """A bag of words and the mean of given vectors, added."""


class BagAndTrainedVectors(WithBag, TrainedVectors):
    """A bag of words and the mean of trained vectors, added."""


class SentenceEncoder(Encoder):
    """The vector that a given function returns for the whole text, times a matrix."""

    def __init__(self, model: Weights, name: str, side: str, width: int) -> None:
        super().__init__(model, name, side, width, word_width=0)
        self.weight = f"{name} sentence"
        model.store.side(side).keeps_texts = True
        model.add_weight(self.weight, _sentences_of(model).dimensions, width)

    def gather(self, model: Weights, texts: Lexicon, ids: Ids) -> list[TextBatch]:
        return vector_batches(self.weight, _sentences_of(model), texts, ids, model.device)


def _vectors_of(model: Weights) -> TextVectors:
    if model.shape.vectors is None:
        raise InputError("this encoder needs word vectors: give a file with the setting vectors")
    return model.shape.vectors


def _sentences_of(model: Weights) -> SentenceTexts:
    if model.shape.sentences is None:
        raise InputError(
            "the encoder sentence needs vectors of texts: give a function with sentences"
        )
    return model.shape.sentences
