"""A long short-term memory reads a text; the mean of its states is the text's vector, as in Narasimhan et al. 2015."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from drrn.models.encoders.base import Weights
from drrn.models.encoders.recurrent import OPEN, SHUT, RecurrentEncoder, WordSteps
from drrn.models.encoders.workspace import Blocks, Chosen, Collected

sigmoid_backward = torch.ops.aten.sigmoid_backward.grad_input
tanh_backward = torch.ops.aten.tanh_backward.grad_input


class LSTMEncoder(RecurrentEncoder):
    """i, f, o = σ(x + h U), g = tanh(x + h U), c ← f c + i g, h ← o tanh c; x = v W + b; the text is gain · mean h."""

    gates = 4  # i, f, o, g
    idle = (
        SHUT,
        OPEN,
        SHUT,
        0.0,
    )  # the cell stays, and what is shown of it is 0: nothing is added to the mean

    def read(self, model: Weights, vectors: Tensor, steps: WordSteps) -> Tensor:
        words = self.projected(model, vectors)
        on = model.weights[f"{self.name} on"]
        lengths = torch.from_numpy(steps.lengths).to(words.device)
        if torch.is_grad_enabled():
            total: Tensor = LSTMScan.apply(words, on, steps)  # type: ignore[no-untyped-call]
        else:
            total = sum_of_states(words, on, steps, Blocks(steps, on, PARTS, keep=False))
        return model.lstm_gain * total / lengths.clamp(min=1).unsqueeze(2)

    def projected(self, model: Weights, words: Tensor) -> Tensor:
        """The input of each distinct word, and that of the word that changes nothing: [R, W, E] → [R, W + 1, G]."""
        inputs = torch.baddbmm(
            model.weights[f"{self.name} in b"], words, model.weights[f"{self.name} in"]
        )
        idle = inputs.new_tensor(self.idle).repeat_interleave(self.width).expand(len(inputs), 1, -1)
        return torch.cat([inputs, idle], dim=1)


PARTS = (
    4,
    1,
    1,
    1,
)  # what a step makes, in widths of the state: i, f, o and g; the cell; its tanh; the state


def sum_of_states(words: Tensor, on: Tensor, steps: WordSteps, blocks: Blocks) -> Tensor:
    """The states of each text, summed over its words: [R, U, H]."""
    replicas, width = on.shape[:2]
    flat = words.reshape(-1, 4 * width)
    at = steps.rows(words.device)
    total = words.new_zeros(replicas, steps.lengths.shape[1], width)
    h = c = torch.zeros_like(total)
    for number, (_, count) in enumerate(steps):
        gates, cell, bent, state = blocks[number]
        torch.index_select(flat, 0, at[number], out=gates.view(-1, 4 * width))
        gates.baddbmm_(h[:, :count], on)
        i, f, o = gates[..., : 3 * width].sigmoid_().chunk(3, dim=2)
        g = gates[..., 3 * width :].tanh_()
        c = torch.mul(f, c[:, :count], out=cell).addcmul_(i, g)
        h = torch.mul(o, torch.tanh(c, out=bent), out=state)
        total[:, :count] += h
    return total


class LSTMScan(torch.autograd.Function):
    """`sum_of_states`, differentiated by hand."""

    @staticmethod
    def forward(ctx: Any, words: Tensor, on: Tensor, steps: WordSteps) -> Tensor:
        ctx.steps = steps
        ctx.rows = words.shape[1]
        ctx.blocks = Blocks(steps, on, PARTS, keep=True)
        ctx.save_for_backward(on)
        return sum_of_states(words, on, steps, ctx.blocks)

    @staticmethod
    def backward(ctx: Any, back: Tensor) -> tuple[Tensor, Tensor, None]:
        (on,), steps, blocks = ctx.saved_tensors, ctx.steps, ctx.blocks
        replicas, width = on.shape[:2]
        three = 3 * width
        transposed = on.transpose(1, 2).contiguous()
        d_words = on.new_zeros(replicas * ctx.rows, 4 * width)
        at = steps.rows(on.device)
        onto = Collected(on, steps.count_of(0), (4,))
        chosen = Chosen(steps.needed(back), on.device)
        back = chosen(back, len(chosen))
        # of what the next step was given
        d_h_all = torch.zeros_like(back)
        d_c_all = torch.zeros_like(back)
        nothing = torch.zeros_like(back)
        for number, (_, count) in reversed(list(enumerate(steps))):
            some = chosen.count(count)
            gates = chosen(blocks[number][0], some)
            bent = chosen(blocks[number][2], some)
            rows = chosen(at[number].view(replicas, count), some).reshape(-1)
            i, f, o, g = gates.chunk(4, dim=2)
            cell, state = (
                chosen(blocks[number - 1][part], some) if number else nothing for part in (1, 3)
            )
            before, d_x = onto.next(some)
            before.copy_(state[:, :some])
            d_h = d_h_all[:, :some].add_(back[:, :some])
            d_c = d_c_all[:, :some]
            sigmoid_backward(d_h * bent, o, grad_input=d_x[..., 2 * width : three])
            d_c.addcmul_(torch.addcmul(d_h, d_h, bent * bent, value=-1), o)  # tanh' = 1 - tanh²
            sigmoid_backward(d_c * g, i, grad_input=d_x[..., :width])
            sigmoid_backward(d_c * cell[:, :some], f, grad_input=d_x[..., width : 2 * width])
            tanh_backward(d_c * i, g, grad_input=d_x[..., three:])
            d_c.mul_(f)
            d_h.copy_(torch.bmm(d_x, transposed))
            d_words.index_add_(0, rows, d_x.reshape(-1, 4 * width))
        blocks.give_back()
        (product,), _ = onto.finished()
        return d_words.view(replicas, ctx.rows, -1), product, None
