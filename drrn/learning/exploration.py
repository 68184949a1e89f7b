"""Choosing among actions by their Q-values. Each function gives probabilities; the draw is the caller's."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Q = NDArray[np.floating]
Probabilities = NDArray[np.float64]


def softmax(q: Q, mask: NDArray[np.bool_], alpha: float) -> Probabilities:
    """π(a) ∝ exp(α Q(a)), the paper's equation 2, over the actions that exist: [..., A]."""
    scaled = np.where(mask, alpha * q.astype(np.float64), -np.inf)
    weights = np.exp(scaled - scaled.max(axis=-1, keepdims=True))
    shares: Probabilities = weights / weights.sum(axis=-1, keepdims=True)
    return shares


def greedy(q: Q, mask: NDArray[np.bool_]) -> Probabilities:
    """All on the best action; the first of equals."""
    best = np.where(mask, q, -np.inf).argmax(axis=-1)
    shares: Probabilities = np.eye(q.shape[-1])[best]
    return shares


def epsilon_greedy(q: Q, mask: NDArray[np.bool_], epsilon: float) -> Probabilities:
    """With probability ε any action, else the best."""
    anything = mask / mask.sum(axis=-1, keepdims=True)
    shares: Probabilities = epsilon * anything + (1 - epsilon) * greedy(q, mask)
    return shares


def draw_actions(probabilities: Probabilities, uniform: NDArray[np.float64]) -> NDArray[np.int64]:
    """One action for each row [N, A], by a number in [0, 1) for each [N]."""
    ends = np.cumsum(probabilities, axis=-1)
    chosen = (ends <= (uniform * ends[:, -1])[:, None]).sum(axis=-1)
    places: NDArray[np.int64] = np.minimum(chosen, probabilities.shape[-1] - 1)
    return places
