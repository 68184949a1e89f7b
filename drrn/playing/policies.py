"""Policies over Q-values: how a replica chooses on a page, and how on one that its episode has shown before."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from drrn.errors import InputError, did_you_mean
from drrn.learning.equations import Probabilities, greedy, softmax
from drrn.models import Pages
from drrn.settings import POLICIES as POLICIES

Q = NDArray[np.floating]


class QPolicy(Protocol):
    """How a replica chooses from Q-values: probabilities [N, A] of the actions of N of its pages."""

    def first(self, replica: int, q: Q, pages: Pages) -> Probabilities:
        """On pages whose text the episode has not shown before; states [N], actions [N, A]."""

    def again(self, replica: int, q: Q, pages: Pages) -> Probabilities | None:
        """On pages whose text the episode has shown before; None: as at first."""


class Memoryless:
    """A policy that does not depend on which pages the episode has shown before."""

    def again(self, replica: int, q: Q, pages: Pages) -> Probabilities | None:
        return None


@dataclass(frozen=True)
class Softmax(Memoryless):
    """π(a) ∝ exp(α Q(a)), the paper's."""

    alpha: float

    def first(self, replica: int, q: Q, pages: Pages) -> Probabilities:
        return softmax(q, pages.mask, self.alpha)


@dataclass(frozen=True)
class Greedy(Memoryless):
    """Always takes the action with the highest Q."""

    def first(self, replica: int, q: Q, pages: Pages) -> Probabilities:
        return greedy(q, pages.mask)


@dataclass(frozen=True)
class Best:
    """The best action on a page that is new in this episode, softmax on one that was shown before.

    Greedy play walks in circles where a page gives no sign of what was done already; this leaves them as softmax does.
    """

    alpha: float

    def first(self, replica: int, q: Q, pages: Pages) -> Probabilities:
        return greedy(q, pages.mask)

    def again(self, replica: int, q: Q, pages: Pages) -> Probabilities | None:
        return softmax(q, pages.mask, self.alpha)


def policy_of(name: str, alpha: float) -> QPolicy:
    """A policy by its name."""
    if name not in POLICIES:
        raise InputError(
            f'no policy is named "{name}": choose from {", ".join(POLICIES)}.{did_you_mean(name, POLICIES)}'
        )
    policies: dict[str, QPolicy] = {
        "softmax": Softmax(alpha),
        "greedy": Greedy(),
        "best": Best(alpha),
    }
    return policies[name]


def chances(
    policy: QPolicy, replica: int, q: Q, pages: Pages, seen: NDArray[np.bool_]
) -> Probabilities:
    """The probabilities [N, A] on pages of which those that are `seen` were shown before in their episodes."""
    shares = policy.first(replica, q, pages)
    again = (
        policy.again(replica, q[seen], Pages(pages.states[seen], pages.actions[seen]))
        if seen.any()
        else None
    )
    if again is not None:
        shares = shares.copy()
        shares[seen] = again
    return shares
