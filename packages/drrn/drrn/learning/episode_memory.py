"""Memory of the episodes of one replica, with the mean return of each pair.

A pair is the text of a page and an action. If pages recur, a pair has many returns, and their mean
has a smaller variance than any one of them.
"""

from collections.abc import Callable
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from drrn.learning import equations
from drrn.learning.equations import BackwardOrder, Floats
from drrn.learning.experience import Steps
from drrn.learning.memory import Memory
from drrn.learning.menus import groups_by_width
from drrn.models import Pages
from drrn.settings import LearnerSettings
from drrn.text import State
from textgames.arrays import Ids, ranges


class EpisodeMemory(Memory):
    """Up to `capacity` steps, and the mean return of each pair.

    A full memory forgets a tenth: the oldest episodes, never the newest.
    """

    columns = Memory.columns | {"reward": np.float32}

    def __init__(self, capacity: int, *, ordered: bool = False) -> None:
        self.capacity = capacity
        super().__init__(ordered=ordered)

    def clear(self) -> None:
        self.widest = 1
        self.means = np.zeros(0)  # [pairs] of the returns, as last computed
        self.best_return = -np.inf  # the largest undiscounted return from any step
        super().clear()

    def add(self, steps: Steps) -> None:
        if len(steps):
            self.best_return = max(self.best_return, steps.best_return)
        super().add(steps)
        if len(self) > self.capacity:
            self._forget(len(self) - self.capacity + self.capacity // 10)

    def _forget(self, count: int) -> None:
        """Forget at least `count` steps."""
        ends = np.append(-1, np.flatnonzero(self.steps["last"]))
        last = min(int(np.searchsorted(ends, count - 1)), len(ends) - 2)
        self.forget_before(int(ends[last]) + 1)

    def set_pages(self, states: Ids, first: Ids, links: Ids, before: Ids) -> None:
        means = (self.means[self.pairs] if len(self.means) else np.zeros(len(self.links)))[before]
        super().set_pages(states, first, links, before)
        self.means = np.zeros(len(self.pair_keys))
        self.means[self.pairs[: len(means)]] = means

    def rescale(self, factor: float) -> None:
        """Multiply all rewards and returns."""
        super().rescale(factor)
        self.means = self.means * factor
        self.best_return = self.best_return * factor

    def state(self) -> State:
        best = np.array([self.best_return])
        return {**super().state(), "means": self.means, "best": best}

    def restore(self, state: State) -> None:
        self.means = state["means"]
        self.best_return = float(state["best"][0])
        super().restore(state)

    # --- Pages and pairs

    @cached_property
    def page_of_link(self) -> Ids:
        return np.repeat(np.arange(len(self.states)), self.widths)

    @cached_property
    def layout(self) -> list[tuple[Ids, NDArray[np.bool_], Ids]]:
        """Groups of pages of similar width: page numbers [G], mask [G, A], links of the mask."""
        layout = []
        for rows, width in groups_by_width(self.widths, self.widest):
            widths = self.widths[rows]
            mask = np.arange(width) < widths[:, None]
            layout.append((rows, mask, ranges(self.first[rows], widths)))
        return layout

    @cached_property
    def pair_keys(self) -> Ids:
        """A number for each distinct pair, ascending."""
        return np.unique(self.link_keys)

    @cached_property
    def pairs(self) -> Ids:
        """The pair of each link, [L]."""
        return np.searchsorted(self.pair_keys, self.link_keys)

    @cached_property
    def pair_of_step(self) -> Ids:
        return np.asarray(self.pairs.take(self.link_of_step))

    @cached_property
    def link_of_step(self) -> Ids:
        """The link that each step took."""
        return np.asarray(self.first[self.steps["page"]] + self.steps["taken"])

    @cached_property
    def counts(self) -> Ids:
        """How often each pair was taken."""
        return np.bincount(self.pair_of_step, minlength=len(self.pair_keys))

    @cached_property
    def order(self) -> BackwardOrder:
        return BackwardOrder.of(self.steps["last"])

    def examples_of_pairs(self) -> tuple[Ids, Ids]:
        """A page that shows each pair, and the index of the action on it."""
        _, links = np.unique(self.pairs, return_index=True)
        pages = self.page_of_link[links]
        return pages, links - self.first[pages]

    @property
    def link_keys(self) -> Ids:
        """A key for each link. Links of the same pair have the same key."""
        pages = self.page_of_link
        if self.ordered:
            return np.asarray((pages << 32) + np.arange(len(self.links)) - self.first[pages])
        return np.asarray((self.states[pages] << 32) + self.links)

    # --- Returns

    def estimate(
        self,
        prior: Floats | Callable[[], Floats],
        settings: LearnerSettings,
        alpha: float,
        settled: float = 1e-3,
    ) -> None:
        """Recompute the returns of a softmax policy, several times.

        Each sweep rests on the last means. `prior` is the value of each link [L] without returns,
        or a function that computes the value of each pair. With trace 0, no sweep follows when no
        mean changes by more than `settled`.
        """
        trace = None if settings.returns == "monte-carlo" else settings.trace
        for _ in range(settings.sweeps):
            mix = settings.pseudo_count
            q = prior()[self.pairs] if callable(prior) else self.mixed(prior, mix)
            before = self.means
            self.evaluate(q, alpha, settings.discount, trace)
            if trace == 0.0 and np.allclose(before, self.means, atol=settled):
                return

    def mixed(self, prior: Floats | float, weight: float) -> Floats:
        """(N mean + w prior) / (N + w) of each link [L], for a pair with N returns."""
        count = self.counts[self.pairs]
        mean = self.means[self.pairs]
        return np.asarray((count * mean + weight * prior) / (count + weight))

    def baseline(self, means: Floats, prior_steps: float = 3.0) -> Floats:
        """The mean over the steps on each page's text [P].

        It is shrunk to the mean over all steps, which counts as `prior_steps` steps.
        """
        sums = np.bincount(self.text_of_pair, self.counts * means, self.texts)
        steps = np.bincount(self.text_of_pair, self.counts, self.texts)
        total = float(sums.sum()) / max(1, len(self))
        means = (sums + prior_steps * total) / (steps + prior_steps)
        return np.asarray(means[self.text_of_page])

    def advantages(self) -> Floats:
        """How much better each pair is than its page, without the effect of time.

        Pages may hide how much of an episode is left, on which the return depends more than on
        the action. The mean return at each time is a control variate: subtracting it changes no
        difference between actions in the mean, but takes out the noise.
        """
        start = np.flatnonzero(np.append(True, self.steps["last"][:-1]))
        time = np.arange(len(self)) - np.repeat(start, np.diff(np.append(start, len(self))))
        at_time = (np.bincount(time, self.returns) / np.bincount(time))[time]
        text = self.text_of_page[self.steps["page"]]
        x, y = (each - equations.group_means(text, each) for each in (at_time, self.returns))
        slope = min(1.0, max(0.0, float(x @ y) / max(1e-12, float(x @ x))))
        sums = np.bincount(self.pair_of_step, self.returns - slope * at_time, len(self.pair_keys))
        means = sums / np.maximum(self.counts, 1)
        pages = self.examples_of_pairs()[0]
        return np.asarray(means - self.baseline(means)[pages])

    @cached_property
    def text_of_page(self) -> Ids:
        """The number of each page's text among the distinct ones, [P]."""
        return np.unique(self.states, return_inverse=True)[1]

    @property
    def texts(self) -> int:
        """The number of distinct texts."""
        return int(self.text_of_page.max(initial=-1)) + 1

    @cached_property
    def text_of_pair(self) -> Ids:
        return np.asarray(self.text_of_page[self.examples_of_pairs()[0]])

    def of_pages(self, pages: Pages, values: Floats | Ids, default: Floats | float) -> Floats:
        """The value of each action of other pages [N, A], given the values of pairs."""
        keys = (pages.states[:, None] << 32) + pages.actions
        if not len(self.pair_keys):
            return np.broadcast_to(default, keys.shape)
        at = np.minimum(np.searchsorted(self.pair_keys, keys), len(self.pair_keys) - 1)
        return np.where(self.pair_keys[at] == keys, values[at], default)

    def evaluate(self, q: Floats, alpha: float, discount: float, trace: float | None) -> None:
        """Recompute the means, with returns under softmax over Q-values [L].

        Without a trace, returns are Monte Carlo.
        """
        policy, values = self.policy(q, alpha)
        at = self.link_of_step
        rewards = self.steps["reward"].astype(np.float64)
        after = values.take(self.steps["after"])
        if trace is None:
            returns = equations.monte_carlo(self.order, rewards, after, discount)
        elif trace == 0.0:  # Retrace without its sum over later steps
            returns = rewards + discount * after
        else:
            behaviour = self.steps["probability"].astype(np.float64)
            trust = equations.trace_coefficients(policy.take(at), behaviour, trace)
            returns = equations.retrace(self.order, rewards, after, q.take(at), trust, discount)
        self.returns = returns
        sums = np.bincount(self.pair_of_step, returns, minlength=len(self.pair_keys))
        self.means = sums / np.maximum(self.counts, 1)

    def over_texts(self, reduce: np.ufunc, values: Floats) -> Floats:
        """Reduce the values of the pairs of each text to one value, for each pair."""
        start = np.flatnonzero(np.diff(self.pair_keys >> 32, prepend=-1))
        return np.repeat(reduce.reduceat(values, start), np.diff(start, append=len(values)))

    def pessimistic(self) -> Floats:
        """The mean of each pair. A pair that was never taken has the lowest mean of its page."""
        lowest = self.over_texts(np.minimum, np.where(self.counts > 0, self.means, np.inf))
        lowest[np.isinf(lowest)] = 0.0
        return np.where(self.counts > 0, self.means, lowest)

    def policy(self, q: Floats, alpha: float) -> tuple[Floats, Floats]:
        """The softmax probability of each link [L], and the value of each page [P]."""
        policy = np.zeros(len(q))
        values = np.zeros(len(self.states))
        for pages, mask, links in self.layout:
            probabilities = np.zeros(mask.shape)
            table = np.zeros(mask.shape)
            table[mask] = q[links]
            some = mask.any(axis=1)
            probabilities[some] = equations.softmax(table[some], mask[some], alpha)
            policy[links] = probabilities[mask]
            values[pages] = np.einsum("pa,pa->p", probabilities, table)
        return policy, values
