"""Recurrent encoders: a GRU or an LSTM reads the distinct texts of a batch word by word.

Texts are sorted by length, the longest first, so that a step computes only those that still have a
word. The product of a word's vector and the input matrix is computed once for each distinct word of
a batch. Where replicas differ in the number of texts at a step, the shorter ones get an idle word
that leaves the state unchanged, so a text's vector never depends on the rest of the batch. The
backward passes are written by hand and visit only texts that have a gradient. Memory is reused from
update to update, since new pages of memory cost as much time as the arithmetic.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from drrn.models.encoders.base import Encoder, Weights, WordBatch, distinct_texts
from drrn.models.word_table import WordTable
from drrn.text import Lexicon
from textgames.arrays import Ids, ranges, starts_of

# Initial word vectors are uniform in ±1: two small matrices would make smaller ones vanish.
WORD_SCALE = 1.0
# Inputs for which a gate is 0 or 1 to the last bit.
SHUT = -1e4
OPEN = 1e4

sigmoid_backward = torch.ops.aten.sigmoid_backward.grad_input
tanh_backward = torch.ops.aten.tanh_backward.grad_input


@dataclass(frozen=True)
class WordSteps:
    """Words in reading order: the first words of all texts, the second of those that have one."""

    words: Ids  # [R, T], rows among the R · (W + 1) projected words of all replicas
    counts: list[int]  # [L], texts at each step
    lengths: Ids  # [R, U], of each text, the longest first

    def rows(self, device: torch.device) -> list[Tensor]:
        """The rows of the words of each step, [R · count]."""
        at = torch.from_numpy(self.words).to(device)
        return [some.reshape(-1) for some in torch.split_with_sizes(at, self.counts, dim=1)]


class RecurrentEncoder(Encoder):
    """Reads texts word by word. A subclass defines `inputs`, `read` and its number of gates."""

    linear = False
    reads_at_once = True
    gates = 1
    piece = 512  # words that a backward pass handles together
    idle: tuple[float, ...]  # inputs of the idle word, for each part of `inputs`
    groups: int | None = None  # round the number of texts of a step up to one of `groups` sizes

    def __init__(self, model: Weights, name: str, side: str, width: int) -> None:
        word_width = model.shape.embedding or width
        super().__init__(model, name, side, width, word_width)
        model.tables[name].scale = WORD_SCALE
        scale = width**-0.5
        model.add_weight(f"{name} in", word_width, self.gates * width, scale)
        model.add_weight(f"{name} in b", 1, self.gates * width, scale)
        model.add_weight(f"{name} on", width, self.gates * width, scale)

    def inputs(self, model: Weights, vectors: Tensor) -> Tensor:
        """What the steps need of distinct words [R, W, E], side by side: [R, W, … H]."""
        raise NotImplementedError

    def read(self, model: Weights, words: Tensor, on: Tensor, steps: WordSteps) -> Tensor:
        """The vectors of texts [R, U, H] from the inputs of words [R, W + 1, … H]."""
        raise NotImplementedError

    def compose(self, model: Weights, vectors: Tensor, layout: WordSteps) -> Tensor:
        inputs = self.inputs(model, vectors.view(len(model.seeds), -1, vectors.shape[1]))
        idle = inputs.new_tensor(self.idle).repeat_interleave(self.width).expand(len(inputs), 1, -1)
        words = torch.cat([inputs, idle], dim=1)
        return self.read(model, words, model.weights[f"{self.name} on"], layout)

    def _gather(self, table: WordTable, texts: Lexicon, ids: Ids) -> WordBatch:
        unique, index = distinct_texts(ids[None], torch.device("cpu"))
        replicas, across = unique.shape
        words, lengths = table.known_words(texts, unique)
        first = (np.cumsum(lengths) - lengths.ravel()).reshape(lengths.shape)
        order = np.argsort(-lengths, axis=1, kind="stable")
        lengths = np.take_along_axis(lengths, order, axis=1)
        rank = np.argsort(order, axis=1) + (np.arange(replicas) * across)[:, None]
        index = torch.from_numpy(rank).view(-1)[index[0]].to(table.device)
        first = np.take_along_axis(first, order, axis=1)
        words = words[ranges(first.ravel(), lengths.ravel())]
        group = 1 if self.groups is None else -(-across // self.groups)
        room = table.weight.shape[1]
        rows, steps = _plan_steps(words, lengths, room, group)
        at = torch.from_numpy(rows).to(table.device)
        return WordBatch(self, table.name, at, index, steps)


def _plan_steps(words: Ids, lengths: Ids, room: int, group: int) -> tuple[Ids, WordSteps]:
    """The distinct words [R · W], as rows of the flat table, and the steps that read them.

    `words` are those of all texts end to end, `lengths` [R, U] of texts, the longest first. A
    replica with fewer words than W repeats its first of `room` rows in the table. A step reads a
    multiple of `group`, and texts that have ended read the idle word W.
    """
    replicas, across = lengths.shape
    owner = np.repeat(np.arange(replicas), lengths.sum(axis=1))
    flat, number = np.unique(words + owner * room, return_inverse=True)
    first = np.searchsorted(flat, np.arange(replicas + 1) * room)  # of each replica's words
    most = int(np.diff(first).max())
    rows = np.repeat(np.arange(replicas) * room, most).reshape(replicas, most)
    rows[np.arange(most) < np.diff(first)[:, None]] = flat
    grid = np.full((replicas, across, int(lengths.max(initial=0))), most)
    grid[np.arange(grid.shape[2]) < lengths[:, :, None]] = number - first[owner]
    grid += (np.arange(replicas) * (most + 1))[:, None, None]
    alive = (np.arange(grid.shape[2])[:, None] < lengths[:, None, :]).sum(axis=2).max(axis=0)  # [L]
    alive = np.minimum(-(-alive // group) * group, across)
    read = grid.swapaxes(1, 2)[:, np.arange(across) < alive[:, None]]  # [R, T]
    return rows.ravel(), WordSteps(read, alive.tolist(), lengths)


# --- memory of a pass, and its words on the way back


_spare: list[Tensor] = []  # two released blocks: one for states, one for actions


class PassMemory:
    """Arrays that steps write: states, which start from zero, and other values, such as gates.

    With gradients, every step has separate rows, for the backward pass, which calls `release` in
    the end. Without gradients, two blocks alternate. With `flat`, arrays of a single replica have
    no replica axis: PyTorch multiplies two matrices faster than two stacks of one.
    """

    def __init__(
        self,
        steps: WordSteps,
        like: Tensor,
        states: int,
        widths: list[int],
        piece: int,
        *,
        flat: bool,
    ) -> None:
        """Make arrays of `states` [rows, H], and others of the widths, in multiples of H."""
        self.steps = steps
        self.piece = piece
        self.replicas, width = like.shape[:2]
        self.flat = flat and self.replicas == 1
        self.keep = torch.is_grad_enabled()
        self.counts = [self.replicas * count for count in steps.counts]
        before = self.replicas * steps.lengths.shape[1]  # rows before the first step, zero
        total = sum(self.counts) if self.keep else 2 * before
        sizes = [(before + total) * width] * states
        sizes += [total * wide * width for wide in widths]
        memory = _take_memory(sum(sizes), like) if self.keep else like.new_empty(sum(sizes))
        self.memory: Tensor | None = memory
        parts = torch.split_with_sizes(memory[: sum(sizes)], sizes)
        self.states = [part.view(-1, width) for part in parts[:states]]
        values = zip(parts[states:], widths, strict=True)
        self.values = [part.view(-1, wide * width) for part, wide in values]
        for state in self.states:
            state[:before].zero_()
        self.initial = [self.shape(state[:before]) for state in self.states]  # [R, U, H]
        self.after = [state[before:] for state in self.states]

    def by_step(self, rows: Tensor) -> list[Tensor]:
        """The rows of `after` or of `values` that each step writes, [R, count, …]."""
        return list(map(self.shape, self.split(rows)))

    def split(self, rows: Tensor) -> list[Tensor]:
        """Split rows by steps, [R · count, …]."""
        if self.keep:
            return list(torch.split_with_sizes(rows, self.counts))
        halves = rows.chunk(2)
        keys = [(number % 2, count) for number, count in enumerate(self.counts)]
        blocks = {(turn, count): halves[turn][:count] for turn, count in set(keys)}
        return [blocks[key] for key in keys]

    def shape(self, rows: Tensor) -> Tensor:
        return rows if self.flat else rows.view(self.replicas, -1, rows.shape[1])

    def select(self, piece: Piece) -> tuple[list[Tensor], list[Tensor]]:
        """Copy the states before the words of a piece, and their values, [R, N, …]."""
        if self.memory is None:
            raise RuntimeError("backward() ran already; a pass can be differentiated only once")
        states = [self.shape(state.index_select(0, piece.before)) for state in self.states]
        return states, [self.shape(value.index_select(0, piece.at)) for value in self.values]

    def release(self) -> None:
        """Leave the memory to later passes."""
        if self.memory is not None and len(_spare) < 2:
            _spare.append(self.memory)
        self.memory = None


def _take_memory(size: int, like: Tensor) -> Tensor:
    for number, memory in enumerate(_spare):
        if memory.numel() >= size and (memory.device, memory.dtype) == (like.device, like.dtype):
            return _spare.pop(number)
    if len(_spare) == 2:
        _spare.pop(0)
    return like.new_empty(size)


@dataclass(frozen=True)
class Piece:
    """Consecutive steps, and the words whose texts have a gradient, N for each replica."""

    counts: list[int]  # words of each step, in the order of the words below
    before: Tensor  # [R · N], row of the state before each word
    at: Tensor  # [R · N], row of its other values
    words: Tensor  # [R · N], row of the projected word


class BackwardPlan:
    """The texts that a gradient [R, U, H] reaches, and their words in pieces, the last steps first.

    Texts that were read for targets alone have no gradient.
    """

    def __init__(self, steps: WordSteps, back: Tensor) -> None:
        self.steps = steps
        self.texts = np.arange(back.shape[1])
        if back.device.type == "cpu":  # on a GPU, waiting for the answer would take longer
            needed = torch.nonzero(back.any(dim=2).any(dim=0)).view(-1).numpy()
            if len(needed) < 0.9 * len(self.texts):  # else copies cost more than they save
                self.texts = needed
        self.counts: list[int] = np.searchsorted(self.texts, steps.counts).tolist()
        self.back = back.index_select(1, torch.from_numpy(self.texts).to(back.device))

    def pieces(self, most: int, *, latest_first: bool = False) -> Iterator[Piece]:
        """Yield pieces of up to `most` words, or of one step.

        The pieces go from the first step to the last, or by `latest_first` in reverse.
        """
        end = len(self.counts)
        while end:
            begin = end - 1
            size = self.counts[begin]
            while begin and size + self.counts[begin - 1] <= most:
                begin -= 1
                size += self.counts[begin]
            order = np.arange(begin, end)
            if size:
                yield self._piece(order[::-1] if latest_first else order)
            end = begin

    def _piece(self, order: Ids) -> Piece:
        counts = [self.counts[number] for number in order]
        step = np.repeat(order, counts)
        text = np.concatenate([self.texts[:count] for count in counts])
        replicas, texts = self.steps.lengths.shape
        replica = np.arange(replicas)[:, None]
        starts = starts_of(self.steps.counts)  # of the words of each step
        sizes = np.array([texts, *self.steps.counts])  # of the states before each step
        at = replicas * starts[step] + replica * sizes[step + 1] + text
        start = np.append(0, replicas * (texts + starts))  # of the states before each step
        before = start[step] + replica * sizes[step] + text
        words = self.steps.words[:, starts[step] + text]
        rows = [torch.from_numpy(each.ravel()).to(self.back.device) for each in (before, at, words)]
        return Piece(counts, *rows)


# --- GRU


class GRUEncoder(RecurrentEncoder):
    """A gated recurrent unit (Cho et al. 2014). The text is its last state.

    r = σ(x_r + h U_r), z = σ(x_z + h U_z), n = tanh(x_n + r (h U_n + b_n)), x = v W + b,
    h ← (1 - z) n + z h.
    """

    gates = 3  # r, z, n
    idle = (0.0, OPEN, 0.0, 0.0)  # z = 1: the state stays
    groups = 16

    def __init__(self, model: Weights, name: str, side: str, width: int) -> None:
        super().__init__(model, name, side, width)
        model.add_weight(f"{name} on b", 1, width, width**-0.5)

    def inputs(self, model: Weights, vectors: Tensor) -> Tensor:
        """Return x_r, x_z, b_n and x_n of words."""
        w, b, b_n = (model.weights[f"{self.name} {part}"] for part in ("in", "in b", "on b"))
        two = 2 * self.width
        x_r_z = torch.baddbmm(b[..., :two], vectors, w[..., :two])
        x_n = torch.baddbmm(b[..., two:], vectors, w[..., two:])
        return torch.cat([x_r_z, b_n.expand_as(x_n), x_n], dim=2)

    def read(self, model: Weights, words: Tensor, on: Tensor, steps: WordSteps) -> Tensor:
        memory = PassMemory(steps, on, 1, [4], self.piece, flat=True)
        states: Tensor = GRUPass.apply(words, on, memory)  # type: ignore[no-untyped-call]
        return states


def gru_last_states(words: Tensor, on: Tensor, memory: PassMemory) -> Tensor:
    """The last state of each text, [R, U, H]."""
    width = on.shape[1]
    before = memory.steps.lengths.shape[1]
    words = words.view(-1, words.shape[2])
    on = _matrices(on)
    h = memory.initial[0]
    last = torch.zeros_like(h)
    # the columns of a step's values: r, z, o = h U_n + b_n, n
    spans = [(0, 3), (0, 2), (0, 1), (1, 2), (2, 3), (3, 4)]
    columns = [memory.by_step(memory.values[0][:, a * width : b * width]) for a, b in spans]
    for count, at, rows, after, r_z_o, r_z, r, z, o, n in zip(
        memory.steps.counts,
        memory.steps.rows(on.device),
        memory.split(memory.values[0]),
        memory.by_step(memory.after[0]),
        *columns,
        strict=True,
    ):
        if count < before:
            last[..., count:before, :] = h[..., count:, :]
            h = h[..., :count, :]
            before = count
        torch.index_select(words, 0, at, out=rows)
        _add_product(r_z_o, h, on)
        r_z.sigmoid_()
        h = torch.lerp(n.addcmul_(r, o).tanh_(), h, z, out=after)
    last[..., :before, :] = h
    return last.view(-1, *last.shape[-2:])


class GRUPass(torch.autograd.Function):
    """`gru_last_states`, differentiated by hand.

    The gradient of a step's gates is d_h, the gradient of the state after it, times factors that do
    not depend on d_h. The factors are computed for many words at once, and so are sums over words.
    A step is then two element-wise products and a matrix product.
    """

    @staticmethod
    def forward(ctx: Any, words: Tensor, on: Tensor, memory: PassMemory) -> Tensor:
        ctx.rows = words.shape[1]
        ctx.memory = memory
        ctx.save_for_backward(on)
        return gru_last_states(words, on, memory)

    @staticmethod
    def backward(ctx: Any, back: Tensor) -> tuple[Tensor, Tensor, None]:
        (on,) = ctx.saved_tensors
        plan = BackwardPlan(ctx.memory.steps, back)
        replicas, width = on.shape[:2]
        d_on = torch.zeros_like(on)
        d_h = _matrices(plan.back)
        transposed = _matrices(on.transpose(1, 2).contiguous())
        d_words = on.new_zeros(replicas * ctx.rows, 4 * width)
        for piece in plan.pieces(ctx.memory.piece):
            (h,), (gates,) = ctx.memory.select(piece)  # [R, N, H], [R, N, 4 H]
            d_gates = gru_factors(h, gates)
            d_r_z_o = d_gates[..., : 3 * width]
            z = gates[..., width : 2 * width]
            by_gate = d_gates.view(*h.shape[:-1], 4, width)
            _gru_steps_back(d_h, transposed, piece.counts, (by_gate, d_r_z_o, z))
            _add_product(_matrices(d_on), h.transpose(-1, -2), d_r_z_o)
            d_words.index_add_(0, piece.words, d_gates.view(-1, 4 * width))
        ctx.memory.release()
        return d_words.view(replicas, ctx.rows, -1), d_on, None


def gru_factors(h: Tensor, gates: Tensor) -> Tensor:
    """The factors of d_h in the gradients of x_r, x_z, o and x_n, side by side."""
    factors = torch.empty_like(gates)
    two = 2 * h.shape[-1]
    r, z, o, n = gates.chunk(4, dim=-1)
    to_r, to_z, to_o, to_n = factors.chunk(4, dim=-1)
    torch.sub(1, z, out=to_n)
    tanh_backward(to_n, n, grad_input=to_n)  # (1 - z) (1 - n²)
    torch.mul(to_n, r, out=to_o)
    torch.mul(to_n, o, out=to_r)
    torch.sub(h, n, out=to_z)
    # times r (1 - r), z (1 - z)
    sigmoid_backward(factors[..., :two], gates[..., :two], grad_input=factors[..., :two])
    return factors


def _gru_steps_back(
    d_h: Tensor, transposed: Tensor, counts: list[int], values: tuple[Tensor, ...]
) -> None:
    """Turn factors into the gradients of a piece's gates, and move d_h before the piece.

    The values are the factors by gate, the same of r, z and o side by side, and z.
    """
    dim = d_h.dim() - 2
    parts = (reversed(torch.split_with_sizes(value, counts, dim=dim)) for value in values)
    count = -1
    d_state = d_h
    spread = d_h
    for number, d, d_product, z in zip(reversed(counts), *parts, strict=True):
        if number != count:
            count = number
            d_state = d_h[..., :number, :]
            spread = d_state.unsqueeze(-2)
        d.mul_(spread)
        _add_product(d_state.mul_(z), d_product, transposed)


def _matrices(stack: Tensor) -> Tensor:
    """Drop the axis of a single replica."""
    return stack[0] if len(stack) == 1 else stack


def _add_product(total: Tensor, left: Tensor, right: Tensor) -> None:
    """Add a product of matrices, or of stacks of them, to a third."""
    if total.dim() == 2:
        total.addmm_(left, right)
    else:
        total.baddbmm_(left, right)


# --- LSTM


class LSTMEncoder(RecurrentEncoder):
    """A long short-term memory. The text is the mean of its states (Narasimhan 2015) times a gain.

    i, f, o = σ(x + h U), g = tanh(x + h U), c ← f c + i g, h ← o tanh c, x = v W + b.
    """

    gates = 4  # i, f, o, g
    piece = 1024
    idle = (SHUT, OPEN, SHUT, 0.0)  # the cell stays, and its output is 0: the mean is unchanged

    def inputs(self, model: Weights, vectors: Tensor) -> Tensor:
        w = model.weights
        return torch.baddbmm(w[f"{self.name} in b"], vectors, w[f"{self.name} in"])

    def read(self, model: Weights, words: Tensor, on: Tensor, steps: WordSteps) -> Tensor:
        lengths = torch.from_numpy(steps.lengths).to(words.device)
        # States h and c; gates i, f, o, g side by side, and tanh c. Published results depend on the
        # rounding of stacked products, so a single replica keeps its axis.
        memory = PassMemory(steps, on, 2, [4, 1], self.piece, flat=False)
        total: Tensor = LSTMPass.apply(words, on, memory)  # type: ignore[no-untyped-call]
        return model.shape.lstm_gain * total / lengths.clamp(min=1).unsqueeze(2)


def lstm_sum_of_states(words: Tensor, on: Tensor, memory: PassMemory) -> Tensor:
    """The sum of the states of each text, [R, U, H]."""
    width = on.shape[1]
    flat = words.reshape(-1, 4 * width)
    h, c = memory.initial
    total = torch.zeros_like(h)
    for count, at, state, cell, gates, tanh_c in zip(
        memory.steps.counts,
        memory.steps.rows(words.device),
        *map(memory.by_step, (*memory.after, *memory.values)),
        strict=True,
    ):
        torch.index_select(flat, 0, at, out=gates.view(-1, 4 * width))
        gates.baddbmm_(h[:, :count], on)
        i, f, o = gates[..., : 3 * width].sigmoid_().chunk(3, dim=2)
        g = gates[..., 3 * width :].tanh_()
        c = torch.mul(f, c[:, :count], out=cell).addcmul_(i, g)
        h = torch.mul(o, torch.tanh(c, out=tanh_c), out=state)
        total[:, :count] += h
    return total


class LSTMPass(torch.autograd.Function):
    """`lstm_sum_of_states`, differentiated by hand."""

    @staticmethod
    def forward(ctx: Any, words: Tensor, on: Tensor, memory: PassMemory) -> Tensor:
        ctx.rows = words.shape[1]
        ctx.memory = memory
        ctx.save_for_backward(on)
        return lstm_sum_of_states(words, on, memory)

    @staticmethod
    def backward(ctx: Any, back: Tensor) -> tuple[Tensor, Tensor, None]:
        (on,) = ctx.saved_tensors
        replicas, width = on.shape[:2]
        d_on = torch.zeros_like(on)
        d_words = on.new_zeros(replicas * ctx.rows, 4 * width)
        transposed = on.transpose(1, 2).contiguous()
        steps = ctx.memory.steps
        plan = BackwardPlan(steps, back)
        back = plan.back
        d_h = torch.zeros_like(back)
        d_c = torch.zeros_like(back)
        most = max([ctx.memory.piece, *steps.counts[:1]])
        for piece in plan.pieces(most, latest_first=True):
            (h, c), (gates, tanh_c) = ctx.memory.select(piece)
            d_x = torch.empty_like(gates)
            parts = (part.split(piece.counts, dim=1) for part in (c, gates, tanh_c, d_x))
            for count, *step in zip(piece.counts, *parts, strict=True):
                d_state = d_h[:, :count].add_(back[:, :count])
                _lstm_step_back(d_state, d_c[:, :count], *step)
                d_state.copy_(torch.bmm(step[-1], transposed))
            d_on.baddbmm_(h.transpose(1, 2), d_x)
            d_words.index_add_(0, piece.words, d_x.view(-1, 4 * width))
        ctx.memory.release()
        return d_words.view(replicas, ctx.rows, -1), d_on, None


def _lstm_step_back(
    d_h: Tensor, d_c: Tensor, c: Tensor, gates: Tensor, tanh_c: Tensor, d_x: Tensor
) -> None:
    """Write the gradient of a step's inputs into d_x, and turn d_c into that of the cell before."""
    i, f, o, g = gates.chunk(4, dim=2)
    d_i, d_f, d_o, d_g = d_x.chunk(4, dim=2)
    sigmoid_backward(d_h * tanh_c, o, grad_input=d_o)
    d_c.addcmul_(torch.addcmul(d_h, d_h, tanh_c * tanh_c, value=-1), o)  # tanh' = 1 - tanh²
    sigmoid_backward(d_c * g, i, grad_input=d_i)
    sigmoid_backward(d_c * c, f, grad_input=d_f)
    tanh_backward(d_c * i, g, grad_input=d_g)
    d_c.mul_(f)
