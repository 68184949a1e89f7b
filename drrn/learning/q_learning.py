"""Q-learning with experience replay; `fast` makes the same updates faster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from drrn.learning.equations import best_of_pairs, q_targets
from drrn.learning.experience import Steps, Transitions
from drrn.learning.learner import Generators, Learner, divergence
from drrn.learning.menus import Menus, MenuStore
from drrn.models.base import NARROW, Model, Pages, Reading
from drrn.models.encoders.base import TextBatch
from drrn.models.encodings import read_together
from drrn.settings import Settings
from drrn.text import Ids, State, Store, texts_of_all

GATHERED = 16  # batches whose texts are gathered together: faster, but takes memory
PREPARED = 256  # batches that are taken from the replay buffers at once

# --- The replay buffer

TYPES: dict[str, type[np.generic]] = {
    "states": np.int32,
    "menus": np.int32,
    "taken": np.int32,
    "rewards": np.float32,
    "discounts": np.float32,
    "next_states": np.int32,
    "next_menus": np.int32,
}
SPARE_MENUS = 1024  # unused menus are dropped beyond twice those in use and this many


class ReplayBuffer:
    """Up to `capacity` transitions of one replica; the oldest are overwritten first.

    They are packed: a million with five actions before and after take under 64 MB.
    """

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.count = 0  # ever added
        self.arrays = {name: np.empty(0, kind) for name, kind in TYPES.items()}
        self.menus = MenuStore()
        self.most_menus = SPARE_MENUS

    def __len__(self) -> int:
        return min(self.count, self.capacity)

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self.arrays.values()) + self.menus.nbytes

    def add(self, new: Transitions) -> None:
        """Add transitions."""
        index = (self.count + np.arange(len(new))) % self.capacity
        self._grow(min(self.count + len(new), self.capacity))
        numbers = self.menus.add(new.actions.joined(new.next_actions))
        values = {**vars(new), "menus": numbers[: len(new)], "next_menus": numbers[len(new) :]}
        for name, array in self.arrays.items():
            array[index] = values[name]
        self.count += len(new)
        if self.count > self.capacity and self.menus.count > self.most_menus:
            self._drop_unused_menus()

    def at(self, index: Ids) -> Transitions:
        """Return the transitions at some indices; those of an empty buffer have no actions."""
        if not len(self):
            ids = np.zeros(len(index), np.int64)
            zeros = np.zeros(len(index), np.float32)
            none = Menus(np.full(len(index), -1), np.zeros(2, np.int64), np.array([-1]))
            return Transitions(ids, none, ids, zeros, zeros, ids, none)
        values = {name: array[index] for name, array in self.arrays.items()}
        return Transitions(
            states=values["states"].astype(np.int64),
            actions=self.menus.of(values["menus"]),
            taken=values["taken"].astype(np.int64),
            rewards=values["rewards"],
            discounts=values["discounts"],
            next_states=values["next_states"].astype(np.int64),
            next_actions=self.menus.of(values["next_menus"]),
        )

    def sample(self, count: int, generator: np.random.Generator) -> Ids:
        """Return indices drawn uniformly with replacement."""
        return generator.integers(len(self), size=count)

    def clear(self) -> None:
        self.count = 0
        self.menus.clear()

    def texts_in_use(self) -> tuple[Ids, Ids]:
        """Return the distinct ids of states' and actions' texts."""
        self._drop_unused_menus()
        pages = [self.arrays[name][: len(self)] for name in ("states", "next_states")]
        states = np.unique(np.concatenate(pages))
        return states.astype(np.int64), np.unique(self.menus.state()[1]).astype(np.int64)

    def renumber(self, states: Ids, actions: Ids) -> None:
        """Texts have new ids: state i is now `states[i]`, likewise for actions."""
        for name in ("states", "next_states"):
            ids = self.arrays[name][: len(self)]
            ids[...] = states[ids]
        self.menus.renumber(actions)

    def rescale(self, factor: float) -> None:
        """Multiply all rewards."""
        self.arrays["rewards"] *= np.float32(factor)

    def state(self) -> State:
        self._drop_unused_menus()
        first, actions, widest = self.menus.state()
        arrays = {name: array[: len(self)] for name, array in self.arrays.items()}
        return {**arrays, "first": first, "actions": actions, "widest": widest, "count": self.count}

    def restore(self, state: State) -> None:
        self.count = state["count"]
        self.arrays = {name: np.array(state[name], kind) for name, kind in TYPES.items()}
        self.menus.restore(state["first"], state["actions"], state["widest"])

    def _grow(self, rows: int) -> None:
        """Double the rows if there are too few, so that adding stays cheap."""
        present = len(self.arrays["states"])
        if rows > present:
            more = min(self.capacity, max(rows, 2 * present)) - present
            self.arrays = {name: np.pad(array, (0, more)) for name, array in self.arrays.items()}

    def _drop_unused_menus(self) -> None:
        columns = [self.arrays[name][: len(self)] for name in ("menus", "next_menus")]
        used = np.unique(np.concatenate(columns)).astype(np.int64)
        if len(used) < self.menus.count:
            renumbered = self.menus.keep(used)
            for numbers in columns:
                numbers[...] = renumbered[numbers]
        self.most_menus = 2 * len(used) + SPARE_MENUS


# --- Batches


@dataclass(frozen=True)
class Pairs:
    """The distinct pages of a batch as pairs of a state and an action, padded with -1."""

    states: Ids  # [R, N]
    actions: Ids  # [R, N]
    owner: Ids  # [R, N] the distinct page of each pair
    at: Ids  # [R, B] the distinct page of each page of the batch


@dataclass(frozen=True)
class RaggedPages:
    """Pages of K batches with menus of very different width; a batch is laid out as `Pairs`."""

    states: Ids  # [K, R, B]
    menus: Ids  # [K, R, B] numbers in the replica's store of menus; -1: no actions
    stores: Sequence[MenuStore]  # of each replica

    def __getitem__(self, some: slice) -> list[Pairs]:
        return [self._pairs(k) for k in range(*some.indices(len(self.states)))]

    def _pairs(self, k: int) -> Pairs:
        rows = [self._pairs_of(r, self.menus[k, r], self.states[k, r]) for r in self._replicas]
        states, actions, owner, at = zip(*rows, strict=True)
        return Pairs(_padded(states), _padded(actions), _padded(owner), np.stack(at))

    @property
    def _replicas(self) -> range:
        return range(len(self.stores))

    def _pairs_of(self, replica: int, menus: Ids, states: Ids) -> tuple[Ids, Ids, Ids, Ids]:
        """Duplicate pages are scored once."""
        pages, at = np.unique((menus << 32) + states, return_inverse=True)
        state = pages & 0xFFFFFFFF
        menu = pages >> 32
        with_actions = np.flatnonzero(menu >= 0)
        actions = self.stores[replica].of(menu[with_actions])
        owner = np.repeat(with_actions, actions.counts)
        return state[owner], actions.flat(), owner, at.reshape(-1)


def _padded(rows: Sequence[Ids]) -> Ids:
    table = np.full((len(rows), max(map(len, rows))), -1, np.int64)
    for row, values in zip(table, rows, strict=True):
        row[: len(values)] = values
    return table


@dataclass(frozen=True)
class Batches:
    """K batches of B transitions of each replica; padding has the weight 0."""

    pages: Pages  # with their menus, or with the taken action alone
    taken: Ids  # [K, R, B]
    rewards: NDArray[np.float32]  # [K, R, B]
    discounts: NDArray[np.float32]  # [K, R, B]
    next_pages: Pages | RaggedPages
    weights: NDArray[np.float32]  # [K, R, B]

    @cached_property
    def taken_actions(self) -> Ids:
        """The ids of the actions taken, [K, R, B]."""
        actions = np.take_along_axis(self.pages.actions, self.taken[..., None], axis=-1)
        return np.asarray(actions[..., 0])

    @cached_property
    def active(self) -> NDArray[np.bool_]:
        """Whether a replica has a transition in a batch, [K, R]."""
        return np.asarray(self.weights.any(axis=2))


def batches_of(
    buffers: list[ReplayBuffer], indices: list[Ids], size: int, *, menus: bool = True
) -> Batches:
    """Cut the transitions at some indices of each buffer into batches, padded with weight 0.

    Without `menus`, pages have the taken action alone, and next pages are ragged if one is wide.
    """
    longest = max(map(len, indices))
    most = max(buffer.menus.widest for buffer in buffers)
    size = min(size, longest)
    padding = [(0, -(-longest // size) * size - len(index)) for index in indices]
    padded = [np.pad(index, more) for index, more in zip(indices, padding, strict=True)]
    rows = [buffer.at(index) for buffer, index in zip(buffers, padded, strict=True)]
    ones = [np.ones(len(index), np.float32) for index in indices]

    def cut(arrays: list[NDArray[Any]]) -> NDArray[Any]:
        """Cut rows of all replicas [R, K · B, …] into batches [K, R, B, …]."""
        whole = np.stack(arrays)
        return np.asarray(whole.reshape(len(arrays), -1, size, *whole.shape[2:]).swapaxes(0, 1))

    next_states = cut([row.next_states for row in rows])
    next_pages: Pages | RaggedPages
    if menus or most <= NARROW:
        next_pages = Pages(next_states, cut([row.next_actions.padded(most) for row in rows]))
    else:
        numbers = cut([row.next_actions.which for row in rows])
        next_pages = RaggedPages(next_states, numbers, [buffer.menus for buffer in buffers])
    if menus:
        actions = [row.actions.padded(most) for row in rows]
        taken = cut([row.taken for row in rows])
    else:
        actions = [row.actions.at(row.taken)[:, None] for row in rows]
        taken = np.zeros_like(next_states)
    return Batches(
        pages=Pages(cut([row.states for row in rows]), cut(actions)),
        taken=taken,
        rewards=cut([row.rewards for row in rows]),
        discounts=cut([row.discounts for row in rows]),
        next_pages=next_pages,
        weights=cut([np.pad(one, more) for one, more in zip(ones, padding, strict=True)]),
    )


# --- The learner


class QLearning(Learner):
    """One-step (or n-step) targets; only the Q of the action taken is back-propagated.

    The loss is summed over a batch, so that each transition moves the weights by η times its own
    gradient, as in the paper's single-transition updates, whatever the size of the batch.
    """

    learns_online = True

    def __init__(self, model: Model, settings: Settings) -> None:
        super().__init__(model, settings)
        self.buffers = [ReplayBuffer(settings.learner.capacity) for _ in model.seeds]
        self.updates = [0] * len(model.seeds)  # of each replica; batches without data do not count

    def tell(self, replica: int, steps: Steps) -> None:
        learner = self.settings.learner
        self.add(replica, steps.transitions(learner.discount, learner.n_steps))

    def add(self, replica: int, transitions: Transitions) -> None:
        self.buffers[replica].add(transitions)

    def learn(self, generators: Generators) -> int:
        """Make epochs over the shuffled replay buffers."""
        learner = self.settings.learner
        size = learner.batch_size * PREPARED
        for _ in range(learner.epochs):
            pairs = zip(self.buffers, generators, strict=True)
            orders = [generator.permutation(len(buffer)) for buffer, generator in pairs]
            for start in range(0, max(map(len, orders)), size):
                self._learn_from([order[start : start + size] for order in orders])
        return learner.epochs * sum(map(len, self.buffers))

    def learn_once(self, generators: Generators, replicas: Sequence[bool]) -> int:
        """Learn from a mini-batch of each given replica (Algorithm 1)."""
        indices = []
        for buffer, generator, active in zip(self.buffers, generators, replicas, strict=True):
            count = self.settings.learner.batch_size if active and len(buffer) else 0
            index = buffer.sample(count, generator) if count else np.empty(0, np.int64)
            indices.append(index)
        if any(map(len, indices)):
            self._learn_from(indices)
        return sum(map(len, indices))

    def rescale(self, replica: int, factor: float) -> None:
        self.buffers[replica].rescale(factor)

    def forget(self) -> None:
        if not self.settings.learner.keep and self.settings.run.form != "online":
            for buffer in self.buffers:
                buffer.clear()

    def texts_in_use(self) -> tuple[Ids, Ids]:
        return texts_of_all(self.buffers)

    def renumber(self, states: Ids, actions: Ids) -> None:
        for buffer in self.buffers:
            buffer.renumber(states, actions)

    def state(self) -> State:
        buffers = [buffer.state() for buffer in self.buffers]
        return {"updates": self.updates, **super().state(), "buffers": buffers}

    def restore(self, state: State) -> None:
        super().restore(state)
        self.updates = list(state["updates"])
        for buffer, values in zip(self.buffers, state["buffers"], strict=True):
            buffer.restore(values)

    # --- Updates

    def _learn_from(self, indices: list[Ids]) -> None:
        size = self.settings.learner.batch_size
        self.update(batches_of(self.buffers, indices, size, menus=self.model.sees_menu))

    def update(self, batches: Batches) -> NDArray[np.float32]:
        """Make an update for each batch; return the errors y - Q [K, R, B]."""
        errors = self.descend_all(batches)
        if not np.isfinite(errors).all():
            raise divergence(self.optimiser.learning_rate)
        return errors

    def descend_all(self, batches: Batches) -> NDArray[np.float32]:
        """Make the updates by automatic differentiation.

        All arrays move to the device at once, and the errors back at once: a GPU that is waited
        for at every update is idle most of the time.
        """
        device = self.model.device
        taken = torch.from_numpy(batches.taken).to(device)
        rewards = torch.from_numpy(batches.rewards).to(device)
        discounts = torch.from_numpy(batches.discounts).to(device)
        weights = torch.from_numpy(batches.weights).to(device)
        masks = None
        if isinstance(batches.next_pages, Pages):
            masks = torch.from_numpy(batches.next_pages.mask).to(device)
        errors = []
        for k, (now, then) in enumerate(self._readings(batches)):

            def targets(k: int = k, then: Reading | Pairs = then) -> Tensor:
                mask = None if masks is None else masks[k]
                return self._targets(rewards[k], discounts[k], then, mask)

            index = taken[k] if self.model.sees_menu else None
            errors.append(self.descend(now, index, targets, weights[k]))
            self.count(batches.active[k])
        result: NDArray[np.float32] = torch.stack(errors).cpu().numpy()
        return result

    def gather(self, name: str, ids: Ids, store: Store) -> Sequence[TextBatch]:
        """Gather several batches of texts [K, R, N] for an encoder."""
        return self.model.gather(name, ids, store)

    def count(self, updates: NDArray[np.integer] | NDArray[np.bool_]) -> None:
        """Count the updates that each replica made [R]."""
        pairs = zip(self.updates, updates, strict=True)
        self.updates = [before + int(more) for before, more in pairs]

    def pages_to_learn(self, batches: Batches) -> Pages:
        """Return the pages; a model that does not see the menu needs only the actions taken."""
        pages = batches.pages
        if self.model.sees_menu:
            return pages
        return Pages(pages.states, batches.taken_actions[..., None])

    @property
    def reads_at_once(self) -> bool:
        """Whether one pass encodes both pages, which pays if encoders are expensive."""
        model = self.model
        if model.sees_menu or model.reads_pairs:
            return False
        return any(encoder.reads_at_once for encoder in model.encoders.values())

    def _readings(self, batches: Batches) -> Iterator[tuple[Reading, Reading | Pairs]]:
        """Yield both pages of each batch; several batches are gathered at once."""
        pages = self.pages_to_learn(batches)
        for start in range(0, len(pages.states), GATHERED):
            now = pages[start : start + GATHERED]
            then = batches.next_pages[start : start + GATHERED]
            if not isinstance(then, Pages):
                yield from zip(self.model.read(now, gather=self.gather), then, strict=True)
            elif self.reads_at_once:
                yield from read_together(self.model, now, then, self.gather)
            else:
                both = [self.model.read(some, gather=self.gather) for some in (then, now)]
                yield from zip(both[1], both[0], strict=True)

    @torch.no_grad()
    def _targets(
        self, rewards: Tensor, discounts: Tensor, then: Reading | Pairs, mask: Tensor | None
    ) -> Tensor:
        if isinstance(then, Pairs) or mask is None:
            assert isinstance(then, Pairs)
            return rewards + discounts * self._best(then)
        return q_targets(rewards, self.model.forward(then, None), mask, discounts)

    def _best(self, then: Pairs) -> Tensor:
        """Return max Q(s', a') of ragged pages, [R, B]."""
        q = self.model.q_of_pairs(then.states, then.actions)
        owner = torch.from_numpy(then.owner).to(q.device)
        at = torch.from_numpy(then.at).to(q.device)
        return best_of_pairs(q, owner, int(then.at.max()) + 1).gather(1, at)
