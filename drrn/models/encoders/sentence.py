"""Vectors of whole texts, made elsewhere and left as they are; a learned matrix [D, H] carries them onwards."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor

from drrn.errors import InputError
from drrn.models.encoders.base import Encoder, Look, Weights
from drrn.models.encoders.text_vectors import scaled
from drrn.models.encoders.vectors import vector_looks_of
from drrn.text import Ids, Lexicon
from drrn.vectors.sentences import SentenceVectors

MOST_TEXTS = (
    50_000  # whose vectors are kept beside those of the texts at hand; then they are made anew
)
NO_ROWS = np.zeros(0, np.int64)


class SentenceTexts:
    """The vectors of texts, each made once and kept; every one has the length `scale`."""

    def __init__(self, made: SentenceVectors, scale: float = 1.0) -> None:
        self.made = made
        self.scale = scale
        self._begin()

    @property
    def dimensions(self) -> int:
        return self.made.dimensions

    def rows_of(self, texts: Lexicon, ids: Ids) -> tuple[Tensor, Ids]:
        """A table of vectors, and the row of each text in it; row 0, of no text, is zero. A text that lacks words while
        it is learned from is read whole."""
        if texts.whole is not None:
            whole, found = texts.whole
            table, rows = self.rows_of(whole, np.append(found, -1))
            return table, rows[np.where(ids < 0, len(found), ids)]
        rows = self._rows(texts)
        return self.table, np.append(rows, 0)[ids]

    def _begin(self) -> None:
        # the table may have room to spare
        self.table = torch.zeros(1, self.dimensions)
        self.numbers = dict[str, int]()
        self._known: WeakKeyDictionary[Lexicon, tuple[int, Ids]] = WeakKeyDictionary()

    def _rows(self, texts: Lexicon) -> Ids:
        """The row of every text of a lexicon."""
        if len(texts.spoken) != len(texts):
            raise InputError(
                "the encoder sentence needs texts as they were written, and these were not kept"
            )
        if len(self.numbers) > MOST_TEXTS + 2 * sum(map(len, self._known)):
            self._begin()
        generation, rows = self._known.get(texts, (-1, NO_ROWS))
        rows = rows if generation == texts.generation else NO_ROWS
        if len(rows) < len(texts):
            more = texts.spoken[len(rows) :]
            self._make([text for text in dict.fromkeys(more) if text not in self.numbers])
            rows = np.append(rows, np.array([self.numbers[text] for text in more], np.int64))
            self._known[texts] = (texts.generation, rows)
        return rows

    def _make(self, new: list[str]) -> None:
        """The vectors of texts that have none yet, after the others."""
        first = len(self.numbers) + 1
        end = len(self.numbers) + 1 + len(new)
        vectors = scaled(torch.from_numpy(self.made(new)), self.scale)
        if end > len(self.table):
            larger = torch.zeros(max(end, 2 * len(self.table)), self.dimensions)
            larger[:first] = self.table[:first]
            self.table = larger
        self.table[first:end] = vectors
        self.numbers.update({text: first + number for number, text in enumerate(new)})


class SentenceEncoder(Encoder):
    """A text is the vector that a given function makes of it, times a matrix."""

    @property
    def weight(self) -> str:
        """The name of its matrix among the model's weights."""
        return f"{self.name} sentence"

    def build(self, model: Weights) -> None:
        texts: Lexicon = getattr(model.store, self.side)
        texts.keeps_texts = True
        model.add_weight(self.weight, _sentences_of(model).dimensions, self.width)

    def look_up(self, model: Weights, texts: Lexicon, ids: Ids) -> list[Look]:
        return list(vector_looks_of(self.weight, _sentences_of(model), texts, ids, model.device))


def _sentences_of(model: Weights) -> SentenceTexts:
    if model.sentences is None:
        raise InputError(
            "the encoder sentence needs vectors of texts: name what makes them by sentences"
        )
    return model.sentences
