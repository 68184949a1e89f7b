"""Word vectors of a file that are learned on: they begin as the file has them, and move with the other weights."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from drrn.models.encoders.base import Leaves, Look, Weights
from drrn.models.encoders.text_vectors import TextVectors, scaled
from drrn.models.encoders.vectors import MeanOfVectors, WithBag, vectors_of
from drrn.models.encoders.word_table import WordTable, distinct
from drrn.text import Ids, Lexicon


class TrainedVectors(MeanOfVectors):
    """As `MeanOfVectors`, with the words' vectors in a table that learns; a word that is not in it is read as there."""

    def build(self, model: Weights) -> None:
        super().build(model)
        model.add_table(self.weight, self.side, vectors_of(model).dimensions)
        model.tables[self.weight].given = vectors_of(model).words.weighted

    def look_up(self, model: Weights, texts: Lexicon, ids: Ids) -> list[Look]:
        return [self.trained_look(model, texts, some) for some in ids]

    def trained_look(self, model: Weights, texts: Lexicon, ids: Ids) -> TrainedLook:
        """Of ids [R, N]; a text that lacks words while it is learned from is read whole, as the frozen one is."""
        unique, asked = distinct(ids)
        replicas, across = unique.shape
        whole, found = texts.whole or (texts, np.arange(len(texts)))
        read = np.append(found, -1)[unique].ravel()
        lengths = np.where(read < 0, 0, whole.starts[read + 1] - whole.starts[read])
        table = model.tables[self.weight]
        words = whole.words_of(read[lengths > 0])
        table.meet_all(words)  # to every replica a word begins as the file has it
        room = table.weight.shape[1]
        flat = words + np.repeat(np.repeat(np.arange(replicas) * room, across), lengths)
        rows, members = np.unique(flat, return_inverse=True)
        more = _of_unknown(vectors_of(model), whole, read)
        blur = (
            None
            if texts.blur is None
            else np.where(unique.reshape(-1, 1) < 0, 0, texts.blur[unique.ravel()])
        )
        places = asked + (np.arange(replicas) * across)[:, None]
        arrays = (rows, members, np.cumsum(lengths) - lengths, places)
        on_device = [torch.from_numpy(array).to(model.device) for array in arrays]
        noise = [
            None if array is None else torch.from_numpy(array).to(model.device)
            for array in (more, blur)
        ]
        return TrainedLook(self.weight, room, *on_device, *noise)


class BagAndTrainedVectors(WithBag, TrainedVectors):
    """The bag's word table and trained vectors side by side."""


@dataclass(frozen=True)
class TrainedLook:
    """The distinct texts of one batch, as rows of a table of word vectors."""

    weight: str
    room: int  # rows a replica has in the flat table
    rows: Tensor  # [W], each distinct word once, as a row of the flat table
    members: Tensor  # words of all texts end to end, as places among the rows
    starts: Tensor  # [R · U], where each text's begin
    places: Tensor  # [R, N], each asked text among the R · U encoded ones
    more: Tensor | None  # [R · U, D], what words outside the table add
    blur: Tensor | None  # [R · U, D], noise

    def encode(self, model: Weights, leaves: Leaves | None) -> Tensor:
        table = model.tables[self.weight]
        vectors = vectors_of(model)
        taken = table.rows(self.room).index_select(0, self.rows)
        if leaves is not None:
            leaves.keep(self, taken)
        sums = functional.embedding_bag(self.members, taken, self.starts, mode="sum")
        sums = sums if self.more is None else sums + self.more
        if vectors.words.common is not None:
            common = torch.from_numpy(vectors.words.common).to(model.device)
            sums = sums - torch.outer(sums @ common, common)
        found = scaled(sums, vectors.scale)
        if self.blur is not None:
            known = sums.norm(dim=1, keepdim=True) > 0
            found = torch.where(
                known, scaled(found / vectors.scale + self.blur, vectors.scale), 0.0
            )
        return torch.bmm(
            found.view(len(table.seeds), -1, vectors.dimensions), model.weights[self.weight]
        )

    def gradient(self, model: Weights, back: Tensor) -> tuple[WordTable, Tensor, Tensor]:
        return model.tables[self.weight], self.rows, back


def _of_unknown(vectors: TextVectors, texts: Lexicon, ids: Ids) -> NDArray[np.float32] | None:
    """What the words of a scratch store's texts add that have no number: they are read by their spelling."""
    if not texts.unknown:
        return None
    found = np.zeros((len(ids), vectors.dimensions), np.float32)
    for place, text in enumerate(ids.tolist()):
        if text in texts.unknown:
            found[place] = vectors.words.weighted(texts.unknown[text])[0].sum(axis=0)
    return found
