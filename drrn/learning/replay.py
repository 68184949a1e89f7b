"""The replay buffer: transitions (s, A, a, r, s', A') of one replica as arrays of ids, the oldest overwritten first."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drrn.models import Pages
from drrn.text import Ids, State

Places = NDArray[np.int64]

# Schaul et al. 2016: how much priorities count, and how far their bias is taken out again.
PRIORITY_EXPONENT, CORRECTION_EXPONENT = 0.6, 0.4


@dataclass(frozen=True)
class Transitions:
    """Some transitions. The next actions are -1 where there are none: all -1 is an ending."""

    states: Ids  # [N]
    actions: Ids  # [N, A], in their shown order
    taken: Ids  # [N], a place among the actions
    rewards: NDArray[np.float32]  # [N], of n steps where asked for
    discounts: NDArray[np.float32]  # [N], γⁿ: what the next state's value is multiplied by
    next_states: Ids  # [N]
    next_actions: Ids  # [N, A]

    def __len__(self) -> int:
        return len(self.states)


@dataclass(frozen=True)
class Batches:
    """K batches of B transitions of each replica; a weight of 0 stands where a replica has fewer."""

    pages: Pages
    taken: Ids  # [K, R, B]
    rewards: NDArray[np.float32]  # [K, R, B]
    discounts: NDArray[np.float32]  # [K, R, B]
    next_pages: Pages
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
    "states": np.int32, "actions": np.int32, "taken": np.int16, "rewards": np.float32, "discounts": np.float32,
    "next_states": np.int32, "next_actions": np.int32,
}  # fmt: skip
WIDE = ("actions", "next_actions")
SIDES = ("states", "actions")
TEXTS = {"states": "states", "next_states": "states", "actions": "actions", "next_actions": "actions"}


class ReplayBuffer:
    """Up to `capacity` transitions, packed: a million with five actions before and after takes under 64 MB."""

    def __init__(self, capacity: int, *, prioritised: bool = False) -> None:
        self.capacity = capacity
        self.count = 0  # ever added
        self.arrays = {name: np.empty((0, 1) if name in WIDE else 0, kind) for name, kind in TYPES.items()}
        self.priorities = Priorities() if prioritised else None

    def __len__(self) -> int:
        return min(self.count, self.capacity)

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self.arrays.values())

    def add(self, new: Transitions) -> None:
        """Keep transitions, each with the largest priority so far."""
        places = (self.count + np.arange(len(new))) % self.capacity
        self._make_room(min(self.count + len(new), self.capacity), max(new.actions.shape[1], new.next_actions.shape[1]))
        for name, array in self.arrays.items():
            values = getattr(new, name)
            if name in WIDE:
                array[places] = -1
                array[places, : values.shape[1]] = values
            else:
                array[places] = values
        self.count += len(new)
        if self.priorities is not None and len(new):
            self.priorities.set(places, np.full(len(new), self.priorities.largest))

    def at(self, places: Places) -> Transitions:
        return Transitions(**{name: array[places] for name, array in self.arrays.items()})

    def sample(self, count: int, generator: np.random.Generator) -> Places:
        """So many places, with replacement: evenly, or in proportion to priority."""
        if self.priorities is not None:
            return self.priorities.draw(generator.random(count))
        return generator.integers(len(self), size=count)

    def weights(self, places: Places) -> NDArray[np.float32]:
        """What each sampled transition counts: less, where priority made it more likely."""
        if self.priorities is None or not len(places):
            return np.ones(len(places), np.float32)
        weights = (len(self) * self.priorities.share(places)) ** -CORRECTION_EXPONENT
        scaled: NDArray[np.float32] = (weights / weights.max()).astype(np.float32)
        return scaled

    def revise(self, places: Places, errors: NDArray[np.float32]) -> None:
        """New priorities, from the latest errors."""
        if self.priorities is not None and len(places):
            self.priorities.set(places, (np.abs(errors).astype(np.float64) + 1e-3) ** PRIORITY_EXPONENT)

    def clear(self) -> None:
        self.count = 0
        if self.priorities is not None:
            self.priorities = Priorities()

    def texts_in_use(self) -> tuple[Ids, Ids]:
        """The distinct ids of states' and actions' texts."""
        used = {name: self.arrays[name][: len(self)].ravel() for name in TEXTS}
        states, actions = (np.unique(np.concatenate([used[side], used[f"next_{side}"]])) for side in SIDES)
        return states.astype(np.int64), actions[actions >= 0].astype(np.int64)

    def renumber(self, states: Ids, actions: Ids) -> None:
        """Texts have new ids: state i is now `states[i]`; the last of each is what -1, no text, becomes."""
        for name, side in TEXTS.items():
            kept = self.arrays[name][: len(self)]
            kept[...] = (states if side == "states" else actions)[kept]

    def state(self) -> State:
        kept = {name: array[: len(self)] for name, array in self.arrays.items()}
        if self.priorities is not None:
            kept["sums"] = self.priorities.sums
        return {**kept, "count": self.count, "largest": self.priorities.largest if self.priorities else 1.0}

    def restore(self, state: State) -> None:
        self.count = state["count"]
        self.arrays = {name: state[name] for name in TYPES}
        if self.priorities is not None:
            self.priorities.sums, self.priorities.largest = state["sums"], state["largest"]
            self.priorities.leaves = len(self.priorities.sums) // 2

    def _make_room(self, rows: int, columns: int) -> None:
        """Rows double, so that growing stays cheap; columns are the most actions seen."""
        have = len(self.arrays["states"])
        rows = have if rows <= have else min(self.capacity, max(rows, 2 * have))
        for name, array in self.arrays.items():
            shape = (rows, max(array.shape[1], columns)) if name in WIDE else (rows,)
            if array.shape != shape:
                self.arrays[name] = np.full(shape, -1, array.dtype)
                self.arrays[name][tuple(slice(n) for n in array.shape)] = array


class Priorities:
    """Drawing in proportion to priority, by a tree of sums: drawing and updating take log N steps."""

    def __init__(self) -> None:
        self.leaves = 1
        self.sums = np.zeros(2, np.float64)
        self.largest = 1.0

    def set(self, places: Places, priorities: NDArray[np.float64]) -> None:
        self._make_room(int(places.max()) + 1)
        self.largest = max(self.largest, float(priorities.max()))
        nodes = places + self.leaves
        self.sums[nodes] = priorities
        while nodes[0] > 1:
            nodes = np.unique(nodes // 2)
            self.sums[nodes] = self.sums[2 * nodes] + self.sums[2 * nodes + 1]

    def draw(self, uniform: NDArray[np.float64]) -> Places:
        """A place for each number in [0, 1)."""
        left = uniform * self.sums[1]
        nodes = np.ones(len(uniform), np.int64)
        while len(nodes) and nodes[0] < self.leaves:
            nodes *= 2
            beyond = (left >= self.sums[nodes]) & (self.sums[nodes + 1] > 0)
            left -= np.where(beyond, self.sums[nodes], 0.0)
            nodes += beyond
        return nodes - self.leaves

    def share(self, places: Places) -> NDArray[np.float64]:
        """The probability of each place."""
        shares: NDArray[np.float64] = self.sums[places + self.leaves] / self.sums[1]
        return shares

    def _make_room(self, count: int) -> None:
        if count <= self.leaves:
            return
        old = self.sums[self.leaves :]
        self.leaves = 1 << (count - 1).bit_length()
        self.sums = np.zeros(2 * self.leaves, np.float64)
        self.sums[self.leaves : self.leaves + len(old)] = old
        level = self.leaves
        while level > 1:
            level //= 2
            below = self.sums[2 * level : 4 * level]
            self.sums[level : 2 * level] = below[::2] + below[1::2]


def batches_of(buffers: list[ReplayBuffer], places: list[Places], size: int) -> Batches:
    """The transitions at some places of each buffer, cut into batches; shorter rows are padded with weights of 0."""
    longest = max(map(len, places))
    size = min(size, longest)
    count = -(-longest // size)
    replicas, most = len(buffers), max(buffer.arrays["actions"].shape[1] for buffer in buffers)
    whole: dict[str, NDArray[Any]] = {"weights": np.zeros((replicas, count * size), np.float32)}
    for name, kind in TYPES.items():
        shape, empty = ((replicas, count * size, most), -1) if name in WIDE else ((replicas, count * size), 0)
        whole[name] = np.full(shape, empty, np.float32 if kind is np.float32 else np.int64)
    for r, (buffer, some) in enumerate(zip(buffers, places, strict=True)):
        if not len(buffer):
            continue
        at = np.zeros(count * size, np.int64)
        at[: len(some)] = some
        whole["weights"][r, : len(some)] = buffer.weights(some)
        for name, values in vars(buffer.at(at)).items():
            whole[name][r][tuple(map(slice, values.shape))] = values
    cut = {  # [R, K · B, …] to [K, R, B, …]
        name: array.reshape(replicas, count, size, *array.shape[2:]).swapaxes(0, 1) for name, array in whole.items()
    }
    pages = Pages(cut.pop("states"), cut.pop("actions"))
    next_pages = Pages(cut.pop("next_states"), cut.pop("next_actions"))
    return Batches(pages=pages, next_pages=next_pages, **cut)
