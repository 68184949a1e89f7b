"""The replay buffer: transitions (s, A, a, r, s', A') of one replica as arrays of ids, the oldest overwritten first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drrn.learning.menus import Menus, MenuStore
from drrn.models.base import NARROW, Pages
from drrn.text import Ids, State

Places = NDArray[np.int64]


@dataclass(frozen=True)
class Transitions:
    """Some transitions. Where there are no next actions, it is an ending."""

    states: Ids  # [N]
    actions: Menus  # of N pages, in their shown order
    taken: Ids  # [N], a place among the actions
    rewards: NDArray[np.float32]  # [N], of n steps where asked for
    discounts: NDArray[np.float32]  # [N], γⁿ: what the next state's value is multiplied by
    next_states: Ids  # [N]
    next_actions: Menus  # of N pages

    def __len__(self) -> int:
        return len(self.states)


@dataclass(frozen=True)
class Pairs:
    """The distinct pages of a batch as pairs of a text and an action; -1 where a replica has fewer pairs."""

    states: Ids  # [R, N]
    actions: Ids  # [R, N]
    owner: Ids  # [R, N], which of the distinct pages shows the pair
    at: Ids  # [R, B], which of them each page of the batch is


@dataclass(frozen=True)
class RaggedPages:
    """Pages of K batches whose menus are of very different width: laid out as pairs, batch by batch."""

    states: Ids  # [K, R, B]
    menus: Ids  # [K, R, B], numbers in the replica's store of menus; -1: no actions
    stores: Sequence[MenuStore]  # of each replica

    def __getitem__(self, some: slice) -> list[Pairs]:
        return [self._pairs(k) for k in range(*some.indices(len(self.states)))]

    def _pairs(self, k: int) -> Pairs:
        rows = [
            self._pairs_of(r, self.menus[k, r], self.states[k, r]) for r in range(len(self.stores))
        ]
        states, actions, owner, at = zip(*rows, strict=True)
        return Pairs(
            _side_by_side(states), _side_by_side(actions), _side_by_side(owner), np.stack(at)
        )

    def _pairs_of(self, replica: int, menus: Ids, states: Ids) -> tuple[Ids, Ids, Ids, Ids]:
        """A page that is there more than once is scored once."""
        pages, at = np.unique((menus << 32) + states, return_inverse=True)
        state = pages & 0xFFFFFFFF
        menu = pages >> 32
        shown = np.flatnonzero(menu >= 0)
        found = self.stores[replica].of(menu[shown])
        owner = np.repeat(shown, found.counts)
        return state[owner], found.flat(), owner, at.reshape(-1)


def _side_by_side(rows: Sequence[Ids]) -> Ids:
    """Rows of one length, -1 where one has no more."""
    found = np.full((len(rows), max(map(len, rows))), -1, np.int64)
    for row, values in zip(found, rows, strict=True):
        row[: len(values)] = values
    return found


@dataclass(frozen=True)
class Batches:
    """K batches of B transitions of each replica; a weight of 0 stands where a replica has fewer."""

    pages: Pages  # with their menus, or with the taken action alone
    taken: Ids  # [K, R, B]
    rewards: NDArray[np.float32]  # [K, R, B]
    discounts: NDArray[np.float32]  # [K, R, B]
    next_pages: Pages | RaggedPages
    weights: NDArray[np.float32]  # [K, R, B]

    @cached_property
    def chosen(self) -> Ids:
        """The actions that were taken, [K, R, B]."""
        chosen: Ids = np.take_along_axis(self.pages.actions, self.taken[..., None], axis=-1)[..., 0]
        return chosen

    @cached_property
    def active(self) -> NDArray[np.bool_]:
        """Whether a replica has anything in a batch, [K, R]."""
        active: NDArray[np.bool_] = np.asarray(self.weights.any(axis=2))
        return active


TYPES = {
    "states": np.int32, "menus": np.int32, "taken": np.int32, "rewards": np.float32, "discounts": np.float32,
    "next_states": np.int32, "next_menus": np.int32,
}  # fmt: skip
NUMBERS = ("taken", "rewards", "discounts")  # of a transition, as batches have them
MORE_MENUS = 1024  # than twice those in use, and the others are let go of


class ReplayBuffer:
    """Up to `capacity` transitions, packed: a million with five actions before and after takes under 64 MB."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.count = 0  # ever added
        self.arrays = {name: np.empty(0, kind) for name, kind in TYPES.items()}
        self.menus = MenuStore()
        self.most_menus = MORE_MENUS

    def __len__(self) -> int:
        return min(self.count, self.capacity)

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self.arrays.values()) + self.menus.nbytes

    def add(self, new: Transitions) -> None:
        """Add transitions; the oldest are overwritten."""
        places = (self.count + np.arange(len(new))) % self.capacity
        self._make_room(min(self.count + len(new), self.capacity))
        numbers = self.menus.add(new.actions.joined(new.next_actions))
        values = {**vars(new), "menus": numbers[: len(new)], "next_menus": numbers[len(new) :]}
        for name, array in self.arrays.items():
            array[places] = values[name]
        self.count += len(new)
        if self.count > self.capacity and self.menus.count > self.most_menus:
            self._let_go_of_menus()

    def at(self, places: Places) -> Transitions:
        """The transitions at some places."""
        if not len(self):
            return _no_transitions(len(places))
        found: dict[str, Any] = {name: array[places] for name, array in self.arrays.items()}
        found |= {name: found[name].astype(np.int64) for name in ("states", "taken", "next_states")}
        found["actions"], found["next_actions"] = (
            self.menus.of(found.pop(name)) for name in ("menus", "next_menus")
        )
        return Transitions(**found)

    def sample(self, count: int, generator: np.random.Generator) -> Places:
        """Return indices drawn uniformly with replacement."""
        return generator.integers(len(self), size=count)

    def clear(self) -> None:
        self.count = 0
        self.menus.clear()

    def texts_in_use(self) -> tuple[Ids, Ids]:
        """The distinct ids of states' and actions' texts."""
        self._let_go_of_menus()
        states = np.unique(
            np.concatenate([self.arrays[name][: len(self)] for name in ("states", "next_states")])
        )
        return states.astype(np.int64), np.unique(self.menus.state()[1]).astype(np.int64)

    def renumber(self, states: Ids, actions: Ids) -> None:
        """Texts have new ids: state i is now `states[i]`, and so for actions."""
        for name in ("states", "next_states"):
            kept = self.arrays[name][: len(self)]
            kept[...] = states[kept]
        self.menus.renumber(actions)

    def rescale(self, factor: float) -> None:
        """Rewards are told in other units."""
        self.arrays["rewards"] *= np.float32(factor)

    def state(self) -> State:
        self._let_go_of_menus()
        kept = {name: array[: len(self)] for name, array in self.arrays.items()}
        kept["first"], kept["actions"], widest = self.menus.state()
        return {**kept, "widest": widest, "count": self.count}

    def restore(self, state: State) -> None:
        self.count = state["count"]
        self.arrays = {name: np.array(state[name], kind) for name, kind in TYPES.items()}
        self.menus.restore(state["first"], state["actions"], state["widest"])

    def _make_room(self, rows: int) -> None:
        """Rows double, so that growing stays cheap."""
        have = len(self.arrays["states"])
        if rows > have:
            fresh = min(self.capacity, max(rows, 2 * have)) - have
            self.arrays = {name: np.pad(array, (0, fresh)) for name, array in self.arrays.items()}

    def _let_go_of_menus(self) -> None:
        """Those of transitions that were overwritten."""
        mine = [self.arrays[name][: len(self)] for name in ("menus", "next_menus")]
        used = np.unique(np.concatenate(mine)).astype(np.int64)
        if len(used) < self.menus.count:
            renumbered = self.menus.keep(used)
            for numbers in mine:
                numbers[...] = renumbered[numbers]
        self.most_menus = 2 * len(used) + MORE_MENUS


def batches_of(
    buffers: list[ReplayBuffer], places: list[Places], size: int, *, menus: bool = True
) -> Batches:
    """The transitions at some places of each buffer, cut into batches; shorter rows are padded with weights of 0.

    Without `menus`, the pages have the taken action alone, and next pages are ragged where one of them is wide.
    """
    longest = max(map(len, places))
    most = max(buffer.menus.widest for buffer in buffers)
    size = min(size, longest)
    padding = [(0, -(-longest // size) * size - len(some)) for some in places]
    rows = [
        buffer.at(np.pad(some, more))
        for buffer, some, more in zip(buffers, places, padding, strict=True)
    ]
    weights = [
        np.pad(np.ones(len(some), np.float32), more)
        for some, more in zip(places, padding, strict=True)
    ]
    cut = {
        name: _cut([getattr(row, name) for row in rows], size)
        for name in ("states", "next_states", *NUMBERS)
    }
    shown = [
        row.actions.padded(most) if menus else row.actions.at(row.taken)[:, None] for row in rows
    ]
    after: Pages | RaggedPages
    if menus or most <= NARROW:
        after = Pages(
            cut.pop("next_states"), _cut([row.next_actions.padded(most) for row in rows], size)
        )
    else:
        numbers = _cut([row.next_actions.which for row in rows], size)
        after = RaggedPages(cut.pop("next_states"), numbers, [buffer.menus for buffer in buffers])
    cut["taken"] = cut["taken"] if menus else np.zeros_like(cut["taken"])
    pages = Pages(cut.pop("states"), _cut(shown, size))
    return Batches(pages=pages, next_pages=after, weights=_cut(weights, size), **cut)


def _cut(rows: list[NDArray[Any]], size: int) -> NDArray[Any]:
    """Rows of all replicas [R, K · B, …] as batches [K, R, B, …]."""
    whole = np.stack(rows)
    found: NDArray[Any] = whole.reshape(len(rows), -1, size, *whole.shape[2:]).swapaxes(0, 1)
    return found


def _no_transitions(count: int) -> Transitions:
    """What an empty buffer has: transitions without actions."""
    ids = np.zeros(count, np.int64)
    numbers = np.zeros(count, np.float32)
    none = Menus(np.full(count, -1), np.zeros(2, np.int64), np.array([-1]))
    return Transitions(ids, none, ids, numbers, numbers, ids, none)
