"""Q-learning with experience replay; `fast` makes the same updates faster."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from drrn.learning.equations import n_step_rewards, q_targets
from drrn.learning.experience import Steps
from drrn.learning.learner import Generators, Learner, Memory, divergence
from drrn.learning.menus import Menus
from drrn.models.base import NARROW, Model, Pages, Reading
from drrn.models.encoders.base import TextBatch
from drrn.models.encodings import read_together
from drrn.settings import Settings
from drrn.text import Ids, State, Store, ranges, room

GATHERED = 16  # batches whose texts are gathered together: faster, but takes memory
PREPARED = 256  # batches that are taken from the replay buffers at once; fewer if menus are wide

# --- The replay buffer

COLUMNS: dict[str, type[np.generic]] = {
    "states": np.int32,
    "menus": np.int32,
    "taken": np.int32,
    "rewards": np.float32,  # sums of n-step rewards
    "discounts": np.float32,  # γⁿ, the factor on the next state's value
    "next_states": np.int32,
    "next_menus": np.int32,
}
SPARE_MENUS = 1024  # unused menus are dropped beyond twice those in use and this many


class ReplayBuffer(Memory):
    """Up to `capacity` transitions (s, A, a, r, s', A') of one replica, packed in columns.

    The oldest are overwritten first. A million with five actions before and after take under 64 MB.
    Menus are stored end to end: a wide one once, however often it is added; small ones are as
    small as the key that would be needed to find them.
    """

    first: Ids  # [menus + 1] where each menu starts among the actions
    actions: NDArray[Any]  # of all menus; int32, smaller than ids elsewhere
    menu_count: int
    wide: dict[bytes, int]  # the number of each wide menu, by its actions

    def __init__(self, capacity: int, discount: float = 1.0, n_steps: int = 1) -> None:
        self.capacity = capacity
        self.discount = discount
        self.n_steps = n_steps
        self.widest = 1  # size of the largest menu ever added
        self.most_menus = SPARE_MENUS
        self.clear()

    def clear(self) -> None:
        self.count = 0  # ever added
        self.columns = {name: np.zeros(1, kind) for name, kind in COLUMNS.items()}
        self._set_menus(np.zeros(1, np.int64), np.zeros(0, np.int32))

    def __len__(self) -> int:
        return min(self.count, self.capacity)

    def add(self, steps: Steps, count: int | None = None) -> None:
        """Add the transitions that begin with the first `count` steps, or with all."""
        count = len(steps) if count is None else count
        last = steps.last
        rewards, end, lengths = n_step_rewards(last, steps.rewards, self.discount, self.n_steps)
        # Pages are numbered through the steps, then through the ends of the episodes.
        episode: Ids = np.cumsum(last) - last
        after = np.where(last[end], len(steps) + episode[end], end + 1)
        states = np.concatenate([steps.states, steps.end_states])
        menus = self._add_menus(steps.actions.joined(steps.end_actions))
        values: dict[str, NDArray[Any]] = {
            "states": states,
            "menus": menus,
            "taken": steps.taken,
            "rewards": rewards,
            "discounts": self.discount**lengths,
            "next_states": states[after],
            "next_menus": menus[after],
        }
        index = (self.count + np.arange(count)) % self.capacity
        self.count += count
        present = len(self.columns["states"])
        if len(self) > present:  # at least doubled, so that adding stays cheap
            more = (0, min(self.capacity, max(len(self), 2 * present)) - present)
            self.columns = {name: np.pad(array, more) for name, array in self.columns.items()}
        for name, array in self.columns.items():
            array[index] = values[name][:count]
        if self.count > self.capacity and self.menu_count > self.most_menus:
            self._drop_unused_menus()

    def at(self, index: Ids) -> dict[str, Any]:
        """Return the columns at some indices, menus as `Menus`; an empty buffer has no actions."""
        rows: dict[str, Any] = {name: array[index] for name, array in self.columns.items()}
        for name in ("states", "next_states", "taken", "menus", "next_menus"):
            rows[name] = rows[name].astype(np.int64)
        first = self.first[: max(self.menu_count, 1) + 1]
        for name in ("menus", "next_menus"):
            rows[name] = Menus(rows[name], first, self.actions)
        return rows

    def texts_in_use(self) -> tuple[Ids, Ids]:
        self._drop_unused_menus()
        pages = [self.columns[name][: len(self)] for name in ("states", "next_states")]
        actions = self.actions[: self.first[self.menu_count]]
        return np.unique(np.concatenate(pages)).astype(np.int64), np.unique(actions).astype(
            np.int64
        )

    def renumber(self, states: Ids, actions: Ids) -> None:
        for name in ("states", "next_states"):
            ids = self.columns[name][: len(self)]
            ids[...] = states[ids]
        first = self.first[: self.menu_count + 1]
        self._set_menus(first, actions[self.actions[: first[-1]]].astype(np.int32))

    def rescale(self, factor: float) -> None:
        self.columns["rewards"] *= np.float32(factor)

    def state(self) -> State:
        self._drop_unused_menus()
        columns = {name: array[: len(self)] for name, array in self.columns.items()}
        first = self.first[: self.menu_count + 1]
        menus = {"first": first, "actions": self.actions[: first[-1]], "widest": self.widest}
        return {**columns, **menus, "count": self.count}

    def restore(self, state: State) -> None:
        self.clear()
        self.count = state["count"]
        self.widest = state["widest"]
        if self.count:
            self.columns = {name: np.array(state[name], kind) for name, kind in COLUMNS.items()}
        self._set_menus(np.array(state["first"]), np.array(state["actions"], np.int32))

    # --- Menus

    def _add_menus(self, menus: Menus) -> Ids:
        """Store the menus of pages; return the number of each page's menu."""
        self.widest = max(self.widest, menus.widest)
        new = menus.used()
        counts = np.diff(new.first)
        numbers = np.zeros(len(counts), np.int64)
        is_new = np.ones(len(counts), bool)
        repeated = 0
        for menu in np.flatnonzero(counts > NARROW).tolist():
            key = _key(new.actions[new.first[menu] : new.first[menu + 1]])
            if key in self.wide:
                is_new[menu] = False
                repeated += 1
            numbers[menu] = self.wide.setdefault(key, self.menu_count + menu - repeated)
        numbers = np.where(is_new, self.menu_count + np.cumsum(is_new) - 1, numbers)
        counts = counts[is_new]
        actions = new.actions[ranges(new.first[:-1][is_new], counts)]
        start = int(self.first[self.menu_count])
        end = self.menu_count + len(counts)
        self.first = room(self.first, end + 1)
        self.first[self.menu_count + 1 : end + 1] = start + np.cumsum(counts)
        self.actions = room(self.actions, start + len(actions))
        self.actions[start : start + len(actions)] = actions
        self.menu_count = end
        return np.asarray(numbers[new.which])

    def _set_menus(self, first: Ids, actions: NDArray[np.int32]) -> None:
        """Replace all menus."""
        self.menu_count = len(first) - 1
        self.first = room(first, 2)
        self.actions = room(actions, 1)
        wide = np.flatnonzero(np.diff(first) > NARROW).tolist()
        self.wide = {_key(actions[first[menu] : first[menu + 1]]): menu for menu in wide}

    def _drop_unused_menus(self) -> None:
        columns = [self.columns[name][: len(self)] for name in ("menus", "next_menus")]
        used = np.unique(np.concatenate(columns)).astype(np.int64)
        if len(used) < self.menu_count:
            number = np.zeros(self.menu_count, np.int64)
            number[used] = np.arange(len(used))
            for numbers in columns:
                numbers[...] = number[numbers]
            menus = Menus(used, self.first[: self.menu_count + 1], self.actions).used()
            self._set_menus(menus.first, np.asarray(menus.actions, np.int32))
        self.most_menus = 2 * len(used) + SPARE_MENUS


def _key(actions: NDArray[np.integer]) -> bytes:
    """Return a hash of a menu, long enough to be unique."""
    return hashlib.blake2b(actions.astype(np.int32).tobytes(), digest_size=16).digest()


# --- Batches


@dataclass(frozen=True)
class Batches:
    """K batches of B transitions of each replica; padding has the weight 0."""

    pages: Pages  # with their menus, or with the taken action alone
    taken: Ids  # [K, R, B]
    rewards: NDArray[np.float32]  # [K, R, B]
    discounts: NDArray[np.float32]  # [K, R, B]
    next_pages: Pages
    weights: NDArray[np.float32]  # [K, R, B]

    @cached_property
    def taken_pages(self) -> Pages:
        """The pages with the taken action alone."""
        actions = np.take_along_axis(self.pages.actions, self.taken[..., None], axis=-1)
        return Pages(self.pages.states, actions)


def batches_of(
    buffers: Sequence[ReplayBuffer], indices: list[Ids], size: int, *, menus: bool = True
) -> Batches:
    """Cut the transitions at some indices of each buffer into batches, padded with weight 0.

    Without `menus`, pages have the taken action alone.
    """
    most = max(buffer.widest for buffer in buffers)
    longest = max(map(len, indices))
    size = min(size, longest)
    count = -(-longest // size) * size
    parts: dict[str, list[NDArray[Any]]] = defaultdict(list)
    for buffer, index in zip(buffers, indices, strict=True):
        row = buffer.at(np.pad(index, (0, count - len(index))))
        for name in ("states", "next_states", "rewards", "discounts"):
            parts[name].append(row[name])
        alone = row["menus"].at(row["taken"])[:, None].astype(np.int64)
        parts["actions"].append(row["menus"].padded(most) if menus else alone)
        parts["taken"].append(row["taken"] if menus else np.zeros(count, np.int64))
        parts["next_actions"].append(row["next_menus"].padded(most))
        parts["weights"].append((np.arange(count) < len(index)).astype(np.float32))
    cut: dict[str, NDArray[Any]] = {}  # from [R, K · B, …] to [K, R, B, …]
    for name, arrays in parts.items():
        whole = np.stack(arrays)
        cut[name] = whole.reshape(len(buffers), -1, size, *whole.shape[2:]).swapaxes(0, 1)
    return Batches(
        pages=Pages(cut["states"], cut["actions"]),
        taken=cut["taken"],
        rewards=cut["rewards"],
        discounts=cut["discounts"],
        next_pages=Pages(cut["next_states"], cut["next_actions"]),
        weights=cut["weights"],
    )


# --- The learner


class QLearning(Learner):
    """One-step (or n-step) targets; only the Q of the action taken is back-propagated.

    The loss is summed over a batch, so that each transition moves the weights by η times its own
    gradient, as in the paper's single-transition updates, whatever the size of the batch.
    """

    learns_online = True
    memories: Sequence[ReplayBuffer]

    def __init__(self, model: Model, settings: Settings) -> None:
        learner = settings.learner
        build = partial(ReplayBuffer, learner.capacity, learner.discount, learner.n_steps)
        super().__init__(model, settings, build)

    def tell(self, replica: int, steps: Steps, count: int | None = None) -> None:
        self.memories[replica].add(steps, count)

    def learn(self, generators: Generators) -> int:
        """Make epochs over the shuffled replay buffers."""
        learner = self.settings.learner
        widest = max(buffer.widest for buffer in self.memories)
        size = learner.batch_size * max(1, PREPARED * NARROW // max(NARROW, widest))
        for _ in range(learner.epochs):
            pairs = zip(self.memories, generators, strict=True)
            orders = [generator.permutation(len(buffer)) for buffer, generator in pairs]
            for start in range(0, max(map(len, orders)), size):
                self._learn_from([order[start : start + size] for order in orders])
        return learner.epochs * sum(map(len, self.memories))

    def learn_once(self, generators: Generators, replicas: Sequence[bool]) -> int:
        """Learn from a mini-batch of each given replica (Algorithm 1)."""
        indices = []
        for buffer, generator, active in zip(self.memories, generators, replicas, strict=True):
            count = self.settings.learner.batch_size if active and len(buffer) else 0
            drawn = generator.integers(len(buffer), size=count) if count else np.empty(0, np.int64)
            indices.append(drawn)
        if any(map(len, indices)):
            self._learn_from(indices)
        return sum(map(len, indices))

    def forget(self) -> None:
        if not self.settings.learner.keep and self.settings.run.form != "online":
            super().forget()

    # --- Updates

    def _learn_from(self, indices: list[Ids]) -> None:
        size = self.settings.learner.batch_size
        self.update(batches_of(self.memories, indices, size, menus=self.model.sees_menu))

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
        mask = batches.next_pages.mask
        arrays = (batches.taken, batches.weights, batches.rewards, batches.discounts, mask)
        tensors = [torch.from_numpy(array).to(self.model.device) for array in arrays]
        errors = []
        for k, (now, then) in enumerate(self._readings(batches)):
            taken, weights, *target = (tensor[k] for tensor in tensors)
            index = taken if self.model.sees_menu else None
            errors.append(self.descend(now, index, partial(self._targets, then, *target), weights))
        result: NDArray[np.float32] = torch.stack(errors).cpu().numpy()
        return result

    def gather(self, name: str, ids: Ids, store: Store) -> Sequence[TextBatch]:
        """Gather several batches of texts [K, R, N] for an encoder."""
        return self.model.gather(name, ids, store)

    def _readings(self, batches: Batches) -> Iterator[tuple[Reading, Reading | Pages]]:
        """Yield both pages of each batch; several batches are gathered at once."""
        model = self.model
        pages = batches.pages if model.sees_menu else batches.taken_pages
        is_wide = batches.next_pages.actions.shape[-1] > NARROW
        # One pass encodes both pages, which pays if encoders are expensive.
        together = any(encoder.reads_at_once for encoder in model.encoders.values())
        for start in range(0, len(batches.taken), GATHERED):
            now = pages[start : start + GATHERED]
            then = batches.next_pages[start : start + GATHERED]
            if is_wide and not model.sees_menu:
                readings = model.read(now, gather=self.gather)
                yield from ((reading, then[k]) for k, reading in enumerate(readings))
            elif together and not (model.sees_menu or model.reads_pairs):
                yield from read_together(model, now, then, self.gather)
            else:
                after = model.read(then, gather=self.gather)
                yield from zip(model.read(now, gather=self.gather), after, strict=True)

    @torch.no_grad()
    def _targets(
        self, then: Reading | Pages, rewards: Tensor, discounts: Tensor, mask: Tensor
    ) -> Tensor:
        q = self._q_of_wide(then) if isinstance(then, Pages) else self.model.forward(then, None)
        return q_targets(rewards, q, mask, discounts)

    def _q_of_wide(self, pages: Pages) -> Tensor:
        """Return Q [R, B, A] of pages with wide menus; duplicate pages are scored once."""
        rows = np.concatenate([pages.states[..., None], pages.actions], axis=-1)
        distinct = []
        index = []
        for own in rows:
            numbers: dict[bytes, int] = {}
            at = [numbers.setdefault(row.tobytes(), len(numbers)) for row in own]
            index.append(at)
            distinct.append(np.unique(at, return_index=True)[1])
        counts = np.array([len(first) for first in distinct])
        some = np.zeros((len(rows), counts.max()), np.int64)
        exists = np.arange(some.shape[1]) < counts[:, None]
        some[exists] = np.concatenate(distinct)
        replica = np.arange(len(rows))[:, None]
        actions = np.where(exists[..., None], pages.actions[replica, some], -1)
        q = self.model.q(Pages(pages.states[replica, some], actions))
        return q[replica, np.array(index)]
