"""What every model has: word tables, weights with a leading replica axis, and one question it answers."""

from __future__ import annotations

import copy
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from drrn.models.encoders.words import Look, WordTable, look_up, renewed
from drrn.models.initial import SCALE, small_random
from drrn.models.text_view import MOST_TEXTS, Encoded, Leaves, Recall, TextView, overlaps_of
from drrn.text import Ids, Lexicon


@dataclass(frozen=True)
class Shape:
    """How large a model is."""

    hidden: int = 100
    layers: int = 2
    interaction: str = "inner"
    action_hidden: int | None = None  # of the action side; None: as the state side
    shared: bool = False  # one embedding for states and actions
    most_actions: int = 4  # shown at once: how many outputs the max-action models have


@dataclass(frozen=True)
class Pages:
    """B pages for each replica, as ids: states [R, B], actions as shown [R, B, A], -1 where there is none."""

    states: Ids
    actions: Ids

    @property
    def mask(self) -> NDArray[np.bool_]:
        return self.actions >= 0

    def __getitem__(self, some: slice) -> Pages:
        return Pages(self.states[some], self.actions[some])


@dataclass(frozen=True)
class Reading:
    """A batch of pages, with the texts that each table must look up for them."""

    pages: Pages
    looks: dict[str, Look | Recall]


class Model:
    """Q of the shown actions. A subclass makes its tables and weights, and says what `q` is.

    Weights carry a leading replica axis R; replica r starts from `seeds[r]` and never sees another's.
    """

    sees_menu = False  # whether an action's Q depends on the other actions shown

    def __init__(self, shape: Shape, states: Lexicon, actions: Lexicon, seeds: list[int], device: torch.device) -> None:
        self.shape, self.states, self.actions = shape, states, actions
        self.seeds, self.device = seeds, device
        self.tables: dict[str, WordTable] = {}
        self.weights: dict[str, Tensor] = {}
        self.views: dict[str, TextView] = {}
        self._overlaps: dict[str, Tensor] = {}
        self.build()

    def build(self) -> None:
        """Make the tables and weights."""
        raise NotImplementedError

    def reads(self, pages: Pages) -> dict[str, Ids]:
        """Which texts each table must look up, [..., N]; the pages may have further axes before."""
        raise NotImplementedError

    def forward(self, reading: Reading, leaves: Leaves | None) -> Tensor:
        """Q-values [R, B, A]; where there is no action, anything."""
        raise NotImplementedError

    def q(self, pages: Pages) -> Tensor:
        """Q-values [R, B, A] of pages, without gradients."""
        with torch.no_grad():
            return self.forward(self.read(Pages(pages.states[None], pages.actions[None]))[0], None)

    def read(self, pages: Pages) -> list[Reading]:
        """Look up the texts of several batches at once, [K, R, B] and [K, R, B, A]: a reading for each."""
        looks: dict[str, list[Look] | list[Recall]] = {}
        for name, ids in self.reads(pages).items():
            table = self.tables[name]
            table.make_room()
            if name in self.views:
                looks[name] = self.views[name].recalls(ids)
            else:
                looks[name] = look_up(table.lexicon, ids, table.weight.shape[1], self.device)
        return [
            Reading(Pages(pages.states[k], pages.actions[k]), {name: some[k] for name, some in looks.items()})
            for k in range(len(pages.states))
        ]

    def view_texts(self, *pages: Pages) -> None:
        """Until `settle`, see the tables from their texts, where these are few; `pages` are all that will be read."""
        wanted: dict[str, list[Ids]] = {}
        for some in pages:
            for name, ids in self.reads(some).items():
                wanted.setdefault(name, []).append(ids)
        for name, asked in wanted.items():
            table = self.tables[name]
            if len(table.lexicon) <= MOST_TEXTS:
                table.make_room()
                self.views[name] = TextView(table, asked, self._overlaps_of(table.lexicon))

    def settle(self, rate: float) -> None:
        """Move the words as their texts have moved."""
        while self.views:  # none is left open, wherever this is interrupted
            self.views.popitem()[1].settle(rate)

    def meet_states(self, replica: int, texts: Ids) -> None:
        """The replica reads these texts as states: their words become known to it."""
        self._meet(replica, self.states, texts)

    def meet_actions(self, replica: int, texts: Ids) -> None:
        self._meet(replica, self.actions, texts)

    def frozen(self) -> Model:
        """A copy that stays as the weights are now, reading the same lexicons."""
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

    # --- for subclasses

    def add_table(self, name: str, lexicon: Lexicon, width: int) -> None:
        self.tables[name] = WordTable(name, lexicon, width, self.seeds, self.device)

    def add_weight(self, name: str, rows: int, width: int, scale: float = SCALE) -> None:
        """Small random [R, rows, width]."""
        names = [f"{name} {row}" for row in range(rows)]
        stack = np.stack([small_random(names, width, seed, scale) for seed in self.seeds])
        self.weights[name] = torch.from_numpy(stack).to(self.device)

    def add_bias(self, name: str, width: int) -> None:
        self.weights[name] = torch.zeros(len(self.seeds), 1, width, device=self.device)

    def encode(self, reading: Reading, table: str, leaves: Leaves | None) -> tuple[Tensor, Tensor | None]:
        """Texts after the first layer [R, U, H], and the row of each asked one among R · U of them [R, N] (None: they
        stand as asked)."""
        look = reading.looks[table]
        vectors = look.view.encode(look.rows) if isinstance(look, Recall) else self.tables[table].encode(look)
        if leaves is not None:
            leaves.keep(Encoded(self.tables[table], look, vectors))
        return vectors, look.places

    def _overlaps_of(self, lexicon: Lexicon) -> Tensor:
        side = "states" if lexicon is self.states else "actions"
        if side not in self._overlaps or len(self._overlaps[side]) != len(lexicon) + 1:
            self._overlaps[side] = overlaps_of(lexicon, self.device)
        return self._overlaps[side]

    def _meet(self, replica: int, lexicon: Lexicon, texts: Ids) -> None:
        starts = lexicon.starts
        words = [lexicon.word_ids[starts[text] : starts[text + 1]] for text in texts]
        if not words:
            return
        for table in self.tables.values():
            if table.lexicon is lexicon:
                table.meet(replica, np.concatenate(words))


def picked(vectors: Tensor, places: Tensor | None) -> Tensor:
    """Rows of the vectors of all replicas end to end: [R, U, H] at [R, K] to [R, K, H]; no places: all, in order."""
    if places is None:
        return vectors
    replicas, count, width = vectors.shape
    return functional.embedding(places, vectors.reshape(replicas * count, width))
