"""The fixed point of Q-learning on a compiled game, for a player that sees only texts.

Each pair of text and action has a separate Q, so there is no error from generalisation, and no
noise from sampling: every Q is the mean of its targets over the states that softmax play visits. A
learner from samples need not converge to it, since it stops learning about pairs that it no longer
visits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from drrn.compiled.chain import Chain, softmax_of_slots
from drrn.compiled.game import Compiled, Floats, totals
from drrn.compiled.solve import policy_score, slot_values

STEP = 0.3  # fraction of the difference to the mean target that a sweep applies
TOLERANCE = 1e-3  # largest difference at convergence
MAX_SWEEPS = 1_000
MAX_UPDATES = 30_000_000  # of slots: about a minute


@dataclass(frozen=True)
class FixedPoint:
    """Q-values of each slot, and the score of softmax play by them."""

    final_reward: float
    q: Floats  # [slots]


def fixed_point(
    graph: Compiled,
    alpha: float,
    discount: float,
    max_steps: int,
    *,
    n_steps: int = 1,
    start: np.random.Generator | None = None,
) -> FixedPoint | None:
    """Sweep from Q = 0 (or random values) to convergence; return None if it does not converge."""
    keys = graph.text[graph.slot_state] * len(graph.actions) + graph.action
    pairs, pair = np.unique(keys, return_inverse=True)
    q = np.zeros(len(pairs)) if start is None else start.normal(0.0, 5.0, len(pairs))
    for _ in range(min(MAX_SWEEPS, MAX_UPDATES // len(graph.row))):
        policy = softmax_of_slots(graph, q[pair], alpha)
        # expected number of times that each slot is taken; none after the last step
        visits = Chain(graph, policy).visits(max_steps - 1)[graph.slot_state] * policy
        weight = totals(pair, visits, len(pairs))
        targets = totals(
            pair, visits * _targets(graph, q[pair], policy, discount, n_steps), len(pairs)
        )
        means = np.divide(targets, weight, out=q.copy(), where=weight > 0)
        if np.abs(means - q).max() <= TOLERANCE:
            return FixedPoint(policy_score(graph, policy, max_steps).final_reward, q[pair])
        q += STEP * (means - q)
    return None


def _targets(graph: Compiled, q: Floats, policy: Floats, discount: float, n_steps: int) -> Floats:
    """Return n-step targets of each slot: rewards under the policy, then the best Q."""
    value = np.full(len(graph), -np.inf)
    np.maximum.at(value, graph.slot_state, q)
    value[graph.ended] = 0.0
    for _ in range(n_steps - 1):
        worth = policy * slot_values(graph, graph.reward + discount * value)
        value = totals(graph.slot_state, worth, len(graph))
    return slot_values(graph, graph.reward + discount * value)
