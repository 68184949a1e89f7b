"""Equations as pure functions: policies, targets, returns. The letters are those of the papers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from textgames.arrays import Ids

Q = NDArray[np.floating]
Mask = NDArray[np.bool_]
Floats = NDArray[np.float64]
Probabilities = Floats
GREEDY = 1e9  # α of a policy that takes the best action, or one of several

# --- Policies


def softmax(q: Q, mask: Mask, alpha: float) -> Probabilities:
    """π(a) ∝ exp(α Q(a)), the paper's equation 2, over the available actions: [..., A]."""
    scaled = np.where(mask, alpha * q.astype(np.float64), -np.inf)
    weights = np.exp(scaled - scaled.max(axis=-1, keepdims=True))
    probabilities: Probabilities = weights / weights.sum(axis=-1, keepdims=True)
    return probabilities


def greedy(q: Q, mask: Mask) -> Probabilities:
    """π(a) = 1 for the best available action, the first of equals."""
    best = np.where(mask, q, -np.inf).argmax(axis=-1)
    probabilities: Probabilities = (np.arange(q.shape[-1]) == best[..., None]).astype(np.float64)
    return probabilities


def draw_actions(probabilities: Probabilities, uniform: Floats) -> Ids:
    """The index of an action for each row [N, A], by a number in [0, 1) for each [N]."""
    ends = np.cumsum(probabilities, axis=-1)
    index = (ends <= (uniform * ends[:, -1])[:, None]).sum(axis=-1)
    return np.asarray(np.minimum(index, probabilities.shape[-1] - 1))


# --- Q-learning


def q_targets(
    reward: Tensor, next_q: Tensor, next_mask: Tensor, discount: Tensor | float
) -> Tensor:
    """r + γ max Q(s', a') over the available actions, or r alone at a terminal state."""
    best = next_q.masked_fill(~next_mask, -torch.inf).amax(dim=-1)
    return reward + discount * torch.where(next_mask.any(dim=-1), best, 0.0)


def squared(error: Tensor) -> Tensor:
    """½ (y - Q)², so that its gradient is the error itself."""
    return 0.5 * error * error


def n_step_rewards(
    last: Mask, reward: Floats, discount: float, n_steps: int
) -> tuple[Floats, Ids, Ids]:
    """Sum the discounted rewards of n steps, or of those before the end of the episode: [N].

    Returns the sums, the last step of each, and the number of rewards in it.
    """
    ends = np.flatnonzero(last)
    sums = np.zeros(len(last))
    start = np.arange(len(last))
    end = np.minimum(start + n_steps - 1, np.repeat(ends, np.diff(ends, prepend=-1)))
    for k in range(int((end - start).max(initial=-1)) + 1):
        within = start[start + k <= end]
        sums[within] += discount**k * reward[within + k]
    return sums, end, end - start + 1


def last_steps(episode: Ids) -> Mask:
    """Which steps are the last of their episode, for steps in the order of episodes."""
    return np.append(episode[1:] != episode[:-1], True)[: len(episode)]


# --- Returns of whole episodes


@dataclass(frozen=True)
class BackwardOrder:
    """Steps of episodes in an order that sums all episodes backwards at once.

    First come the last steps of all episodes, the longest episode first, then the steps before
    them, and so on.
    """

    order: Ids  # [N] steps in this order
    starts: Ids  # [longest + 1] where each distance from the end starts; the last entry is N

    @staticmethod
    def of(last: Mask) -> BackwardOrder:
        """The order of steps, of which some are the last of their episode."""
        ends = np.flatnonzero(last)
        lengths = np.diff(ends, prepend=-1)
        rank = np.empty(len(ends), np.int64)
        rank[np.argsort(-lengths, kind="stable")] = np.arange(len(ends))
        episode = np.repeat(np.arange(len(ends)), lengths)
        distance = ends[episode] - np.arange(len(last))
        starts = np.concatenate([[0], np.cumsum(np.bincount(distance))])
        order = np.empty(len(last), np.int64)
        order[starts[distance] + rank[episode]] = np.arange(len(last))
        return BackwardOrder(order, starts)

    @property
    def ends(self) -> Ids:
        """The last step of each episode."""
        return self.order[: self.starts[1]] if len(self.starts) > 1 else self.order

    def accumulate(self, value: Floats, factor: Floats) -> Floats:
        """G_t = value_t + factor_t G_{t+1} within each episode, with 0 after the last step."""
        sums = value[self.order]
        factors = factor[self.order]
        starts = self.starts.tolist()
        for before, start, end in zip(starts, starts[1:], starts[2:], strict=False):
            # Views, changed in place.
            here = sums[start:end]
            rest = factors[start:end]
            rest *= sums[before : before + end - start]
            here += rest
        result = np.empty_like(sums)
        result[self.order] = sums
        return result


def monte_carlo(steps: BackwardOrder, rewards: Floats, final: Floats, discount: float) -> Floats:
    """G_t = Σ γᵏ r_{t+k}, where `final` is the value after a last step, 0 at an ending."""
    value = rewards.copy()
    value[steps.ends] += discount * final[steps.ends]
    return steps.accumulate(value, np.full(len(rewards), discount))


def retrace(
    steps: BackwardOrder, rewards: Floats, value: Floats, q: Floats, trust: Floats, discount: float
) -> Floats:
    """G_t = r_t + γ (V(s_{t+1}) + c_{t+1} (G_{t+1} - Q(s_{t+1}, a_{t+1}))), Munos et al. 2016.

    Args:
        value: V of the page after each step under the evaluated policy, 0 at an ending. After an
            episode's last step only V remains, so that a truncated episode bootstraps.
        q: Q of the action that each step took.
        trust: c of the action that each step took (`trace_coefficients`).
    """
    constant = discount * value
    constant += rewards
    factor = np.empty(len(rewards))
    np.multiply(trust[1:], discount, out=factor[:-1])
    factor[steps.ends] = 0.0  # the next step belongs to another episode
    constant[:-1] -= factor[:-1] * q[1:]
    return steps.accumulate(constant, factor)


def trace_coefficients(policy: Floats, behaviour: Floats, trace: float) -> Floats:
    """c = λ min(1, π / μ), for π and μ of the actions taken.

    If μ was recorded as 0, the ratio counts as 1, or as 0 if π is 0 too.
    """
    default = np.where(policy > 0, 1.0, 0.0)
    ratio = np.divide(policy, behaviour, out=default, where=behaviour > 0)
    return np.asarray(trace * np.minimum(1.0, ratio))


def group_means(group: Ids, values: Floats) -> Floats:
    """The mean of each value's group."""
    return np.asarray((np.bincount(group, values) / np.maximum(1, np.bincount(group)))[group])
