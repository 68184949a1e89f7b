"""Encoders that read given word vectors: alone, or beside the bag of words.

The vectors of texts stay as they are; one learned matrix [D, H] carries them to the first layer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from drrn.errors import InputError
from drrn.models.encoders.bag import BagLook, bag_looks
from drrn.models.encoders.base import Encoder, Leaves, Look, Weights
from drrn.models.encoders.text_vectors import TextVectors
from drrn.models.encoders.word_table import distinct
from drrn.text import Ids, Lexicon


class MeanOfVectors(Encoder):
    """A text is the weighted mean of its words' vectors, times a matrix; words never met in training count, too."""

    reads_unknown = True

    @property
    def weight(self) -> str:
        """The name of its matrix among the model's weights."""
        return f"{self.name} vectors"

    def build(self, model: Weights) -> None:
        vectors = vectors_of(model)
        texts: Lexicon = getattr(model.store, self.side)
        vectors.check_known(texts.vocabulary, f"game's {self.side}")
        model.add_weight(self.weight, vectors.dimensions, self.width)

    def look_up(self, model: Weights, texts: Lexicon, ids: Ids) -> list[Look]:
        return list(vector_looks_of(self.weight, vectors_of(model), texts, ids, model.device))


class WithBag(Encoder):
    """The bag's word table beside the encoder that follows among the bases: their products are added."""

    def build(self, model: Weights) -> None:
        model.add_table(self.name, self.side, self.width)
        super().build(model)

    def look_up(self, model: Weights, texts: Lexicon, ids: Ids) -> list[Look]:
        table = model.tables[self.name]
        table.make_room()
        bags = bag_looks(self.name, texts.bags(self.norm), ids, table.weight.shape[1], model.device)
        return [
            SumLook(*both) for both in zip(bags, super().look_up(model, texts, ids), strict=True)
        ]


class BagAndVectors(WithBag, MeanOfVectors):
    """The bag's word table and the vectors side by side."""


@dataclass(frozen=True)
class VectorLook:
    """The distinct texts of one batch, as rows of a table of vectors that nothing moves."""

    weight: str
    table: Tensor  # [T, D]
    rows: Ids  # [R, U]
    places: Tensor  # [R, N], each asked text among the R · U encoded ones

    def encode(self, model: Weights, leaves: Leaves | None) -> Tensor:
        flat = torch.from_numpy(self.rows.ravel())
        vectors = self.table.index_select(0, flat).view(*self.rows.shape, -1)  # [R, U, D]
        return torch.bmm(vectors.to(model.device), model.weights[self.weight])  # [R, U, H]


@dataclass(frozen=True)
class SumLook:
    """The same texts, in the same order, read in both ways."""

    bag: BagLook
    vectors: Look

    @property
    def places(self) -> Tensor:
        return self.bag.places

    def encode(self, model: Weights, leaves: Leaves | None) -> Tensor:
        return self.bag.encode(model, leaves) + self.vectors.encode(model, leaves)


class TextRows(Protocol):
    """What has a vector for each text."""

    def rows_of(self, texts: Lexicon, ids: Ids) -> tuple[Tensor, Ids]:
        """A table of vectors, and the row of each text in it; -1 is no text, and zero."""


def vector_looks_of(
    weight: str, vectors: TextRows, texts: Lexicon, ids: Ids, device: torch.device
) -> list[VectorLook]:
    """Looks for several batches at once, [K, R, N] ids (-1: no text); `weight` is the matrix after the vectors."""
    batches, replicas, count = ids.shape
    unique, places = distinct(ids.reshape(batches * replicas, count))
    table, rows = vectors.rows_of(texts, unique)
    across = unique.shape[1]
    places = places.reshape(ids.shape) + (np.arange(replicas) * across)[:, None]
    at = torch.from_numpy(places).to(device)
    return [
        VectorLook(weight, table, some, at[k])
        for k, some in enumerate(rows.reshape(batches, replicas, across))
    ]


def vectors_of(model: Weights) -> TextVectors:
    """The model's word vectors, without which these encoders cannot be."""
    if model.vectors is None:
        raise InputError("this encoder needs word vectors: name a file of them by vectors")
    return model.vectors
