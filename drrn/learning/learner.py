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

from drrn.errors import InputError
from drrn.learning.equations import squared
from drrn.learning.experience import Steps
from drrn.learning.optimisers import OPTIMISERS, Optimiser
from drrn.models.base import Model, Pages
from drrn.models.encoders.base import Leaves
from drrn.settings import Settings
from drrn.text import Ids, State, check_range, texts_of_all

MOST_ACTIONS = 100_000  # of a page, in the memory of a run that is resumed
Generators = Sequence[np.random.Generator]  # one for each replica
Alpha = float | NDArray[np.float64]  # α of all replicas, or of each


class Memory:
    """What one replica learns from; this one has the episodes of a round, and nothing after it."""

    widest = 1  # menu of any page so far, if pages outlast a round

    def __init__(self) -> None:
        self.episodes: list[Steps] = []

    def add(self, steps: Steps) -> None:
        """Add episodes."""
        self.episodes.append(steps)

    def joined(self) -> Steps:
        """Return all episodes of the round, as one `Steps`."""
        return Steps.join(self.episodes)

    def clear(self) -> None:
        self.episodes.clear()

    def rescale(self, factor: float) -> None:
        """Multiply all rewards."""
        self.episodes = [steps.scaled(factor) for steps in self.episodes]

    def texts_in_use(self) -> tuple[Ids, Ids]:
        """Return the ids of the texts of states and of actions."""
        none = np.zeros(0, np.int64)
        states = [steps.page_states for steps in self.episodes]
        actions = [steps.page_actions.actions for steps in self.episodes]
        return np.concatenate([none, *states]), np.concatenate([none, *actions])

    def renumber(self, states: Ids, actions: Ids) -> None:
        """Texts have new ids: state i is now `states[i]`, likewise for actions; -1 stays -1."""
        ids = (states.__getitem__, actions.__getitem__)
        self.episodes = [steps.renumbered(*ids) for steps in self.episodes]

    def state(self) -> State:
        return {}

    def restore(self, state: State) -> None:
        self.clear()


@dataclass(frozen=True)
class StepBatch:
    """Steps of all replicas as one batch, for `Learner.fit_batch`; padding has the weight 0."""

    pages: Pages  # states [1, R, B] and actions [1, R, B, A]
    taken: Ids  # [R, B]
    rewards: NDArray[np.float32]  # [R, B]
    weights: NDArray[np.float32]  # [R, B]

    @staticmethod
    def of(played: Sequence[Steps], rows: Sequence[Ids] | None = None) -> StepBatch:
        """Return the steps of each replica, or those at some indices of each."""
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
    """Updates the weights of a model. A subclass writes `learn`; everything else has a default.

    `drrn train GAME --learner module:Class` builds it as `Class(model, settings)`.

    Example:
        class RewardLearner(Learner):
            def learn(self, generators):
                played = [memory.joined() for memory in self.memories]
                batch = StepBatch.of(played)
                self.fit_batch(batch.pages, batch.taken, batch.rewards, batch.weights)
                return sum(map(len, played))
    """

    learns_online = False  # whether `learn_once` exists
    memories: Sequence[Any]  # of each replica
    alpha_factor = np.ones(1)  # on the α of the settings: one, or one for each replica
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
        if settings.run.form == "online" and not self.learns_online:
            cause = "needs whole episodes, but form online has none"
            cure = "leave out form online, or choose the learner q-learning"
            raise InputError(f"learner {settings.learner.name} {cause}; {cure}")
        self.model = model
        self.settings = settings
        self.memories = [memory() for _ in model.seeds]
        kind = OPTIMISERS[settings.learner.optimiser]
        self.optimiser: Optimiser = kind(trained or model, settings.learning_rate)

    def learn(self, generators: Generators) -> int:
        """Learn after a round; return the number of transitions learned from."""
        raise InputError(f"{type(self).__name__} has no method learn(generators)")

    def learn_once(self, generators: Generators, replicas: Sequence[bool]) -> int:
        """Update the given replicas once, after a step (form online); return like `learn`."""
        raise NotImplementedError

    @property
    def error(self) -> float | None:
        """Root mean square of y - Q in the last updates; None before the first."""
        if self.last_errors is None:
            return None
        errors, weights = (torch.as_tensor(each).cpu().double() for each in self.last_errors)
        mean = (errors.square() * weights).sum() / weights.sum().clamp(min=1e-12)
        return float(mean.sqrt())

    def observe(self, replica: int, steps: Steps, count: int | None = None) -> None:
        """Take in episodes of a replica; called several times a round before it learns.

        In the form online, steps are the last ones of an episode that may continue, and only the
        first `count` of them are to be learned from.
        """
        self.memories[replica].add(steps)

    def forget(self) -> None:
        """Drop what the next round does not learn from; called after a round and an interrupt."""
        for memory in self.memories:
            memory.clear()

    def rescale(self, replica: int, factor: float) -> None:
        """Multiply the rewards that the replica reported: their unit has changed."""
        self.memories[replica].rescale(factor)

    def texts_in_use(self) -> tuple[Ids, Ids]:
        """Return the distinct texts of states and of actions that are still to be learned from."""
        return texts_of_all(self.memories)

    def renumber(self, states: Ids, actions: Ids) -> None:
        """Texts have new ids (see `Memory`)."""
        for memory in self.memories:
            memory.renumber(states, actions)

    def state(self) -> State:
        """Return what the next round needs besides the weights: arrays and JSON values."""
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
        """Move Q of one action of each page [1, R, B] towards its target, down the gradient.

        `index` [R, B] is the action on each page, `weights` are those of the losses, 0 for padding.
        Returns the errors y - Q, [R, B].
        """
        if weights is None:
            weights = np.ones(targets.shape, np.float32)
        device = self.model.device
        at, y, w = (torch.from_numpy(array).to(device) for array in (index, targets, weights))
        return self.descend(self.optimiser.model.read(pages)[0], at, lambda: y, w)

    def descend(
        self, pages: Pages, index: Tensor | None, targets: Callable[[], Tensor], weights: Tensor
    ) -> Tensor:
        """Take one optimiser step on Σ w ½ (y - Q)²; return the errors [R, B].

        `index` is the action of each page; None: all its actions. `targets` is called after the
        forward pass.
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


def check_memories(memories: Sequence[Any], texts: Sequence[int], widest: int) -> None:
    """Raise a ValueError if memories have ids of texts, or widths of menus, that do not exist."""
    for memory in (each for each in memories if isinstance(each, Memory)):
        for ids, size in zip(memory.texts_in_use(), texts, strict=True):
            check_range("texts", ids, 0, size - 1)
        check_range("widest", np.array(memory.widest), 1, widest)


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
