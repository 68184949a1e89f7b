"""The fixed point of Q-learning, for players that see the page alone.

Each pair of text and action has a separate Q, so there is no error from generalisation. Every Q is
the mean of its targets over the states that softmax play visits, so there is no noise from
sampling. A learner from samples need not converge to it, since it stops learning about pairs that
it no longer visits.
"""

from dataclasses import dataclass

import numpy as np

from textgames.compiled import solve
from textgames.compiled.chain import Chain, softmax_of_slots
from textgames.compiled.game import Compiled, Floats, totals


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
    tolerance: float = 1e-3,
    sweeps: int = 1_000,
    updates: int = 30_000_000,
) -> FixedPoint | None:
    """Sweep to convergence. Returns None if it does not converge.

    Args:
        graph: The compiled game.
        alpha: α of softmax play.
        discount: The discount.
        max_steps: The step limit of an episode.
        n_steps: The number of rewards in a target.
        start: Draws the first Q-values. None starts from 0.
        tolerance: The largest difference to the mean target at convergence.
        sweeps: Limits the sweeps.
        updates: Limits the updates of a slot in all sweeps. The default takes about a minute.
    """
    keys = graph.text[graph.slot_state] * len(graph.actions) + graph.action
    pairs, pair = np.unique(keys, return_inverse=True)
    q = np.zeros(len(pairs)) if start is None else start.normal(0.0, 5.0, len(pairs))
    for _ in range(min(sweeps, updates // len(graph.row))):
        policy = softmax_of_slots(graph, q[pair], alpha)
        # expected number of times that each slot is taken, none after the last step
        visits = Chain(graph, policy).visits(max_steps - 1)[graph.slot_state] * policy
        weight = totals(pair, visits, len(pairs))
        targets = _targets(graph, q[pair], policy, discount, n_steps)
        targets = totals(pair, visits * targets, len(pairs))
        means = np.divide(targets, weight, out=q.copy(), where=weight > 0)
        if np.abs(means - q).max() <= tolerance:
            return FixedPoint(solve.policy_score(graph, policy, max_steps).final_reward, q[pair])
        q += 0.3 * (means - q)
    return None


def _targets(graph: Compiled, q: Floats, policy: Floats, discount: float, n_steps: int) -> Floats:
    """n-step targets of each slot: rewards under the policy, then the best Q."""
    value = np.full(len(graph), -np.inf)
    np.maximum.at(value, graph.slot_state, q)
    value[graph.ended] = 0.0
    for _ in range(n_steps - 1):
        worth = policy * solve.slot_values(graph, graph.reward + discount * value)
        value = totals(graph.slot_state, worth, len(graph))
    return solve.slot_values(graph, graph.reward + discount * value)
