"""Players that see the page, not the history or the hidden variables.

The best such policy: finding it is a partially observed problem, so this is a search. Its result is
a lower bound; the best policy with full knowledge is an upper bound. Hill climbing: each page takes
the action that is best on average over the states behind it, if that is an improvement. Policies
are mixed with random play at first, with a decreasing share.

The fixed point of Q-learning: each pair of text and action has a separate Q, so there is no error
from generalisation, and no noise from sampling: every Q is the mean of its targets over the states
that softmax play visits. A learner from samples need not converge to it, since it stops learning
about pairs that it no longer visits.
"""

from dataclasses import dataclass

import numpy as np

from drrn.compiled import solve
from drrn.compiled.chain import Chain, softmax_of_slots, uniform
from drrn.compiled.game import Compiled, Floats, Ints, totals

RANDOM_STARTS = 3
RANDOM_SHARES = (0.0, 0.3, 0.1, 0.03, 0.0)
SINGLE_PAGES = 12  # tried one by one if changing all pages is no improvement
MIN_GAIN = 1e-9
UNBOUNDED_COST = 1e9  # replaces infinity in comparisons
MAX_EVALUATIONS = 1_000_000  # of slots

STEP = 0.3  # fraction of the difference to the mean target that a sweep applies
TOLERANCE = 1e-3  # largest difference at convergence
MAX_SWEEPS = 1_000
MAX_UPDATES = 30_000_000  # of slots: about a minute


@dataclass(frozen=True)
class MemorylessPolicy:
    """A policy that depends on the page alone: its score, and the probability of each slot."""

    score: float
    probabilities: Floats


def best_memoryless(graph: Compiled, discount: float | None = None) -> MemorylessPolicy:
    """Search for the best memoryless policy, from the full-knowledge policy and random ones."""
    optimum = solve.best(graph, discount)
    search = _Search(graph, discount, enough=optimum.score - MIN_GAIN)
    random = np.random.default_rng(0)
    search.climb(search.nearest(optimum))
    for _ in range(RANDOM_STARTS):
        search.climb(search.first_labels(random.random(len(search.page_of))))
    probabilities = search.best.probabilities
    return MemorylessPolicy(solve.policy_value(graph, probabilities, discount), probabilities)


class _Search:
    """A policy is a label (an action's words) per page; equal actions share its probability."""

    def __init__(self, graph: Compiled, discount: float | None, enough: float) -> None:
        self.enough = enough  # no policy scores more, so the search can stop
        self.trials = max(20, MAX_EVALUATIONS // len(graph.row))
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
        """Return the labels that a policy with full knowledge takes most often."""
        probabilities = solve.one_slot(self.graph, solution.slot)
        # unvisited states count equally
        visits = Chain(self.graph, probabilities).visits() + 1e-9
        weight = probabilities * visits[self.graph.slot_state]
        return self.first_labels(totals(self.label, weight, len(self.page_of)))

    def first_labels(self, worth: Floats) -> Ints:
        """Return the label with the highest worth on each page; -1 on endings."""
        order = np.argsort(worth, kind="stable")
        labels = np.full(len(self.graph.page_text), -1)
        labels[self.page_of[order]] = order  # the last write has the highest worth
        return labels

    def climb(self, labels: Ints) -> None:
        """Improve the labels until nothing helps; remember the best policy."""
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
        """Return a policy's score, and labels that may score more."""
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
        q = np.maximum(solve.slot_values(graph, self.pay + self.gamma * value), -UNBOUNDED_COST)
        worth = totals(self.label[visited], (visits * self.share * q)[visited], len(self.page_of))
        return score, self._candidates(labels, worth)

    def _candidates(self, labels: Ints, worth: Floats) -> list[Ints]:
        """Change all pages to their best label at once, then single pages, largest gain first."""
        best_label = self.first_labels(worth)
        gain = np.where(labels >= 0, worth[best_label] - worth[labels], 0.0)
        pages = np.argsort(-gain, kind="stable")[: np.count_nonzero(gain > MIN_GAIN)]
        changes = [pages] if len(pages) > 1 else []
        changes += [pages[number : number + 1] for number in range(min(len(pages), SINGLE_PAGES))]
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
        targets = _targets(graph, q[pair], policy, discount, n_steps)
        targets = totals(pair, visits * targets, len(pairs))
        means = np.divide(targets, weight, out=q.copy(), where=weight > 0)
        if np.abs(means - q).max() <= TOLERANCE:
            return FixedPoint(solve.policy_score(graph, policy, max_steps).final_reward, q[pair])
        q += STEP * (means - q)
    return None


def _targets(graph: Compiled, q: Floats, policy: Floats, discount: float, n_steps: int) -> Floats:
    """Return n-step targets of each slot: rewards under the policy, then the best Q."""
    value = np.full(len(graph), -np.inf)
    np.maximum.at(value, graph.slot_state, q)
    value[graph.ended] = 0.0
    for _ in range(n_steps - 1):
        worth = policy * solve.slot_values(graph, graph.reward + discount * value)
        value = totals(graph.slot_state, worth, len(graph))
    return solve.slot_values(graph, graph.reward + discount * value)
