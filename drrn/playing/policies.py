"""Policies over Q-values, and the interface of rollouts, which play games with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from drrn.errors import InputError, did_you_mean
from drrn.game.episodes import Episode
from drrn.learning.equations import Probabilities, Q, greedy, softmax
from drrn.learning.experience import Steps
from drrn.models import Model, Pages
from drrn.settings import POLICIES


class QPolicy(Protocol):
    """Chooses by Q-values: returns the probabilities [N, A] of the actions of N pages."""

    def first(self, replica: int, q: Q, pages: Pages) -> Probabilities:
        """On pages whose text is new in the episode; states [N], actions [N, A]."""

    def again(self, replica: int, q: Q, pages: Pages) -> Probabilities | None:
        """On pages whose text the episode has shown before; None: as `first`."""


@dataclass(frozen=True)
class Softmax:
    """π(a) ∝ exp(α Q(a)), as in the paper."""

    alpha: float

    def first(self, replica: int, q: Q, pages: Pages) -> Probabilities:
        return softmax(q, pages.mask, self.alpha)

    def again(self, replica: int, q: Q, pages: Pages) -> Probabilities | None:
        return None


@dataclass(frozen=True)
class Greedy:
    """Takes the action with the highest Q."""

    def first(self, replica: int, q: Q, pages: Pages) -> Probabilities:
        return greedy(q, pages.mask)

    def again(self, replica: int, q: Q, pages: Pages) -> Probabilities | None:
        return None


@dataclass(frozen=True)
class Best:
    """Greedy on pages that are new in the episode, softmax on others.

    Greedy play loops if a page does not show what was done before; softmax leaves the loop.
    """

    alpha: float

    def first(self, replica: int, q: Q, pages: Pages) -> Probabilities:
        return greedy(q, pages.mask)

    def again(self, replica: int, q: Q, pages: Pages) -> Probabilities | None:
        return softmax(q, pages.mask, self.alpha)


def policy_of(name: str, alpha: float) -> QPolicy:
    """Return a policy by its name, one of `settings.POLICIES`."""
    policies: dict[str, QPolicy] = {
        "softmax": Softmax(alpha),
        "greedy": Greedy(),
        "best": Best(alpha),
    }
    if name not in policies:
        names = ", ".join(POLICIES)
        near = did_you_mean(name, POLICIES)
        raise InputError(f'no policy is named "{name}": choose from {names}.{near}')
    return policies[name]


def probabilities_of(
    policy: QPolicy, replica: int, q: Q, pages: Pages, repeated: NDArray[np.bool_]
) -> Probabilities:
    """Return probabilities [N, A]; `repeated` pages [N] were shown before in their episode."""
    probabilities = policy.first(replica, q, pages)
    if not repeated.any():
        return probabilities
    some = Pages(pages.states[repeated], pages.actions[repeated])
    again = policy.again(replica, q[repeated], some)
    if again is not None:
        probabilities = probabilities.copy()
        probabilities[repeated] = again
    return probabilities


@dataclass(frozen=True)
class Rollout:
    """Episodes that one replica played; outcomes and steps are computed when they are needed."""

    compute_outcomes: Callable[[], list[Episode]]
    compute_steps: Callable[[], Steps]

    @cached_property
    def episodes(self) -> list[Episode]:
        return self.compute_outcomes()

    @cached_property
    def steps(self) -> Steps:
        """Every step in the order of the episodes, if they were played to learn."""
        return self.compute_steps()


class Rollouts(Protocol):
    """Plays one game with the replicas of one model."""

    model: Model

    def play(
        self,
        episodes: int,
        policy: QPolicy,
        generators: Sequence[np.random.Generator],
        *,
        learn: bool,
    ) -> list[Rollout]:
        """Play episodes with each replica, to an ending or to the step limit.

        Args:
            episodes: How many each replica plays.
            generators: The random generator of each replica, which alone determines its episodes.
            learn: If true, replicas learn the words they read and steps are recorded; otherwise
                unknown words count for nothing.
        """
