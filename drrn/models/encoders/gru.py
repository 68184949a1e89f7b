"""A gated recurrent unit (Cho et al. 2014) reads a text; its last state is the vector, as in the Jericho agents."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from drrn.models.encoders.base import Weights
from drrn.models.encoders.recurrent import OPEN, RecurrentEncoder, WordSteps
from drrn.models.encoders.workspace import Needed, States, add_product

sigmoid_backward = torch.ops.aten.sigmoid_backward.grad_input
tanh_backward = torch.ops.aten.tanh_backward.grad_input


class GRUEncoder(RecurrentEncoder):
    """r = σ(x_r + h U_r), z = σ(x_z + h U_z), n = tanh(x_n + r (h U_n + b_n)), h ← (1 - z) n + z h; x = v W + b."""

    gates = 3  # r, z, n
    idle = (0.0, OPEN, 0.0)  # z = 1: the state stays

    def build(self, model: Weights) -> None:
        super().build(model)
        model.add_weight(f"{self.name} on b", 1, self.width, self.width**-0.5)

    def read(self, model: Weights, words: Tensor, steps: WordSteps) -> Tensor:
        on, bias = model.weights[f"{self.name} on"], model.weights[f"{self.name} on b"]
        x_r_z, x_n = words.split([2 * self.width, self.width], dim=2)
        words = torch.cat([x_r_z, bias.expand_as(x_n), x_n], dim=2)  # b_n beside x: U and b_n are added at once
        if torch.is_grad_enabled():
            found: Tensor = GRUScan.apply(words, on, steps)  # type: ignore[no-untyped-call]
            return found
        return last_states(words, on, steps, States(steps, on, keep=False))


class Gates:
    """A step's r, z, o = h U_n + b_n and n, side by side: [R, count, 4 H]."""

    def __init__(self, room: Tensor, count: int) -> None:
        """In the room's memory: [R, most, 4 H]."""
        replicas, _, wide = room.shape
        self.all = room.view(-1)[: replicas * count * wide].view(replicas, count, wide)
        self.rows, self.width = self.all.view(-1, wide), wide // 4
        self.r, self.z, self.o, self.n = self.all.split(self.width, dim=2)
        self.r_z, self.r_z_o = self.all[..., : 2 * self.width], self.all[..., : 3 * self.width]

    def fill(self, words: Tensor, at: Tensor, h: Tensor, on: Tensor) -> None:
        """From the words at some rows, and the states before them."""
        torch.index_select(words, 0, at, out=self.rows)
        add_product(self.r_z_o, h, on)
        self.r_z.sigmoid_()
        self.n.addcmul_(self.r, self.o).tanh_()


def last_states(words: Tensor, on: Tensor, steps: WordSteps, states: States) -> Tensor:
    """The last state of each text, [R, U, H]."""
    replicas, width = on.shape[:2]
    words, h = words.view(-1, 4 * width), states.first
    last, room = torch.zeros_like(h), on.new_empty(replicas, steps.count_of(0), 4 * width)
    gates = Gates(room, steps.count_of(0))
    for number, (at, after) in enumerate(zip(steps.rows(on.device), states, strict=True)):
        count, ended = after.shape[1], steps.count_of(number + 1)
        if count < h.shape[1]:
            h, gates = h[:, :count], Gates(room, count)
        gates.fill(words, at, h, on)
        h = torch.lerp(gates.n, h, gates.z, out=after)
        if ended < count:
            last[:, ended:count] = h[:, ended:]
    return last


class GRUScan(torch.autograd.Function):
    """`last_states`, differentiated by hand: of each step its states are kept, and the gates are computed once more.

    What comes back to a step's gates is d_h, of the state after it, times factors in which d_h has no part. They are
    computed for many words at once, as are the sums over words; a step is then two products and a matrix product.
    """

    @staticmethod
    def forward(ctx: Any, words: Tensor, on: Tensor, steps: WordSteps) -> Tensor:
        ctx.steps, ctx.states = steps, States(steps, on, keep=True)
        ctx.save_for_backward(words, on)
        return last_states(words, on, steps, ctx.states)

    @staticmethod
    def backward(ctx: Any, back: Tensor) -> tuple[Tensor, Tensor, None]:
        (words, on), steps = ctx.saved_tensors, ctx.steps
        flat, turned = words.view(-1, words.shape[2]), on.transpose(1, 2).contiguous()
        d_words, d_on = torch.zeros_like(flat), torch.zeros_like(on)
        needed = Needed(steps, back)
        d_h = needed.chosen(back)
        room, other = (on.new_empty(len(on), needed.most, words.shape[2]) for _ in range(2))
        for piece in needed.pieces():
            gates, d_gates = Gates(room, piece.count), Gates(other, piece.count)
            h, at = ctx.states.before(piece), piece.rows
            gates.fill(flat, at, h, on)
            factors(gates, h, d_gates)
            for some, z, d in piece.steps_back(gates.z, d_gates.all):
                d_state = d_h[:, :some]
                d.unflatten(2, (4, -1)).mul_(d_state.unsqueeze(2))
                add_product(d_state.mul_(z), d[..., : on.shape[2]], turned)
            add_product(d_on, h.transpose(1, 2), d_gates.r_z_o)
            d_words.index_add_(0, at, d_gates.rows)
        ctx.states.give_back()
        return d_words.view_as(words), d_on, None


def factors(gates: Gates, h: Tensor, found: Gates) -> None:
    """What d_h is multiplied by to give what comes back to x_r, x_z, o and x_n."""
    tanh_backward(1 - gates.z, gates.n, grad_input=found.n)  # (1 - z) (1 - n²)
    torch.mul(found.n, gates.r, out=found.o)
    sigmoid_backward(found.n * gates.o, gates.r, grad_input=found.r)
    sigmoid_backward(h - gates.n, gates.z, grad_input=found.z)
