"""What an encoder is: it reads texts, and gives vectors with the replica axis, each distinct text of a batch once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import torch
from torch import Tensor

from drrn.models.encoders.text_vectors import TextVectors
from drrn.models.encoders.word_table import WordTable
from drrn.models.initial import SCALE
from drrn.text import Ids, Lexicon, Store

if TYPE_CHECKING:
    from drrn.models.encoders.sentence import SentenceTexts


class Weights(Protocol):
    """What a model keeps for its encoders: word tables and weights, by name."""

    tables: dict[str, WordTable]
    weights: dict[str, Tensor]
    device: torch.device
    store: Store

    @property
    def vectors(self) -> TextVectors | None:
        """Vectors of texts from a file of word vectors, where one was given."""

    @property
    def sentences(self) -> SentenceTexts | None:
        """Vectors of whole texts, where something was named that makes them."""

    @property
    def embedding(self) -> int | None:
        """The width of word vectors in encoders that read in order; None: as the encoder's own."""

    @property
    def lstm_gain(self) -> float:
        """What the mean of an LSTM's states is multiplied by."""

    def add_table(self, name: str, side: str, width: int) -> None: ...
    def add_weight(self, name: str, rows: int, width: int, scale: float = SCALE) -> None: ...
    def add_bias(self, name: str, width: int) -> None: ...


class Look(Protocol):
    """What one batch needs of an encoder, looked up beforehand."""

    @property
    def places(self) -> Tensor | None:
        """The row of each asked text among the R · U encoded ones, [R, N]; None: they stand as they were asked for."""

    def encode(self, model: Weights, leaves: Leaves | None) -> Tensor:
        """The vectors of the batch's distinct texts, [R, U, H]; with `leaves`, they take part in differentiation."""


class TableLook(Protocol):
    """Something taken out of a word table, which automatic differentiation does not see."""

    def gradient(self, model: Weights, back: Tensor) -> tuple[WordTable, Tensor, Tensor]:
        """What came back to the taken vectors, carried to the table: its rows (of all replicas end to end), values."""


@dataclass
class Leaves:
    """What one forward pass took out of word tables, so that what comes back to it can be carried on to the words."""

    kept: list[tuple[TableLook, Tensor]] = field(default_factory=list)

    def keep(self, look: TableLook, vectors: Tensor) -> None:
        self.kept.append((look, vectors.requires_grad_()))

    @property
    def vectors(self) -> list[Tensor]:
        return [vectors for _, vectors in self.kept]


class Encoder:
    """From texts to vectors. All it learns is kept by the model, in word tables and weights under the encoder's name.

    A subclass says what it needs in `build` and prepares batches in `look_up`. `norm` is what the setting `bag_norm`
    asks for; an encoder that makes no bags leaves it alone.
    """

    reads_unknown = False  # whether it makes something of words that are not in the vocabulary
    reads_at_once = (
        False  # whether it is faster to read a batch's pages and the pages after them together
    )
    reads_pairs = False  # whether it reads a text beside another one: see `attention`
    linear = True  # whether its vectors are a learned matrix's product, so that they can be Q-values themselves

    def __init__(self, name: str, side: str, width: int, norm: float | None = None) -> None:
        """`side` is whose texts are read: "states" or "actions"."""
        self.name = name
        self.side = side
        self.width = width
        self.norm = norm

    def build(self, model: Weights) -> None:
        """Make tables and weights: `model.add_table`, `model.add_weight`, `model.add_bias`."""
        raise NotImplementedError

    @property
    def summary_width(self) -> int:
        """Of what stands for one of its texts, where another text is read beside it."""
        return self.width

    def pair_with(self, model: Weights, other: int) -> None:
        """Make the weights that reading beside texts of another encoder takes, whose summaries are `other` wide."""

    def look_up(self, model: Weights, texts: Lexicon, ids: Ids) -> list[Look]:
        """Looks for several batches at once: ids [K, R, N], -1 where there is no text."""
        raise NotImplementedError
