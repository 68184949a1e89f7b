"""Whole episodes of one replica: pages and pairs of a page's text and an action once each, steps as places in them.

Where pages recur, a pair has many returns, and their mean is worth more than any one of them.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drrn.learning.exploration import softmax
from drrn.learning.returns import Backwards, Floats, monte_carlo, retrace, trust_in
from drrn.learning.steps import Steps
from drrn.models import Pages
from drrn.text import Ids, State

STEP_TYPES = {"page": np.int32, "taken": np.int16, "probability": np.float32, "reward": np.float32,
              "after": np.int32, "last": np.bool_}  # fmt: skip
MULTIPLIERS = np.random.default_rng(0x70616765).integers(1, 2**63, 4096, np.uint64) | np.uint64(1)
FORGOTTEN = 10  # when the memory is full, one tenth of it is forgotten at once


class EpisodeMemory:
    """Up to `capacity` steps; the oldest episodes are forgotten first, the newest one never.

    `ordered` is for models that see the whole menu: the same actions in another order are another page.
    """

    def __init__(self, capacity: int, *, ordered: bool = False) -> None:
        self.capacity, self.ordered = capacity, ordered
        self.clear()

    def clear(self) -> None:
        self.states = np.zeros(0, np.int64)  # [P]
        self.actions = np.full((0, 1), -1, np.int64)  # [P, A]
        self.steps: dict[str, NDArray[Any]] = {name: np.zeros(0, kind) for name, kind in STEP_TYPES.items()}
        self.means = np.zeros(0)  # [pairs] of the returns, as they were last computed
        self.best_return = -np.inf  # the largest sum of rewards that ever followed a step
        self._changed()

    def __len__(self) -> int:
        return len(self.steps["page"])

    # --- taking in

    def add(self, new: Steps) -> None:
        """Keep episodes."""
        if not len(new):
            return
        self.best_return = max(self.best_return, new.best_return)
        pages, order = self._page_ids(
            np.concatenate([new.states, new.end_states]), _joined(new.actions, new.end_actions)
        )
        here, ends = pages[: len(new)], pages[len(new) :]
        after = np.empty_like(here)
        after[:-1], after[new.last] = here[1:], ends
        taken = new.taken if order is None else (order[: len(new)] == new.taken[:, None]).argmax(axis=1)
        added = {"page": here, "taken": taken, "probability": new.probabilities, "reward": new.rewards,
                 "after": after, "last": new.last}  # fmt: skip
        for name, kind in STEP_TYPES.items():
            self.steps[name] = np.concatenate([self.steps[name], np.asarray(added[name]).astype(kind)])
        self._changed()
        if len(self) > self.capacity:
            self._forget(len(self) - self.capacity + self.capacity // FORGOTTEN)

    def _page_ids(self, states: Ids, actions: Ids) -> tuple[Ids, Ids | None]:
        """The number of each page, new ones included; and, where actions are kept sorted, their order as shown."""
        order = None
        if not self.ordered:  # no action, -1, comes last
            order = np.argsort(np.where(actions < 0, np.iinfo(np.int64).max, actions), axis=1, kind="stable")
            actions = np.take_along_axis(actions, order, axis=1)
        keys = _keys(states, actions)
        known = _keys(self.states, self.actions)
        rank = np.argsort(known, kind="stable")
        at = np.searchsorted(known[rank], keys)
        found = np.full(len(keys), -1, np.int64)
        inside = at < len(known)
        hit = inside.copy()
        hit[inside] = known[rank][at[inside]] == keys[inside]
        found[hit] = rank[at[hit]]
        if not hit.all():
            fresh = np.flatnonzero(~hit)
            _, first, place = np.unique(keys[fresh], return_index=True, return_inverse=True)
            found[fresh] = len(self.states) + place
            self._add_pages(states[fresh[first]], actions[fresh[first]])
        return found, order

    def _add_pages(self, states: Ids, actions: Ids) -> None:
        """New pages, and with them new pairs; the means of known pairs stay theirs."""
        by_page = self._means_by_page()
        self.states = np.concatenate([self.states, states])
        self.actions = _joined(self.actions, actions)
        self._changed()
        self._take_means(by_page)

    def _means_by_page(self) -> Floats:
        """The mean of each action of each page, [P, A]: what stays when pairs are numbered anew."""
        return self.means[self.pairs] if len(self.means) else np.zeros(self.actions.shape)

    def _take_means(self, by_page: Floats) -> None:
        """Of the first pages [P, A]; a pair that is on none of them has no mean yet."""
        rows, places = np.nonzero(self.actions[: len(by_page), : by_page.shape[1]] >= 0)
        self.means = np.zeros(len(self.pair_keys))
        self.means[self.pairs[rows, places]] = by_page[rows, places]

    def _forget(self, count: int) -> None:
        """Let go of the oldest episodes, so many steps of them or more, and of pages that no other shows; the newest
        episode stays, however long it is."""
        cut = np.append(-1, np.flatnonzero(self.steps["last"]))
        first = int(cut[min(int(np.searchsorted(cut, count - 1)), len(cut) - 2)]) + 1
        self.steps = {name: values[first:] for name, values in self.steps.items()}
        used = np.zeros(len(self.states), bool)
        used[self.steps["page"]] = used[self.steps["after"]] = True
        place = np.cumsum(used) - 1
        for name in ("page", "after"):
            self.steps[name] = place[self.steps[name]].astype(np.int32)
        by_page = self._means_by_page()[used]
        self.states, self.actions = self.states[used], self.actions[used]
        self._changed()
        self._take_means(by_page)

    def _changed(self) -> None:
        for name in ("pair_keys", "pairs", "counts", "backwards", "pair_of_step"):
            self.__dict__.pop(name, None)

    # --- what there is

    @property
    def pages(self) -> Pages:
        """The distinct pages: states [P], actions [P, A]."""
        return Pages(self.states, self.actions)

    @cached_property
    def pair_keys(self) -> NDArray[np.int64]:
        """One number for each distinct pair, ascending."""
        keys = self._keys_of_pairs()
        found: NDArray[np.int64] = np.unique(keys[self.actions >= 0])
        return found

    @cached_property
    def pairs(self) -> Ids:
        """The pair of each action of each page, [P, A]; -1 where there is none."""
        found = np.searchsorted(self.pair_keys, self._keys_of_pairs())
        pairs: Ids = np.where(self.actions >= 0, found, -1)
        return pairs

    @cached_property
    def pair_of_step(self) -> Ids:
        found: Ids = self.pairs.take(self._place_of_step())
        return found

    def _place_of_step(self) -> Ids:
        """Where the action that each step took stands among those of all pages, [P · A]."""
        found: Ids = self.steps["page"] * np.int64(self.actions.shape[1]) + self.steps["taken"]
        return found

    @cached_property
    def counts(self) -> Ids:
        """How often each pair was taken."""
        return np.bincount(self.pair_of_step, minlength=len(self.pair_keys))

    @cached_property
    def backwards(self) -> Backwards:
        return Backwards.of(self.steps["last"])

    def places_of_pairs(self) -> tuple[Ids, Ids]:
        """A page that shows each pair, and the action's place on it."""
        pages, places = np.nonzero(self.actions >= 0)
        _, first = np.unique(self.pairs[pages, places], return_index=True)
        return pages[first], places[first]

    def _keys_of_pairs(self) -> NDArray[np.int64]:
        """Where the menu counts, an action's pair is its own place on its own page."""
        if self.ordered:
            pages, places = (np.arange(size) for size in self.actions.shape)
            return (pages[:, None] << 32) + places
        return (self.states[:, None] << 32) + self.actions

    # --- what it comes to

    def mixed(self, prior: Floats | float, weight: float) -> Floats:
        """(N mean + w prior) / (N + w) of each action of each page [P, A]: a pair's own returns, and, the fewer they
        are, the more of the prior."""
        count, mean = self.counts[self.pairs], self.means[self.pairs]
        found: Floats = np.where(self.actions >= 0, (count * mean + weight * prior) / (count + weight), 0.0)
        return found

    def known(self, pages: Pages) -> tuple[Floats, Floats]:
        """Of other pages [N, A]: how often each action was taken on such a page, and the mean of its returns."""
        keys = (pages.states[:, None] << 32) + pages.actions
        if not len(self.pair_keys):
            return np.zeros(keys.shape), np.zeros(keys.shape)
        at = np.minimum(np.searchsorted(self.pair_keys, keys), len(self.pair_keys) - 1)
        met = self.pair_keys[at] == keys
        return np.where(met, self.counts[at], 0.0), np.where(met, self.means[at], 0.0)

    def value(self, q: Floats, alpha: float, discount: float, trace: float | None) -> None:
        """Compute the means anew: returns under softmax with α over Q-values [P, A]; trace None: Monte Carlo."""
        mask = self.actions >= 0
        going_on = mask.any(axis=1)
        policy = np.zeros(mask.shape)
        policy[going_on] = softmax(q[going_on], mask[going_on], alpha)
        values = np.einsum("pa,pa->p", policy, q)
        at = self._place_of_step()
        rewards, after = self.steps["reward"].astype(np.float64), values.take(self.steps["after"])
        if trace is None:
            found = monte_carlo(self.backwards, rewards, after, discount)
        else:
            trust = trust_in(policy.take(at), self.steps["probability"].astype(np.float64), trace)
            found = retrace(self.backwards, rewards, after, q.take(at), trust, discount)
        sums = np.bincount(self.pair_of_step, found, minlength=len(self.pair_keys))
        self.means = sums / np.maximum(self.counts, 1)

    # --- texts, and what is kept

    def texts_in_use(self) -> tuple[Ids, Ids]:
        return np.unique(self.states), np.unique(self.actions[self.actions >= 0])

    def renumber(self, states: Ids, actions: Ids) -> None:
        """Texts have new ids; the last of each is what -1, no text, becomes."""
        by_page = self._means_by_page()
        self.states, self.actions = states[self.states], actions[self.actions]
        if not self.ordered:
            order = np.argsort(np.where(self.actions < 0, np.iinfo(np.int64).max, self.actions), axis=1, kind="stable")
            self.actions = np.take_along_axis(self.actions, order, axis=1)
            by_page = np.take_along_axis(by_page, order, axis=1)
            back = np.argsort(order, axis=1)
            self.steps["taken"] = back[self.steps["page"], self.steps["taken"]].astype(np.int16)
        self._changed()
        self._take_means(by_page)

    def state(self) -> State:
        best = np.array([self.best_return])
        return {"states": self.states, "actions": self.actions, "means": self.means, "best": best, **self.steps}

    def restore(self, state: State) -> None:
        self.states, self.actions = (np.asarray(state[name], np.int64) for name in ("states", "actions"))
        self.means = np.asarray(state["means"], np.float64)
        self.steps = {name: np.asarray(state[name], kind) for name, kind in STEP_TYPES.items()}
        self.best_return = float(state["best"][0])
        self._changed()


class Marked:
    """Memories as they were when a round began: if it is interrupted and begins again, they go back to that."""

    def __init__(self, memories: list[EpisodeMemory]) -> None:
        self.memories, self.states = memories, [memory.state() for memory in memories]
        self.round: int | None = None

    def begin(self, number: int) -> None:
        """A round begins, or begins again; what a memory holds is never changed in place, so a mark costs nothing."""
        if number == self.round:
            for memory, state in zip(self.memories, self.states, strict=True):
                memory.restore(state)
        else:
            self.round, self.states = number, [memory.state() for memory in self.memories]

    def void(self) -> None:
        """Texts have new ids, or the memories are others: there is nothing to go back to."""
        self.round = None


def _joined(above: Ids, below: Ids) -> Ids:
    """Menus one below the other, -1 where one has no more."""
    most = max(above.shape[1], below.shape[1])
    found = np.full((len(above) + len(below), most), -1, np.int64)
    found[: len(above), : above.shape[1]] = above
    found[len(above) :, : below.shape[1]] = below
    return found


def _keys(states: Ids, actions: Ids) -> NDArray[np.uint64]:
    """A 64-bit number for each page; menus that differ only in the room after their last action are the same."""
    columns = np.concatenate([states[:, None], actions], axis=1).astype(np.uint64) + np.uint64(1)
    factors = np.resize(MULTIPLIERS, columns.shape[1])
    with np.errstate(over="ignore"):
        mixed = columns * factors
        mixed ^= mixed >> np.uint64(29)
        found: NDArray[np.uint64] = (mixed * (factors | np.uint64(3))).sum(axis=1, dtype=np.uint64)
    return found
