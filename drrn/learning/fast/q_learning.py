"""`QLearning` with plain SGD, faster: moves texts instead of words, and has DRRN's gradient.

A step of SGD moves the words by -η Xᵀδ, where X are the bags of words, and so X W by -η X Xᵀδ. The
overlaps X Xᵀ of a story's texts never change. With few texts, a step is one small dense product,
and the words themselves are moved once, after many batches: the same sums in another order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from drrn.learning.optimisers import SGD
from drrn.learning.q_learning import Batches, QLearning
from drrn.models.base import NARROW, Model, pick
from drrn.models.drrn import DRRN
from drrn.models.encoders.bag import BagOfWords
from drrn.models.encoders.base import Leaves, TextBatch, Weights
from drrn.models.word_table import WordTable, bag_sums
from drrn.settings import Settings
from drrn.text import Bags, Ids, Store, gathered

MOST_TEXTS = 2048  # of a side: their overlaps take 16 MB
FEW = 3  # batches, for which a view does not pay
tanh_backward = torch.ops.aten.tanh_backward


class TextView:
    """The vectors of a table's texts [R, T, H], updated with the words; the last text is empty."""

    def __init__(
        self, model: Model, name: str, ids: Sequence[Ids], overlaps: Tensor, rate: float
    ) -> None:
        """Build the view of the texts `ids`, -1 for the empty text; `overlaps` are of all texts."""
        self.rate = rate
        self.table = table = model.tables[name]
        table.make_room()
        selected = np.zeros(len(overlaps), bool)
        selected[-1] = True
        for some in ids:
            selected[some] = True
        self.index = np.cumsum(selected) - 1  # of each text in this view
        texts = np.flatnonzero(selected)
        chosen = torch.from_numpy(texts).to(table.device)
        self.overlaps = overlaps[chosen[:, None], chosen]
        texts[-1] = -1
        encoder = model.encoders[name]
        bags = model.store.side(encoder.side).bags(encoder.norm)
        words, self.counts, lengths = gathered(bags, texts)
        distinct, self.words = np.unique(words, return_inverse=True)
        self.distinct = torch.from_numpy(distinct).to(table.device)
        self.texts = np.repeat(np.arange(len(texts)), lengths)
        replicas = len(table.seeds)
        rows = table.weight[:, self.distinct].transpose(0, 1)
        rows = rows.reshape(len(distinct), replicas * table.width)  # [V, R · H]
        sums = bag_sums(rows, self.words, np.cumsum(lengths) - lengths, self.counts)
        by_text = sums.view(len(texts), replicas, table.width)
        self.vectors = by_text.transpose(0, 1).contiguous()
        self.moves = torch.zeros_like(self.vectors)
        self.offsets = torch.arange(replicas, device=table.device)[:, None] * len(texts)

    def rows(self, ids: Ids) -> Tensor:
        """Return the texts [K, R, N] as rows of the view, counted through all replicas."""
        return torch.from_numpy(self.index[ids]).to(self.table.device) + self.offsets

    def gather(self, ids: Ids) -> list[ViewBatch]:
        """Return the batches of ids [K, R, N]; all texts are encoded if they are fewer than N."""
        whole = ids.shape[2] >= self.vectors.shape[1]
        return [ViewBatch(self, *((None, at) if whole else (at, None))) for at in self.rows(ids)]

    def encode(self, rows: Tensor | None) -> Tensor:
        """Return the vectors of rows [R, N], or of all texts: [R, N, H]."""
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
        replicas, most, width = self.vectors.shape
        order = np.argsort(self.words, kind="stable")
        starts = np.searchsorted(self.words[order], np.arange(len(self.distinct)))
        by_text = self.moves.transpose(0, 1).reshape(most, -1)  # [T, R · H]
        sums = bag_sums(by_text, self.texts[order], starts, self.counts[order])
        steps = sums.view(len(self.distinct), replicas, width).transpose(0, 1)
        self.table.weight.index_add_(1, self.distinct, steps, alpha=-self.rate)


@dataclass(frozen=True)
class ViewBatch:
    """Texts of a view that one batch reads."""

    view: TextView
    rows: Tensor | None  # [R, N]; None: all texts
    index: Tensor | None  # [R, N] each text among those encoded; None: they are in order

    def encode(self, model: Weights, leaves: Leaves | None) -> Tensor:
        vectors = self.view.encode(self.rows)
        if leaves is not None:
            leaves.append((self, vectors.requires_grad_()))
        return vectors

    def gradient(self, model: Weights, back: Tensor) -> tuple[WordTable, Tensor, Tensor]:
        """Move the texts of the view, and no rows of the table: `settle` moves the words."""
        self.view.move(self.rows, back)
        nothing = torch.empty(0, dtype=torch.long, device=back.device)
        return self.view.table, nothing, back.reshape(-1, back.shape[2])[:0]


def overlaps_of(bags: Bags, words: int, device: torch.device) -> Tensor:
    """Return X Xᵀ, the words that each two texts share, with an empty last text: [T + 1, T + 1]."""
    starts, word_ids, counts = bags
    count = len(starts) - 1
    members = word_ids.astype(np.int64)
    matrix = np.zeros((words, count + 1), np.float32)
    matrix[members, np.repeat(np.arange(count), np.diff(starts))] = counts
    return bag_sums(torch.from_numpy(matrix), members, starts, counts).to(device)


# --- DRRN with the inner product, differentiated by hand, as the paper's appendix does


class Tower(TextView):
    """One tower of DRRN over a view, forward and backward."""

    def __init__(
        self, model: Model, name: str, ids: Sequence[Ids], overlaps: Tensor, rate: float
    ) -> None:
        super().__init__(model, name, ids, overlaps, rate)
        layers = range(1, model.shape.layers + 1)
        self.biases = [model.weights[f"{name} b{layer}"] for layer in layers]
        self.products = [model.weights[f"{name} W{layer}"] for layer in layers[1:]]

    def forward(self, rows: Tensor | None) -> list[Tensor]:
        """Return h of each layer, for some rows of the view, or for all: [R, N, H]."""
        hidden = [(self.encode(rows) + self.biases[0]).tanh_()]
        for product, bias in zip(self.products, self.biases[1:], strict=True):
            hidden.append(torch.baddbmm(bias, hidden[-1], product).tanh_())
        return hidden

    def backward(self, hidden: list[Tensor], back: Tensor, rows: Tensor) -> None:
        """Move the weights, for the gradients of the last layer of each text: [R, B, H]."""
        for layer in range(len(self.products), -1, -1):
            delta = tanh_backward(back, hidden[layer])
            self.biases[layer].add_(delta.sum(1, keepdim=True), alpha=-self.rate)
            if layer:
                product = self.products[layer - 1]
                back = torch.bmm(delta, product.transpose(1, 2))
                product.baddbmm_(hidden[layer - 1].transpose(1, 2), delta, alpha=-self.rate)
        self.move(rows, delta)


@torch.no_grad()
def learn(states: Tower, actions: Tower, batches: Batches) -> NDArray[np.float32]:
    """Make an update for each batch; return the errors y - Q [K, R, B].

    Both pages of a transition go through the tower together.
    """
    after = batches.next_pages
    size, most = after.actions.shape[2:]
    now = batches.taken_pages
    pages = states.rows(np.concatenate([now.states, after.states], axis=2))  # [K, R, 2B]
    taken = actions.rows(now.flat_actions)  # [K, R, B]
    following = actions.rows(after.flat_actions)  # [K, R, B · A]
    # All actions are encoded, or those of the batch, if they are fewer.
    whole = actions.vectors.shape[1] <= size * (1 + most)
    read = None if whole else torch.cat([taken, following], 2)
    nonterminal = np.asarray(after.mask.any(axis=-1))
    missing = np.where(after.mask | ~nonterminal[..., None], 0, -np.inf).astype(np.float32)
    arrays = (batches.rewards, batches.discounts * nonterminal, batches.weights, missing)
    tensors = [torch.from_numpy(array).to(states.table.device) for array in arrays]
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
        back_a = delta * h_s[-1]
        states.backward(h_s, delta * h_a[-1], pages[k][:, :size])
        actions.backward(h_a, back_a, taken[k])
    result: NDArray[np.float32] = errors.cpu().numpy()
    return result


# --- The learner


class FastQLearning(QLearning):
    """The updates of `QLearning`, up to rounding, and `QLearning` itself for other models."""

    def __init__(self, model: Model, settings: Settings) -> None:
        super().__init__(model, settings)
        self.views: dict[str, TextView] = {}  # by encoder, while batches are learned from
        self._overlaps: dict[str, tuple[tuple[int, int], Tensor]] = {}

    def descend_all(self, batches: Batches) -> NDArray[np.float32]:
        try:
            # Each update would move all texts of wide menus.
            is_wide = batches.next_pages.actions.shape[-1] > NARROW and not self.model.sees_menu
            if isinstance(self.optimiser, SGD) and len(batches.taken) > FEW and not is_wide:
                self._open_views(batches)
            states = self.views.get("state")
            actions = self.views.get("action")
            if isinstance(states, Tower) and isinstance(actions, Tower):
                return learn(states, actions, batches)
            return super().descend_all(batches)
        finally:  # also if interrupted: the words must keep up with the other weights
            while self.views:
                self.views.popitem()[1].settle()

    def gather(self, name: str, ids: Ids, store: Store) -> Sequence[TextBatch]:
        """Gather texts from the view of the encoder's table, if one is open."""
        view = self.views.get(name)
        return view.gather(ids) if view else super().gather(name, ids, store)

    def _open_views(self, batches: Batches) -> None:
        """Open a view of each table of a bag encoder that has few texts."""
        model = self.model
        pages = batches.pages if model.sees_menu else batches.taken_pages
        reads = (model.reads(pages), model.reads(batches.next_pages))
        # A subclass of DRRN may differ from what is written here.
        by_hand = type(model) is DRRN and model.shape.interaction == "inner"
        for name in reads[0] | reads[1]:
            encoder = model.encoders[name]
            texts = model.store.side(encoder.side)
            if type(encoder) is BagOfWords and len(texts) <= MOST_TEXTS:
                ids = [read[name] for read in reads if name in read]
                kind = Tower if by_hand else TextView
                rate = self.optimiser.learning_rate
                self.views[name] = kind(model, name, ids, self._overlaps_of(encoder), rate)

    def _overlaps_of(self, encoder: BagOfWords) -> Tensor:
        """Return the overlaps of a side's texts, cached until there are new texts."""
        texts = self.model.store.side(encoder.side)
        version = (texts.generation, len(texts))
        cached = self._overlaps.get(encoder.side)
        if cached is None or cached[0] != version:
            bags = texts.bags(encoder.norm)
            cached = (version, overlaps_of(bags, len(texts.vocabulary.spelled), self.model.device))
            self._overlaps[encoder.side] = cached
        return cached[1]
