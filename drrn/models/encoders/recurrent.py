"""What the recurrent encoders share: a batch's distinct texts, the longest first, read word by word.

The product of a word's vector and the input matrix is made once for each distinct word of a batch. At each step only
the texts that still have a word take part: they are the first ones. Where replicas differ in how many, the fewer are
filled up with a word that leaves the state as it is, so a text's vector never depends on what else is in the batch.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from drrn.models.encoders.base import Encoder, Leaves, Look, Weights
from drrn.models.encoders.word_table import WordTable, distinct
from drrn.text import Ids, Lexicon, ranges

WORD_SCALE = 1.0  # first word vectors are uniform in ±1: what is multiplied by two small matrices would else be lost
MOST_NEEDED = 0.9  # share of the texts beyond which the way back goes through all of them
# what a gate is given to be 0 and 1 to the last bit
SHUT = -1e4
OPEN = 1e4


@dataclass(frozen=True)
class WordSteps:
    """The words of texts in the order of reading: first words of all, second words of those that have one, …"""

    words: Ids  # [R, T], rows among the R · (W + 1) projected words of all replicas end to end
    starts: list[int]  # [L + 1], where the words of each step begin
    lengths: Ids  # [R, U], of each text, the longest first

    def __iter__(self) -> Iterator[tuple[slice, int]]:
        """Of each step: where its words stand, and how many texts have one."""
        for begin, end in zip(self.starts[:-1], self.starts[1:], strict=True):
            yield slice(begin, end), end - begin

    @cached_property
    def counts(self) -> list[int]:
        """Of each step, how many texts have a word."""
        return [end - begin for begin, end in zip(self.starts[:-1], self.starts[1:], strict=True)]

    @property
    def count(self) -> int:
        """How many words are read in all, T."""
        return self.starts[-1]

    def rows(self, device: torch.device) -> list[Tensor]:
        """Of each step, the rows of its words, those of all replicas one after the other."""
        at = torch.from_numpy(self.words).to(device)
        return [some.reshape(-1) for some in torch.split_with_sizes(at, self.counts, dim=1)]

    def needed(self, back: Tensor) -> Ids | None:
        """Which texts a gradient came back to, [R, U, H], in order; None: nearly all, or it would take too long to ask.
        Texts that were read for the targets alone get none."""
        if back.device.type != "cpu":
            return None
        found = torch.nonzero(back.any(dim=2).any(dim=0)).view(-1).numpy()
        return found if len(found) < MOST_NEEDED * back.shape[1] else None

    def count_of(self, number: int) -> int:
        """How many texts have a word in a step; none after the last."""
        return self.starts[number + 1] - self.starts[number] if number + 1 < len(self.starts) else 0


class RecurrentEncoder(Encoder):
    """Reads texts word by word, and keeps a state. A subclass says what a step is (`read`), and its gates."""

    linear = False
    reads_at_once = True
    gates = 1  # vectors as wide as the state that a word gives to a step
    groups: int | None = (
        None  # at most so many sizes do the steps of a pass have, which saves work; None: any
    )

    def build(self, model: Weights) -> None:
        wide = model.embedding or self.width
        scale = self.width**-0.5
        model.add_table(self.name, self.side, wide)
        model.tables[self.name].scale = WORD_SCALE
        model.add_weight(f"{self.name} in", wide, self.gates * self.width, scale)
        model.add_weight(f"{self.name} in b", 1, self.gates * self.width, scale)
        model.add_weight(f"{self.name} on", self.width, self.gates * self.width, scale)

    def read(self, model: Weights, vectors: Tensor, steps: WordSteps) -> Tensor:
        """From the vectors of distinct words [R, W, E] to those of texts [R, U, H]."""
        raise NotImplementedError

    def look_up(self, model: Weights, texts: Lexicon, ids: Ids) -> list[Look]:
        table = model.tables[self.name]
        table.make_room()
        return [recurrent_look(self, table, texts, some) for some in ids]


@dataclass(frozen=True)
class RecurrentLook:
    """The texts of one batch: each replica's distinct words, and the order in which they are read."""

    encoder: RecurrentEncoder
    rows: Tensor  # [R · W], rows of the flat table; a replica with fewer words has some of them twice, unread
    steps: WordSteps
    places: Tensor  # [R, N], each asked text among the R · U distinct ones
    room: int

    def encode(self, model: Weights, leaves: Leaves | None) -> Tensor:
        table = model.tables[self.encoder.name]
        taken = (
            table.rows(self.room).index_select(0, self.rows).view(len(table.seeds), -1, table.width)
        )
        if leaves is not None:
            leaves.keep(self, taken)
        return self.encoder.read(model, taken, self.steps)

    def gradient(self, model: Weights, back: Tensor) -> tuple[WordTable, Tensor, Tensor]:
        return model.tables[self.encoder.name], self.rows, back.reshape(len(self.rows), -1)


def recurrent_look(
    encoder: RecurrentEncoder, table: WordTable, texts: Lexicon, ids: Ids
) -> RecurrentLook:
    """What ids [R, N] need."""
    unique, asked = distinct(ids)
    replicas, across = unique.shape
    room = table.weight.shape[1]
    device = table.device
    spelled, lengths = table.words_met(texts, unique)
    first = (np.cumsum(lengths) - lengths.ravel()).reshape(lengths.shape)
    order = np.argsort(-lengths, axis=1, kind="stable")
    lengths = np.take_along_axis(lengths, order, axis=1)
    place = np.argsort(order, axis=1)  # where each distinct text went
    asked = np.take_along_axis(place, asked, axis=1) + (np.arange(replicas) * across)[:, None]
    group = 1 if encoder.groups is None else -(-across // encoder.groups)
    spelled = spelled[ranges(np.take_along_axis(first, order, axis=1).ravel(), lengths.ravel())]
    rows, words, starts = _in_order(spelled, lengths, room, group)
    steps = WordSteps(words, starts, lengths)
    return RecurrentLook(
        encoder, torch.from_numpy(rows).to(device), steps, torch.from_numpy(asked).to(device), room
    )


def _in_order(spelled: Ids, lengths: Ids, room: int, group: int) -> tuple[Ids, Ids, list[int]]:
    """The rows, words and starts of texts whose words stand end to end, of lengths [R, U], the longest first. A step is
    for a multiple of `group` texts: those that have ended are given the word that changes nothing."""
    replicas, across = lengths.shape
    owner = np.repeat(np.arange(replicas), lengths.sum(axis=1))
    flat, number = np.unique(spelled + owner * room, return_inverse=True)
    first = np.searchsorted(flat, np.arange(replicas + 1) * room)  # of each replica's words
    most = int(np.diff(first).max())
    rows = np.repeat(np.arange(replicas) * room, most).reshape(replicas, most)
    rows[np.arange(most) < np.diff(first)[:, None]] = flat
    grid = np.full(
        (replicas, across, int(lengths.max(initial=0))), most
    )  # W is the word that changes nothing
    grid[np.arange(grid.shape[2]) < lengths[:, :, None]] = number - first[owner]
    grid += (np.arange(replicas) * (most + 1))[:, None, None]
    alive = (np.arange(grid.shape[2])[:, None] < lengths[:, None, :]).sum(axis=2).max(axis=0)  # [L]
    alive = np.minimum(-(-alive // group) * group, across)
    read = grid.swapaxes(1, 2)[:, np.arange(across) < alive[:, None]]  # [R, T]
    return rows.ravel(), read, [0, *np.cumsum(alive).tolist()]
