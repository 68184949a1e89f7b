"""The equations of Q-learning as pure functions: targets and the loss."""

from __future__ import annotations

import torch
from torch import Tensor


def q_targets(
    reward: Tensor, next_q: Tensor, next_mask: Tensor, discount: Tensor | float
) -> Tensor:
    """r + γ max Q(s', a') over the available actions; r alone at a terminal state."""
    best = next_q.masked_fill(~next_mask, -torch.inf).amax(dim=-1)
    return reward + discount * torch.where(next_mask.any(dim=-1), best, 0.0)


def best_of_pairs(q: Tensor, owner: Tensor, pages: int) -> Tensor:
    """Return the same maximum [R, pages] for pages that are given as pairs.

    Args:
        q: Q of each pair of a page and an action, [R, N].
        owner: The page of each pair, [R, N]; -1 for padding.
        pages: Number of pages; one without actions has the value 0.
    """
    owner = owner.where(owner >= 0, pages)  # padding belongs to an extra last page
    best = q.new_full((len(owner), pages + 1), -torch.inf).scatter_reduce(1, owner, q, "amax")
    return best.masked_fill(best == -torch.inf, 0.0)[:, :pages]


def squared(error: Tensor) -> Tensor:
    """½ (y - Q)², so that its gradient is the error itself."""
    return 0.5 * error * error
