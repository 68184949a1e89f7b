"""Q-learning with experience replay, plainly: `fast` does the same faster, `reference` tells it in sixty lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from drrn.errors import InputError
from drrn.learning.equations import best_of_pairs, q_targets, squared
from drrn.learning.learner import Experience, Generators
from drrn.learning.optimisers import OPTIMISERS
from drrn.learning.replay import Batches, Pairs, Places, ReplayBuffer, batches_of
from drrn.models.base import Model, Pages, Reading
from drrn.models.encoders.base import Leaves, TextBatch
from drrn.models.encodings import read_together
from drrn.settings import Settings
from drrn.text import Ids, State, Store, texts_of_all

AT_ONCE = 16  # batches whose texts are looked up together: it is faster, and they take room
PREPARED = 256  # batches taken from the replay buffers at once


class QLearning:
    """Targets from the next page, back-propagation through the taken action only.

    The loss is summed over a batch, so that each transition moves the weights by the learning rate times its own
    gradient, as in the paper's single-transition updates, whatever the batch's size.
    """

    def __init__(self, model: Model, settings: Settings) -> None:
        self.model = model
        self.settings = settings
        kind = OPTIMISERS[settings.learner.optimiser]
        self.optimiser = kind(model, settings.learning_rate)
        self.buffers = [ReplayBuffer(settings.learner.capacity) for _ in model.seeds]
        self.updates = [0] * len(
            model.seeds
        )  # of each replica; one without data in a batch makes none

    # --- what a learner does

    def tell(self, replica: int, played: Experience) -> None:
        self.buffers[replica].add(
            played.transitions(self.settings.learner.discount, self.settings.learner.n_steps)
        )

    def rescale(self, replica: int, factor: float) -> None:
        self.buffers[replica].rescale(factor)

    def learn(self, generators: Generators) -> int:
        """Epochs over what the replay buffers hold, shuffled."""
        at_once = self.settings.learner.batch_size * PREPARED
        for _ in range(self.settings.learner.epochs):
            orders = [
                by.permutation(len(buffer))
                for buffer, by in zip(self.buffers, generators, strict=True)
            ]
            for start in range(0, max(map(len, orders)), at_once):
                self._learn_from([order[start : start + at_once] for order in orders])
        return self.settings.learner.epochs * sum(map(len, self.buffers))

    def learn_once(self, generators: Generators, replicas: Sequence[bool]) -> int:
        """A mini-batch from the replay buffer of each replica that is true (Algorithm 1)."""
        places = [
            buffer.sample(self.settings.learner.batch_size, by)
            if len(buffer) and on
            else np.empty(0, np.int64)
            for buffer, by, on in zip(self.buffers, generators, replicas, strict=True)
        ]
        if any(map(len, places)):
            self._learn_from(places)
        return sum(map(len, places))

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
        return {"updates": self.updates, "optimiser": self.optimiser.state(), "buffers": buffers}

    def restore(self, state: State) -> None:
        self.updates = list(state["updates"])
        self.optimiser.restore(state["optimiser"])
        for buffer, kept in zip(self.buffers, state["buffers"], strict=True):
            buffer.restore(kept)

    # --- how weights move

    def update(self, batches: Batches) -> NDArray[np.float32]:
        """A step down the gradient for each batch; the errors y - Q of each transition [K, R, B]."""
        errors = self.steps(batches)
        if not np.isfinite(errors).all():
            rate = self.optimiser.learning_rate
            raise InputError(
                f"Q-values grew beyond all bounds at η = {rate:g}: choose a smaller learning rate"
            )
        return errors

    def steps(self, batches: Batches) -> NDArray[np.float32]:
        """By automatic differentiation. Whatever the updates need is brought to the device at once, and their errors
        back at once: a GPU that is waited for at every update stands idle most of the time."""
        arrays = {
            "taken": batches.taken,
            "rewards": batches.rewards,
            "discounts": batches.discounts,
        }
        arrays["weights"] = batches.weights
        if isinstance(batches.next_pages, Pages):
            arrays["next_mask"] = batches.next_pages.mask
        tensors = {
            name: torch.from_numpy(array).to(self.model.device) for name, array in arrays.items()
        }
        errors = []
        for k, (now, then) in enumerate(self._readings(batches)):
            errors.append(
                self._step({name: tensor[k] for name, tensor in tensors.items()}, now, then)
            )
            self.count(batches.active[k])
        found: NDArray[np.float32] = torch.stack(errors).cpu().numpy()
        return found

    def gather(self, name: str, ids: Ids, store: Store) -> Sequence[TextBatch]:
        """What an encoder needs of several batches of texts, [K, R, N]."""
        return self.model.gather(name, ids, store)

    def move(
        self, gradients: Sequence[Tensor], leaves: Leaves, back: Sequence[Tensor], active: Tensor
    ) -> None:
        """A step of the optimiser, for the gradients of the weights, and of what was taken out of word tables."""
        taken = [(look, came) for (look, _), came in zip(leaves.entries, back, strict=True)]
        self.optimiser.step(gradients, taken, active)

    def count(self, made: NDArray[np.integer] | NDArray[np.bool_]) -> None:
        """Updates that each replica has made [R]."""
        self.updates = [before + int(more) for before, more in zip(self.updates, made, strict=True)]

    def _learn_from(self, places: list[Places]) -> None:
        batches = batches_of(
            self.buffers, places, self.settings.learner.batch_size, menus=self.model.sees_menu
        )
        self.update(batches)

    def _readings(self, batches: Batches) -> Iterator[tuple[Reading, Reading | Pairs]]:
        """Both pages of each batch, some batches at once."""
        pages = self.pages_to_learn(batches)
        following = batches.next_pages
        for start in range(0, len(pages.states), AT_ONCE):
            now = pages[start : start + AT_ONCE]
            then = following[start : start + AT_ONCE]
            if self.reads_at_once and isinstance(then, Pages):
                yield from read_together(self.model, now, then, self.gather)
            else:
                after = (
                    self.model.read(then, gather=self.gather) if isinstance(then, Pages) else then
                )
                yield from zip(self.model.read(now, gather=self.gather), after, strict=True)

    def pages_to_learn(self, batches: Batches) -> Pages:
        """The pages; a model that does not see the menu need not be shown the actions that were not taken."""
        pages = batches.pages
        return pages if self.model.sees_menu else Pages(pages.states, batches.chosen[..., None])

    @property
    def reads_at_once(self) -> bool:
        """Whether one pass reads the pages and the next pages: the same weights must read both, and a pass be dear."""
        model = self.model
        plain = not model.sees_menu and not model.reads_pairs
        return plain and any(encoder.reads_at_once for encoder in model.encoders.values())

    def _step(self, batch: dict[str, Tensor], now: Reading, then: Reading | Pairs) -> Tensor:
        weights = list(self.model.weights.values())
        leaves = Leaves()
        with differentiable(weights):
            q = self.model.forward(now, leaves)  # [R, B, A], or [R, B, 1] of the taken action alone
            if self.model.sees_menu:
                q = q.gather(2, batch["taken"].unsqueeze(2))
            error = self._targets(batch, then) - q.squeeze(2)
            loss = (squared(error) * batch["weights"]).sum()
            gradients = torch.autograd.grad(
                loss, [*weights, *leaves.vectors], materialize_grads=True
            )
        self.move(
            gradients[: len(weights)],
            leaves,
            gradients[len(weights) :],
            batch["weights"].any(dim=1),
        )
        return error.detach()

    @torch.no_grad()
    def _targets(self, batch: dict[str, Tensor], then: Reading | Pairs) -> Tensor:
        rewards = batch["rewards"]
        discounts = batch["discounts"]
        if isinstance(then, Pairs):
            return rewards + discounts * self._values(then)
        mask = batch["next_mask"]
        next_q = self.model.forward(then, None)
        return q_targets(rewards, next_q, mask, discounts)

    def _values(self, then: Pairs) -> Tensor:
        """What the next pages are worth [R, B], where they are given as pairs."""
        q = self.model.q_of_pairs(then.states, then.actions)
        owner, at = (
            torch.from_numpy(array).to(self.model.device) for array in (then.owner, then.at)
        )
        return best_of_pairs(q, owner, int(then.at.max()) + 1).gather(1, at)


@contextmanager
def differentiable(weights: Sequence[Tensor]) -> Iterator[None]:
    """Weights that take part in automatic differentiation for as long as the block lasts."""
    try:
        for weight in weights:
            weight.requires_grad_()
        yield
    finally:
        for weight in weights:
            weight.requires_grad_(False)
