"""The paper's equations as pure functions: targets and losses."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional


def q_targets(
    reward: Tensor, next_q: Tensor, next_mask: Tensor, discount: Tensor | float
) -> Tensor:
    """r + γ max Q(s', a') over the actions that exist; an ending has none, so r alone."""
    best = next_q.masked_fill(~next_mask, -torch.inf).amax(dim=-1)
    return reward + discount * torch.where(next_mask.any(dim=-1), best, 0.0)


def double_q_targets(
    reward: Tensor, next_q: Tensor, online_q: Tensor, next_mask: Tensor, discount: Tensor | float
) -> Tensor:
    """r + γ Q(s', argmax Q'(s', a')): the online network Q' chooses, the other values."""
    chosen = online_q.masked_fill(~next_mask, -torch.inf).argmax(dim=-1, keepdim=True)
    value = next_q.gather(-1, chosen).squeeze(-1)
    return reward + discount * torch.where(next_mask.any(dim=-1), value, 0.0)


def values_of_pairs(next_q: Tensor, online_q: Tensor, owner: Tensor, pages: int) -> Tensor:
    """The same max, where pages are given as pairs [R, N] of an action and the page that owns it (-1: none): Q of the
    action that the online network values most, for each of so many pages; 0 where one has no action. [R, pages]"""
    places = torch.arange(owner.shape[1], device=owner.device).expand_as(owner)
    owner = owner.where(owner >= 0, pages)  # what is no pair falls to a page beyond the last
    best = next_q.new_full((len(owner), pages + 1), -torch.inf).scatter_reduce(
        1, owner, online_q, "amax"
    )
    first = torch.full_like(best, owner.shape[1], dtype=torch.long)
    first.scatter_reduce_(
        1, owner, places.where(online_q == best.gather(1, owner), owner.shape[1]), "amin"
    )
    values = torch.cat([next_q, next_q.new_zeros(len(owner), 1)], dim=1)
    return values.gather(1, first)[:, :pages]


def squared(error: Tensor) -> Tensor:
    """½ (y - Q)², so that its gradient is the error itself."""
    return 0.5 * error * error


def huber(error: Tensor) -> Tensor:
    """Squared up to an error of 1, linear beyond."""
    return functional.huber_loss(error, torch.zeros_like(error), reduction="none", delta=1.0)


LOSSES: dict[str, Callable[[Tensor], Tensor]] = {"squared": squared, "huber": huber}
