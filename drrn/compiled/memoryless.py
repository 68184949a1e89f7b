"""The best memoryless policy: one that sees the page and neither what came before nor the variables behind it.

The best of them is hard to find (it is a partially observed problem), so it is searched for: what is
found is a lower bound, and the best with full knowledge an upper one. The search goes up in steps: each page takes the
action that is best on average over the states behind it, if that is an improvement; it begins among policies with a
share of chance in them, which lessens.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from drrn.compiled.chain import Chain, uniform
from drrn.compiled.graph import Floats, Ints, StateGraph, totals
from drrn.compiled.solve import Solution, at_start, best, one_slot, pays, policy_value, slot_values

SHARES_OF_CHANCE = (0.0, 0.3, 0.1, 0.03, 0.0)
SINGLE_PAGES = 12  # that are tried one by one, where all at once is no improvement
LEAST_GAIN = 1e-9
HOPELESS = 1e9  # an endless cost, for comparing
WORK = 1_000_000  # slots that are judged before the search ends


@dataclass(frozen=True)
class MemorylessPolicy:
    """The best policy found: what it earns, and its probability of each slot, the same in all states of a page."""

    score: float
    probabilities: Floats


def best_memoryless(
    graph: StateGraph, discount: float | None = None, starts: int = 4, seed: int = 0
) -> MemorylessPolicy:
    """Search from the full-knowledge policy, as far as pages tell it, and from random ones."""
    knowing = best(graph, discount)
    search = _Search(graph, discount, enough=knowing.score - LEAST_GAIN)
    random = np.random.default_rng(seed)
    search.climb(search.nearest(knowing))
    for _ in range(starts - 1):
        search.climb(search.first_labels(random.random(len(search.page_of))))
    return MemorylessPolicy(
        policy_value(graph, search.found.probabilities, discount), search.found.probabilities
    )


class _Search:
    """A policy is a label (an action's words) for each page; actions of the same words share its chance."""

    def __init__(self, graph: StateGraph, discount: float | None, enough: float) -> None:
        self.enough = (
            enough  # no policy earns more than this, so there is nothing left to search for
        )
        self.trials = max(20, WORK // len(graph.row))
        self.graph = graph
        self.discount = discount
        self.pay = pays(graph, discount)
        self.gamma = 1.0 if discount is None else discount
        pages = np.repeat(np.arange(len(graph.page_text)), np.diff(graph.page_first))
        keys, label, alike = np.unique(
            pages * len(graph.actions) + graph.page_action, return_inverse=True, return_counts=True
        )
        self.page_of: Ints = keys // len(graph.actions)  # of each label
        self.label: Ints = graph.by_state(label)  # of each slot
        self.share: Floats = 1.0 / alike[self.label]
        self.chance = uniform(graph)
        self.found = MemorylessPolicy(policy_value(graph, self.chance, discount), self.chance)

    def nearest(self, solution: Solution) -> Ints:
        """The labels that a policy of full knowledge takes most often."""
        taken = one_slot(self.graph, solution.slot)
        visits = (
            Chain(self.graph, taken).visits() + 1e-9
        )  # where it never comes, each state counts alike
        return self.first_labels(
            totals(self.label, taken * visits[self.graph.slot_state], len(self.page_of))
        )

    def first_labels(self, worth: Floats) -> Ints:
        """The label of the most worth on each page; -1 for the pages of endings."""
        order = np.argsort(worth, kind="stable")
        taken = np.full(len(self.graph.page_text), -1)
        taken[self.page_of[order]] = order  # the last one written is the worthiest
        return taken

    def climb(self, taken: Ints) -> None:
        """Improve the labels until nothing helps, with less and less chance; the best policy seen is kept."""
        for share in SHARES_OF_CHANCE:
            if self._is_over():
                return
            score, wishes = self._judged(taken, share)
            while wishes and not self._is_over():
                trial = wishes.pop(0)
                trial_score, trial_wishes = self._judged(trial, share)
                if trial_score > score + LEAST_GAIN:
                    taken = trial
                    score = trial_score
                    wishes = trial_wishes

    def _is_over(self) -> bool:
        return self.trials <= 0 or self.found.score >= self.enough

    def _judged(self, taken: Ints, share: float) -> tuple[float, list[Ints]]:
        """What a policy earns, and labels that may earn more."""
        self.trials -= 1
        graph = self.graph
        by_label = (self.label == taken[graph.page[graph.slot_state]]) * self.share
        probabilities = (1 - share) * by_label + share * self.chance
        chain = Chain(graph, probabilities)
        value = chain.value(self.pay, self.gamma, terms=self.graph.max_steps)
        score = at_start(graph, value, self.discount)
        if score > self.found.score:
            self.found = MemorylessPolicy(score, probabilities)
        visits = chain.visits(graph.max_steps)[graph.slot_state]
        seen = visits > 0
        q = np.maximum(slot_values(graph, self.pay + self.gamma * value), -HOPELESS)
        worth = totals(self.label[seen], (visits * self.share * q)[seen], len(self.page_of))
        return score, self._wishes(taken, worth)

    def _wishes(self, taken: Ints, worth: Floats) -> list[Ints]:
        """The best label of all pages at once, then of single pages, those with the most to gain first."""
        best_label = self.first_labels(worth)
        gain = np.where(taken >= 0, worth[best_label] - worth[taken], 0.0)
        pages = np.argsort(-gain, kind="stable")[: np.count_nonzero(gain > LEAST_GAIN)]
        some = [pages] if len(pages) > 1 else []
        some += [pages[number : number + 1] for number in range(min(len(pages), SINGLE_PAGES))]
        return [_replaced(taken, chosen, best_label) for chosen in some]


def _replaced(taken: Ints, pages: Ints, label: Ints) -> Ints:
    changed: Ints = taken.copy()
    changed[pages] = label[pages]
    return changed
