"""A moving average of weights: the weights that learn tremble, their average plays."""

from __future__ import annotations

import torch
from torch import Tensor

from drrn.models.base import Model
from drrn.text import State

EVERY = 4  # updates between two steps of the average: its half-life is far longer


class Average:
    """A student whose weights learn, and the moving average of them, which is shown by the model."""

    def __init__(self, model: Model, decay: float) -> None:
        """`decay` is what is left of the average after an update."""
        self.model = model
        self.decay = decay
        self.student = model.frozen()
        self.updates = 0

    def meet(self) -> None:
        """Give the student the first weights of words that the model has met since."""
        for name, table in self.model.tables.items():
            twin = self.student.tables[name]
            table.make_room()
            twin.make_room(table.weight.shape[1])
            new = table.known & ~twin.known[:, : table.known.shape[1]]
            if new.any():
                at = torch.from_numpy(new).to(self.model.device)
                twin.weight[:, : table.weight.shape[1]][at] = table.weight[at]
                twin.known[:, : new.shape[1]] |= new

    def follow(self) -> None:
        """After an update of the student."""
        self.updates += 1
        if self.updates % EVERY:
            return
        steps = self.updates // EVERY
        decay = min(
            self.decay**EVERY, (1 + steps) / (4 + steps)
        )  # at first the average is that of all so far
        pairs = [
            (self.model.weights[name], weight) for name, weight in self.student.weights.items()
        ]
        pairs += [
            (self.model.tables[name].weight, table.weight)
            for name, table in self.student.tables.items()
        ]
        for average, weight in pairs:
            _lerp(average, weight, 1 - decay)

    def state(self) -> State:
        return {"updates": self.updates, "student": self.student.state()}

    def restore(self, state: State) -> None:
        self.updates = state["updates"]
        self.student.restore(state["student"], "its learning weights")


def _lerp(average: Tensor, weight: Tensor, share: float) -> None:
    """Move an average towards a weight, where both have room: what grows may have grown further in one of them."""
    common = tuple(slice(min(sizes)) for sizes in zip(average.shape, weight.shape, strict=True))
    average[common].lerp_(weight[common], share)
