"""Optimisers: plain SGD, as in the paper, and Adam."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from drrn.models.base import Model
from drrn.models.encoders.base import Gradient
from drrn.models.word_table import resize_like
from drrn.text import State

Tensors = list[Tensor]
WeightsAndGradients = dict[str, tuple[Tensor, Tensor]]


class Optimiser:
    """A model, a learning rate, and tensors that persist between steps."""

    def __init__(self, model: Model, learning_rate: float) -> None:
        self.model = model
        self.learning_rate = learning_rate
        self.slots: dict[str, Tensor] = {}

    def move(self, dense: Sequence[Tensor], sparse: Sequence[Gradient], active: Tensor) -> None:
        """Move the weights of the active replicas [R].

        Args:
            dense: Gradients of the model's weights, in their order.
            sparse: Gradients of word tables.
        """
        raise NotImplementedError

    def state(self) -> State:
        slots = dict(self.slots)
        for table in self.model.tables.values():  # room for further words depends on restarts
            for name in (f"table {table.name} m", f"table {table.name} v"):
                if name in slots:
                    like = table.weight[:, : len(table.vocabulary)]
                    slots[name] = resize_like(slots[name], like)
        return {name: slot.cpu().numpy() for name, slot in slots.items()}

    def restore(self, state: State) -> None:
        device = self.model.device
        self.slots = {name: torch.from_numpy(slot).to(device) for name, slot in state.items()}


class SGD(Optimiser):
    """w ← w - η g, for the words that occur. A replica without data has no gradient."""

    def move(self, dense: Sequence[Tensor], sparse: Sequence[Gradient], active: Tensor) -> None:
        if dense:
            weights = list(self.model.weights.values())
            torch._foreach_add_(weights, list(dense), alpha=-self.learning_rate)
        for table, rows, values in sparse:
            flat = table.weight.view(-1, table.width)
            flat.index_add_(0, rows, values, alpha=-self.learning_rate)


class Adam(Optimiser):
    """Kingma & Ba 2015, with their constants.

    If texts are read in order, PyTorch's fused operation makes a step, ten times as fast. It
    rounds differently, and results of bags were published to the last digit.
    """

    def move(self, dense: Sequence[Tensor], sparse: Sequence[Gradient], active: Tensor) -> None:
        weights = self.model.weights
        full = {name: (weights[name], g) for name, g in zip(weights, dense, strict=True)}
        for table, rows, values in sparse:
            name = f"table {table.name}"
            g = full[name][1] if name in full else torch.zeros_like(table.weight)
            g.view(-1, table.width).index_add_(0, rows, values)
            full[name] = (table.weight, g)
        encoders = self.model.encoders.values()
        if active.device.type == "cpu" and any(encoder.reads_at_once for encoder in encoders):
            self.move_fused(full, active)
        else:
            self.move_one_by_one(full, active)

    def move_one_by_one(self, full: WeightsAndGradients, active: Tensor) -> None:
        """Move all weights, given with their gradients by name."""
        # On a GPU, whether all replicas take part is not asked, to avoid waiting for it.
        all_on = active.device.type == "cpu" and bool(active.all())
        for name, (weight, g) in full.items():
            on = active.view(-1, *[1] * (g.dim() - 1))
            ((m,), (v,), (t,)) = self.moments({name: weight})
            t.add_(on.to(t.dtype))
            if all_on:  # the same sums in place: large tables are read and written less often
                m.mul_(0.9).add_(0.1 * g)
                v.mul_(0.999).add_((0.001 * g).mul_(g))
            else:
                m.copy_(torch.where(on, 0.9 * m + 0.1 * g, m))
                v.copy_(torch.where(on, 0.999 * v + 0.001 * g * g, v))
            steps = t.clamp(min=1)
            change = (m / (1 - 0.9**steps)).div_((v / (1 - 0.999**steps)).sqrt_().add_(1e-8))
            change.mul_(self.learning_rate)
            weight.sub_(change if all_on else torch.where(on, change, 0.0))

    def move_fused(self, full: WeightsAndGradients, active: Tensor) -> None:
        """Move all weights in one operation for each replica, which has its own count of steps."""
        weights = {name: weight for name, (weight, _) in full.items()}
        gradients = [g.contiguous() for _, g in full.values()]
        stacks = (list(weights.values()), gradients, *self.moments(weights))
        for replica in active.nonzero().view(-1).tolist():
            rows = [[each[replica] for each in stack] for stack in stacks]
            fused_adam(self.learning_rate, *rows)

    def moments(self, weights: Mapping[str, Tensor]) -> tuple[Tensors, Tensors, Tensors]:
        """Return m, v and the number of steps t of weights."""
        m = [self.slot(f"{name} m", weight) for name, weight in weights.items()]
        v = [self.slot(f"{name} v", weight) for name, weight in weights.items()]
        t = [self.slot(f"{name} t", weight[:, :1, :1]) for name, weight in weights.items()]
        return m, v, t

    def slot(self, name: str, like: Tensor) -> Tensor:
        """A tensor that persists for a weight, zero at first, in the weight's present shape.

        A table grows, and that of a resumed run may be smaller: both are zero beyond the words.
        """
        slot = self.slots.get(name)
        if slot is None:
            slot = torch.zeros_like(like)
        elif slot.shape != like.shape:
            slot = resize_like(slot, like)
        self.slots[name] = slot
        return slot


OPTIMISERS: dict[str, type[Optimiser]] = {"sgd": SGD, "adam": Adam}


def fused_adam(
    rate: float, weights: Tensors, gradients: Tensors, m: Tensors, v: Tensors, steps: Tensors
) -> None:
    """Take one step of Adam for all weights, in PyTorch's fused operation."""
    torch._foreach_add_(steps, 1)
    constants = {"beta1": 0.9, "beta2": 0.999, "eps": 1e-8, "weight_decay": 0.0}
    options: dict[str, Any] = {**constants, "amsgrad": False, "maximize": False}
    torch._fused_adam_(weights, gradients, m, v, [], steps, lr=rate, **options)
