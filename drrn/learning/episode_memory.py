"""Memory of the episodes of one replica: its pages and pairs, and the mean return of each pair.

A pair is the text of a page and an action. If pages recur, a pair has many returns, and their mean
has a smaller variance than any one of them.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drrn.learning import equations
from drrn.learning.equations import BackwardOrder, Floats
from drrn.learning.experience import Steps
from drrn.learning.learner import Memory
from drrn.learning.menus import Menus, groups_by_width
from drrn.models import Pages
from drrn.settings import LearnerSettings
from drrn.text import Ids, State, check_range, ranges, saved_array, saved_starts, starts_of

STEP_TYPES: dict[str, Any] = {
    "page": np.int32,
    "taken": np.int32,
    "probability": np.float32,
    "reward": np.float32,
    "after": np.int32,
    "last": np.bool_,
}
MULTIPLIERS = np.random.default_rng(0x70616765).integers(1, 2**63, 4096, np.uint64) | np.uint64(1)
SHRINK = 3.0  # steps that the mean of all counts for in that of a page
SETTLED = 1e-3  # change of all means by a sweep after which no other follows
FORGET_SHARE = 10  # a full memory forgets one tenth at once


class EpisodeMemory(Memory):
    """Up to `capacity` steps; the oldest episodes are forgotten first, the newest never.

    A link is an action of a page; links are numbered through all pages. `ordered` is for models
    that see the menu: the same actions in another order are then another page.
    """

    def __init__(self, capacity: int, *, ordered: bool = False) -> None:
        self.capacity = capacity
        self.ordered = ordered
        self.clear()

    def clear(self) -> None:
        self.states = np.zeros(0, np.int64)  # [P]
        self.first = np.zeros(1, np.int64)  # [P + 1] the first link of each page
        self.links = np.zeros(0, np.int64)  # [L] actions
        self.widest = 1  # menu of any page so far
        self.steps: dict[str, NDArray[Any]]
        self.steps = {name: np.zeros(0, kind) for name, kind in STEP_TYPES.items()}
        self.means = np.zeros(0)  # [pairs] of the returns, as last computed
        self.best_return = -np.inf  # the largest undiscounted return from any step
        self._drop_caches()

    def __len__(self) -> int:
        return len(self.steps["page"])

    # --- Adding and forgetting

    def add(self, steps: Steps) -> None:
        if not len(steps):
            return
        self.best_return = max(self.best_return, steps.best_return)
        pages, taken = self._page_ids(steps)
        columns: dict[str, NDArray[Any]] = {
            "page": pages[steps.page],
            "taken": taken,
            "probability": steps.probabilities,
            "reward": steps.rewards,
            "after": pages[steps.page + 1],
            "last": steps.last,
        }
        for name, kind in STEP_TYPES.items():
            self.steps[name] = np.concatenate([self.steps[name], columns[name].astype(kind)])
        self._drop_caches()
        if len(self) > self.capacity:
            self._forget(len(self) - self.capacity + self.capacity // FORGET_SHARE)

    def _page_ids(self, steps: Steps) -> tuple[Ids, Ids]:
        """Return the number of each page, adding new ones, and the index of each action taken.

        Unless the memory is ordered, the actions of a page are sorted.
        """
        self.widest = max(self.widest, steps.page_actions.widest)
        states = steps.page_states
        menus = steps.page_actions.used()
        taken = steps.taken
        if not self.ordered:
            links, rank = _sorted_within(menus.first, menus.actions)
            menus = replace(menus, actions=links)
            start = menus.first[menus.which[steps.page]]
            taken = rank[start + taken] - start
        present = _page_keys(self.states, self.first, self.links)
        keys = _page_keys(states, menus.first, menus.actions, menus.which)
        both = np.concatenate([present, keys])
        _, first, inverse = np.unique(both, return_index=True, return_inverse=True)
        is_new = first >= len(present)
        numbers = np.where(is_new, len(present) + np.cumsum(is_new) - 1, first)
        if is_new.any():
            rows = first[is_new] - len(present)
            new = menus[rows]
            self._set_pages(
                np.concatenate([self.states, states[rows]]),
                np.concatenate([self.first, self.first[-1] + np.cumsum(new.counts)]),
                np.concatenate([self.links, new.flat()]),
                self._means_of_links(),
            )
        return numbers[inverse[len(present) :]], taken

    def _means_of_links(self) -> Floats:
        """Return the mean of each link [L], which stays valid when pairs get new numbers."""
        return self.means[self.pairs] if len(self.means) else np.zeros(len(self.links))

    def _set_pages(self, states: Ids, first: Ids, links: Ids, means: Floats) -> None:
        """Replace the pages; `means` are of the first links, other pairs have no mean yet."""
        self.states = states
        self.first = first
        self.links = links
        self._drop_caches()
        self.means = np.zeros(len(self.pair_keys))
        self.means[self.pairs[: len(means)]] = means

    def _forget(self, count: int) -> None:
        """Forget the oldest episodes, at least `count` steps, and pages that no other shows."""
        ends = np.append(-1, np.flatnonzero(self.steps["last"]))
        last = min(int(np.searchsorted(ends, count - 1)), len(ends) - 2)  # never the newest
        start = int(ends[last]) + 1
        self.steps = {name: values[start:] for name, values in self.steps.items()}
        used = np.zeros(len(self.states), bool)
        used[self.steps["page"]] = True
        used[self.steps["after"]] = True
        number = np.cumsum(used) - 1
        for name in ("page", "after"):
            self.steps[name] = number[self.steps[name]].astype(np.int32)
        on = np.repeat(used, self.widths)
        first = starts_of(self.widths[used])
        self._set_pages(self.states[used], first, self.links[on], self._means_of_links()[on])

    def _drop_caches(self) -> None:
        for name, value in vars(EpisodeMemory).items():
            if isinstance(value, cached_property):
                self.__dict__.pop(name, None)

    # --- Pages and pairs

    @property
    def widths(self) -> Ids:
        """The number of actions of each page, [P]."""
        return np.diff(self.first)

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

    def menus(self, pages: Ids) -> Menus:
        """Return the menus of some pages."""
        return Menus(pages, self.first, self.links)

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
        """Return a page that shows each pair, and the index of the action on it."""
        _, links = np.unique(self.pairs, return_index=True)
        pages = self.page_of_link[links]
        return pages, links - self.first[pages]

    @property
    def link_keys(self) -> Ids:
        """A key for each link; equal keys are one pair."""
        pages = self.page_of_link
        if self.ordered:
            return np.asarray((pages << 32) + np.arange(len(self.links)) - self.first[pages])
        return np.asarray((self.states[pages] << 32) + self.links)

    # --- Returns

    def estimate(
        self, prior: Floats | Callable[[], Floats], settings: LearnerSettings, alpha: float
    ) -> None:
        """Recompute the returns, several times, since each sweep rests on the last means.

        Args:
            prior: The value of each link [L] without returns; or a function that returns the value
                of each pair.
            alpha: α of the softmax policy that is evaluated.
        """
        trace = None if settings.returns == "monte-carlo" else settings.trace
        for _ in range(settings.sweeps):
            mix = settings.pseudo_count
            q = prior()[self.pairs] if callable(prior) else self.mixed(prior, mix)
            before = self.means
            self.evaluate(q, alpha, settings.discount, trace)
            if trace == 0.0 and np.allclose(before, self.means, atol=SETTLED):
                return

    def mixed(self, prior: Floats | float, weight: float) -> Floats:
        """(N mean + w prior) / (N + w) of each link [L], for a pair with N returns."""
        count = self.counts[self.pairs]
        mean = self.means[self.pairs]
        return np.asarray((count * mean + weight * prior) / (count + weight))

    def baseline(self, means: Floats) -> Floats:
        """Return the mean over the steps on each page's text [P], shrunk to that of all steps."""
        sums = np.bincount(self.text_of_pair, self.counts * means, self.texts)
        steps = np.bincount(self.text_of_pair, self.counts, self.texts)
        total = float(sums.sum()) / max(1, len(self))
        return np.asarray(((sums + SHRINK * total) / (steps + SHRINK))[self.text_of_page])

    def advantages(self) -> Floats:
        """Return how much better each pair is than its page; the time of a step is accounted for.

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
        """Return the value of each action of other pages [N, A], given those of pairs."""
        keys = (pages.states[:, None] << 32) + pages.actions
        if not len(self.pair_keys):
            return np.broadcast_to(default, keys.shape)
        at = np.minimum(np.searchsorted(self.pair_keys, keys), len(self.pair_keys) - 1)
        return np.where(self.pair_keys[at] == keys, values[at], default)

    def evaluate(self, q: Floats, alpha: float, discount: float, trace: float | None) -> None:
        """Recompute the means: returns under softmax over Q-values [L]; trace None: Monte Carlo."""
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
        """Reduce the values of the pairs of each text, and return the result for each pair."""
        start = np.flatnonzero(np.diff(self.pair_keys >> 32, prepend=-1))
        return np.repeat(reduce.reduceat(values, start), np.diff(start, append=len(values)))

    def pessimistic(self) -> Floats:
        """Return the mean of each pair; one never taken has the lowest mean of its page."""
        lowest = self.over_texts(np.minimum, np.where(self.counts > 0, self.means, np.inf))
        lowest[np.isinf(lowest)] = 0.0
        return np.where(self.counts > 0, self.means, lowest)

    def policy(self, q: Floats, alpha: float) -> tuple[Floats, Floats]:
        """Return the softmax probability of each link [L], and the value of each page [P]."""
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

    # --- Text ids, units and state

    def texts_in_use(self) -> tuple[Ids, Ids]:
        return np.unique(self.states), np.unique(self.links)

    def renumber(self, states: Ids, actions: Ids) -> None:
        means = self._means_of_links()
        links = actions[self.links]
        if not self.ordered:
            links, rank = _sorted_within(self.first, links)
            start = self.first[self.steps["page"]]
            taken = rank[start + self.steps["taken"]] - start
            self.steps["taken"] = taken.astype(STEP_TYPES["taken"])
            means = means[np.argsort(rank)]
        self._set_pages(states[self.states], self.first, links, means)

    def rescale(self, factor: float) -> None:
        """Multiply all rewards and returns."""
        self.steps["reward"] = self.steps["reward"] * np.float32(factor)
        self.means = self.means * factor
        self.best_return = self.best_return * factor

    def state(self) -> State:
        return {
            "states": self.states,
            "first": self.first,
            "links": self.links,
            "widest": np.array([self.widest]),
            "means": self.means,
            "best": np.array([self.best_return]),
            **self.steps,
        }

    def restore(self, state: State) -> None:
        self.links = saved_array(state, "links", np.int64)
        self.first = saved_starts(state, "first", len(self.links))
        self.states = saved_array(state, "states", np.int64, len(self.widths))
        self.widest = int(saved_array(state, "widest", np.int64, 1)[0])
        self.means = saved_array(state, "means", np.float64)
        size = len(state["page"])
        self.steps = {each: saved_array(state, each, STEP_TYPES[each], size) for each in STEP_TYPES}
        self.best_return = float(saved_array(state, "best", np.float64, 1)[0])
        self._drop_caches()
        check_range("widest", self.widths, 0, self.widest)
        for name in ("page", "after"):
            check_range(name, self.steps[name], 0, len(self.states) - 1)
        check_range("taken", self.steps["taken"], 0, self.widths[self.steps["page"]] - 1)
        check_range("probability", self.steps["probability"], 0, 1)
        ends = self.steps["last"][-1:].all()
        if not ends or len(self.means) not in (0, len(self.pair_keys)):
            raise ValueError("the memory ends within an episode, or lacks the mean of a pair")


class Snapshot:
    """Memories as they were when a round started, in case it is interrupted and starts again.

    Arrays of a memory are never changed in place, so that a snapshot costs nothing.
    """

    def __init__(self, memories: Sequence[EpisodeMemory]) -> None:
        self.memories = memories
        self.round = 0
        self.take()

    def take(self) -> None:
        """Take the memories as they are now."""
        self.states = [memory.state() for memory in self.memories]

    def start(self, number: int) -> None:
        """Start a round; if it started before, restore the memories."""
        if number == self.round:
            for memory, state in zip(self.memories, self.states, strict=True):
                memory.restore(state)
        else:
            self.round = number
            self.take()


def _sorted_within(first: Ids, actions: Ids) -> tuple[Ids, Ids]:
    """Sort the actions of each menu; return them, and the new index of each."""
    owner = np.repeat(np.arange(len(first) - 1), np.diff(first))
    order = np.lexsort((actions, owner))
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return actions[order], rank


def _page_keys(
    states: Ids, first: Ids, actions: Ids, which: Ids | None = None
) -> NDArray[np.uint64]:
    """Return a 64-bit key for each page, of its text and the actions of its menu, in order."""
    index = np.arange(len(actions)) - np.repeat(first[:-1], np.diff(first))
    sums = np.zeros(len(actions) + 1, np.uint64)
    np.cumsum(_hashes(actions, index + 1), dtype=np.uint64, out=sums[1:])
    menus = sums[first[1:]] - sums[first[:-1]]
    texts = _hashes(states, np.zeros(len(states), np.int64))
    return np.asarray(texts + (menus if which is None else menus[which]))


def _hashes(ids: Ids, index: Ids) -> NDArray[np.uint64]:
    """Hash ids by their index in a page, modulo 2⁶⁴."""
    factors = MULTIPLIERS[index % len(MULTIPLIERS)]
    product = (ids.astype(np.uint64) + np.uint64(1)) * factors
    product ^= product >> np.uint64(29)
    return np.asarray(product * (factors | np.uint64(3)))
