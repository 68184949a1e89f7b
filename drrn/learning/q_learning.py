"""The paper's equations, pure, and the step that moves the weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from drrn.errors import InputError
from drrn.learning.fast import by_hand
from drrn.learning.optimisers import Optimiser
from drrn.learning.replay import Batches
from drrn.models import Model, Pages
from drrn.models.base import Reading
from drrn.models.text_view import Leaves


def q_targets(reward: Tensor, next_q: Tensor, next_mask: Tensor, discount: Tensor | float) -> Tensor:
    """r + γ max Q(s', a') over the actions that exist; an ending has none, so r alone."""
    best = next_q.masked_fill(~next_mask, -torch.inf).amax(dim=-1)
    return reward + discount * torch.where(next_mask.any(dim=-1), best, 0.0)


def double_q_targets(
    reward: Tensor, next_q: Tensor, chooser_q: Tensor, next_mask: Tensor, discount: Tensor | float
) -> Tensor:
    """r + γ Q(s', argmax Q'(s', a')): one network chooses, the other values."""
    chosen = chooser_q.masked_fill(~next_mask, -torch.inf).argmax(dim=-1, keepdim=True)
    value = next_q.gather(-1, chosen).squeeze(-1)
    return reward + discount * torch.where(next_mask.any(dim=-1), value, 0.0)


def squared(error: Tensor) -> Tensor:
    """½ (y - Q)², so that its gradient is the error itself."""
    return 0.5 * error * error


def huber(error: Tensor) -> Tensor:
    """Squared up to an error of 1, linear beyond."""
    return functional.huber_loss(error, torch.zeros_like(error), reduction="none", delta=1.0)


LOSSES: dict[str, Callable[[Tensor], Tensor]] = {"squared": squared, "huber": huber}


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


FEW = 3  # batches, for which seeing the words from all their texts does not pay
AT_ONCE = 16  # batches whose texts are looked up together: it is faster, and they take room


@dataclass
class Learner:
    """Q-learning: targets from the next page, back-propagation through the taken action only.

    The loss is summed over a batch, so that each transition moves the weights by the learning rate times its own
    gradient, as in the paper's single-transition updates, whatever the batch's size.
    """

    model: Model
    optimiser: Optimiser
    loss: Callable[[Tensor], Tensor] = squared
    target_every: int | None = None  # updates of a replica; None: targets come from the model itself
    double: bool = False
    updates: list[int] = field(default_factory=list)  # of each replica; one without data in a batch makes none
    target: Model | None = None

    def __post_init__(self) -> None:
        self.updates = [0] * len(self.model.seeds)
        if self.target_every:
            self.target = self.model.frozen()

    def learn(self, batches: Batches) -> NDArray[np.float32]:
        """A step down the gradient for each batch; the errors y - Q of each transition [K, R, B]."""
        pages, rate = batches.pages, self.optimiser.learning_rate
        if not self.model.sees_menu:  # then it need not be shown the actions that were not taken
            pages = Pages(pages.states, batches.chosen[..., None])
        try:
            if self.optimiser.plain and self.target is None and len(pages.states) > FEW:
                self.model.view_texts(pages, batches.next_pages)
            if by_hand.can_learn(self.model) and self.loss is squared:
                errors = by_hand.learn(self.model, batches, rate)
                self._count(batches.active.sum(axis=0))
            else:
                errors = self._steps(pages, batches)
        finally:  # interrupted, too: the words must not stay behind the other weights
            self.model.settle(rate)
        if not np.isfinite(errors).all():
            raise InputError(
                f"Q-values grew beyond all bounds at η = {rate:g}: give a smaller learning rate, or bound it by clip"
            )
        return errors

    def _steps(self, pages: Pages, batches: Batches) -> NDArray[np.float32]:
        """By automatic differentiation. Whatever the updates need is brought to the device at once, and their errors
        back at once: a GPU that is waited for at every update stands idle most of the time."""
        arrays = {"taken": batches.taken, "rewards": batches.rewards, "discounts": batches.discounts}
        arrays |= {"weights": batches.weights, "next_mask": batches.next_pages.mask}
        tensors = {name: torch.from_numpy(array).to(self.model.device) for name, array in arrays.items()}
        errors = []
        for k, (now, then) in enumerate(self._read(pages, batches)):
            errors.append(self._step({name: tensor[k] for name, tensor in tensors.items()}, now, then))
            self._count(batches.active[k])
        found: NDArray[np.float32] = torch.stack(errors).cpu().numpy()
        return found

    def _read(self, pages: Pages, batches: Batches) -> Iterator[tuple[Reading, Reading]]:
        """Both pages of each batch, some batches at once."""
        for start in range(0, len(pages.states), AT_ONCE):
            some = slice(start, start + AT_ONCE)
            yield from zip(self.model.read(pages[some]), self.model.read(batches.next_pages[some]), strict=True)

    def _step(self, batch: dict[str, Tensor], now: Reading, then: Reading) -> Tensor:
        y = self._targets(batch, then)
        weights, leaves = list(self.model.weights.values()), Leaves()
        with differentiable(weights):
            q = self.model.forward(now, leaves)  # [R, B, A], or [R, B, 1] of the taken action alone
            if self.model.sees_menu:
                q = q.gather(2, batch["taken"].unsqueeze(2))
            error = y - q.squeeze(2)
            loss = (self.loss(error) * batch["weights"]).sum()
            gradients = torch.autograd.grad(loss, [*weights, *(encoded.vectors for encoded in leaves.encoded)])
        back = list(zip(leaves.encoded, gradients[len(weights) :], strict=True))
        self.optimiser.step(gradients[: len(weights)], back, batch["weights"].any(dim=1))
        return error.detach()

    def _count(self, made: NDArray[np.integer] | NDArray[np.bool_]) -> None:
        """Updates that each replica has made [R]; its target is renewed when its own count is full."""
        self.updates = [before + int(more) for before, more in zip(self.updates, made, strict=True)]
        if self.target is not None and self.target_every:
            due = [bool(m) and count % self.target_every == 0 for m, count in zip(made, self.updates, strict=True)]
            if any(due):
                self.target.follow(self.model, torch.tensor(due, device=self.model.device))

    @torch.no_grad()
    def _targets(self, batch: dict[str, Tensor], then: Reading) -> Tensor:
        rewards, discounts, mask = batch["rewards"], batch["discounts"], batch["next_mask"]
        next_q = (self.target or self.model).forward(then, None)
        if not self.double:
            return q_targets(rewards, next_q, mask, discounts)
        return double_q_targets(rewards, next_q, self.model.forward(then, None), mask, discounts)
