"""`QLearning` with plain SGD, faster: moves texts instead of words, and has DRRN's gradient.

A step of SGD moves the words by -η Xᵀδ, where X are the bags of words, and so X W by -η X Xᵀδ. The
overlaps X Xᵀ of a story's texts never change. With few texts, a step is one small dense product,
and the words themselves are moved once, after many batches: the same sums in another order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from drrn.learning.q_learning import Batches, QLearning
from drrn.models.base import Model, Pages
from drrn.models.drrn import DRRN
from drrn.models.encoders.bag import BagOfWords
from drrn.models.encoders.base import Leaves, TextBatch, Weights
from drrn.models.word_table import WordTable, bag_sums
from drrn.settings import Settings
from drrn.text import Bags, Ids, Store

MOST_TEXTS = 2048  # of a side: their overlaps take 16 MB
FEW = 3  # batches, for which a view does not pay
tanh_backward = torch.ops.aten.tanh_backward


# --- A word table, seen from its texts


@dataclass(frozen=True)
class ViewBatch:
    """Texts of a view that one batch reads."""

    view: TextView
    texts: Tensor | None  # [R · N] in the view; None: all texts, which are fewer than N
    rows: Tensor | None  # [R · N] the same, counted through all replicas
    index: Tensor | None  # [R, N] each text among those returned; None: they are in order

    def encode(self, model: Weights, leaves: Leaves | None) -> Tensor:
        vectors = self.view.encode(self.rows)
        if leaves is not None:
            leaves.add(self, vectors)
        return vectors

    def gradient(self, model: Weights, back: Tensor) -> tuple[WordTable, Tensor, Tensor]:
        raise NotImplementedError("a view moves its texts itself")


class TextView:
    """The vectors of a table's texts [R, T, H], updated with the words; the last text is empty."""

    def __init__(self, table: WordTable, bags: Bags, ids: Sequence[Ids], overlaps: Tensor) -> None:
        """Build the view of the texts `ids`, -1 for the empty text; `overlaps` are of all texts."""
        self.table = table
        selected = np.zeros(len(overlaps), bool)
        selected[-1] = True
        for some in ids:
            selected[some] = True
        self.index = np.cumsum(selected) - 1  # of each text in this view
        texts = np.flatnonzero(selected)
        chosen = torch.from_numpy(texts).to(table.device)
        self.overlaps = overlaps[chosen[:, None], chosen]
        texts[-1] = -1
        words, self.counts, lengths = bags.gathered(texts)
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

    def batches(self, ids: Ids) -> list[ViewBatch]:
        """Return the batches of ids [K, R, N]."""
        texts = self.index[ids]
        count, replicas, size = texts.shape
        most = self.vectors.shape[1]
        device = self.table.device
        rows = torch.from_numpy(texts + np.arange(replicas)[:, None] * most).to(device)
        if size >= most:
            return [ViewBatch(self, None, None, rows[k]) for k in range(count)]
        flat_texts = torch.from_numpy(texts).to(device).reshape(count, -1)
        flat_rows = rows.reshape(count, -1)
        return [ViewBatch(self, flat_texts[k], flat_rows[k], None) for k in range(count)]

    def encode(self, rows: Tensor | None) -> Tensor:
        """Return the vectors of rows [R, N, H] (see `ViewBatch`), or of all texts [R, T, H]."""
        if rows is None:
            return self.vectors.detach()
        replicas, most, width = self.vectors.shape
        flat = self.vectors.view(replicas * most, width)
        return flat.index_select(0, rows).view(replicas, -1, width)

    def move(self, texts: Tensor | None, rows: Tensor | None, back: Tensor, rate: float) -> None:
        """Take a step of SGD, for the gradients of some texts [R, N, H], or of all."""
        replicas, most, width = self.vectors.shape
        if texts is None:
            overlaps = self.overlaps.expand(replicas, most, most)
        else:
            overlaps = self.overlaps.index_select(0, texts).view(replicas, -1, most).transpose(1, 2)
        self.vectors.baddbmm_(overlaps, back, alpha=-rate)
        if rows is None:
            self.moves.add_(back)
        else:
            self.moves.view(replicas * most, width).index_add_(0, rows, back.reshape(-1, width))

    def settle(self, rate: float) -> None:
        """Apply all moves to the words."""
        replicas, most, width = self.vectors.shape
        order = np.argsort(self.words, kind="stable")
        starts = np.searchsorted(self.words[order], np.arange(len(self.distinct)))
        by_text = self.moves.transpose(0, 1).reshape(most, -1)  # [T, R · H]
        sums = bag_sums(by_text, self.texts[order], starts, self.counts[order])
        steps = sums.view(len(self.distinct), replicas, width).transpose(0, 1)
        self.table.weight.index_add_(1, self.distinct, steps, alpha=-rate)


def overlaps_of(bags: Bags, words: int, device: torch.device) -> Tensor:
    """Return X Xᵀ, the words that each two texts share, with an empty last text: [T + 1, T + 1]."""
    texts = np.repeat(np.arange(bags.count), np.diff(bags.starts))
    word_ids = bags.word_ids.astype(np.int64)
    matrix = np.zeros((words, bags.count + 1), np.float32)
    matrix[word_ids, texts] = bags.counts
    return bag_sums(torch.from_numpy(matrix), word_ids, bags.starts, bags.counts).to(device)


Views = Mapping[str, TextView]


# --- DRRN with the inner product, differentiated by hand, as the paper's appendix does


def can_learn(model: Model, views: Views) -> bool:
    """Return whether `learn` applies; a subclass of DRRN may differ from what is written here."""
    inner = type(model) is DRRN and model.shape.interaction == "inner"
    return inner and set(views) == {"state", "action"}


@dataclass(frozen=True)
class Plan:
    """The indices that K updates need; rows count through the texts of all replicas."""

    states: Tensor  # [K, R · 2B] rows of the pages, then of the next pages
    state_texts: Tensor  # [K, R · B] texts of the pages in the view
    actions: Tensor | None  # [K, R · (B + B · A)] rows: taken, then next; None: all are encoded
    taken: Tensor  # [K, R · B] rows of the encoded actions
    taken_texts: Tensor  # [K, R · B] in the view
    next_actions: Tensor  # [K, R, B, A] among the replica's encoded actions
    missing: Tensor  # [K, R, B, A] -∞ for padding
    rewards: Tensor  # [K, R, B]
    discounts: Tensor  # [K, R, B], 0 at an ending
    weights: Tensor  # [K, R, B]


def plan_of(
    batches: Batches, state_view: TextView, action_view: TextView, device: torch.device
) -> Plan:
    """Return the plan of the batches; both pages of a transition go through the tower together."""
    pages = batches.pages
    after = batches.next_pages
    assert isinstance(after, Pages)
    updates, replicas, size, most = after.actions.shape
    states = state_view.index[np.concatenate([pages.states, after.states], axis=2)]
    taken = action_view.index[batches.taken_actions]
    next_actions = action_view.index[after.actions]
    replica = np.arange(replicas)[:, None]
    texts = action_view.vectors.shape[1]
    rows = None
    at = taken
    at_next = next_actions
    encoded = texts
    if texts > size * (1 + most):  # encode only the actions of the batch
        both = np.concatenate([taken, next_actions.reshape(updates, replicas, -1)], axis=2)
        rows = both + replica * texts
        encoded = rows.shape[2]
        at = np.broadcast_to(np.arange(size), taken.shape)
        at_next = np.broadcast_to(np.arange(size, encoded).reshape(size, most), next_actions.shape)
    mask = after.mask
    nonterminal = np.asarray(mask.any(axis=-1))

    def tensor(array: NDArray[Any]) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(device)

    return Plan(
        states=tensor(states + replica * state_view.vectors.shape[1]).flatten(1),
        state_texts=tensor(states[:, :, :size]).flatten(1),
        actions=None if rows is None else tensor(rows).flatten(1),
        taken=tensor(at + replica * encoded).flatten(1),
        taken_texts=tensor(taken).flatten(1),
        next_actions=tensor(at_next),
        missing=tensor(np.where(mask | ~nonterminal[..., None], 0, -np.inf).astype(np.float32)),
        rewards=tensor(batches.rewards),
        discounts=tensor(batches.discounts * nonterminal),
        weights=tensor(batches.weights),
    )


class Tower:
    """One tower of DRRN, forward and backward."""

    def __init__(self, model: DRRN, view: TextView, name: str) -> None:
        self.view = view
        self.layers = model.shape.layers
        self.biases = [model.weights[f"{name} b{layer}"] for layer in range(1, self.layers + 1)]
        self.products = [model.weights[f"{name} W{layer}"] for layer in range(2, self.layers + 1)]

    def forward(self, rows: Tensor | None) -> list[Tensor]:
        """Return h of each layer, for some rows of the view, or for all: [R, N, H]."""
        hidden = [(self.view.encode(rows) + self.biases[0]).tanh_()]
        for product, bias in zip(self.products, self.biases[1:], strict=True):
            hidden.append(torch.baddbmm(bias, hidden[-1], product).tanh_())
        return hidden

    def backward(
        self, hidden: list[Tensor], back: Tensor, rows: Tensor, texts: Tensor, rate: float
    ) -> None:
        """Move the weights, for the gradients of the last layer of each text: [R, B, H]."""
        for layer in range(self.layers - 1, -1, -1):
            delta = tanh_backward(back, hidden[layer])
            self.biases[layer].add_(delta.sum(1, keepdim=True), alpha=-rate)
            if layer:
                product = self.products[layer - 1]
                back = torch.bmm(delta, product.transpose(1, 2))
                product.baddbmm_(hidden[layer - 1].transpose(1, 2), delta, alpha=-rate)
        self.view.move(texts, rows, delta, rate)


@torch.no_grad()
def learn(model: Model, views: Views, batches: Batches, rate: float) -> NDArray[np.float32]:
    """Make an update for each batch; return the errors y - Q [K, R, B]."""
    assert isinstance(model, DRRN)
    states, actions = (Tower(model, views[name], name) for name in ("state", "action"))
    plan = plan_of(batches, states.view, actions.view, model.device)
    updates, replicas, size = plan.rewards.shape
    errors = torch.empty_like(plan.rewards)
    page_rows = plan.states.view(updates, replicas, -1)[:, :, :size].reshape(updates, -1)
    for k in range(updates):
        s = states.forward(plan.states[k])
        a = actions.forward(None if plan.actions is None else plan.actions[k])
        taken = plan.taken[k]
        h_s = [h[:, :size] for h in s]
        h_a = [h.view(-1, h.shape[2]).index_select(0, taken).view(replicas, size, -1) for h in a]
        best = _best_next(s[-1][:, size:], a[-1], plan, k)
        y = best.mul_(plan.discounts[k]).add_(plan.rewards[k])
        error = torch.sub(y, (h_s[-1] * h_a[-1]).sum(2), out=errors[k])
        delta = (-error * plan.weights[k]).unsqueeze(2)  # gradient of ½ (y - Q)² in Q
        back_s = delta * h_a[-1]
        back_a = delta * h_s[-1]
        states.backward(h_s, back_s, page_rows[k], plan.state_texts[k], rate)
        rows = taken
        if plan.actions is not None:
            rows = plan.actions[k].view(replicas, -1)[:, :size].reshape(-1)
        actions.backward(h_a, back_a, rows, plan.taken_texts[k], rate)
    result: NDArray[np.float32] = errors.cpu().numpy()
    return result


def _best_next(s: Tensor, a: Tensor, plan: Plan, k: int) -> Tensor:
    """max Q(s', a') over the available actions, [R, B]; any number at an ending."""
    at = plan.next_actions[k]
    if plan.actions is None:  # every state with every action is the smaller product
        q = torch.bmm(s, a.transpose(1, 2)).gather(2, at)
    else:
        q = (s.unsqueeze(2) * a[:, s.shape[1] :].view(*at.shape, -1)).sum(3)
    return q.add_(plan.missing[k]).amax(2)


# --- The learner


class FastQLearning(QLearning):
    """The updates of `QLearning`, up to rounding, and `QLearning` itself for other models."""

    def __init__(self, model: Model, settings: Settings) -> None:
        super().__init__(model, settings)
        self.views: dict[str, TextView] = {}  # by encoder, while batches are learned from
        self._overlaps: dict[str, tuple[tuple[int, int], Tensor]] = {}

    def descend_all(self, batches: Batches) -> NDArray[np.float32]:
        rate = self.optimiser.learning_rate
        if not isinstance(batches.next_pages, Pages):  # each update would move all wide menus
            return super().descend_all(batches)
        try:
            if self.optimiser.is_plain and len(batches.taken) > FEW:
                self._open_views(self.pages_to_learn(batches), batches.next_pages)
            if can_learn(self.model, self.views):
                errors = learn(self.model, self.views, batches, rate)
                self.count(batches.active.sum(axis=0))
                return errors
            return super().descend_all(batches)
        finally:  # also if interrupted: the words must keep up with the other weights
            while self.views:
                self.views.popitem()[1].settle(rate)

    def gather(self, name: str, ids: Ids, store: Store) -> Sequence[TextBatch]:
        """Gather texts from the view of the encoder's table, if one is open."""
        view = self.views.get(name)
        return view.batches(ids) if view else super().gather(name, ids, store)

    def move(
        self, dense: Sequence[Tensor], leaves: Leaves, sparse: Sequence[Tensor], active: Tensor
    ) -> None:
        rows = []
        for (batch, _), back in zip(leaves.entries, sparse, strict=True):
            if isinstance(batch, ViewBatch):
                batch.view.move(batch.texts, batch.rows, back, self.optimiser.learning_rate)
            else:
                rows.append((batch, back))
        self.optimiser.step(dense, rows, active)

    def _open_views(self, pages: Pages, after: Pages) -> None:
        """Open a view of each table of a bag encoder that has few texts."""
        reads = (self.model.reads(pages), self.model.reads(after))
        for name in reads[0] | reads[1]:
            encoder = self.model.encoders[name]
            texts = self.model.store.side(encoder.side)
            if type(encoder) is BagOfWords and len(texts) <= MOST_TEXTS:
                ids = [read[name] for read in reads if name in read]
                table = self.model.tables[name]
                table.make_room()
                overlaps = self._overlaps_of(encoder)
                self.views[name] = TextView(table, texts.bags(encoder.norm), ids, overlaps)

    def _overlaps_of(self, encoder: BagOfWords) -> Tensor:
        """Return the overlaps of a side's texts, cached until there are new texts."""
        texts = self.model.store.side(encoder.side)
        version = (texts.generation, len(texts))
        cached = self._overlaps.get(encoder.side)
        if cached is None or cached[0] != version:
            bags = texts.bags(encoder.norm)
            cached = (version, overlaps_of(bags, len(texts.vocabulary), self.model.device))
            self._overlaps[encoder.side] = cached
        return cached[1]
