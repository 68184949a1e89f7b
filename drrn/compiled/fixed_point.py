"""The fixed point of Q-learning on a compiled game, for a player that sees texts and not the variables behind them.

Each pair of a text and an action has a Q of its own, so nothing is lost by generalising, and no sampling adds noise:
every Q is the mean of its targets over the states in which play by softmax meets it, and the play follows from Q. A
learner from samples need not come there: what it no longer meets, it no longer learns.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from drrn.compiled.chain import Chain, softmax_of_slots
from drrn.compiled.graph import Floats, StateGraph, totals
from drrn.compiled.solve import policy_score, slot_values

STEP = 0.3  # of the way to the mean of the targets, in a sweep
STILL = 1e-3  # a sweep that would move no Q by more, if it went the whole way, is the last
MOST_SWEEPS = 1_000
WORK = 30_000_000  # slots that are swept before it is given up: a minute or so


@dataclass(frozen=True)
class FixedPoint:
    """The Q-values of each slot, and what play by softmax scores on them."""

    final_reward: float
    q: Floats  # [slots]


def fixed_point(
    graph: StateGraph,
    alpha: float,
    discount: float,
    max_steps: int,
    *,
    n_steps: int = 1,
    start: np.random.Generator | None = None,
) -> FixedPoint | None:
    """The fixed point, by sweeps from 0 or from anywhere until nothing moves; None where something always does."""
    pairs, pair = np.unique(
        graph.text[graph.slot_state] * len(graph.actions) + graph.action, return_inverse=True
    )
    q = np.zeros(len(pairs)) if start is None else start.normal(0.0, 5.0, len(pairs))
    for _ in range(min(MOST_SWEEPS, WORK // len(graph.row))):
        chosen = softmax_of_slots(graph, q[pair], alpha)
        # how often each slot is taken: where play stands after the last step, it takes none
        met = Chain(graph, chosen).visits(max_steps - 1)[graph.slot_state] * chosen
        times = totals(pair, met, len(pairs))
        targets = _targets(graph, q[pair], chosen, discount, n_steps)
        means = np.divide(
            totals(pair, met * targets, len(pairs)), times, out=q.copy(), where=times > 0
        )
        if np.abs(means - q).max() <= STILL:
            return FixedPoint(policy_score(graph, chosen, max_steps).final_reward, q[pair])
        q += STEP * (means - q)
    return None


def _targets(graph: StateGraph, q: Floats, chosen: Floats, discount: float, n_steps: int) -> Floats:
    """Of each slot: the rewards of n steps as they are played, then the best Q of where that leads."""
    value = np.full(len(graph), -np.inf)
    np.maximum.at(value, graph.slot_state, q)
    value[graph.ended] = 0.0
    for _ in range(n_steps - 1):
        value = totals(
            graph.slot_state,
            chosen * slot_values(graph, graph.reward + discount * value),
            len(graph),
        )
    return slot_values(graph, graph.reward + discount * value)
