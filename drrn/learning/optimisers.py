"""Moving weights down their gradients: plain SGD, as in the paper, or Adam."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from drrn.models.base import Model
from drrn.models.encoders.base import TableBatch
from drrn.models.word_table import WordTable, resize_like
from drrn.text import State

Dense = dict[str, Tensor]  # gradients of the model's weights
Sparse = list[tuple[WordTable, Tensor, Tensor]]  # rows of a flat table, and their gradients


@dataclass
class Optimiser:
    """A learning rate, and what is kept from step to step."""

    model: Model
    learning_rate: float
    slots: dict[str, Tensor] = field(default_factory=dict)

    @property
    def plain(self) -> bool:
        """Whether a step is -η g and nothing else."""
        return isinstance(self, SGD)

    @torch.no_grad()
    def step(
        self,
        gradients: Sequence[Tensor],
        taken: Sequence[tuple[TableBatch, Tensor]],
        active: Tensor,
    ) -> None:
        """Move the weights of the active replicas [R]; `taken` is what was taken out of word tables, and what came back
        to it."""
        dense = dict(zip(self.model.weights, gradients, strict=True))
        sparse: Sparse = [look.gradient(self.model, back) for look, back in taken]
        self.move(dense, sparse, active)

    def move(self, dense: Dense, sparse: Sparse, active: Tensor) -> None:
        raise NotImplementedError

    def state(self) -> State:
        return {name: slot.cpu().numpy() for name, slot in self.slots.items()}

    def restore(self, state: State) -> None:
        self.slots = {
            name: torch.from_numpy(slot).to(self.model.device) for name, slot in state.items()
        }


class SGD(Optimiser):
    """w ← w - η g, and nothing else: only words that occur are touched; a replica without data has no gradient."""

    def move(self, dense: Dense, sparse: Sparse, active: Tensor) -> None:
        if dense:
            weights = [self.model.weights[name] for name in dense]
            torch._foreach_add_(weights, list(dense.values()), alpha=-self.learning_rate)
        for table, rows, values in sparse:
            table.weight.view(-1, table.width).index_add_(
                0, rows, values, alpha=-self.learning_rate
            )


class Slotted(Optimiser):
    """An optimiser that keeps something for each weight, so every weight moves at each step."""

    def move(self, dense: Dense, sparse: Sparse, active: Tensor) -> None:
        full = {name: (self.model.weights[name], g) for name, g in dense.items()}
        for table, rows, values in sparse:
            name = f"table {table.name}"
            g = full[name][1] if name in full else torch.zeros_like(table.weight)
            g.view(-1, table.width).index_add_(0, rows, values)
            full[name] = (table.weight, g)
        self.move_all(full, active)

    def move_all(self, full: dict[str, tuple[Tensor, Tensor]], active: Tensor) -> None:
        """Weights and their gradients, by name."""
        for name, (weight, g) in full.items():
            on = active.view(-1, *[1] * (g.dim() - 1))
            change = self.change(name, g, on).mul_(self.learning_rate)
            weight.sub_(change if _all_on(on) else torch.where(on, change, 0.0))

    def change(self, name: str, g: Tensor, on: Tensor) -> Tensor:
        """A new tensor that is multiplied by the learning rate; slots change only where `on`."""
        raise NotImplementedError

    def slot(self, name: str, like: Tensor) -> Tensor:
        """What is kept for a weight, zero at first; it grows with a growing table, and a resumed run's table may have
        less room than it had: beyond the words present both are zero."""
        kept = self.slots.get(name)
        if kept is None or kept.shape != like.shape:
            kept = self.slots[name] = (
                torch.zeros_like(like) if kept is None else resize_like(kept, like)
            )
        return kept


@dataclass
class Adam(Slotted):
    """Kingma & Ba 2015, with their constants.

    Where texts are read in order, PyTorch's own operation makes a step, ten times as fast. It rounds otherwise, and
    results of bags were published to the last digit.
    """

    def move_all(self, full: dict[str, tuple[Tensor, Tensor]], active: Tensor) -> None:
        if active.device.type != "cpu" or not any(
            encoder.reads_at_once for encoder in self.model.encoders.values()
        ):
            return super().move_all(full, active)
        kept = {
            part: [self.slot(f"{name} {part}", g) for name, (_, g) in full.items()] for part in "mv"
        }
        steps = [self.slot(f"{name} t", g[:, :1, :1]) for name, (_, g) in full.items()]
        stacks = (
            [w for w, _ in full.values()],
            [g.contiguous() for _, g in full.values()],
            *kept.values(),
            steps,
        )
        for replica in active.nonzero().view(-1).tolist():  # each has its own count of steps
            weights, gradients, firsts, seconds, made = (
                [stack[replica] for stack in some] for some in stacks
            )
            torch._foreach_add_(made, 1)
            torch._fused_adam_(
                weights, gradients, firsts, seconds, [], made, lr=self.learning_rate, beta1=0.9, beta2=0.999,
                weight_decay=0.0, eps=1e-8, amsgrad=False, maximize=False,
            )  # fmt: skip

    def change(self, name: str, g: Tensor, on: Tensor) -> Tensor:
        m = self.slot(f"{name} m", g)
        v = self.slot(f"{name} v", g)
        t = self.slot(f"{name} t", g[:, :1, :1])
        t.add_(on.to(t.dtype))
        if _all_on(on):  # the same sums in place: large tables are read and written less often
            m.mul_(0.9).add_(0.1 * g)
            v.mul_(0.999).add_((0.001 * g).mul_(g))
        else:
            m.copy_(torch.where(on, 0.9 * m + 0.1 * g, m))
            v.copy_(torch.where(on, 0.999 * v + 0.001 * g * g, v))
        steps = t.clamp(min=1)
        return (m / (1 - 0.9**steps)).div_((v / (1 - 0.999**steps)).sqrt_().add_(1e-8))


OPTIMISERS: dict[str, type[Optimiser]] = {"sgd": SGD, "adam": Adam}


def _all_on(on: Tensor) -> bool:
    """Whether every replica takes part; a GPU is not asked, since it would have to be waited for."""
    return on.device.type == "cpu" and bool(on.all())
