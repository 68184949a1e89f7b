"""The base class of encoders, which turn texts into vectors, and batches of texts.

Shapes: R replicas, N requested texts, U distinct texts, L words of the longest text, E numbers of a
word's vector, H of a text's vector. Each distinct text of a replica is encoded once in a batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from drrn.models.encoders.text_vectors import SentenceTexts, TextVectors
from drrn.models.word_table import SCALE, WordTable, small_random
from drrn.text import Lexicon, Store
from textgames.arrays import Ids
from textgames.errors import InputError

Gradient = tuple[WordTable, Tensor, Tensor]  # a table, rows of its flat form, and their gradients


@dataclass(frozen=True)
class Shape:
    """The sizes of a model, and its encoders."""

    hidden: int = 100
    layers: int = 2
    interaction: str = "inner"
    action_hidden: int | None = None  # hidden units of the action side; None: as the state side
    shared: bool = False  # one embedding for states and actions
    most_actions: int = 4  # on a page: the number of outputs of the max-action models
    encoder: type[Encoder] | None = None  # None: a bag of words
    action_encoder: type[Encoder] | None = None  # None: as for states
    embedding: int | None = None  # E, where words are read in order; None: as wide as texts
    lstm_gain: float = 1.0  # factor on the mean of an LSTM's states
    vectors: TextVectors | None = None  # given word vectors
    sentences: SentenceTexts | None = None  # given vectors of whole texts


class Weights:
    """Word tables and weights of all replicas, by name. The base class of models.

    Replica r, on the first axis, starts from `seeds[r]` and is independent of the others.
    """

    def __init__(self, shape: Shape, store: Store, seeds: list[int], device: torch.device) -> None:
        self.shape = shape
        self.store = store
        self.seeds = seeds
        self.device = device
        self.tables: dict[str, WordTable] = {}
        self.weights: dict[str, Tensor] = {}

    def add_table(self, name: str, side: str, width: int) -> None:
        """Add a word table [R, V, width] over the vocabulary of "states" or "actions"."""
        vocabulary = self.store.side[side].vocabulary
        self.tables[name] = WordTable(name, vocabulary, width, self.seeds, self.device)

    def add_weight(self, name: str, rows: int, width: int, scale: float = SCALE) -> None:
        """Add a matrix of small random numbers, [R, rows, width]."""
        names = [f"{name} {row}" for row in range(rows)]
        stack = np.stack([small_random(names, width, seed, scale) for seed in self.seeds])
        self.weights[name] = torch.from_numpy(stack).to(self.device)

    def add_bias(self, name: str, width: int) -> None:
        """Add zeros, [R, 1, width]."""
        self.weights[name] = torch.zeros(len(self.seeds), 1, width, device=self.device)


class TextBatch(Protocol):
    """The texts of one batch, gathered for an encoder."""

    @property
    def index(self) -> Tensor | None:
        """Index of each text of the batch among the R · U encoded ones, [R, N]. None: in order."""

    def encode(self, model: Weights, leaves: Leaves | None) -> Tensor:
        """The vectors of distinct texts [R, U, H]. With `leaves`, they are differentiable."""


# Tensors that a forward pass read from word tables, outside automatic differentiation. From the
# gradient of such a leaf, the function returns that of the table.
Leaves = list[tuple[Callable[[Weights, Tensor], Gradient], Tensor]]


class Encoder:
    """Turns texts into vectors. A subclass defines `encode`, and adds weights in `__init__`.

    Example:
        class GatedMean(Encoder):
            linear = False  # a gate is not a sum of the words' vectors

            def __init__(self, model, name, side, width):
                super().__init__(model, name, side, width)  # adds a vector of `width` for each word
                model.add_weight(f"{name} gate", width, 1)

            def encode(self, model, words, mask):
                gate = torch.sigmoid(words @ model.weights[f"{self.name} gate"].unsqueeze(1))
                return (gate * words).sum(2) / mask.sum(2, keepdim=True).clamp(min=1)

    In `mine.py`, it is trained by `drrn train long-watch --encoder mine:GatedMean`.
    """

    # A text's vector is a product with a learned matrix, so it may serve as Q-values. If False, the
    # model `linear` adds an output layer.
    linear = True
    reads_unknown = False  # it also reads words that are not in the vocabulary
    reads_at_once = False  # it is faster to read pages and next pages in one pass
    reads_pairs = False  # a text's vector depends on another text: see `attention`

    def __init__(
        self, model: Weights, name: str, side: str, width: int, word_width: int | None = None
    ) -> None:
        """Add the weights of the encoder to the model.

        Args:
            model: has the weights. Do not store it, since a copy of it may call `encode`.
            name: prefix of the names of its weights.
            side: "states" or "actions": whose texts it reads.
            width: numbers in a text's vector.
            word_width: numbers in a word's vector. None: `width`. 0: there is no word table.
        """
        self.name = name
        self.side = side
        self.width = width
        if word_width != 0:
            model.add_table(name, side, word_width or width)

    def encode(self, model: Weights, words: Tensor, mask: Tensor) -> Tensor:
        """The vectors of texts [R, U, H].

        Args:
            model: has the weights.
            words: word vectors in the order of the texts, padded with zeros, [R, U, L, E].
            mask: true where there is a word, [R, U, L].
        """
        raise InputError(f"{type(self).__name__} has no method encode(model, words, mask)")

    @property
    def summary_width(self) -> int:
        """Width of what represents a text of this encoder to an encoder that reads pairs."""
        return self.width

    def pair_with(self, model: Weights, other: int) -> None:
        """Add weights for reading pairs with an encoder whose summaries are `other` wide."""

    def gather(self, model: Weights, texts: Lexicon, ids: Ids) -> Sequence[TextBatch]:
        """Gather several batches of texts: ids [K, R, N], -1 where there is no text."""
        table = model.tables[self.name]
        table.make_room()
        return [self._gather(table, texts, some) for some in ids]

    def _gather(self, table: WordTable, texts: Lexicon, ids: Ids) -> WordBatch:
        unique, index = distinct_texts(ids[None], table.device)
        replicas, across = unique.shape
        words, counts = table.known_words(texts, unique)
        lengths = counts.ravel()
        longest = max(int(lengths.max(initial=0)), 1)
        room = table.weight.shape[1]
        flat = words + np.repeat(np.repeat(np.arange(replicas) * room, across), lengths)
        rows, number = np.unique(flat, return_inverse=True)
        layout = np.full((replicas * across, longest), len(rows))
        layout[np.arange(longest) < lengths[:, None]] = number
        at = torch.from_numpy(layout.reshape(replicas, across, longest)).to(table.device)
        rows_at = torch.from_numpy(rows).to(table.device)
        return WordBatch(self, table.name, rows_at, index[0], at)

    def compose(self, model: Weights, vectors: Tensor, layout: Any) -> Tensor:
        """The vectors of texts from those of their distinct words [W, E]."""
        words, mask = in_sequence(vectors, layout)
        encoded = self.encode(model, words, mask)
        expected = (*mask.shape[:2], self.width)
        if encoded.shape != expected:
            name = type(self).__name__
            raise InputError(
                f"encoder {name}: encode returned a tensor of shape {list(encoded.shape)}; it must "
                f"be [replicas, texts, width] = {list(expected)}"
            )
        return encoded


@dataclass(frozen=True)
class WordBatch:
    """Texts whose vectors are computed from those of their distinct words."""

    encoder: Encoder
    table: str
    rows: Tensor  # [W], each distinct word once, as a row of the flat table
    index: Tensor  # [R, N]
    layout: Any  # the words of each text, for `Encoder.compose`

    def word_vectors(self, model: Weights, leaves: Leaves | None) -> Tensor:
        table = model.tables[self.table]
        vectors = table.weight.view(-1, table.width).index_select(0, self.rows)  # [W, E]
        if leaves is not None:
            leaves.append((self.gradient, vectors.requires_grad_()))
        return vectors

    def encode(self, model: Weights, leaves: Leaves | None) -> Tensor:
        return self.encoder.compose(model, self.word_vectors(model, leaves), self.layout)

    def gradient(self, model: Weights, back: Tensor) -> Gradient:
        return model.tables[self.table], self.rows, back


def in_sequence(vectors: Tensor, layout: Tensor) -> tuple[Tensor, Tensor]:
    """Word vectors in the order of texts [R, U, L, E], and the mask of words [R, U, L].

    `vectors` are of distinct words, [W, E], and `layout` [R, U, L] has W after a text's end.
    """
    padded = functional.pad(vectors, (0, 0, 0, 1))
    return functional.embedding(layout, padded), layout < len(vectors)


def distinct_texts(ids: Ids, device: torch.device) -> tuple[Ids, Tensor]:
    """Plan batches of ids [K, R, N], so that each replica encodes a text once in a batch.

    Return the distinct ids of each replica, padded with -1, [K · R, U], and the index of each
    requested id among the R · U of its batch, [K, R, N].
    """
    replicas, count = ids.shape[1:]
    flat = ids.reshape(-1, count)
    row = np.arange(len(flat))[:, None]
    order = np.argsort(flat, axis=1, kind="stable")
    ranked = flat[row, order]
    rank = np.zeros(flat.shape, np.int64)
    np.cumsum(ranked[:, 1:] != ranked[:, :-1], axis=1, out=rank[:, 1:])
    unique = np.full((len(flat), int(rank[:, -1].max()) + 1), -1, np.int64)
    unique[row, rank] = ranked
    index = np.empty_like(rank)
    index[row, order] = rank + row % replicas * unique.shape[1]
    return unique, torch.from_numpy(index.reshape(ids.shape)).to(device)
