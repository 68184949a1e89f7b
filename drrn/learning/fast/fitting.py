"""DRRN with the inner product fitted to targets by Adam, differentiated by hand: `ReturnLearning.fit`, faster.

Where texts are few, every text of a side that the updates read is encoded once an update: the words of all of them lie
ready in one array, so that the sparse first layer, its gradient and noise are a few large operations, whatever the
batch. `benchmarks/strong.py` measures it.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from drrn.learning.learner import Generators
from drrn.learning.optimisers import Adam
from drrn.learning.text_noise import Noise
from drrn.models.base import Model
from drrn.models.drrn import DRRN
from drrn.models.encoders import BagAndVectors, BagOfWords, MeanOfVectors
from drrn.models.encoders.text_vectors import scaled
from drrn.text import Ids, ranges

MOST_WORDS = 400_000  # of all texts of a side, repeated ones counted: beyond, only those of a batch are encoded

Gradients = dict[str, Tensor]  # by the names under which Adam keeps its slots
tanh_backward = torch.ops.aten.tanh_backward.grad_input


def can_fit(model: Model) -> bool:
    """Whether the model is one that is written out here; a subclass may differ."""
    if type(model) is not DRRN or model.shape.interaction != "inner" or model.shape.shared:
        return False
    encoders = model.encoders.values()
    known = all(type(encoder) in (BagOfWords, MeanOfVectors, BagAndVectors) for encoder in encoders)
    return known and all(encoder.norm is None for encoder in encoders) and _few_words(model)


def _few_words(model: Model) -> bool:
    return all(
        len(texts.sequence) <= MOST_WORDS for texts in (model.store.states, model.store.actions)
    )


class Tower:
    """One side, forwards and backwards, for all texts at once that are asked for: [R, T, H]."""

    def __init__(self, model: DRRN, name: str, asked: Ids | None = None) -> None:
        """`asked` are the ids of the texts that are read, in any shape; None: all."""
        self.model = model
        self.name = name
        self.layers = model.shape.layers
        encoder = model.encoders[name]
        texts = model.store.side(encoder.side)
        self.all_texts = len(texts)
        self.replicas = len(model.seeds)
        self.matrix = encoder.weight if isinstance(encoder, MeanOfVectors) else None
        # Where vectors are read, all texts are: the gradient of their matrix is summed over texts, and so rounded.
        chosen = np.arange(len(texts)) if asked is None or self.matrix else np.unique(asked)
        self.chosen = chosen
        self.texts = len(chosen)
        self.place = np.full(len(texts), -1, np.int64)  # of each text among the chosen
        self.place[chosen] = np.arange(len(chosen))
        self.spreads: dict[str, Tensor] = {}
        self.table = model.tables.get(name)
        self.features = (
            model.shape.vectors.features(texts).to(model.device)
            if self.matrix and model.shape.vectors
            else None
        )
        self.seen = (
            self.features
        )  # the vectors, as they are read in an update: [T, D], or with noise [R, T, D]
        self.put_in: tuple[Tensor, Tensor] | None = (
            None  # rows of texts, and words that they get beside their own
        )
        if self.table is not None:
            self._lay_out(
                texts.bags().starts, texts.bags().word_ids.astype(np.int64), texts.bags().counts
            )

    def _lay_out(self, starts: Ids, words: Ids, counts: NDArray[np.float32]) -> None:
        """The words of the chosen texts, for each replica; and the same entries sorted by word, for the way back."""
        assert self.table is not None
        self.table.make_room()
        self.lengths = np.diff(starts)
        self.all_words = len(words)
        lengths = self.lengths[self.chosen]
        self.entries = ranges(starts[self.chosen], lengths)  # among the words of all texts
        words = words[self.entries]
        self.counts = counts[self.entries]
        self.known = [np.flatnonzero(known) for known in self.table.known]
        room = self.table.weight.shape[1]
        count = len(words)
        order = np.argsort(words, kind="stable")
        found = np.bincount(words, minlength=room)
        replica = np.arange(self.replicas)[:, None]

        def laid(
            array: Ids, step: int
        ) -> Tensor:  # small numbers: they are read through at every update
            return torch.from_numpy((array + replica * step).astype(np.int32).ravel()).to(
                self.model.device
            )

        self.words = laid(words, room)
        self.starts = laid(np.cumsum(lengths) - lengths, count)
        self.order = laid(order, count)
        self.owners = laid(np.repeat(np.arange(self.texts), lengths)[order], self.texts)
        self.word_starts = laid(np.cumsum(found) - found, count)

    def rows(self, ids: Ids) -> Tensor:
        """Of texts [K, R, B]: their rows among the chosen ones of all replicas end to end, [K, R · B]."""
        found = self.place[ids] + np.arange(self.replicas)[:, None] * self.texts
        return torch.from_numpy(found.reshape(len(ids), -1)).to(self.model.device)

    def alter(self, noise: Noise, generators: Generators) -> None:
        """Leave out words, put in others and blur vectors, anew for each replica."""
        self.seen = self.features
        self.put_in = None
        if self.table is not None:
            self._alter_words(noise, generators)
        if self.features is not None and self.model.shape.vectors and noise.blur:
            width = self.features.shape[1]
            drawn = np.stack(
                [by.standard_normal((self.texts, width), np.float32) for by in generators]
            )
            blur = torch.from_numpy(drawn).to(self.model.device) * (noise.blur / width**0.5)
            length = self.model.shape.vectors.scale
            known = self.features.norm(dim=1, keepdim=True) > 0
            self.seen = torch.where(known, scaled(self.features / length + blur, length), 0.0)

    def _alter_words(self, noise: Noise, generators: Generators) -> None:
        """Noise is drawn for the words of all texts, chosen or not, so that what is drawn does not rest on the batches
        of other replicas."""
        assert self.table is not None
        kept = np.tile(self.counts, (self.replicas, 1))
        into = []
        words = []
        for replica, by in enumerate(generators):
            if noise.out:
                drawn = np.frombuffer(by.bytes(2 * self.all_words), np.uint16)[self.entries]
                kept[replica] *= drawn >= round(noise.out * 2**16)
            if noise.put_in:
                place = np.repeat(self.place, by.binomial(self.lengths, noise.put_in))
                put_in = by.choice(self.known[replica], len(place))
                into.append(place[place >= 0] + replica * self.texts)
                words.append(put_in[place >= 0] + replica * self.table.weight.shape[1])
        self.kept = torch.from_numpy(kept.ravel()).to(self.model.device)
        if noise.put_in:
            rows, which = (
                torch.from_numpy(np.concatenate(part)).to(self.model.device)
                for part in (into, words)
            )
            self.put_in = (rows, which)

    def forward(self) -> Tensor:
        weights = self.model.weights
        width = self.model.widths[0]
        first = weights[f"{self.name} b1"]
        if self.seen is not None and self.matrix is not None:
            first = first + torch.matmul(self.seen, weights[self.matrix])
        if self.table is not None:
            flat = self.table.weight.view(-1, width)
            bags = functional.embedding_bag(
                self.words, flat, self.starts, mode="sum", per_sample_weights=self.kept
            )
            if self.put_in is not None:
                bags.index_add_(0, self.put_in[0], flat.index_select(0, self.put_in[1]))
            first = bags.view(self.replicas, self.texts, width).add_(first)
        self.hidden = [first.tanh_()]
        for layer in range(2, self.layers + 1):
            bias = weights[f"{self.name} b{layer}"]
            product = weights[f"{self.name} W{layer}"]
            self.hidden.append(torch.baddbmm(bias, self.hidden[-1], product).tanh_())
        return self.hidden[-1]

    def backward(self, back: Tensor) -> Gradients:
        """For what comes back to the last layer [R, T, H], which is overwritten."""
        found: Gradients = {}
        for layer in range(self.layers, 0, -1):
            delta = tanh_backward(back, self.hidden[layer - 1], grad_input=back)  # in place
            spread = self._spread(delta, "delta")
            found[f"{self.name} b{layer}"] = spread.sum(1, keepdim=True)
            if layer > 1:
                below = self._spread(self.hidden[layer - 2], "hidden")
                found[f"{self.name} W{layer}"] = torch.bmm(below.transpose(1, 2), spread)
                back = torch.bmm(delta, self.model.weights[f"{self.name} W{layer}"].transpose(1, 2))
        if self.seen is not None and self.matrix is not None:
            found[self.matrix] = torch.matmul(self.seen.transpose(-2, -1), delta)
        if self.table is not None:
            flat = delta.reshape(-1, delta.shape[2])
            kept = self.kept.index_select(0, self.order)
            summed = functional.embedding_bag(
                self.owners, flat, self.word_starts, mode="sum", per_sample_weights=kept
            )
            if self.put_in is not None:
                summed.index_add_(0, self.put_in[1], flat.index_select(0, self.put_in[0]))
            found[f"table {self.name}"] = summed.view(self.table.weight.shape)
        return found

    def _spread(self, rows: Tensor, what: str) -> Tensor:
        """Rows of the chosen texts [R, T, H] among those of all texts, the others zero: summed over all, they are
        rounded the same way whatever texts are chosen, so a replica's sums do not rest on what the others read."""
        if self.texts == self.all_texts:
            return rows
        if what not in self.spreads:
            self.spreads[what] = rows.new_zeros(len(rows), self.all_texts, rows.shape[2])
            at = self.chosen + np.arange(len(rows))[:, None] * self.all_texts
            self.at = torch.from_numpy(at.ravel()).to(rows.device)
        spread = self.spreads[what]
        width = rows.shape[2]
        spread.view(-1, width).index_copy_(0, self.at, rows.view(-1, width))
        return spread


class FusedAdam:
    """The steps of `Adam`, all weights in one operation, while all replicas move together."""

    def __init__(self, adam: Adam) -> None:
        self.adam = adam
        model = adam.model
        tables = {f"table {name}": table.weight for name, table in model.tables.items()}
        self.weights = {**model.weights, **tables}
        self.firsts = [adam.slot(f"{name} m", weight) for name, weight in self.weights.items()]
        self.seconds = [adam.slot(f"{name} v", weight) for name, weight in self.weights.items()]
        counts = [
            adam.slot(f"{name} t", weight[:, :1, :1]) for name, weight in self.weights.items()
        ]
        made = list({number for count in counts for number in count.flatten().tolist()})
        self.together = len(made) == 1  # else replicas have made different numbers of steps
        self.steps = [torch.tensor(made[0], device=model.device) for _ in counts]
        self.counts = counts

    def move(self, gradients: Gradients) -> None:
        torch._foreach_add_(self.steps, 1)
        torch._fused_adam_(
            list(self.weights.values()), [gradients[name] for name in self.weights], self.firsts, self.seconds, [],
            self.steps, lr=self.adam.learning_rate, beta1=0.9, beta2=0.999, weight_decay=0.0, eps=1e-8, amsgrad=False,
            maximize=False,
        )  # fmt: skip

    def settle(self) -> None:
        """Note in the optimiser how many steps were made."""
        for count, made in zip(self.counts, self.steps, strict=True):
            count.fill_(float(made))


class Fitting:
    """Updates of a DRRN, one after the other; the texts that it reads must not change meanwhile."""

    def __init__(self, model: DRRN, optimiser: Adam, states: Ids, actions: Ids) -> None:
        """`states` and `actions` are the texts that the updates read."""
        self.model = model
        self.state = Tower(model, "state", states)
        self.action = Tower(model, "action", actions)
        self.adam = FusedAdam(optimiser)

    @torch.no_grad()
    def step(self, states: Tensor, actions: Tensor, targets: Tensor) -> Tensor:
        """One update: rows of the texts of all replicas end to end, [R · B], and targets [R, B]; the errors y - Q."""
        h_s = self.state.forward()
        h_a = self.action.forward()
        flat_s, flat_a = (h.view(-1, h.shape[2]) for h in (h_s, h_a))
        s = flat_s.index_select(0, states)
        a = flat_a.index_select(0, actions)
        error = targets - (s * a).sum(1).view(targets.shape)
        delta = error.view(-1, 1).neg()  # of ½ (y - Q)², by Q
        back_s = torch.zeros_like(flat_s).index_add_(0, states, a.mul_(delta)).view(h_s.shape)
        back_a = torch.zeros_like(flat_a).index_add_(0, actions, s.mul_(delta)).view(h_a.shape)
        self.adam.move({**self.state.backward(back_s), **self.action.backward(back_a)})
        return error
