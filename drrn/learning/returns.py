"""Returns of whole episodes, as pure functions: Monte Carlo, and λ-returns with Retrace's cut (Munos et al. 2016)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from drrn.text import Ids

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Backwards:
    """Episodes laid out to be walked through backwards, all at once: first the last step of each, the longest episode
    first, then the last but one of each that has one, and so on."""

    order: Ids  # [N] the steps in this order
    begins: (
        Ids  # [longest + 1] where each distance from the end begins, and where the last one ends
    )

    @staticmethod
    def of(last: NDArray[np.bool_]) -> Backwards:
        """Of steps in the order of their episodes; `last` says which is an episode's last."""
        ends = np.flatnonzero(last)
        lengths = np.diff(ends, prepend=-1)
        rank = np.empty(len(ends), np.int64)
        rank[np.argsort(-lengths, kind="stable")] = np.arange(len(ends))
        episode = np.repeat(np.arange(len(ends)), lengths)
        distance = ends[episode] - np.arange(len(last))
        begins = np.concatenate([[0], np.cumsum(np.bincount(distance))])
        order = np.empty(len(last), np.int64)
        order[begins[distance] + rank[episode]] = np.arange(
            len(last)
        )  # no shorter episode stands before a longer one
        return Backwards(order, begins)

    @property
    def ends(self) -> Ids:
        """The last step of each episode."""
        return self.order[: self.begins[1]] if len(self.begins) > 1 else self.order

    def accumulate(self, own: Floats, share: Floats) -> Floats:
        """G_t = own_t + share_t G_{t+1} within each episode; after the last step there is nothing."""
        sums = own[self.order]
        shares = share[self.order]
        begins = self.begins.tolist()
        for before, begin, end in zip(begins, begins[1:], begins[2:], strict=False):
            # views, changed in place
            here = sums[begin:end]
            more = shares[begin:end]
            more *= sums[before : before + end - begin]
            here += more
        found = np.empty_like(sums)
        found[self.order] = sums
        return found


def monte_carlo(steps: Backwards, rewards: Floats, at_end: Floats, discount: float) -> Floats:
    """What followed each step, discounted; `at_end` is the value of the page after a last step, 0 at an ending."""
    own = rewards.copy()
    own[steps.ends] += discount * at_end[steps.ends]
    return steps.accumulate(own, np.full(len(rewards), discount))


def retrace(
    steps: Backwards, rewards: Floats, value: Floats, q: Floats, trust: Floats, discount: float
) -> Floats:
    """G_t = r_t + γ (V(s_{t+1}) + c_{t+1} (G_{t+1} - Q(s_{t+1}, a_{t+1}))).

    `value` is V of the page after each step, under the policy that is valued (0 at an ending); `q` and `trust` are Q
    and c of the action that each step itself took. After an episode's last step only V is left, so that an episode that
    was stopped bootstraps.
    """
    own = discount * value
    own += rewards
    share = np.empty(len(rewards))
    np.multiply(trust[1:], discount, out=share[:-1])
    share[steps.ends] = 0.0  # the step after it is another episode's
    own[:-1] -= share[:-1] * q[1:]
    return steps.accumulate(own, share)


def trust_in(policy: Floats, behaviour: Floats, trace: float) -> Floats:
    """Retrace's cut: c = λ min(1, π / μ), for π and μ of the actions taken. An action that was taken though its
    probability was noted as zero counts as one that π would take as readily, unless π never takes it."""
    if behaviour.all():
        ratio = policy / behaviour
    else:
        ratio = np.divide(
            policy, behaviour, out=np.where(policy > 0, 1.0, 0.0), where=behaviour > 0
        )
    np.minimum(1.0, ratio, out=ratio)
    ratio *= trace
    found: Floats = ratio
    return found
