"""A gated recurrent unit (Cho et al. 2014) reads a text; its last state is the text's vector, as in the Jericho agents."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from drrn.models.encoders.base import Weights
from drrn.models.encoders.recurrent import OPEN, RecurrentEncoder, WordSteps

sigmoid_backward, tanh_backward = torch.ops.aten.sigmoid_backward, torch.ops.aten.tanh_backward


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
            found: Tensor = GRUScan.apply(words, on, bias, steps)
            return found
        return scan(words, on, bias, steps, None)


class Kept:
    """What going back needs of each step, [R, T, …]: the states before it, r and z, n, h U_n + b_n."""

    def __init__(self, like: Tensor, count: int) -> None:
        replicas, width = len(like), like.shape[1]
        self.before, self.n, self.onward = (like.new_empty(replicas, count, width) for _ in range(3))
        self.rz = like.new_empty(replicas, count, 2 * width)


def scan(words: Tensor, on: Tensor, bias: Tensor, steps: WordSteps, kept: Kept | None) -> Tensor:
    """The last state of each text, [R, U, H]."""
    replicas, width = len(words), on.shape[1]
    flat, at = words.view(-1, words.shape[2]), torch.from_numpy(steps.words).to(words.device)
    biases = torch.cat([bias.new_zeros(replicas, 1, 2 * width), bias], dim=2)
    last = words.new_zeros(replicas, steps.lengths.shape[1], width)
    for span, count in steps:
        h = last[:, :count]
        x = flat.index_select(0, at[:, span].reshape(-1)).view(replicas, count, -1)
        onward = torch.baddbmm(biases, h, on)
        rz = onward[..., : 2 * width].add_(x[..., : 2 * width]).sigmoid_()
        n = torch.addcmul(x[..., 2 * width :], rz[..., :width], onward[..., 2 * width :]).tanh_()
        if kept is not None:
            kept.before[:, span], kept.rz[:, span], kept.n[:, span] = h, rz, n
            kept.onward[:, span] = onward[..., 2 * width :]
        last[:, :count] = torch.lerp(n, h, rz[..., width:])
    return last


class GRUScan(torch.autograd.Function):
    """`scan`, differentiated by hand: step by step the way back needs one product; those of the matrix are made at once."""

    @staticmethod
    def forward(ctx: Any, words: Tensor, on: Tensor, bias: Tensor, steps: WordSteps) -> Tensor:
        ctx.steps, ctx.kept, ctx.rows = steps, Kept(on, steps.count), words.shape[1]
        ctx.save_for_backward(on)
        return scan(words, on, bias, steps, ctx.kept)

    @staticmethod
    def backward(ctx: Any, back: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        (on,), steps, kept = ctx.saved_tensors, ctx.steps, ctx.kept
        width, transposed, dh_all = on.shape[1], on.transpose(1, 2), back.clone()
        to_words = on.new_empty(len(on), steps.count, 3 * width)
        to_onward = on.new_empty(len(on), steps.count, 3 * width)
        for span, count in reversed(steps):
            dh, n, rz = dh_all[:, :count], kept.n[:, span], kept.rz[:, span]
            r, z = rz[..., :width], rz[..., width:]
            dn = tanh_backward(torch.addcmul(dh, dh, z, value=-1), n)
            dr = sigmoid_backward(dn * kept.onward[:, span], r)
            dz = sigmoid_backward(dh * (kept.before[:, span] - n), z)
            to_words[:, span] = torch.cat([dr, dz, dn], dim=2)
            step = torch.cat([dr, dz, dn * r], dim=2)
            to_onward[:, span] = step
            dh_all[:, :count] = torch.baddbmm(dh * z, step, transposed)
        of_on = torch.bmm(kept.before.transpose(1, 2), to_onward)
        of_bias = to_onward[..., 2 * width :].sum(1, keepdim=True)
        of_words = steps.sums(to_words, len(on) * ctx.rows).view(len(on), ctx.rows, -1)
        return of_words, of_on, of_bias, None
