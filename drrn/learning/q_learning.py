"""Q-learning with experience replay; `fast` makes the same updates faster."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from drrn.errors import InputError
from drrn.learning.equations import n_step_rewards, q_targets
from drrn.learning.experience import Steps
from drrn.learning.learner import Generators, Learner, Memory
from drrn.learning.menus import Menus
from drrn.models.base import NARROW, Model, Pages, Reader
from drrn.models.encodings import read_together
from drrn.settings import Settings
from drrn.text import Ids, State, check_range, room, saved_array, saved_count, saved_starts

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
        sums, end, sizes = n_step_rewards(steps.last, steps.rewards, self.discount, self.n_steps)
        menus = self._add_menus(steps.page_actions)
        after = steps.page[end] + 1
        values: dict[str, NDArray[Any]] = {
            "states": steps.page_states[steps.page],
            "menus": menus[steps.page],
            "taken": steps.taken,
            "rewards": sums,
            "discounts": self.discount**sizes,
            "next_states": steps.page_states[after],
            "next_menus": menus[after],
        }
        index = (self.count + np.arange(count)) % self.capacity
        self.count += count
        for name, array in self.columns.items():
            self.columns[name] = room(array, len(self))
            self.columns[name][index] = values[name][:count]
        if self.count > self.capacity and self.menu_count > self.most_menus:
            self._drop_unused_menus()

    def at(self, index: Ids, width: int, *, menus: bool) -> dict[str, NDArray[Any]]:
        """Return the columns at some indices, and padded actions; `menus`: see `batches_of`."""
        rows: dict[str, NDArray[Any]] = {}
        for name, array in self.columns.items():
            rows[name] = array[index].astype(np.int64 if COLUMNS[name] is np.int32 else np.float32)
        here = Menus(rows.pop("menus"), self.first, self.actions)
        after = Menus(rows.pop("next_menus"), self.first, self.actions)
        rows["actions"] = here.padded(width)
        rows["next_actions"] = after.padded(width)
        if not menus:
            rows["actions"] = np.take_along_axis(rows["actions"], rows["taken"][:, None], axis=1)
        return rows

    def texts_in_use(self) -> tuple[Ids, Ids]:
        self._drop_unused_menus()
        pages = [self.columns[name][: len(self)] for name in ("states", "next_states")]
        actions = self.actions[: self.first[self.menu_count]]
        used = (np.unique(np.concatenate(pages)), np.unique(actions))
        return used[0].astype(np.int64), used[1].astype(np.int64)

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
        self.count = saved_count(state, "count")
        self.widest = saved_count(state, "widest")
        actions = saved_array(state, "actions", np.int32)
        first = saved_starts(state, "first", len(actions))
        widths = np.diff(first)
        size = len(self)
        columns = {name: saved_array(state, name, kind, size) for name, kind in COLUMNS.items()}
        check_range("widest", widths, 0, self.widest)
        for name in ("menus", "next_menus"):
            check_range(name, columns[name], 0, len(widths) - 1)
        check_range("taken", columns["taken"], 0, widths[columns["menus"]] - 1)
        check_range("discounts", columns["discounts"], 0, 1)
        self.columns = columns if size else self.columns
        self._set_menus(first, actions)

    # --- Menus

    def _add_menus(self, menus: Menus) -> Ids:
        """Store the menus of pages; return the number of each page's menu."""
        self.widest = max(self.widest, menus.widest)
        new = menus.used()
        which = new.which
        numbers = self.menu_count + np.arange(len(new.first) - 1)
        if self.widest > NARROW:
            new, numbers = self._without_stored(new)
        before = self.menu_count
        self.menu_count += len(new.first) - 1
        first = self.first[before] + new.first
        self.first = room(self.first, self.menu_count + 1)
        self.first[before : self.menu_count + 1] = first
        self.actions = room(self.actions, first[-1])
        self.actions[first[0] : first[-1]] = new.actions
        return np.asarray(numbers[which])

    def _without_stored(self, menus: Menus) -> tuple[Menus, Ids]:
        """Return the menus that are not stored, and the number of every menu, stored or new."""
        numbers = np.zeros(len(menus.first) - 1, np.int64)
        is_new = np.ones(len(numbers), bool)
        repeated = 0
        for menu in np.flatnonzero(np.diff(menus.first) > NARROW).tolist():
            key = _key(menus.actions[menus.first[menu] : menus.first[menu + 1]])
            if key in self.wide:
                is_new[menu] = False
                repeated += 1
            numbers[menu] = self.wide.setdefault(key, self.menu_count + menu - repeated)
        numbers = np.where(is_new, self.menu_count + np.cumsum(is_new) - 1, numbers)
        return Menus(np.flatnonzero(is_new), menus.first, menus.actions).used(), numbers

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

    pages: Pages  # with their menus, if the model sees them, or with the taken action alone
    taken: Ids  # [K, R, B]
    rewards: NDArray[np.float32]  # [K, R, B]
    discounts: NDArray[np.float32]  # [K, R, B]
    next_pages: Pages
    weights: NDArray[np.float32]  # [K, R, B]


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
    rows = []
    for buffer, index in zip(buffers, indices, strict=True):
        row = buffer.at(np.pad(index, (0, count - len(index))), most, menus=menus)
        row["weights"] = (np.arange(count) < len(index)).astype(np.float32)
        rows.append(row)
    cut: dict[str, NDArray[Any]] = {}  # from [R, K · B, …] to [K, R, B, …]
    for name in rows[0]:
        whole = np.stack([row[name] for row in rows])
        cut[name] = whole.reshape(len(buffers), -1, size, *whole.shape[2:]).swapaxes(0, 1)
    pages = Pages(cut.pop("states"), cut.pop("actions"))
    next_pages = Pages(cut.pop("next_states"), cut.pop("next_actions"))
    return Batches(pages, next_pages=next_pages, **cut)


# --- The learner


class QLearning(Learner):
    """One-step (or n-step) targets; only the Q of the action taken is back-propagated.

    The loss is summed over a batch, so that each transition moves the weights by η times its own
    gradient, as in the paper's single-transition updates, for any size of the batch.
    """

    learns_online = True
    memories: Sequence[ReplayBuffer]

    def __init__(self, model: Model, settings: Settings) -> None:
        learner = settings.learner
        build = partial(ReplayBuffer, learner.capacity, learner.discount, learner.n_steps)
        super().__init__(model, settings, build)
        self.readers: dict[str, Reader] = {}  # replace encoders, see `Model.read`

    def observe(self, replica: int, steps: Steps, count: int | None = None) -> None:
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
            cause = f"learning diverged at η = {self.optimiser.learning_rate:g}"
            raise InputError(f"{cause}; choose a smaller learning_rate")
        self.last_errors = (errors, batches.weights)
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
        for k, (now, then) in enumerate(self._read(batches)):
            taken, weights, *target = (tensor[k] for tensor in tensors)
            index = taken if self.model.sees_menu else None
            errors.append(self.descend(now, index, partial(self._targets, then, *target), weights))
        return np.asarray(torch.stack(errors).cpu())

    def _read(self, batches: Batches) -> Iterator[tuple[Pages, Pages]]:
        """Yield both pages of each batch; several batches are gathered at once."""
        model = self.model
        # One pass encodes both pages, which pays if encoders are expensive.
        at_once = any(encoder.reads_at_once for encoder in model.encoders.values())
        for start in range(0, len(batches.taken), GATHERED):
            now = batches.pages[start : start + GATHERED]
            then = batches.next_pages[start : start + GATHERED]
            if self._is_wide(then):
                for k, read in enumerate(model.read(now, self.readers)):
                    yield read, then[k]
            elif at_once and not (model.sees_menu or model.reads_pairs):
                yield from read_together(model, now, then, self.readers)
            else:
                after = model.read(then, self.readers)
                yield from zip(model.read(now, self.readers), after, strict=True)

    def _is_wide(self, pages: Pages) -> bool:
        """Return whether the actions of pages are too many to be padded."""
        return pages.actions.shape[-1] > NARROW and not self.model.sees_menu

    @torch.no_grad()
    def _targets(self, then: Pages, rewards: Tensor, discounts: Tensor, mask: Tensor) -> Tensor:
        q = self._q_of_wide(then) if self._is_wide(then) else self.model.forward(then)
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
