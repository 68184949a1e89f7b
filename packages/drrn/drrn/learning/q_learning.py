"""Q-learning with experience replay. `fast` makes the same updates faster."""

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
from drrn.learning.learner import Generators, Learner
from drrn.learning.memory import Memory
from drrn.models.base import NARROW, Model, Pages, Reader
from drrn.models.encodings import read_together
from drrn.settings import Settings
from drrn.text import State
from textgames.arrays import Ids
from textgames.errors import InputError


class ReplayBuffer(Memory):
    """The last `capacity` transitions (s, A, a, r, s', A') of one replica, with n-step rewards."""

    def __init__(self, capacity: int, discount: float = 1.0, n_steps: int = 1) -> None:
        self.capacity = capacity
        self.discount = discount
        self.n_steps = n_steps
        super().__init__()

    def clear(self) -> None:
        self.added = 0  # transitions so far
        super().clear()

    def __len__(self) -> int:
        return min(self.added, self.capacity)

    def add(self, steps: Steps) -> None:
        self.added += len(steps)
        super().add(steps)
        surplus = len(self.steps["last"]) - len(self)
        ends = np.flatnonzero(self.steps["last"][:surplus])
        if len(ends):  # the oldest episode is stored as long as one of its steps is needed
            self.forget_before(int(ends[-1]) + 1)

    @cached_property
    def targets(self) -> tuple[NDArray[np.float32], NDArray[np.float32], Ids]:
        """The sum of rewards of each step [N], the factor on the next value, the next page."""
        rewards = self.steps["reward"]
        sums, end, sizes = n_step_rewards(self.steps["last"], rewards, self.discount, self.n_steps)
        factors = (self.discount**sizes).astype(np.float32)
        return sums.astype(np.float32), factors, self.steps["after"][end]

    def at(self, index: Ids, width: int, *, menus: bool) -> dict[str, NDArray[Any]]:
        """Transitions with actions that are padded to a width.

        The transitions are numbered as in a ring that overwrites the oldest. Without `menus`, a
        page has the taken action alone.
        """
        rewards, discounts, after = self.targets
        step = len(rewards) - len(self) + (index - self.added) % len(self)
        page = self.steps["page"][step]
        taken = self.steps["taken"][step].astype(np.int64)
        if menus:
            actions = self.menus(page).padded(width)
        else:
            actions = self.links[self.first[page] + taken].astype(np.int64)[:, None]
        return {
            "states": self.states[page],
            "actions": actions,
            "taken": taken,
            "rewards": rewards[step],
            "discounts": discounts[step],
            "next_states": self.states[after[step]],
            "next_actions": self.menus(after[step]).padded(width),
        }

    def state(self) -> State:
        return {**super().state(), "added": self.added}

    def restore(self, state: State) -> None:
        self.added = state["added"]
        super().restore(state)


# --- Batches


@dataclass(frozen=True)
class Batches:
    """K batches of B transitions of each replica. Padding has the weight 0."""

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

    Without `menus`, pages have the taken action alone. The rows of an empty buffer are another's.
    """
    some = max(buffers, key=len)
    most = max(buffer.widest for buffer in buffers)
    longest = max(map(len, indices))
    size = min(size, longest)
    count = -(-longest // size) * size
    rows = []
    for buffer, index in zip(buffers, indices, strict=True):
        source = buffer if len(buffer) else some
        row = source.at(np.pad(index, (0, count - len(index))), most, menus=menus)
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
    """One-step or n-step targets. Only the Q of the action taken is back-propagated.

    The loss is summed over a batch, so that each transition moves the weights by η times its own
    gradient, as in the paper's single-transition updates, for any size of the batch.
    """

    memories: Sequence[ReplayBuffer]
    prepared = 256  # number of batches that are taken from the memories at once
    gathered = 16  # number of batches whose texts are gathered at once

    def __init__(self, model: Model, settings: Settings) -> None:
        learner = settings.learner
        build = partial(ReplayBuffer, learner.capacity, learner.discount, learner.n_steps)
        super().__init__(model, settings, build)
        self.readers: dict[str, Reader] = {}  # replace encoders, see `Model.read`

    def learn(self, generators: Generators) -> int:
        """Make epochs over the shuffled replay buffers."""
        learner = self.settings.learner
        widest = max(buffer.widest for buffer in self.memories)
        size = learner.batch_size * max(1, self.prepared * NARROW // max(NARROW, widest))
        for _ in range(learner.epochs):
            pairs = zip(self.memories, generators, strict=True)
            orders = [generator.permutation(len(buffer)) for buffer, generator in pairs]
            for start in range(0, max(map(len, orders)), size):
                self._learn_from([order[start : start + size] for order in orders])
        return learner.epochs * sum(map(len, self.memories))

    def forget(self) -> None:
        if not self.settings.learner.keep:
            super().forget()

    # --- Updates

    def _learn_from(self, indices: list[Ids]) -> None:
        size = self.settings.learner.batch_size
        self.update(batches_of(self.memories, indices, size, menus=self.model.sees_menu))

    def update(self, batches: Batches) -> NDArray[np.float32]:
        """Make an update for each batch, and return the errors y - Q [K, R, B]."""
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
        """Both pages of each batch."""
        model = self.model
        # One pass encodes both pages, which pays if encoders are expensive.
        at_once = any(encoder.reads_at_once for encoder in model.encoders.values())
        for start in range(0, len(batches.taken), self.gathered):
            now = batches.pages[start : start + self.gathered]
            then = batches.next_pages[start : start + self.gathered]
            if self._is_wide(then):
                for k, read in enumerate(model.read(now, self.readers)):
                    yield read, then[k]
            elif at_once and not (model.sees_menu or model.reads_pairs):
                yield from read_together(model, now, then, self.readers)
            else:
                after = model.read(then, self.readers)
                yield from zip(model.read(now, self.readers), after, strict=True)

    def _is_wide(self, pages: Pages) -> bool:
        """Whether the actions of pages are too many to be padded."""
        return pages.actions.shape[-1] > NARROW and not self.model.sees_menu

    @torch.no_grad()
    def _targets(self, then: Pages, rewards: Tensor, discounts: Tensor, mask: Tensor) -> Tensor:
        q = self.model.q(then) if self._is_wide(then) else self.model.forward(then)
        return q_targets(rewards, q, mask, discounts)
