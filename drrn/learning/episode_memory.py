"""Whole episodes of one replica: pages and pairs of a page's text and an action once each, steps as places in them.

Where pages recur, a pair has many returns, and their mean is worth more than any one of them.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drrn.learning.exploration import softmax
from drrn.learning.menus import Menus, alike_in_width, starts_of
from drrn.learning.returns import Backwards, Floats, monte_carlo, retrace, trust_in
from drrn.learning.steps import Steps
from drrn.models import Pages
from drrn.text import Ids, State, ranges

STEP_TYPES = {"page": np.int32, "taken": np.int32, "probability": np.float32, "reward": np.float32,
              "after": np.int32, "last": np.bool_}  # fmt: skip
MULTIPLIERS = np.random.default_rng(0x70616765).integers(1, 2**63, 4096, np.uint64) | np.uint64(1)
FORGOTTEN = 10  # when the memory is full, one tenth of it is forgotten at once


class EpisodeMemory:
    """Up to `capacity` steps; the oldest episodes are forgotten first, the newest one never.

    `ordered` is for models that see the whole menu: the same actions in another order are another page.
    """

    def __init__(self, capacity: int, *, ordered: bool = False) -> None:
        self.capacity = capacity
        self.ordered = ordered
        self.clear()

    def clear(self) -> None:
        self.states = np.zeros(0, np.int64)  # [P]
        self.first = np.zeros(1, np.int64)  # [P + 1]
        self.links = np.zeros(
            0, np.int64
        )  # [L], the actions of page p from first[p] to first[p + 1]
        self.widest = 1  # menu that any page had
        self.steps: dict[str, NDArray[Any]] = {
            name: np.zeros(0, kind) for name, kind in STEP_TYPES.items()
        }
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
        pages, taken = self._page_ids(
            np.concatenate([new.states, new.end_states]),
            new.actions.joined(new.end_actions),
            new.taken,
        )
        here = pages[: len(new)]
        ends = pages[len(new) :]
        after = np.empty_like(here)
        after[:-1], after[new.last] = here[1:], ends
        added = {"page": here, "taken": taken, "probability": new.probabilities, "reward": new.rewards,
                 "after": after, "last": new.last}  # fmt: skip
        for name, kind in STEP_TYPES.items():
            self.steps[name] = np.concatenate(
                [self.steps[name], np.asarray(added[name]).astype(kind)]
            )
        self._changed()
        if len(self) > self.capacity:
            self._forget(len(self) - self.capacity + self.capacity // FORGOTTEN)

    def _page_ids(self, states: Ids, menus: Menus, taken: Ids) -> tuple[Ids, Ids]:
        """The number of each page, new ones included; and where the action that was taken on the first of them stands:
        actions are kept sorted, unless the menu counts."""
        self.widest = max(self.widest, menus.widest)
        menus = menus.used()
        if not self.ordered:
            links, place = _sorted_within(menus.first, menus.actions)
            menus = replace(menus, actions=links)
            begin = menus.first[menus.which[: len(taken)]]
            taken = place[begin + taken] - begin
        keys = _state_keys(states) + _menu_keys(menus.first, menus.actions)[menus.which]
        known = _state_keys(self.states) + _menu_keys(self.first, self.links)
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
            self._add_pages(states[fresh[first]], menus[fresh[first]])
        return found, taken

    def _add_pages(self, states: Ids, menus: Menus) -> None:
        """New pages, and with them new pairs; the means of known pairs stay theirs."""
        means = self._means_of_links()
        self.states = np.concatenate([self.states, states])
        self.first = np.concatenate([self.first, self.first[-1] + np.cumsum(menus.counts)])
        self.links = np.concatenate([self.links, menus.flat()])
        self._changed()
        self._take_means(means)

    def _means_of_links(self) -> Floats:
        """The mean of each action of each page, [L]: what stays when pairs are numbered anew."""
        return self.means[self.pairs] if len(self.means) else np.zeros(len(self.links))

    def _take_means(self, of_links: Floats) -> None:
        """Of the actions of the first pages; a pair that is on none of them has no mean yet."""
        self.means = np.zeros(len(self.pair_keys))
        self.means[self.pairs[: len(of_links)]] = of_links

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
        kept = np.repeat(used, self.widths)
        means = self._means_of_links()[kept]
        self.states, self.first, self.links = (
            self.states[used],
            starts_of(self.widths[used]),
            self.links[kept],
        )
        self._changed()
        self._take_means(means)

    def _changed(self) -> None:
        for name in (
            "pair_keys",
            "pairs",
            "counts",
            "backwards",
            "pair_of_step",
            "layout",
            "page_of_link",
        ):
            self.__dict__.pop(name, None)

    # --- what there is

    @property
    def widths(self) -> Ids:
        """How many actions each page has, [P]."""
        return np.diff(self.first)

    @cached_property
    def page_of_link(self) -> Ids:
        return np.repeat(np.arange(len(self.states)), self.widths)

    @cached_property
    def layout(self) -> list[tuple[Ids, NDArray[np.bool_], Ids]]:
        """Pages in groups to be laid side by side: their numbers [G], where there is an action [G, A], and which."""
        widths = self.widths
        return [
            (rows, np.arange(width) < widths[rows, None], ranges(self.first[rows], widths[rows]))
            for rows, width in alike_in_width(widths, self.widest)
        ]

    @property
    def menus(self) -> Menus:
        """The menus of the distinct pages."""
        return Menus(np.arange(len(self.states)), self.first, self.links)

    @cached_property
    def pair_keys(self) -> NDArray[np.int64]:
        """One number for each distinct pair, ascending."""
        found: NDArray[np.int64] = np.unique(self._keys_of_pairs())
        return found

    @cached_property
    def pairs(self) -> Ids:
        """The pair of each action of each page, [L]."""
        found: Ids = np.searchsorted(self.pair_keys, self._keys_of_pairs())
        return found

    @cached_property
    def pair_of_step(self) -> Ids:
        found: Ids = self.pairs.take(self._link_of_step())
        return found

    def _link_of_step(self) -> Ids:
        """Where the action that each step took stands among those of all pages, [L]."""
        found: Ids = self.first[self.steps["page"]] + self.steps["taken"]
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
        _, links = np.unique(self.pairs, return_index=True)
        pages = self.page_of_link[links]
        return pages, links - self.first[pages]

    def _keys_of_pairs(self) -> NDArray[np.int64]:
        """Where the menu counts, an action's pair is its own place on its own page."""
        pages = self.page_of_link
        if self.ordered:
            return (pages << 32) + np.arange(len(self.links)) - self.first[pages]
        return (self.states[pages] << 32) + self.links

    # --- what it comes to

    def mixed(self, prior: Floats | float, weight: float) -> Floats:
        """(N mean + w prior) / (N + w) of each action of each page [L]: a pair's own returns, and, the fewer they are,
        the more of the prior."""
        count = self.counts[self.pairs]
        mean = self.means[self.pairs]
        found: Floats = (count * mean + weight * prior) / (count + weight)
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
        """Compute the means anew: returns under softmax with α over Q-values [L]; trace None: Monte Carlo."""
        policy, values = self._policy(q, alpha)
        at = self._link_of_step()
        rewards = self.steps["reward"].astype(np.float64)
        after = values.take(self.steps["after"])
        if trace is None:
            found = monte_carlo(self.backwards, rewards, after, discount)
        else:
            trust = trust_in(policy.take(at), self.steps["probability"].astype(np.float64), trace)
            found = retrace(self.backwards, rewards, after, q.take(at), trust, discount)
        sums = np.bincount(self.pair_of_step, found, minlength=len(self.pair_keys))
        self.means = sums / np.maximum(self.counts, 1)

    def _policy(self, q: Floats, alpha: float) -> tuple[Floats, Floats]:
        """Softmax with α over Q-values [L]: the probability of each action of each page [L], and each page's value."""
        policy = np.zeros(len(q))
        values = np.zeros(len(self.states))
        for pages, mask, links in self.layout:
            shares = np.zeros(mask.shape)
            beside = np.zeros(mask.shape)
            beside[mask] = q[links]
            going_on = mask.any(axis=1)
            shares[going_on] = softmax(beside[going_on], mask[going_on], alpha)
            policy[links], values[pages] = shares[mask], np.einsum("pa,pa->p", shares, beside)
        return policy, values

    # --- texts, and what is kept

    def texts_in_use(self) -> tuple[Ids, Ids]:
        return np.unique(self.states), np.unique(self.links)

    def renumber(self, states: Ids, actions: Ids) -> None:
        """Texts have new ids."""
        means = self._means_of_links()
        links = actions[self.links]
        self.states = states[self.states]
        if not self.ordered:
            links, place = _sorted_within(self.first, links)
            begin = self.first[self.steps["page"]]
            before = means
            means = np.empty_like(before)
            means[place] = before
            self.steps["taken"] = (place[begin + self.steps["taken"]] - begin).astype(
                STEP_TYPES["taken"]
            )
        self.links = links
        self._changed()
        self._take_means(means)

    def rescale(self, factor: float) -> None:
        """Rewards are told in other units."""
        self.steps["reward"] = self.steps["reward"] * np.float32(factor)
        self.means = self.means * factor
        self.best_return = self.best_return * factor

    def state(self) -> State:
        pages = {
            "states": self.states,
            "first": self.first,
            "links": self.links,
            "widest": np.array([self.widest]),
        }
        return {**pages, "means": self.means, "best": np.array([self.best_return]), **self.steps}

    def restore(self, state: State) -> None:
        state = state if "links" in state else _from_padded(state)
        self.states, self.first, self.links = (
            np.asarray(state[name], np.int64) for name in ("states", "first", "links")
        )
        self.widest = int(state["widest"][0])
        self.means = np.asarray(state["means"], np.float64)
        self.steps = {name: np.asarray(state[name], kind) for name, kind in STEP_TYPES.items()}
        self.best_return = float(state["best"][0])
        self._changed()


def _from_padded(state: State) -> State:
    """The state of a memory that kept its menus side by side, as runs did that are older."""
    actions = np.asarray(state["actions"], np.int64)
    menus = Menus.of_padded(actions)
    return {
        **state,
        "first": menus.first,
        "links": menus.actions,
        "widest": np.array([actions.shape[1]]),
    }


class Marked:
    """Memories as they were when a round began: if it is interrupted and begins again, they go back to that."""

    def __init__(self, memories: list[EpisodeMemory]) -> None:
        self.memories = memories
        self.states = [memory.state() for memory in memories]
        self.round: int | None = None

    def begin(self, number: int) -> None:
        """A round begins, or begins again; what a memory holds is never changed in place, so a mark costs nothing."""
        if number == self.round:
            for memory, state in zip(self.memories, self.states, strict=True):
                memory.restore(state)
        else:
            self.round = number
            self.states = [memory.state() for memory in self.memories]

    def void(self) -> None:
        """Texts have new ids, or the memories are others: there is nothing to go back to."""
        self.round = None


def _sorted_within(first: Ids, actions: Ids) -> tuple[Ids, Ids]:
    """The actions of menus, each menu's sorted; and where each action now stands."""
    owner = np.repeat(np.arange(len(first) - 1), np.diff(first))
    order = np.lexsort((actions, owner))
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return actions[order], place


def _state_keys(states: Ids) -> NDArray[np.uint64]:
    """A page's 64-bit key is the sum of what its text and its actions give, each by its place."""
    return _mixed(states, np.zeros(len(states), np.int64))


def _menu_keys(first: Ids, actions: Ids) -> NDArray[np.uint64]:
    """What the actions of each menu add to their page's key."""
    counts = np.diff(first)
    place = np.arange(len(actions)) - np.repeat(first[:-1], counts)
    sums = np.concatenate(
        [np.zeros(1, np.uint64), np.cumsum(_mixed(actions, place + 1), dtype=np.uint64)]
    )
    found: NDArray[np.uint64] = sums[first[1:]] - sums[first[:-1]]
    return found


def _mixed(ids: Ids, place: Ids) -> NDArray[np.uint64]:
    """Arithmetic is modulo 2⁶⁴."""
    factors = MULTIPLIERS[place % len(MULTIPLIERS)]
    mixed = (ids.astype(np.uint64) + np.uint64(1)) * factors
    mixed ^= mixed >> np.uint64(29)
    found: NDArray[np.uint64] = mixed * (factors | np.uint64(3))
    return found
