"""The base class of models: encoders, weights with a leading replica axis, and the Q-values of pages."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from drrn.errors import InputError
from drrn.models.encoders import BagOfWords, Encoder
from drrn.models.encoders.base import Leaves, Look
from drrn.models.encoders.sentence import SentenceTexts
from drrn.models.encoders.text_vectors import TextVectors
from drrn.models.encoders.word_table import WordTable, renewed
from drrn.models.initial import SCALE, small_random
from drrn.text import Ids, Lexicon, State, Store

NARROW = 64  # actions: where no page has more, pages stand side by side, with room for the widest of them
PAIRS_AT_ONCE = (
    2**16
)  # pairs of a page and an action, of all replicas, that are scored together on wider pages


@dataclass(frozen=True)
class Shape:
    """The sizes of a model, and its encoders."""

    hidden: int = 100
    layers: int = 2
    interaction: str = "inner"
    action_hidden: int | None = None  # of the action side; None: as the state side
    shared: bool = False  # one embedding for states and actions
    most_actions: int = 4  # shown at once: how many outputs the max-action models have
    encoder: type[Encoder] = BagOfWords
    bag_norm: float | None = None
    action_encoder: type[Encoder] | None = None  # of actions; None: as of states
    vectors: TextVectors | None = None  # for encoders that read word vectors
    sentences: SentenceTexts | None = None  # for the encoder that reads vectors of whole texts
    embedding: int | None = (
        None  # width of word vectors that are read in order; None: as the encoder's
    )
    lstm_gain: float = 1.0  # what the mean of an LSTM's states is multiplied by


@dataclass(frozen=True)
class Pages:
    """B pages for each replica, as ids: states [R, B], actions as shown [R, B, A], -1 where there is none."""

    states: Ids
    actions: Ids

    @property
    def mask(self) -> NDArray[np.bool_]:
        return self.actions >= 0

    @property
    def flat_actions(self) -> Ids:
        """The actions of all pages of a batch, one after the other: [R, B · A]."""
        return self.actions.reshape(*self.states.shape[:-1], -1)

    def __getitem__(self, some: int | slice) -> Pages:
        return Pages(self.states[some], self.actions[some])


@dataclass(frozen=True)
class Reading:
    """A batch of pages, with what each encoder has looked up for them."""

    pages: Pages
    store: Store
    looks: dict[str, Look]


LookUp = Callable[[str, Ids, Store], Sequence[Look]]  # of an encoder by name: see `Model.look_up`


class Model:
    """A model that gives the Q-values of the actions of a page. A subclass defines `build`, `reads` and `forward`.

    Weights carry a leading replica axis R; replica r starts from `seeds[r]` and never sees another's.
    """

    widths: tuple[int, int]  # of a state's and an action's vector, in models that have both
    sees_menu = False  # whether an action's Q depends on the other actions shown
    pairs: tuple[str, str] | None = (
        None  # encoders of states and of actions that may read one beside the other
    )
    reads_pairs = False  # whether they do so
    indexes_texts = False  # whether weights belong to texts' ids, so that no text may be forgotten

    def __init__(self, shape: Shape, store: Store, seeds: list[int], device: torch.device) -> None:
        self.shape = shape
        self.store = store
        self.seeds = seeds
        self.device = device
        self.encoders: dict[str, Encoder] = {}
        self.tables: dict[str, WordTable] = {}
        self.weights: dict[str, Tensor] = {}
        self.build()

    @property
    def vectors(self) -> TextVectors | None:
        """Vectors of texts from a file of word vectors, where one was given."""
        return self.shape.vectors

    @property
    def sentences(self) -> SentenceTexts | None:
        """Vectors of whole texts, where something was named that makes them."""
        return self.shape.sentences

    @property
    def embedding(self) -> int | None:
        """The width of word vectors in encoders that read in order; None: as the encoder's own."""
        return self.shape.embedding

    @property
    def lstm_gain(self) -> float:
        """What the mean of an LSTM's states is multiplied by."""
        return self.shape.lstm_gain

    def build(self) -> None:
        """Create the encoders and weights."""
        raise NotImplementedError

    def reads(self, pages: Pages) -> dict[str, Ids]:
        """The ids of the texts that each encoder must read, [..., N], by its name; pages may have leading axes."""
        raise NotImplementedError

    def forward(self, reading: Reading, leaves: Leaves | None) -> Tensor:
        """Q-values [R, B, A]; where a page has no action, any number."""
        raise NotImplementedError

    def q(self, pages: Pages, store: Store | None = None, look_up: LookUp | None = None) -> Tensor:
        """Q-values [R, B, A] of pages, without gradients; `store` has their texts, if not the model's own."""
        if pages.actions.shape[2] > NARROW and not self.sees_menu:
            return self._q_of_wide(pages, store, look_up)
        with torch.no_grad():
            return self.forward(
                self.read(Pages(pages.states[None], pages.actions[None]), store, look_up)[0], None
            )

    def q_of_pairs(
        self, states: Ids, actions: Ids, store: Store | None = None, look_up: LookUp | None = None
    ) -> Tensor:
        """Q of texts and one action each, [R, N], without gradients; in pieces, so that memory is bounded."""
        size = max(1, PAIRS_AT_ONCE // len(states))
        parts = [self.q(Pages(states[:, at : at + size], actions[:, at : at + size, None]), store, look_up)
                 for at in range(0, states.shape[1], size)]  # fmt: skip
        return (
            torch.cat(parts, dim=1).squeeze(2)
            if parts
            else torch.zeros(states.shape, device=self.device)
        )

    def _q_of_wide(self, pages: Pages, store: Store | None, look_up: LookUp | None) -> Tensor:
        """Only the actions that are there are scored; 0 where there is none."""
        mask = pages.mask
        counts = mask.sum(axis=(1, 2))
        there = np.arange(int(counts.max())) < counts[:, None]  # [R, N]
        states = np.full(there.shape, -1, np.int64)
        actions = np.full(there.shape, -1, np.int64)
        states[there] = np.broadcast_to(pages.states[..., None], mask.shape)[mask]
        actions[there] = pages.actions[mask]
        found = torch.zeros(mask.shape, device=self.device)
        found[torch.from_numpy(mask)] = self.q_of_pairs(states, actions, store, look_up)[
            torch.from_numpy(there)
        ]
        return found

    def read(
        self, pages: Pages, store: Store | None = None, look_up: LookUp | None = None
    ) -> list[Reading]:
        """Look up the texts of several batches at once, [K, R, B] and [K, R, B, A]: a reading for each."""
        store = store or self.store
        look_up = look_up or self.look_up
        looks = {name: look_up(name, ids, store) for name, ids in self.reads(pages).items()}
        return [
            Reading(pages[k], store, {name: some[k] for name, some in looks.items()})
            for k in range(len(pages.states))
        ]

    def look_up(self, name: str, ids: Ids, store: Store) -> Sequence[Look]:
        """What an encoder needs of several batches of texts, [K, R, N]."""
        encoder = self.encoders[name]
        return encoder.look_up(self, texts_of(store, encoder), ids)

    def meet(self, replica: int, states: Ids, actions: Ids) -> None:
        """The replica reads these texts: their words become known to it."""
        for texts, ids in ((self.store.states, states), (self.store.actions, actions)):
            words = texts.words_of(ids)
            for table in self.tables.values():
                if len(words) and table.vocabulary is texts.vocabulary:
                    table.meet(replica, words)

    def frozen(self) -> Model:
        """A copy that stays as the weights are now, reading the same texts."""
        twin = copy.copy(self)
        twin.weights = {name: weight.clone() for name, weight in self.weights.items()}
        twin.tables = {name: table.frozen() for name, table in self.tables.items()}
        return twin

    def follow(self, model: Model, replicas: Tensor) -> None:
        """Of a frozen copy: become what the model is now, in the replicas [R] that are true."""
        for name, weight in model.weights.items():
            self.weights[name] = renewed(self.weights[name], weight, replicas)
        for name, table in model.tables.items():
            self.tables[name].follow(table, replicas)

    # --- what it has learned

    def state(self) -> dict[str, NDArray[Any]]:
        """Everything that was learned, by name: weights, word tables, and which words each replica knows."""
        found: dict[str, NDArray[Any]] = {
            f"weight {name}": w.cpu().numpy() for name, w in self.weights.items()
        }
        for name, table in self.tables.items():
            found[f"table {name}"], found[f"known {name}"] = table.state()
        return found

    def restore(self, state: State, source: str) -> None:
        """Become what the state was taken from; `source` is what a refusal names."""
        self.check_fits(state, source)
        for name in self.weights:
            self.weights[name] = torch.from_numpy(state[f"weight {name}"]).to(self.device)
        for name, table in self.tables.items():
            table.restore(state[f"table {name}"], state[f"known {name}"])

    def check_fits(self, state: State, source: str) -> None:
        """Refuse what was taken from another model, or from other replicas."""
        mine = self.state()
        if odd := sorted(mine.keys() ^ state.keys()):
            where = "the run, not in the file" if odd[0] in mine else "the file, not in the run"
            raise InputError(
                f'{source}: it holds the weights of another model: "{odd[0]}" is in {where}'
            )
        for name, array in state.items():
            if not fits(array, mine[name]):
                shapes = f"{list(array.shape)}, not {list(mine[name].shape)}"
                raise InputError(
                    f'{source}: it holds the weights of another run: "{name}" is {shapes}'
                )

    # --- for subclasses

    def add_encoder(self, name: str, side: str, width: int) -> None:
        """An encoder of the texts of "states" or "actions", of the kind that the settings ask for."""
        kind = (side == "actions" and self.shape.action_encoder) or self.shape.encoder
        encoder = self.encoders[name] = kind(name, side, width, self.shape.bag_norm)
        if encoder.reads_unknown:
            texts_of(self.store, encoder).keeps_unknown = True
        encoder.build(self)

    def pair_up(self, states: str, actions: str) -> None:
        """Let two encoders read each text beside one of the other's, if they do so; or one, that both sides share."""
        self.pairs = (states, actions)
        for one, other in dict.fromkeys([self.pairs, self.pairs[::-1]]):
            self.encoders[one].pair_with(self, self.encoders[other].summary_width)
        self.reads_pairs = any(self.encoders[name].reads_pairs for name in self.pairs)

    def add_table(self, name: str, side: str, width: int) -> None:
        """A word table [R, V, width] over the vocabulary of "states" or "actions"."""
        self.tables[name] = WordTable(
            name, getattr(self.store, side).vocabulary, width, self.seeds, self.device
        )

    def add_weight(self, name: str, rows: int, width: int, scale: float = SCALE) -> None:
        """Small random [R, rows, width]."""
        names = [f"{name} {row}" for row in range(rows)]
        stack = np.stack([small_random(names, width, seed, scale) for seed in self.seeds])
        self.weights[name] = torch.from_numpy(stack).to(self.device)

    def add_bias(self, name: str, width: int) -> None:
        self.weights[name] = torch.zeros(len(self.seeds), 1, width, device=self.device)

    def encode(
        self, reading: Reading, encoder: str, leaves: Leaves | None
    ) -> tuple[Tensor, Tensor | None]:
        """Vectors of the batch's distinct texts [R, U, H], and the row of each asked one among R · U of them [R, N]
        (None: they stand as asked)."""
        look = reading.looks[encoder]
        return look.encode(self, leaves), look.places


def fits(array: NDArray[Any], mine: NDArray[Any]) -> bool:
    """Whether it can stand in mine's place; a side of no length is one that has yet to grow."""
    if (array.ndim, array.dtype) != (mine.ndim, mine.dtype):
        return False
    return all(have in (0, given) for given, have in zip(array.shape, mine.shape, strict=True))


def texts_of(store: Store, encoder: Encoder) -> Lexicon:
    """The texts that an encoder reads."""
    found: Lexicon = getattr(store, encoder.side)
    return found


def picked(vectors: Tensor, places: Tensor | None) -> Tensor:
    """Rows of the vectors of all replicas end to end: [R, U, H] at [R, K] to [R, K, H]; no places: all, in order."""
    if places is None:
        return vectors
    replicas, count, width = vectors.shape
    return functional.embedding(places, vectors.reshape(replicas * count, width))
