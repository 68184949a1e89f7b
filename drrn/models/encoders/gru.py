"""A gated recurrent unit (Cho et al. 2014) reads a text; its last state is the vector, as in the Jericho agents."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from drrn.models.encoders.base import Weights
from drrn.models.encoders.passes import Needed, PassMemory, PassPiece, adding_to, matrices
from drrn.models.encoders.recurrent import OPEN, RecurrentEncoder, WordSteps

sigmoid_backward = torch.ops.aten.sigmoid_backward.grad_input
tanh_backward = torch.ops.aten.tanh_backward.grad_input


class GRUEncoder(RecurrentEncoder):
    """r = σ(x_r + h U_r), z = σ(x_z + h U_z), n = tanh(x_n + r (h U_n + b_n)), h ← (1 - z) n + z h; x = v W + b."""

    gates = 3  # r, z, n
    groups = 16

    def build(self, model: Weights) -> None:
        super().build(model)
        model.add_weight(f"{self.name} on b", 1, self.width, self.width**-0.5)

    def read(self, model: Weights, vectors: Tensor, steps: WordSteps) -> Tensor:
        learned = [model.weights[f"{self.name} {part}"] for part in ("in", "in b", "on", "on b")]
        if torch.is_grad_enabled():
            found: Tensor = GRUScan.apply(vectors, *learned, steps)  # type: ignore[no-untyped-call]
            return found
        words = inputs(vectors, *learned)
        on = learned[2]
        return last_states(words, on, steps, PassMemory(steps, on, PARTS, keep=False))


def inputs(vectors: Tensor, w: Tensor, b: Tensor, on: Tensor, b_n: Tensor) -> Tensor:
    """Of each distinct word x_r, x_z, b_n and x_n side by side, as a step takes them up: [R, W, E] → [R, W + 1, 4 H].
    The last word leaves the state as it is (z = 1)."""
    replicas, count, width = *vectors.shape[:2], on.shape[1]
    found = vectors.new_empty(replicas, count + 1, 4 * width)
    two = 2 * width
    torch.baddbmm(b[..., :two], vectors, w[..., :two], out=found[:, :count, :two])
    torch.baddbmm(b[..., two:], vectors, w[..., two:], out=found[:, :count, 3 * width :])
    found[:, :count, two : 3 * width] = b_n
    found[:, count] = 0.0
    found[:, count, width:two] = OPEN
    return found


# A step keeps r, z, o = h U_n + b_n and n side by side, and takes them up from one width to another:
PARTS = ((0, 3), (0, 2), (0, 1), (1, 2), (2, 3), (3, 4))  # r z o, r z, r, z, o, n


def last_states(words: Tensor, on: Tensor, steps: WordSteps, memory: PassMemory) -> Tensor:
    """The last state of each text, [R, U, H]."""
    add_product = adding_to(on)
    before = steps.lengths.shape[1]
    words = words.view(-1, words.shape[2])
    on = matrices(on)
    h = memory.first
    last = torch.zeros_like(h)
    for count, at, rows, after, r_z_o, r_z, r, z, o, n in zip(
        steps.counts, steps.rows(on.device), *memory.blocks, strict=True
    ):
        if count < before:
            last[..., count:before, :] = h[..., count:, :]
            h = h[..., :count, :]
            before = count
        torch.index_select(words, 0, at, out=rows)
        add_product(r_z_o, h, on)
        r_z.sigmoid_()
        h = torch.lerp(n.addcmul_(r, o).tanh_(), h, z, out=after)
    last[..., :before, :] = h
    return last.view(-1, *last.shape[-2:])


class GRUScan(torch.autograd.Function):
    """`last_states` of `inputs`, differentiated by hand.

    What comes back to a step's gates is d_h, of the state after it, times factors in which d_h has no part. They are
    computed for many words at once, as are the sums over words; a step is then two products and a matrix product.
    """

    @staticmethod
    def forward(
        ctx: Any, vectors: Tensor, w: Tensor, b: Tensor, on: Tensor, b_n: Tensor, steps: WordSteps
    ) -> Tensor:
        ctx.words = inputs(vectors, w, b, on, b_n)
        ctx.steps = steps
        ctx.memory = PassMemory(steps, on, PARTS, keep=True)
        ctx.save_for_backward(vectors, w, on)
        return last_states(ctx.words, on, steps, ctx.memory)

    @staticmethod
    def backward(ctx: Any, back: Tensor) -> tuple[Tensor | None, ...]:
        (vectors, w, on), needed = ctx.saved_tensors, Needed(ctx.steps, back)
        width = on.shape[1]
        d_on = torch.zeros_like(on)
        d_h = matrices(needed.chosen(back))
        turned = matrices(on.transpose(1, 2).contiguous())
        add_product = adding_to(on)
        d_words = ctx.words.zero_().view(
            -1, 4 * width
        )  # in the room of what is not needed any more
        for piece in needed.pieces():
            h, gates = ctx.memory.kept(piece)  # [R, N, H], [R, N, 4 H]
            d_gates = factors(h, gates)
            d_r_z_o = d_gates[..., : 3 * width]
            z = gates[..., width : 2 * width]
            steps_back(d_h, turned, piece, (d_gates.view(*h.shape[:-1], 4, width), d_r_z_o, z))
            add_product(matrices(d_on), h.transpose(-1, -2), d_r_z_o)
            d_words.index_add_(0, piece.rows, d_gates.view(-1, 4 * width))
        ctx.memory.give_back()
        d_vectors, d_w, d_b, d_b_n = inputs_back(ctx.words[:, :-1], vectors, w)
        return d_vectors, d_w, d_b, d_on, d_b_n, None


def steps_back(d_h: Tensor, turned: Tensor, piece: PassPiece, values: tuple[Tensor, ...]) -> None:
    """Factors become what comes back to the gates of a piece, and d_h what comes back to the states before it."""
    add_product = Tensor.addmm_ if d_h.dim() == 2 else Tensor.baddbmm_
    count = -1
    d_state = d_h
    spread = d_h
    for number, d, onto, stays in zip(
        reversed(piece.counts), *piece.backwards(values), strict=True
    ):
        if number != count:
            count = number
            d_state = d_h[..., :number, :]
            spread = d_state.unsqueeze(-2)
        d.mul_(spread)
        add_product(d_state.mul_(stays), onto, turned)


def inputs_back(d: Tensor, vectors: Tensor, w: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """From what came back to `inputs` to that of the vectors, w, b and b_n."""
    width = d.shape[2] // 4
    parts = (d[..., : 2 * width], d[..., 3 * width :])
    two = (w[..., : 2 * width], w[..., 2 * width :])
    d_vectors = torch.bmm(parts[0], two[0].transpose(1, 2)).baddbmm_(
        parts[1], two[1].transpose(1, 2)
    )
    d_w = torch.cat([torch.bmm(vectors.transpose(1, 2), part) for part in parts], dim=2)
    d_r_z, d_b_n, d_n = torch.split_with_sizes(
        d.sum(1, keepdim=True), [2 * width, width, width], dim=2
    )
    return d_vectors, d_w, torch.cat([d_r_z, d_n], dim=2), d_b_n


def factors(h: Tensor, gates: Tensor) -> Tensor:
    """What d_h is multiplied by to give what comes back to x_r, x_z, o and x_n, side by side."""
    found = torch.empty_like(gates)
    two = 2 * h.shape[-1]
    (r, z, o, n), (to_r, to_z, to_o, to_n) = (part.chunk(4, dim=-1) for part in (gates, found))
    torch.sub(1, z, out=to_n)
    tanh_backward(to_n, n, grad_input=to_n)  # (1 - z) (1 - n²)
    torch.mul(to_n, r, out=to_o)
    torch.mul(to_n, o, out=to_r)
    torch.sub(h, n, out=to_z)
    sigmoid_backward(
        found[..., :two], gates[..., :two], grad_input=found[..., :two]
    )  # times r (1 - r), z (1 - z)
    return found
