"""A gated recurrent unit (Cho et al. 2014) reads a text; its last state is the vector, as in the Jericho agents."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from drrn.models.encoders.base import Weights
from drrn.models.encoders.passes import Needed, PassMemory, adding_to, matrices
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
        x_r_z, x_n = words[..., : 2 * self.width], words[..., 2 * self.width :]
        words = torch.cat([x_r_z, bias.expand_as(x_n), x_n], dim=2)  # b_n beside x: a step takes both at once
        if torch.is_grad_enabled():
            found: Tensor = GRUScan.apply(words, on, steps)  # type: ignore[no-untyped-call]
            return found
        return last_states(words, on, steps, PassMemory(steps, on, PARTS, keep=False))


# A step keeps r, z, o = h U_n + b_n and n side by side, and takes them up from one width to another:
PARTS = ((0, 3), (0, 2), (0, 1), (1, 2), (2, 3), (3, 4))  # r z o, r z, r, z, o, n


def last_states(words: Tensor, on: Tensor, steps: WordSteps, memory: PassMemory) -> Tensor:
    """The last state of each text, [R, U, H]."""
    add_product = adding_to(on)
    words, on, h = words.view(-1, words.shape[2]), matrices(on), memory.first
    last = torch.zeros_like(h)
    for at, rows, after, r_z_o, r_z, r, z, o, n in zip(steps.rows(on.device), *memory.blocks, strict=True):
        count, before = after.shape[-2], h.shape[-2]
        if count < before:
            last[..., count:before, :] = h[..., count:, :]
            h = h[..., :count, :]
        torch.index_select(words, 0, at, out=rows)
        add_product(r_z_o, h, on)
        r_z.sigmoid_()
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
        ctx.steps, ctx.memory, ctx.rows = steps, PassMemory(steps, on, PARTS, keep=True), words.shape[1]
        ctx.save_for_backward(on)
        return last_states(words, on, steps, ctx.memory)

    @staticmethod
    def backward(ctx: Any, back: Tensor) -> tuple[Tensor, Tensor, None]:
        (on,), needed = ctx.saved_tensors, Needed(ctx.steps, back)
        width, d_on, d_h = on.shape[1], torch.zeros_like(on), matrices(needed.chosen(back))
        turned, add_product = matrices(on.transpose(1, 2).contiguous()), adding_to(on)
        d_words = on.new_zeros(len(on) * ctx.rows, 4 * width)
        for piece in needed.pieces():
            h, gates = ctx.memory.kept(piece)  # [R, N, H], [R, N, 4 H]
            d_gates = factors(h, gates)
            d_r_z_o, z = d_gates[..., : 3 * width], gates[..., width : 2 * width]
            for d, onto, stays in piece.steps_back(d_gates.view(*h.shape[:-1], 4, width), d_r_z_o, z):
                d_state = d_h[..., : stays.shape[-2], :]
                d.mul_(d_state.unsqueeze(-2))
                add_product(d_state.mul_(stays), onto, turned)
            add_product(matrices(d_on), h.transpose(-1, -2), d_r_z_o)
            d_words.index_add_(0, piece.rows, d_gates.view(-1, 4 * width))
        ctx.memory.give_back()
        return d_words.view(len(on), ctx.rows, -1), d_on, None


def factors(h: Tensor, gates: Tensor) -> Tensor:
    """What d_h is multiplied by to give what comes back to x_r, x_z, o and x_n, side by side."""
    found = torch.empty_like(gates)
    (r, z, o, n), (to_r, to_z, to_o, to_n) = (part.chunk(4, dim=-1) for part in (gates, found))
    tanh_backward(1 - z, n, grad_input=to_n)  # (1 - z) (1 - n²)
    torch.mul(to_n, r, out=to_o)
    sigmoid_backward(to_n * o, r, grad_input=to_r)
    sigmoid_backward(h - n, z, grad_input=to_z)
    return found
