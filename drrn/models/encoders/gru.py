"""A gated recurrent unit (Cho et al. 2014) reads a text; its last state is the vector, as in the Jericho agents."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from drrn.models.encoders.base import Weights
from drrn.models.encoders.passes import Needed, PassMemory, add_product, matrices
from drrn.models.encoders.recurrent import OPEN, RecurrentEncoder, WordSteps

sigmoid_backward = torch.ops.aten.sigmoid_backward.grad_input
tanh_backward = torch.ops.aten.tanh_backward.grad_input


class GRUEncoder(RecurrentEncoder):
    """r = σ(x_r + h U_r), z = σ(x_z + h U_z), n = tanh(x_n + r (h U_n + b_n)), h ← (1 - z) n + z h; x = v W + b."""

    gates = 3  # r, z, n
    idle = (0.0, OPEN, 0.0)  # z = 1: the state stays
    groups = 16

    def build(self, model: Weights) -> None:
        super().build(model)
        model.add_weight(f"{self.name} on b", 1, self.width, self.width**-0.5)

    def read(self, model: Weights, words: Tensor, steps: WordSteps) -> Tensor:
        on, bias = model.weights[f"{self.name} on"], model.weights[f"{self.name} on b"]
        x_r_z, x_n = words.split([2 * self.width, self.width], dim=2)
        words = torch.cat([x_r_z, bias.expand_as(x_n), x_n], dim=2)  # b_n beside x: a step takes both at once
        if torch.is_grad_enabled():
            found: Tensor = GRUScan.apply(words, on, steps)  # type: ignore[no-untyped-call]
            return found
        return last_states(words, on, steps, PassMemory(steps, on, 4, keep=False))


def last_states(words: Tensor, on: Tensor, steps: WordSteps, memory: PassMemory) -> Tensor:
    """The last state of each text, [R, U, H]. Of a step is kept: r, z, o = h U_n + b_n and n, side by side; h."""
    width = on.shape[1]
    words, on, h = words.view(-1, 4 * width), matrices(on), memory.first
    last = torch.zeros_like(h)
    for at, after, rows, gates in zip(steps.rows(on.device), *memory.blocks, strict=True):
        count = after.shape[-2]
        if count < h.shape[-2]:
            last[..., count : h.shape[-2], :] = h[..., count:, :]
            h = h[..., :count, :]
        torch.index_select(words, 0, at, out=rows)
        add_product(gates[..., : 3 * width], h, on)
        gates[..., : 2 * width].sigmoid_()
        r, z, o, n = gates.split(width, dim=-1)
        h = torch.lerp(n.addcmul_(r, o).tanh_(), h, z, out=after)
    last[..., : h.shape[-2], :] = h
    return last.view(-1, *last.shape[-2:])


class GRUScan(torch.autograd.Function):
    """`last_states`, differentiated by hand.

    What comes back to a step's gates is d_h, of the state after it, times factors in which d_h has no part. They are
    computed for many words at once, as are the sums over words; a step is then two products and a matrix product.
    """

    @staticmethod
    def forward(ctx: Any, words: Tensor, on: Tensor, steps: WordSteps) -> Tensor:
        ctx.steps, ctx.memory, ctx.rows = steps, PassMemory(steps, on, 4, keep=True), words.shape[1]
        ctx.save_for_backward(on)
        return last_states(words, on, steps, ctx.memory)

    @staticmethod
    def backward(ctx: Any, back: Tensor) -> tuple[Tensor, Tensor, None]:
        (on,), steps = ctx.saved_tensors, ctx.steps
        replicas, width = on.shape[:2]
        turned, d_on = matrices(on.transpose(1, 2).contiguous()), torch.zeros_like(on)
        d_words = on.new_zeros(replicas * ctx.rows, 4 * width)
        needed = Needed(steps, back)
        d_h = matrices(needed.chosen(back))
        for piece in needed.pieces():
            h, gates = ctx.memory.kept(piece)  # [R, N, H], [R, N, 4 H]
            z, d_gates = factors(h, gates)
            for d, d_r_z_o, z_ in piece.steps_back(d_gates.unflatten(-1, (4, -1)), d_gates[..., : 3 * width], z):
                d_state = d_h[..., : z_.shape[-2], :]
                d.mul_(d_state.unsqueeze(-2))
                add_product(d_state.mul_(z_), d_r_z_o, turned)
            add_product(matrices(d_on), h.transpose(-1, -2), d_gates[..., : 3 * width])
            d_words.index_add_(0, piece.rows, d_gates.view(-1, 4 * width))
        ctx.memory.give_back()
        return d_words.view(replicas, ctx.rows, -1), d_on, None


def factors(h: Tensor, gates: Tensor) -> tuple[Tensor, Tensor]:
    """z, and what d_h is multiplied by to give what comes back to x_r, x_z, o and x_n, in place of the gates."""
    r, z, o, n = gates.split(h.shape[-1], dim=-1)
    kept = z.clone()
    through = tanh_backward(1 - z, n, grad_input=torch.empty_like(h))  # (1 - z) (1 - n²)
    sigmoid_backward(h - n, z, grad_input=z)
    o.mul_(through)
    torch.mul(through, r, out=n)  # for a moment
    sigmoid_backward(o, r, grad_input=r)
    o.copy_(n)
    n.copy_(through)
    return kept, gates
