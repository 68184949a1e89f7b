"""A gated recurrent unit (Cho et al. 2014) reads a text; its last state is the vector, as in the Jericho agents."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from drrn.models.encoders.base import Weights
from drrn.models.encoders.recurrent import OPEN, RecurrentEncoder, WordSteps
from drrn.models.encoders.workspace import Blocks, Chosen, Collected

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
        if torch.is_grad_enabled():
            found: Tensor = GRUScan.apply(words, on, bias, steps)  # type: ignore[no-untyped-call]
            return found
        return last_states(words, on, bias, steps, Blocks(steps, on, PARTS, keep=False))


PARTS = (2, 1, 1, 1)  # what a step makes, in widths of the state: r and z; h U_n + b_n; n; the state after it


def last_states(words: Tensor, on: Tensor, bias: Tensor, steps: WordSteps, blocks: Blocks) -> Tensor:
    """The last state of each text, [R, U, H]."""
    replicas, width = on.shape[:2]
    to_r_z, to_n = on[..., : 2 * width], on[..., 2 * width :]
    x_r_z, x_n = words[..., : 2 * width].reshape(-1, 2 * width), words[..., 2 * width :].reshape(-1, width)
    at = steps.rows(words.device)
    last = h = words.new_zeros(replicas, steps.lengths.shape[1], width)
    for number, (_, count) in enumerate(steps):
        h, rows, (r_z, onward, n, after) = h[:, :count], at[number], blocks[number]
        torch.index_select(x_r_z, 0, rows, out=r_z.view(-1, 2 * width))
        r_z.baddbmm_(h, to_r_z).sigmoid_()
        torch.baddbmm(bias, h, to_n, out=onward)
        torch.index_select(x_n, 0, rows, out=n.view(-1, width))
        n.addcmul_(r_z[..., :width], onward).tanh_()
        h = torch.lerp(n, h, r_z[..., width:], out=after)
        ended = steps.count_of(number + 1)
        if ended < count:
            last[:, ended:count] = h[:, ended:]
    return last


class GRUScan(torch.autograd.Function):
    """`last_states`, differentiated by hand: many small operations of automatic differentiation become a few."""

    @staticmethod
    def forward(ctx: Any, words: Tensor, on: Tensor, bias: Tensor, steps: WordSteps) -> Tensor:
        ctx.steps, ctx.rows, ctx.blocks = steps, words.shape[1], Blocks(steps, on, PARTS, keep=True)
        ctx.save_for_backward(on)
        return last_states(words, on, bias, steps, ctx.blocks)

    @staticmethod
    def backward(ctx: Any, back: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        (on,), steps, blocks = ctx.saved_tensors, ctx.steps, ctx.blocks
        replicas, width = on.shape[:2]
        chosen = Chosen(steps.needed(back), on.device)
        two, d_h = (
            2 * width,
            chosen(back, len(chosen)).clone(),
        )  # d_h: of the states after a step, then of those before it
        to_r_z, to_n = on[..., :two].transpose(1, 2).contiguous(), on[..., two:].transpose(1, 2).contiguous()
        d_words = on.new_zeros(replicas * ctx.rows, 3 * width)
        at, onto = steps.rows(on.device), Collected(on, steps.count_of(0), (3, 1))
        for number, (_, count) in reversed(list(enumerate(steps))):
            some = chosen.count(count)
            r_z, onward, n = (chosen(part, some) for part in blocks[number][:3])
            rows = chosen(at[number].view(replicas, count), some).reshape(-1)
            d, r, z = d_h[:, :some], r_z[..., :width], r_z[..., width:]
            before, d_x, d_onward = onto.next(some)
            if number:
                before.copy_(chosen(blocks[number - 1][3], some)[:, :some])
            else:
                before.zero_()
            d_r_z, d_n = d_x[..., :two], d_x[..., two:]
            d_r, d_z = d_r_z[..., :width], d_r_z[..., width:]
            tanh_backward(torch.addcmul(d, d, z, value=-1), n, grad_input=d_n)
            sigmoid_backward(onward.mul_(d_n), r, grad_input=d_r)
            sigmoid_backward(n.neg_().add_(before).mul_(d), z, grad_input=d_z)
            torch.mul(d_n, r, out=d_onward)
            d.mul_(z).baddbmm_(d_r_z, to_r_z).baddbmm_(d_onward, to_n)
            d_words.index_add_(0, rows, d_x.reshape(-1, 3 * width))
        blocks.give_back()
        products, sums = onto.finished()
        d_on = torch.cat([products[0][..., :two], products[1]], dim=2)
        return d_words.view(replicas, ctx.rows, -1), d_on, sums[1], None
