"""`QLearning` with plain SGD, faster: moves texts instead of words, and has DRRN's gradient.

A step of SGD moves the words by -η Xᵀδ, where X are the bags of words, and so X W by -η X Xᵀδ. The
overlaps X Xᵀ of a story's texts never change. With few texts, a step is one small dense product,
and the words themselves are moved once, after many batches: the same sums in another order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from drrn.learning.optimisers import SGD
from drrn.learning.q_learning import Batches, QLearning
from drrn.models.base import Model, pick
from drrn.models.drrn import DRRN
from drrn.models.encoders.bag import BagOfWords, gather_bags
from drrn.models.encoders.base import Gradient, Leaves, Weights
from drrn.settings import Settings
from drrn.text import Lexicon
from textgames.arrays import Ids

tanh_backward = torch.ops.aten.tanh_backward


class TextView:
    """The vectors of a table's texts [R, T, H], updated with the words. The first text is empty.

    `forward` and `backward` are those of DRRN's tower above these vectors.
    """

    def __init__(self, model: Model, name: str, overlaps: Tensor, rate: float, *ids: Ids) -> None:
        """Build the view of the texts `ids`, -1 for the empty text. `overlaps` are of all texts."""
        self.model = model
        self.name = name
        self.rate = rate
        selected = np.zeros(len(overlaps), bool)
        for some in ids:
            selected[some] = True
        texts = np.append(-1, np.flatnonzero(selected[:-1]))
        self.index = np.cumsum(selected)  # of each text in this view
        self.index[-1] = 0
        chosen = torch.from_numpy(texts).to(model.device)
        self.overlaps = overlaps[chosen[:, None], chosen]
        encoder = model.encoders[name]
        replicas = len(model.seeds)
        side = model.store.side[encoder.side]
        (self.batch,) = gather_bags(encoder, model, side, np.tile(texts, (1, replicas, 1)))
        self.vectors = self.batch.encode(model, None)
        self.moves = torch.zeros_like(self.vectors)
        self.offsets = torch.arange(replicas, device=model.device)[:, None] * len(texts)

    def rows(self, ids: Ids) -> Tensor:
        """The texts [K, R, N] as rows of the view, counted through all replicas."""
        return torch.from_numpy(self.index[ids]).to(self.model.device) + self.offsets

    def gather(self, model: Model, texts: Lexicon, ids: Ids) -> list[ViewBatch]:
        """The batches of ids [K, R, N]. All texts are encoded if they are fewer than N."""
        whole = ids.shape[2] >= self.vectors.shape[1]
        return [ViewBatch(self, *((None, at) if whole else (at, None))) for at in self.rows(ids)]

    def encode(self, rows: Tensor | None) -> Tensor:
        """The vectors of rows [R, N], or of all texts: [R, N, H]."""
        return self.vectors.detach() if rows is None else pick(self.vectors, rows)

    def move(self, rows: Tensor | None, back: Tensor) -> None:
        """Take a step of SGD, for the gradients of rows [R, N], or of all texts: [R, N, H]."""
        replicas, most, width = self.vectors.shape
        if rows is None:
            self.vectors.baddbmm_(
                self.overlaps.expand(replicas, most, most), back, alpha=-self.rate
            )
            self.moves.add_(back)
            return
        texts = (rows - self.offsets).reshape(-1)
        overlaps = self.overlaps.index_select(0, texts).view(replicas, -1, most)
        self.vectors.baddbmm_(overlaps.transpose(1, 2), back, alpha=-self.rate)
        self.moves.view(-1, width).index_add_(0, rows.reshape(-1), back.reshape(-1, width))

    def settle(self) -> None:
        """Apply all moves to the words."""
        table, rows, values = self.batch.gradient(self.model, self.moves)
        table.weight.view(-1, table.width).index_add_(0, rows, values, alpha=-self.rate)

    # --- DRRN's tower, differentiated by hand, as the paper's appendix does

    def forward(self, rows: Tensor | None) -> list[Tensor]:
        """Return h of each layer, for some rows of the view, or for all: [R, N, H]."""
        w = self.model.weights
        hidden = [(self.encode(rows) + w[f"{self.name} b1"]).tanh_()]
        for layer in range(2, self.model.shape.layers + 1):
            bias = w[f"{self.name} b{layer}"]
            hidden.append(torch.baddbmm(bias, hidden[-1], w[f"{self.name} W{layer}"]).tanh_())
        return hidden

    def backward(self, hidden: list[Tensor], back: Tensor, rows: Tensor) -> None:
        """Move the weights, for the gradients of the last layer of each text: [R, B, H]."""
        w = self.model.weights
        for layer in range(len(hidden), 0, -1):
            delta = tanh_backward(back, hidden[layer - 1])
            w[f"{self.name} b{layer}"].add_(delta.sum(1, keepdim=True), alpha=-self.rate)
            if layer > 1:
                product = w[f"{self.name} W{layer}"]
                back = torch.bmm(delta, product.transpose(1, 2))
                product.baddbmm_(hidden[layer - 2].transpose(1, 2), delta, alpha=-self.rate)
        self.move(rows, delta)


@dataclass(frozen=True)
class ViewBatch:
    """Texts of a view that one batch reads."""

    view: TextView
    rows: Tensor | None  # [R, N]; None: all texts
    index: Tensor | None  # [R, N] each text among those encoded; None: they are in order

    def encode(self, model: Weights, leaves: Leaves | None) -> Tensor:
        vectors = self.view.encode(self.rows)
        if leaves is not None:
            leaves.append((self.gradient, vectors.requires_grad_()))
        return vectors

    def gradient(self, model: Weights, back: Tensor) -> Gradient:
        """Move the texts of the view, and no rows of the table: `settle` moves the words."""
        self.view.move(self.rows, back)
        nothing = torch.empty(0, dtype=torch.long, device=back.device)
        return model.tables[self.view.name], nothing, back.reshape(-1, back.shape[2])[:0]


@torch.no_grad()
def learn(states: TextView, actions: TextView, batches: Batches) -> NDArray[np.float32]:
    """Make an update for each batch, and return the errors y - Q [K, R, B]."""
    after = batches.next_pages
    size, most = after.actions.shape[2:]
    # Both pages of a transition go through the tower together.
    pages = states.rows(np.concatenate([batches.pages.states, after.states], axis=2))  # [K, R, 2B]
    taken = actions.rows(batches.pages.flat_actions)  # [K, R, B]
    following = actions.rows(after.flat_actions)  # [K, R, B · A]
    # All actions are encoded, or those of the batch, if they are fewer.
    whole = actions.vectors.shape[1] <= size * (1 + most)
    read = None if whole else torch.cat([taken, following], 2)
    nonterminal = np.asarray(after.mask.any(axis=-1))
    missing = np.where(after.mask | ~nonterminal[..., None], 0, -np.inf).astype(np.float32)
    arrays = (batches.rewards, batches.discounts * nonterminal, batches.weights, missing)
    tensors = [torch.from_numpy(array).to(states.model.device) for array in arrays]
    rewards, discounts, weights, penalties = tensors  # [K, R, B], penalties [K, R, B, A]
    errors = torch.empty_like(rewards)
    for k in range(len(errors)):
        s = states.forward(pages[k])
        a = actions.forward(None if read is None else read[k])
        h_s = [h[:, :size] for h in s]
        next_s = s[-1][:, size:]
        if whole:  # every state with every action is the smaller product
            h_a = [pick(h, taken[k]) for h in a]
            at = (following[k] - actions.offsets).view(penalties[k].shape)
            next_q = torch.bmm(next_s, a[-1].transpose(1, 2)).gather(2, at)
        else:
            h_a = [h[:, :size].contiguous() for h in a]
            next_a = a[-1][:, size:].view(*penalties[k].shape, -1)
            next_q = (next_s.unsqueeze(2) * next_a).sum(3)
        y = next_q.add_(penalties[k]).amax(2).mul_(discounts[k]).add_(rewards[k])
        error = torch.sub(y, (h_s[-1] * h_a[-1]).sum(2), out=errors[k])
        delta = (-error * weights[k]).unsqueeze(2)  # gradient of ½ (y - Q)² in Q
        states.backward(h_s, delta * h_a[-1], pages[k][:, :size])
        actions.backward(h_a, delta * h_s[-1], taken[k])
    return np.asarray(errors.cpu())


# --- The learner


class FastQLearning(QLearning):
    """The updates of `QLearning`, up to rounding, and `QLearning` itself for other models."""

    def __init__(
        self, model: Model, settings: Settings, *, most_texts: int = 2048, few: int = 3
    ) -> None:
        """Prepare to learn.

        A side may have `most_texts`, whose overlaps take 16 MB. A view does not pay for a `few`
        batches.
        """
        super().__init__(model, settings)
        self.most_texts = most_texts
        self.few = few
        self._overlaps: dict[str, tuple[tuple[int, int], Tensor]] = {}

    def descend_all(self, batches: Batches) -> NDArray[np.float32]:
        model = self.model
        is_wide = self._is_wide(batches.next_pages)  # each update would move all texts
        if not isinstance(self.optimiser, SGD) or len(batches.taken) <= self.few or is_wide:
            return super().descend_all(batches)
        rate = self.optimiser.learning_rate
        after = model.reads(batches.next_pages)
        views: dict[str, TextView] = {}  # of each table of a bag encoder that has few texts
        for name, ids in model.reads(batches.pages).items():
            encoder = model.encoders[name]
            few_texts = len(model.store.side[encoder.side]) <= self.most_texts
            if type(encoder) is BagOfWords and few_texts:
                overlaps = self._overlaps_of(encoder)
                views[name] = TextView(model, name, overlaps, rate, ids, after[name])
        try:
            # A subclass of DRRN may differ from what is written here.
            by_hand = type(model) is DRRN and model.shape.interaction == "inner"
            if by_hand and views.keys() == {"state", "action"}:
                return learn(views["state"], views["action"], batches)
            self.readers.update(views)
            return super().descend_all(batches)
        finally:  # also if interrupted: the words must keep up with the other weights
            self.readers.clear()
            while views:
                views.popitem()[1].settle()

    def _overlaps_of(self, encoder: BagOfWords) -> Tensor:
        """X Xᵀ of a side's texts and of an empty one, cached until there are new texts."""
        texts = self.model.store.side[encoder.side]
        version = (texts.generation, len(texts))
        cached, overlaps = self._overlaps.get(encoder.side, (None, torch.empty(0)))
        if cached != version:
            words, counts, lengths = texts.bags(np.append(np.arange(len(texts)), -1))
            x = np.zeros((len(lengths), len(texts.vocabulary.spelled)), np.float32)
            x[np.repeat(np.arange(len(lengths)), lengths), words] = counts
            overlaps = torch.from_numpy(x @ x.T).to(self.model.device)
            self._overlaps[encoder.side] = (version, overlaps)
        return overlaps
