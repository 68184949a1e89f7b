"""Encoders of given vectors, of words (alone or with a bag of words) and of whole texts.

The vectors are fixed. One learned matrix [D, H] maps them to the first layer.
"""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from drrn.models.encoders.bag import gather_bags
from drrn.models.encoders.base import Encoder, Leaves, TextBatch, Weights, distinct_texts
from drrn.models.encoders.text_vectors import GivenVectors, TextVectors
from drrn.text import Lexicon
from textgames.arrays import Ids
from textgames.errors import InputError


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


class VectorEncoder(Encoder):
    """Given vectors of texts, times a learned matrix."""

    part = "vectors"  # of the matrix's name

    def __init__(self, model: Weights, name: str, side: str, width: int) -> None:
        super().__init__(model, name, side, width, word_width=0)
        self.weight = f"{name} {self.part}"
        model.add_weight(self.weight, self.source(model).dimensions, width)

    def source(self, model: Weights) -> GivenVectors:
        raise NotImplementedError

    def gather(self, model: Weights, texts: Lexicon, ids: Ids) -> list[TextBatch]:
        unique, index = distinct_texts(ids, model.device)
        table, rows = self.source(model).rows_of(texts, unique)
        rows = rows.reshape(*ids.shape[:2], -1)
        return [VectorBatch(self.weight, table, some, index[k]) for k, some in enumerate(rows)]


class MeanOfVectors(VectorEncoder):
    """The weighted mean of the given vectors of a text's words, known to training or not."""

    reads_unknown = True

    def __init__(self, model: Weights, name: str, side: str, width: int) -> None:
        self.source(model).check_known(model.store.side[side].vocabulary, f"game's {side}")
        super().__init__(model, name, side, width)

    def source(self, model: Weights) -> TextVectors:
        if model.shape.vectors is None:
            raise InputError("this encoder needs word vectors; set vectors to a file of them")
        return model.shape.vectors


class BagAndVectors(MeanOfVectors):
    """A bag of words and the mean of given vectors, added."""

    def __init__(self, model: Weights, name: str, side: str, width: int) -> None:
        super().__init__(model, name, side, width)
        model.add_table(name, side, width)

    def gather(self, model: Weights, texts: Lexicon, ids: Ids) -> list[TextBatch]:
        bags = gather_bags(self, model, texts, ids)
        addends = super().gather(model, texts, ids)
        pairs = zip(bags, addends, strict=True)
        return [replace(bag, addend=addend) for bag, addend in pairs]


class SentenceEncoder(VectorEncoder):
    """The vector that a given function returns for the whole text."""

    part = "sentence"

    def __init__(self, model: Weights, name: str, side: str, width: int) -> None:
        super().__init__(model, name, side, width)
        model.store.side[side].keeps_texts = True

    def source(self, model: Weights) -> GivenVectors:
        if model.shape.sentences is None:
            raise InputError(
                "the encoder sentence needs sentence vectors; set sentences to a source"
            )
        return model.shape.sentences
