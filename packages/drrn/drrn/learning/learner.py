"""The base class of learners: take in episodes, update the weights of a model's replicas."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from drrn.learning.equations import squared
from drrn.learning.experience import Steps
from drrn.learning.memory import Memory
from drrn.learning.optimisers import OPTIMISERS, Optimiser
from drrn.models.base import Model, Pages
from drrn.models.encoders.base import Leaves
from drrn.settings import Settings
from drrn.text import State
from textgames.arrays import Ids
from textgames.errors import InputError

Generators = Sequence[np.random.Generator]  # one for each replica
Alpha = float | NDArray[np.float64]  # α of all replicas, or of each


@dataclass(frozen=True)
class StepBatch:
    """Steps of all replicas as one batch, for `Learner.fit_batch`. Padding has the weight 0."""

    pages: Pages  # states [1, R, B] and actions [1, R, B, A]
    taken: Ids  # [R, B]
    rewards: NDArray[np.float32]  # [R, B]
    weights: NDArray[np.float32]  # [R, B]

    @staticmethod
    def of(played: Sequence[Steps], rows: Sequence[Ids] | None = None) -> StepBatch:
        """The steps of each replica, or the steps at some indices."""
        if rows is None:
            rows = [np.arange(len(steps)) for steps in played]
        shape = (len(rows), max(map(len, rows)))
        pages = []
        taken = np.zeros(shape, np.int64)
        rewards = np.zeros(shape, np.float32)
        weights = np.zeros(shape, np.float32)
        for replica, (steps, index) in enumerate(zip(played, rows, strict=True)):
            pages.append((steps.states[index], steps.actions[index].padded()))
            filled = (replica, slice(len(index)))
            taken[filled] = steps.taken[index]
            rewards[filled] = steps.rewards[index]
            weights[filled] = 1.0
        return StepBatch(Pages.of_replicas(pages)[None], taken, rewards, weights)


class Learner:
    """Updates the weights of a model. A subclass writes `learn`. Everything else has a default.

    `drrn train GAME --learner module:Class` builds it as `Class(model, settings)`.

    Example:
        class RewardLearner(Learner):
            def learn(self, generators):
                played = [memory.joined() for memory in self.memories]
                batch = StepBatch.of(played)
                self.fit_batch(batch.pages, batch.taken, batch.rewards, batch.weights)
                return sum(map(len, played))
    """

    memories: Sequence[Memory]  # of each replica
    alpha_factor = np.ones(1)  # factor on the α of the settings, for all replicas or for each
    last_errors: Sequence[Any] | None = None  # y - Q of the last updates, and their weights

    def __init__(
        self,
        model: Model,
        settings: Settings,
        memory: Callable[[], Memory] = Memory,
        trained: Model | None = None,
    ) -> None:
        """Prepare to learn.

        Args:
            model: The model that plays.
            settings: All settings of the run.
            memory: Builds the memory of a replica.
            trained: The model whose weights move, if not the one that plays.
        """
        self.model = model
        self.settings = settings
        self.memories = [memory() for _ in model.seeds]
        kind = OPTIMISERS[settings.learner.optimiser]
        self.optimiser: Optimiser = kind(trained or model, settings.learning_rate)

    def learn(self, generators: Generators) -> int:
        """Learn after a round. Returns the number of transitions learned from."""
        raise InputError(f"{type(self).__name__} has no method learn(generators)")

    @property
    def error(self) -> float | None:
        """Root mean square of y - Q in the last updates, or None before the first."""
        if self.last_errors is None:
            return None
        errors, weights = (torch.as_tensor(each).cpu().double() for each in self.last_errors)
        mean = (errors.square() * weights).sum() / weights.sum().clamp(min=1e-12)
        return float(mean.sqrt())

    def observe(self, replica: int, steps: Steps) -> None:
        """Add episodes of a replica. A round may call this several times before it learns."""
        self.memories[replica].add(steps)

    def forget(self) -> None:
        """Drop what the next round does not learn from, after a round or an interrupt."""
        for memory in self.memories:
            memory.clear()

    def rescale(self, replica: int, factor: float) -> None:
        """Multiply the rewards that the replica reported, because their unit has changed."""
        self.memories[replica].rescale(factor)

    def state(self) -> State:
        """What the next round needs besides the weights: arrays and JSON values."""
        memories = [memory.state() for memory in self.memories]
        return {"optimiser": self.optimiser.state(), "memories": memories}

    def restore(self, state: State) -> None:
        """Continue from a state."""
        self.optimiser.restore(state["optimiser"])
        for memory, values in zip(self.memories, state["memories"], strict=True):
            memory.restore(values)

    # --- Updates

    def fit_batch(
        self,
        pages: Pages,
        index: Ids,
        targets: NDArray[np.float32],
        weights: NDArray[np.float32] | None = None,
    ) -> Tensor:
        """Move Q of one action of each page towards its target, down the gradient.

        Args:
            pages: Pages [1, R, B].
            index: The index of the action on each page, [R, B].
            targets: y of each page, [R, B].
            weights: Weights of the losses, 0 for padding, [R, B].

        Returns:
            The errors y - Q, [R, B].
        """
        if weights is None:
            weights = np.ones(targets.shape, np.float32)
        device = self.model.device
        at, y, w = (torch.from_numpy(array).to(device) for array in (index, targets, weights))
        return self.descend(self.optimiser.model.read(pages)[0], at, lambda: y, w)

    def descend(
        self, pages: Pages, index: Tensor | None, targets: Callable[[], Tensor], weights: Tensor
    ) -> Tensor:
        """Take one optimiser step on Σ w ½ (y - Q)², and return the errors [R, B].

        `index` is the action of each page, or None for all its actions. `targets` is called after
        the forward pass.
        """
        model = self.optimiser.model
        learned = list(model.weights.values())
        leaves: Leaves = []
        with differentiable(learned):
            q = model.forward(replace(pages, leaves=leaves))  # [R, B, A]
            if index is not None:
                q = q.gather(2, index.unsqueeze(2))
            error = targets() - q.squeeze(2)
            loss = (squared(error) * weights).sum()
            inputs = [*learned, *(vectors for _, vectors in leaves)]
            gradients = torch.autograd.grad(loss, inputs, materialize_grads=True)
        of_leaves = zip(leaves, gradients[len(learned) :], strict=True)
        sparse = [gradient(model, back) for (gradient, _), back in of_leaves]
        self.optimiser.move(gradients[: len(learned)], sparse, weights.flatten(1).any(dim=1))
        self.last_errors = (error.detach(), weights)
        return error.detach()


@contextmanager
def differentiable(weights: Sequence[Tensor]) -> Iterator[None]:
    """Let weights take part in automatic differentiation within the block."""
    try:
        for weight in weights:
            weight.requires_grad_()
        yield
    finally:
        for weight in weights:
            weight.requires_grad_(False)
