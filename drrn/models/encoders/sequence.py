"""For encoders that read word order: a batch's texts as word vectors in sequence, padded by length.

A subclass of `SequenceEncoder` says in `read` what becomes of the word vectors of each text; the look-up, padding, and
the way back from word vectors to the word table are here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from drrn.models.encoders.base import Encoder, Leaves, Look, Weights
from drrn.models.encoders.word_table import WordTable, distinct
from drrn.text import Ids, Lexicon


class SequenceEncoder(Encoder):
    """Reads texts word by word."""

    def build(self, model: Weights) -> None:
        model.add_table(self.name, self.side, self.width)

    def read(self, model: Weights, words: Tensor, mask: Tensor) -> Tensor:
        """From word vectors [R, U, L, H], and where there is a word [R, U, L], to texts' vectors [R, U, H]."""
        raise NotImplementedError

    def look_up(self, model: Weights, texts: Lexicon, ids: Ids) -> list[Look]:
        table = model.tables[self.name]
        table.make_room()
        room = table.weight.shape[1]
        return [
            SequenceLook(self, *_placed(table, texts, some), room, model.device) for some in ids
        ]


@dataclass(frozen=True)
class SequenceLook:
    """The texts of one batch: the distinct words of all replicas, and which of them stand where."""

    encoder: SequenceEncoder
    rows: Ids  # [W], each distinct word once, as a row of the flat table
    words: Ids  # [R, U, L], places among the rows; W where there is no word
    asked: Ids  # [R, N], each asked text among the R · U distinct ones
    room: int
    device: torch.device

    @property
    def places(self) -> Tensor:
        return torch.from_numpy(self.asked).to(self.device)

    def encode(self, model: Weights, leaves: Leaves | None) -> Tensor:
        return self.encoder.read(model, *self.words_of(model, leaves))

    def words_of(self, model: Weights, leaves: Leaves | None) -> tuple[Tensor, Tensor]:
        """Word vectors [R, U, L, H], and where there is a word [R, U, L]."""
        table = model.tables[self.encoder.name]
        taken = table.rows(self.room).index_select(
            0, torch.from_numpy(self.rows).to(self.device)
        )  # [W, H]
        if leaves is not None:
            leaves.keep(self, taken)
        words = torch.from_numpy(self.words).to(self.device)
        vectors = functional.embedding(
            words, functional.pad(taken, (0, 0, 0, 1))
        )  # what is no word is 0
        return vectors, words < len(self.rows)

    def gradient(self, model: Weights, back: Tensor) -> tuple[WordTable, Tensor, Tensor]:
        return model.tables[self.encoder.name], torch.from_numpy(self.rows).to(self.device), back


def _placed(table: WordTable, texts: Lexicon, ids: Ids) -> tuple[Ids, Ids, Ids]:
    """The rows, words and places of `SequenceLook`, for ids [R, N]."""
    unique, asked = distinct(ids)
    replicas, across = unique.shape
    spelled, counts = table.words_met(texts, unique)
    lengths = counts.ravel()
    longest = max(int(lengths.max(initial=0)), 1)
    flat = spelled + np.repeat(
        np.repeat(np.arange(replicas) * table.weight.shape[1], across), lengths
    )
    rows, number = np.unique(flat, return_inverse=True)
    words = np.full((replicas * across, longest), len(rows))
    words[np.arange(longest) < lengths[:, None]] = number
    return (
        rows,
        words.reshape(replicas, across, longest),
        asked + (np.arange(replicas) * across)[:, None],
    )
