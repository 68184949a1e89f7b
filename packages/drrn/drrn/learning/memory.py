"""What a replica learns from: the steps of episodes, and each distinct page once.

    an episode   page 0 --action 1 of 2, reward 0--> page 1 --action 0 of 1, reward 5--> page 2
    steps        page   [0, 1]   taken [1, 0]   reward [0, 5]   after [1, 2]   last [no, yes]
    pages        states [s0, s1, s2]   first [0, 2, 3, 3]   links [a, b, c]

A page is the id of its text and its menu of actions, `links[first[p] : first[p + 1]]`. A link is an
action of a page. Links are numbered through all pages; page 2 has none, so that it is an ending.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from drrn.learning.experience import Steps
from drrn.learning.menus import Menus
from drrn.text import State, Store
from textgames.arrays import Ids, starts_of

# Random odd factors of the hashes of pages.
FACTORS = np.random.default_rng(0x70616765).integers(1, 2**63, 4096, np.uint64) | np.uint64(1)


class Memory:
    """The episodes of one replica. By default, a learner forgets them after each round.

    `ordered` is for models that see the menu: the same actions in another order are then another
    page. Otherwise, the actions of a page are sorted.
    """

    columns: ClassVar[dict[str, Any]] = {
        "page": np.int32,
        "taken": np.int32,
        "probability": np.float32,
        "reward": np.float64,
        "after": np.int32,
        "last": np.bool_,
    }

    def __init__(self, *, ordered: bool = True) -> None:
        self.ordered = ordered
        self.round = 0  # the round that began last
        self.widest = 1  # size of the largest menu so far
        self.clear()

    def clear(self) -> None:
        self.states = np.zeros(0, np.int64)  # [P]
        self.first = np.zeros(1, np.int64)  # [P + 1] the first link of each page
        self.links: NDArray[Any] = np.zeros(0, np.int32)  # [L] actions
        self.steps: dict[str, NDArray[Any]]
        self.steps = {name: np.zeros(0, kind) for name, kind in self.columns.items()}
        self.drop_caches()
        self.before = self.state()

    def __len__(self) -> int:
        return len(self.steps["page"])

    @property
    def widths(self) -> Ids:
        """The number of actions of each page, [P]."""
        return np.diff(self.first)

    def menus(self, pages: Ids) -> Menus:
        """The menus of some pages."""
        return Menus(pages, self.first, self.links)

    def joined(self) -> Steps:
        """All episodes, in the order in which they were added."""
        steps = self.steps
        ends = np.flatnonzero(steps["last"])
        pages = np.insert(steps["page"], ends + 1, steps["after"][ends])
        return Steps(
            page_states=self.states[pages],
            page_actions=self.menus(pages),
            taken=steps["taken"].astype(np.int64),
            probabilities=steps["probability"].astype(np.float64),
            rewards=steps["reward"].astype(np.float64),
            last=steps["last"],
        )

    # --- Adding and forgetting

    def add(self, steps: Steps) -> None:
        """Add episodes."""
        if not len(steps):
            return
        pages, taken = self._number_pages(steps)
        new = {
            "page": pages[steps.page],
            "taken": taken,
            "probability": steps.probabilities,
            "reward": steps.rewards,
            "after": pages[steps.page + 1],
            "last": steps.last,
        }
        for name, kind in self.columns.items():
            self.steps[name] = np.concatenate([self.steps[name], new[name].astype(kind)])
        self.drop_caches()

    def begin(self, number: int) -> None:
        """Begin a round. If the same round began before, its episodes are dropped.

        Arrays are never changed in place, so that the state before a round costs nothing.
        """
        if number == self.round:
            self.restore(self.before)
        self.round = number
        self.before = self.state()

    def forget_before(self, start: int) -> None:
        """Forget the steps before the start of an episode, and the pages that no other shows."""
        self.steps = {name: values[start:] for name, values in self.steps.items()}
        used = np.zeros(len(self.states), bool)
        used[self.steps["page"]] = True
        used[self.steps["after"]] = True
        number = np.cumsum(used) - 1
        for name in ("page", "after"):
            self.steps[name] = number[self.steps[name]].astype(np.int32)
        links = np.flatnonzero(np.repeat(used, self.widths))
        self.set_pages(self.states[used], starts_of(self.widths[used]), self.links[links], links)

    def set_pages(self, states: Ids, first: Ids, links: Ids, before: Ids) -> None:
        """Replace the pages. `before` has the previous numbers of the first links."""
        self.states = states
        self.first = first
        self.links = links.astype(np.int32)
        self.drop_caches()

    def drop_caches(self) -> None:
        """Drop what was derived from the steps and the pages."""
        for kind in type(self).__mro__:
            for name, value in vars(kind).items():
                if isinstance(value, cached_property):
                    self.__dict__.pop(name, None)

    def _number_pages(self, steps: Steps) -> tuple[Ids, Ids]:
        """The number of each page, after new ones were added, and the index of each action taken.

        Sorting the actions of a page changes these indices.
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
            self.set_pages(
                np.concatenate([self.states, states[rows]]),
                np.concatenate([self.first, self.first[-1] + np.cumsum(new.counts)]),
                np.concatenate([self.links, new.flat()]),
                np.arange(len(self.links)),
            )
        return numbers[inverse[len(present) :]], taken

    # --- Texts, units and state

    def texts_in_use(self) -> tuple[Ids, Ids]:
        """The distinct ids of the texts of states and of actions."""
        return np.unique(self.states), np.unique(self.links).astype(np.int64)

    def renumber(self, states: Ids, actions: Ids) -> None:
        """Texts have new ids: state i is now `states[i]`, likewise for actions. -1 stays -1."""
        links = actions[self.links]
        before = np.arange(len(links))
        if not self.ordered:
            links, rank = _sorted_within(self.first, links)
            start = self.first[self.steps["page"]]
            taken = rank[start + self.steps["taken"]] - start
            self.steps["taken"] = taken.astype(np.int32)
            before = np.argsort(rank)
        self.set_pages(states[self.states], self.first, links, before)
        self.before = self.state()

    def rescale(self, factor: float) -> None:
        """Multiply all rewards."""
        self.steps["reward"] = self.steps["reward"] * self.columns["reward"](factor)
        self.drop_caches()

    def state(self) -> State:
        """What a resumed run needs: arrays, and JSON values."""
        pages = {"states": self.states, "first": self.first, "links": self.links}
        return {**pages, "widest": self.widest, **self.steps}

    def restore(self, state: State) -> None:
        """Continue from a state."""
        self.states = state["states"]
        self.first = state["first"]
        self.links = state["links"]
        self.widest = state["widest"]
        self.steps = {name: state[name] for name in self.columns}
        self.drop_caches()
        self.before = self.state()


def drop_unused_texts(store: Store, memories: Sequence[Memory]) -> None:
    """Forget the texts that no memory uses, and give new ids to the others."""
    used = zip(*(memory.texts_in_use() for memory in memories), strict=True)
    states, actions = (np.unique(np.concatenate(ids)) for ids in used)
    if store.shared:
        states = np.union1d(states, actions)
    new_states = store.states.keep(states)
    new_actions = new_states if store.shared else store.actions.keep(actions)
    for memory in memories:
        memory.renumber(new_states, new_actions)


def _sorted_within(first: Ids, actions: Ids) -> tuple[Ids, Ids]:
    """The actions of each menu, sorted, and the new index of each."""
    owner = np.repeat(np.arange(len(first) - 1), np.diff(first))
    order = np.lexsort((actions, owner))
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return actions[order], rank


def _page_keys(
    states: Ids, first: Ids, actions: Ids, which: Ids | None = None
) -> NDArray[np.uint64]:
    """A 64-bit key for each page, of its text and the actions of its menu, in order."""
    index = np.arange(len(actions)) - np.repeat(first[:-1], np.diff(first))
    sums = np.zeros(len(actions) + 1, np.uint64)
    np.cumsum(_hashes(actions, index + 1), dtype=np.uint64, out=sums[1:])
    menus = sums[first[1:]] - sums[first[:-1]]
    texts = _hashes(states, np.zeros(len(states), np.int64))
    return np.asarray(texts + (menus if which is None else menus[which]))


def _hashes(ids: Ids, index: Ids) -> NDArray[np.uint64]:
    """Hash ids by their index in a page, modulo 2⁶⁴."""
    factors = FACTORS[index % len(FACTORS)]
    product = (ids.astype(np.uint64) + np.uint64(1)) * factors
    product ^= product >> np.uint64(29)
    return np.asarray(product * (factors | np.uint64(3)))
