"""The base class of models: encoders, weights of all replicas, and the Q-values of pages."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from drrn.models.encoders.bag import BagOfWords
from drrn.models.encoders.base import Encoder, Leaves, Shape, TextBatch, Weights
from drrn.text import Lexicon, State, Store
from textgames.arrays import Ids
from textgames.errors import InputError

NARROW = 64  # actions of a page up to which pages are padded to the widest of a batch


@dataclass(frozen=True)
class Pages:
    """B pages for each replica, as ids: states [R, B], actions [R, B, A], -1 for no action.

    `Model.read` returns pages whose texts are gathered, for `Model.forward`.
    """

    states: Ids
    actions: Ids
    store: Store | None = None  # has the texts; None: the model's store
    texts: dict[str, TextBatch] = field(default_factory=dict)  # gathered, by the encoder's name
    leaves: Leaves | None = None  # if Q is differentiated: collects what is read from word tables

    @property
    def mask(self) -> NDArray[np.bool_]:
        return self.actions >= 0

    @property
    def flat_actions(self) -> Ids:
        """The actions of all pages end to end, [R, B · A]."""
        return self.actions.reshape(*self.states.shape[:-1], -1)

    def __getitem__(self, some: Any) -> Pages:
        return Pages(self.states[some], self.actions[some], self.store)

    @staticmethod
    def of_replicas(replicas: Sequence[tuple[Ids, Ids]], store: Store | None = None) -> Pages:
        """The pages of each replica, padded: states [N] and actions [N, A] of each."""
        count = max(len(states) for states, _ in replicas)
        most = max(actions.shape[1] for _, actions in replicas)
        states = np.full((len(replicas), count), -1, np.int64)
        actions = np.full((len(replicas), count, most), -1, np.int64)
        for replica, (own, menus) in enumerate(replicas):
            states[replica, : len(own)] = own
            actions[replica, : len(own), : menus.shape[1]] = menus
        return Pages(states, actions, store)


class Reader(Protocol):
    """Gathers texts: an encoder, or what replaces it where vectors are known already."""

    def gather(self, model: Model, texts: Lexicon, ids: Ids) -> Sequence[TextBatch]:
        """Gather several batches of texts: ids [K, R, N], -1 where there is no text."""


Activation = Callable[[Tensor], Tensor]
Readers = Mapping[str, Reader]  # by the names of the encoders that they replace


class Model(Weights):
    """Computes the Q-values of a page. A subclass defines `build`, `reads` and `forward`.

    Example:
        class Additive(Model):
            def build(self):
                self.add_encoder("state", "states", 1)
                self.add_encoder("action", "actions", 1)

            def reads(self, pages):
                return {"state": pages.states, "action": pages.flat_actions}

            def forward(self, pages):
                v = pick(*self.encode(pages, "state"))  # [R, B, 1]
                u = pick(*self.encode(pages, "action"))  # [R, B · A, 1]
                return v + u.view(pages.actions.shape)  # [R, B, A]
    """

    widths: tuple[int, int]  # of the vectors of states and actions, in models that have both
    sees_menu = False  # an action's Q depends on the other actions of the page
    pairs = ("", "")  # the encoders of states and actions, if they may read pairs
    reads_pairs = False  # at least one of them does
    indexes_texts = False  # weights belong to ids of texts, so that no text may be forgotten
    most_pairs = 2**16  # pairs of a page and an action, of all replicas, that are scored together

    def __init__(self, shape: Shape, store: Store, seeds: list[int], device: torch.device) -> None:
        super().__init__(shape, store, seeds, device)
        self.encoders: dict[str, Encoder] = {}
        self.build()

    def build(self) -> None:
        """Create the encoders and weights."""
        raise NotImplementedError

    def reads(self, pages: Pages) -> dict[str, Ids]:
        """The ids that each encoder reads, [..., N]. Pages may have leading axes."""
        raise NotImplementedError

    def forward(self, pages: Pages) -> Tensor:
        """The Q-values [R, B, A] of pages that were read, of any value for missing actions."""
        raise NotImplementedError

    def q(self, pages: Pages, readers: Readers | None = None) -> Tensor:
        """The Q-values of pages [R, B, A], without gradients."""
        if pages.actions.shape[2] > NARROW and not self.sees_menu:
            return self._q_of_wide(pages, readers)
        with torch.no_grad():
            return self.forward(self.read(pages[None], readers)[0])

    def q_of_pairs(self, pairs: Pages, readers: Readers | None = None) -> Tensor:
        """Q of pages with one action each [R, N], in pieces of bounded size."""
        size = max(1, self.most_pairs // len(pairs.states))
        parts = []
        for start in range(0, pairs.states.shape[1], size):
            parts.append(self.q(pairs[:, start : start + size], readers))
        if not parts:
            return torch.zeros(pairs.states.shape, device=self.device)
        return torch.cat(parts, dim=1).squeeze(2)

    def _q_of_wide(self, pages: Pages, readers: Readers | None) -> Tensor:
        """Score the actions that exist, without padding. The result is 0 elsewhere."""
        mask = pages.mask
        rows = []
        for states, actions, some in zip(pages.states, pages.actions, mask, strict=True):
            rows.append((states[np.nonzero(some)[0]], actions[some][:, None]))
        pairs = Pages.of_replicas(rows, pages.store)
        q = torch.zeros(mask.shape, device=self.device)
        exists = torch.from_numpy(pairs.mask[..., 0])
        q[torch.from_numpy(mask)] = self.q_of_pairs(pairs, readers)[exists]
        return q

    def read(self, pages: Pages, readers: Readers | None = None) -> list[Pages]:
        """Gather the texts of K batches, [K, R, B], and return each. `readers` replace encoders."""
        store = pages.store or self.store
        chosen = {**self.encoders, **(readers or {})}
        batches = [pages[k] for k in range(len(pages.states))]
        for name, ids in self.reads(pages).items():
            side = store.side[self.encoders[name].side]
            for batch, texts in zip(batches, chosen[name].gather(self, side, ids), strict=True):
                batch.texts[name] = texts
        return batches

    def encode(self, pages: Pages, encoder: str) -> tuple[Tensor, Tensor | None]:
        """The vectors of distinct texts, and the index of each text, for `pick`."""
        batch = pages.texts[encoder]
        return batch.encode(self, pages.leaves), batch.index

    def meet(self, replica: int, states: Ids, actions: Ids) -> None:
        """Make the words of these texts known to the replica."""
        for texts, ids in ((self.store.states, states), (self.store.actions, actions)):
            words = texts.words_of(ids)
            for table in self.tables.values():
                if len(words) and table.vocabulary is texts.vocabulary:
                    table.meet(replica, words)

    def frozen(self) -> Model:
        """A copy that keeps the present weights and reads the same texts."""
        twin = copy.copy(self)
        twin.weights = {name: weight.clone() for name, weight in self.weights.items()}
        twin.tables = {name: table.frozen() for name, table in self.tables.items()}
        return twin

    # --- saving and restoring

    def state(self) -> dict[str, NDArray[Any]]:
        """All learned values: weights, word tables, and the words of each replica."""
        arrays: dict[str, NDArray[Any]] = {
            f"weight {name}": weight.cpu().numpy() for name, weight in self.weights.items()
        }
        for name, table in self.tables.items():
            arrays[f"table {name}"], arrays[f"known {name}"] = table.state()
        return arrays

    def restore(self, state: State, source: str) -> None:
        """Restore what `state` returned. Errors name the `source`."""
        self.check_fits(state, source)
        for name in self.weights:
            self.weights[name] = torch.from_numpy(state[f"weight {name}"]).to(self.device)
        for name, table in self.tables.items():
            table.restore(state[f"table {name}"], state[f"known {name}"])

    def check_fits(self, state: State, source: str) -> None:
        """Raise InputError if the state is of another model, or of other replicas."""
        own = self.state()
        for name in sorted(own.keys() | state.keys()):
            mine = own.get(name, np.zeros(0, bool))
            other = state.get(name, np.zeros(0, bool))
            # an axis of length 0 grows later
            sizes = zip(other.shape, mine.shape, strict=False)
            fits = all(have in (0, size) for size, have in sizes)
            if not fits or (other.ndim, other.dtype) != (mine.ndim, mine.dtype):
                cause = f'"{name}" has shape {list(other.shape)}, not {list(mine.shape)}'
                raise InputError(f"{source}: weights of another run or another model: {cause}")

    # --- for subclasses

    @property
    def encoder_classes(self) -> tuple[type[Encoder], type[Encoder]]:
        """The encoders of states and of actions that the settings name."""
        states = self.shape.encoder or BagOfWords
        return states, self.shape.action_encoder or states

    def add_encoder(self, name: str, side: str, width: int) -> None:
        """Add the encoder that the settings name, for the texts of "states" or "actions"."""
        kind = self.encoder_classes[side == "actions"]
        if kind.reads_unknown:
            self.store.side[side].keeps_unknown = True
        self.encoders[name] = kind(self, name, side, width)

    def add_layers(self, prefix: str, width: int, *, first: bool = True) -> None:
        """Add hidden layers. The product of the `first` one is an encoder's."""
        if first:
            self.add_bias(f"{prefix}b1", width)
        for layer in range(2, self.shape.layers + 1):
            self.add_weight(f"{prefix}W{layer}", width, width)
            self.add_bias(f"{prefix}b{layer}", width)

    def layers(self, prefix: str, x: Tensor, activation: Activation = torch.tanh) -> Tensor:
        """Apply the hidden layers: [R, N, H] → [R, N, H]."""
        w = self.weights
        h = activation(x + w[f"{prefix}b1"]) if f"{prefix}b1" in w else x
        for layer in range(2, self.shape.layers + 1):
            h = activation(torch.baddbmm(w[f"{prefix}b{layer}"], h, w[f"{prefix}W{layer}"]))
        return h

    def pair_up(self, states: str, actions: str) -> None:
        """Let two encoders (or a shared one) read the texts of a pair together, if they can."""
        self.pairs = (states, actions)
        for one, other in dict.fromkeys([self.pairs, self.pairs[::-1]]):
            self.encoders[one].pair_with(self, self.encoders[other].summary_width)
        self.reads_pairs = any(self.encoders[name].reads_pairs for name in self.pairs)


def pick(vectors: Tensor, index: Tensor | None) -> Tensor:
    """Vectors [R, U, H] at the indices [R, N]: [R, N, H]. Without indices, all of them."""
    if index is None:
        return vectors
    replicas, count, width = vectors.shape
    return functional.embedding(index, vectors.reshape(replicas * count, width))
