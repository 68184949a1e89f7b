"""Players that see the page, not the history or the hidden variables.

The best such policy: finding it is a partially observed problem, so this is a search. Its result is
a lower bound, and the best policy with full knowledge an upper bound. Hill climbing: each page
takes the action that is best on average over the states behind it, if that is an improvement.
Policies are mixed with random play at first, with a decreasing share.

The fixed point of Q-learning: each pair of text and action has a separate Q, so there is no error
from generalisation. Every Q is the mean of its targets over the states that softmax play visits, so
there is no noise from sampling. A learner from samples need not converge to it, since it stops
learning about pairs that it no longer visits.
"""

from dataclasses import dataclass

import numpy as np

from textgames.compiled import solve
from textgames.compiled.chain import Chain, softmax_of_slots, uniform
from textgames.compiled.game import Compiled, Floats, Ints, totals

RANDOM_SHARES = (0.0, 0.3, 0.1, 0.03, 0.0)
MIN_GAIN = 1e-9  # smaller differences of scores are no improvement


@dataclass(frozen=True)
class MemorylessPolicy:
    """A policy that depends on the page alone: its score, and the probability of each slot."""

    score: float
    probabilities: Floats


def best_memoryless(
    graph: Compiled,
    discount: float | None = None,
    *,
    random_starts: int = 3,
    evaluations: int = 1_000_000,
) -> MemorylessPolicy:
    """Search for the best memoryless policy, from the full-knowledge policy and random ones.

    `evaluations` limits the policies that are tried, each counted with the number of its slots.
    """
    optimum = solve.best(graph, discount)
    trials = max(20, evaluations // len(graph.row))
    search = _Search(graph, discount, optimum.score - MIN_GAIN, trials)
    random = np.random.default_rng(0)
    search.climb(search.nearest(optimum))
    for _ in range(random_starts):
        search.climb(search.first_labels(random.random(len(search.page_of))))
    probabilities = search.best.probabilities
    return MemorylessPolicy(solve.policy_value(graph, probabilities, discount), probabilities)


class _Search:
    """A policy is a label (an action's words) per page. Equal actions share its probability."""

    def __init__(self, graph: Compiled, discount: float | None, enough: float, trials: int) -> None:
        self.enough = enough  # no policy scores more, so the search can stop
        self.trials = trials
        self.graph = graph
        self.discount = discount
        self.pay = solve.pays(graph, discount)
        self.gamma = 1.0 if discount is None else discount
        pages = np.repeat(np.arange(len(graph.page_text)), np.diff(graph.page_first))
        pairs = pages * len(graph.actions) + graph.page_action
        keys, label, copies = np.unique(pairs, return_inverse=True, return_counts=True)
        self.page_of: Ints = keys // len(graph.actions)  # of each label
        self.label: Ints = graph.by_state(label)  # of each slot
        self.share: Floats = 1.0 / copies[self.label]
        self.chance = uniform(graph)
        self.best = MemorylessPolicy(solve.policy_value(graph, self.chance, discount), self.chance)

    def nearest(self, solution: solve.Solution) -> Ints:
        """The labels that a policy with full knowledge takes most often."""
        probabilities = solve.one_slot(self.graph, solution.slot)
        # unvisited states count equally
        visits = Chain(self.graph, probabilities).visits() + 1e-9
        weight = probabilities * visits[self.graph.slot_state]
        return self.first_labels(totals(self.label, weight, len(self.page_of)))

    def first_labels(self, worth: Floats) -> Ints:
        """The label with the highest worth on each page, -1 on endings."""
        order = np.argsort(worth, kind="stable")
        labels = np.full(len(self.graph.page_text), -1)
        labels[self.page_of[order]] = order  # the last write has the highest worth
        return labels

    def climb(self, labels: Ints) -> None:
        """Improve the labels until nothing helps, and remember the best policy."""
        for share in RANDOM_SHARES:
            if self._is_over():
                return
            score, candidates = self._evaluate(labels, share)
            while candidates and not self._is_over():
                trial = candidates.pop(0)
                trial_score, trial_candidates = self._evaluate(trial, share)
                if trial_score > score + MIN_GAIN:
                    labels = trial
                    score = trial_score
                    candidates = trial_candidates

    def _is_over(self) -> bool:
        return self.trials <= 0 or self.best.score >= self.enough

    def _evaluate(self, labels: Ints, share: float) -> tuple[float, list[Ints]]:
        """A policy's score, and labels that may score more."""
        self.trials -= 1
        graph = self.graph
        by_label = (self.label == labels[graph.page[graph.slot_state]]) * self.share
        probabilities = (1 - share) * by_label + share * self.chance
        chain = Chain(graph, probabilities)
        value = chain.value(self.pay, self.gamma, terms=self.graph.max_steps)
        score = solve.at_start(graph, value, self.discount)
        if score > self.best.score:
            self.best = MemorylessPolicy(score, probabilities)
        visits = chain.visits(graph.max_steps)[graph.slot_state]
        visited = visits > 0
        # a finite cost, as infinite ones cannot be compared
        q = np.maximum(solve.slot_values(graph, self.pay + self.gamma * value), -1e9)
        worth = totals(self.label[visited], (visits * self.share * q)[visited], len(self.page_of))
        return score, self._candidates(labels, worth)

    def _candidates(self, labels: Ints, worth: Floats) -> list[Ints]:
        """Change all pages to their best label at once, then each of the 12 with most to gain."""
        best_label = self.first_labels(worth)
        gain = np.where(labels >= 0, worth[best_label] - worth[labels], 0.0)
        pages = np.argsort(-gain, kind="stable")[: np.count_nonzero(gain > MIN_GAIN)]
        changes = [pages] if len(pages) > 1 else []
        changes += [pages[number : number + 1] for number in range(min(len(pages), 12))]
        candidates = []
        for changed_pages in changes:
            candidate = labels.copy()
            candidate[changed_pages] = best_label[changed_pages]
            candidates.append(candidate)
        return candidates


# --- the fixed point of Q-learning


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
