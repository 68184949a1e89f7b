"""The paper's own network, differentiated by hand: DRRN with the inner product, as its appendix writes it out.

The same update as `QLearning` makes by automatic differentiation (a test compares them), in fewer and larger products:
both pages of a transition go through the state tower together, and every action of the batches through the action tower
once. It needs the view of the tables from their texts, plain SGD and the squared loss.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from drrn.learning.fast.text_view import TextView
from drrn.learning.replay import Batches
from drrn.models.base import Model, Pages
from drrn.models.drrn import DRRN

tanh_backward = torch.ops.aten.tanh_backward


Views = Mapping[str, TextView]


def can_learn(model: Model, views: Views) -> bool:
    """Whether the model is one, and its views are open; a subclass may differ in what is written out here."""
    return (
        type(model) is DRRN
        and model.shape.interaction == "inner"
        and set(views) == {"state", "action"}
    )


@dataclass(frozen=True)
class Plan:
    """All that K updates look up, made at once; rows count through the texts of all replicas end to end."""

    states: Tensor  # [K, R · 2B], rows: the pages, then the next pages
    state_texts: Tensor  # [K, R · B], of the pages, in the view
    actions: (
        Tensor | None
    )  # [K, R · (B + B · A)], rows: taken, then next; None: every action of the view is encoded
    taken: Tensor  # [K, R · B], rows of the encoded actions
    taken_texts: Tensor  # [K, R · B], in the view
    next_actions: Tensor  # [K, R, B, A], among the replica's encoded ones
    missing: Tensor  # [K, R, B, A], -∞ where there is no action
    rewards: Tensor  # [K, R, B]
    discounts: Tensor  # [K, R, B], 0 at an ending
    weights: Tensor  # [K, R, B]


def plan_of(
    batches: Batches, state_view: TextView, action_view: TextView, device: torch.device
) -> Plan:
    pages = batches.pages
    after = batches.next_pages
    assert isinstance(after, Pages)
    updates, replicas, size, most = after.actions.shape
    states = state_view.place[np.concatenate([pages.states, after.states], axis=2)]
    taken = action_view.place[batches.chosen]
    following = action_view.place[after.actions]
    replica = np.arange(replicas)[:, None]
    texts = action_view.vectors.shape[1]
    rows = None
    at = taken
    at_next = following
    encoded = texts
    if texts > size * (1 + most):  # more than the batch has
        rows = (
            np.concatenate([taken, following.reshape(updates, replicas, -1)], axis=2)
            + replica * texts
        )
        encoded = rows.shape[2]
        at = np.broadcast_to(np.arange(size), taken.shape)
        at_next = np.broadcast_to(np.arange(size, encoded).reshape(size, most), following.shape)
    mask = after.mask
    going_on = np.asarray(mask.any(axis=-1))

    def tensor(array: NDArray[Any]) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(device)

    return Plan(
        states=tensor(states + replica * state_view.vectors.shape[1]).flatten(1),
        state_texts=tensor(states[:, :, :size]).flatten(1),
        actions=None if rows is None else tensor(rows).flatten(1),
        taken=tensor(at + replica * encoded).flatten(1),
        taken_texts=tensor(taken).flatten(1),
        next_actions=tensor(at_next),
        missing=tensor(np.where(mask | ~going_on[..., None], 0, -np.inf).astype(np.float32)),
        rewards=tensor(batches.rewards),
        discounts=tensor(batches.discounts * going_on),
        weights=tensor(batches.weights),
    )


class Side:
    """One tower, forwards and backwards."""

    def __init__(self, model: DRRN, view: TextView, name: str) -> None:
        self.view = view
        self.layers = model.shape.layers
        self.biases = [model.weights[f"{name} b{layer}"] for layer in range(1, self.layers + 1)]
        self.products = [model.weights[f"{name} W{layer}"] for layer in range(2, self.layers + 1)]

    def forward(self, rows: Tensor | None) -> list[Tensor]:
        """h of each layer, for some rows of the view, or for all: [R, N, H]."""
        hidden = [(self.view.encode(rows) + self.biases[0]).tanh_()]
        for product, bias in zip(self.products, self.biases[1:], strict=True):
            hidden.append(torch.baddbmm(bias, hidden[-1], product).tanh_())
        return hidden

    def backward(
        self, hidden: list[Tensor], back: Tensor, rows: Tensor, texts: Tensor, rate: float
    ) -> None:
        """Move this side's weights, for what comes back to the last layer of each text: [R, B, H]."""
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
    """A step for each batch; the errors y - Q of each transition [K, R, B]."""
    assert isinstance(model, DRRN)
    states, actions = (Side(model, views[name], name) for name in ("state", "action"))
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
        y = (
            _best_next(s[-1][:, size:], a[-1], plan, k)
            .mul_(plan.discounts[k])
            .add_(plan.rewards[k])
        )
        error = torch.sub(y, (h_s[-1] * h_a[-1]).sum(2), out=errors[k])
        delta = (-error * plan.weights[k]).unsqueeze(2)  # of ½ (y - Q)², by Q
        back_s = delta * h_a[-1]
        back_a = delta * h_s[-1]
        states.backward(h_s, back_s, page_rows[k], plan.state_texts[k], rate)
        taken_rows = (
            taken
            if plan.actions is None
            else plan.actions[k].view(replicas, -1)[:, :size].reshape(-1)
        )
        actions.backward(h_a, back_a, taken_rows, plan.taken_texts[k], rate)
    found: NDArray[np.float32] = errors.cpu().numpy()
    return found


def _best_next(s: Tensor, a: Tensor, plan: Plan, k: int) -> Tensor:
    """max Q(s', a') over the actions that exist, [R, B]; at an ending, anything."""
    at = plan.next_actions[k]
    if plan.actions is None:
        q = torch.bmm(s, a.transpose(1, 2)).gather(
            2, at
        )  # every state with every action is the smaller product
    else:
        q = (s.unsqueeze(2) * a[:, s.shape[1] :].view(*at.shape, -1)).sum(3)
    return q.add_(plan.missing[k]).amax(2)
