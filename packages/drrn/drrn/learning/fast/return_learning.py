"""`ReturnLearning` with Adam, faster: DRRN with the inner product, differentiated by hand.

With few texts, every text that the updates read is encoded once per update: the words of all texts
are in one array, so that the sparse first layer, its gradient and the noise are a few large
operations, for any batch. `benchmarks/strong.py` measures it.
"""

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from drrn.learning.learner import Generators
from drrn.learning.optimisers import Adam, fused_adam
from drrn.learning.return_learning import Fits, ReturnLearning
from drrn.learning.text_noise import Noise, noise_of
from drrn.models.base import Model
from drrn.models.drrn import DRRN
from drrn.models.encoders import vectors as given
from drrn.models.encoders.bag import BagOfWords
from drrn.models.encoders.text_vectors import scaled
from drrn.text import Lexicon
from textgames.arrays import Ids, ranges

KINDS = (BagOfWords, given.MeanOfVectors, given.BagAndVectors, given.SentenceEncoder)  # encoders

Gradients = dict[str, Tensor]  # by the names of Adam's slots
tanh_backward = torch.ops.aten.tanh_backward.grad_input


def can_fit(model: Model, most_words: int = 400_000) -> bool:
    """Whether the fast way applies. A subclass may differ from what is written here.

    If all texts of a side have more than `most_words`, only the texts of a batch are encoded.
    """
    if type(model) is not DRRN or model.shape.interaction != "inner" or model.shape.shared:
        return False
    if any(type(encoder) not in KINDS for encoder in model.encoders.values()):
        return False
    sides = (model.store.states, model.store.actions)
    return all(len(texts.sequence) <= most_words for texts in sides)


class Tower:
    """One tower, forward and backward, for all selected texts at once: [R, T, H]."""

    def __init__(self, model: DRRN, name: str, ids: Ids | None = None) -> None:
        """Prepare a tower for the texts `ids`, in any shape (None: all)."""
        self.model = model
        self.name = name
        self.layers = model.shape.layers
        self.replicas = len(model.seeds)
        encoder = model.encoders[name]
        texts = model.store.side[encoder.side]
        self.all_texts = len(texts)
        self.matrix = encoder.weight if isinstance(encoder, given.VectorEncoder) else None
        # If vectors are read, all texts are selected: the gradient of their matrix is a sum over
        # texts, whose rounding must not depend on the selection.
        if ids is None or self.matrix:
            ids = np.arange(len(texts))
        self.selected = np.unique(ids)
        self.texts = len(self.selected)
        self.index = np.full(len(texts), -1, np.int64)  # of each text among the selected
        self.index[self.selected] = np.arange(self.texts)
        self.spreads: dict[str, Tensor] = {}
        self.features: Tensor | None = None
        if isinstance(encoder, given.VectorEncoder):
            self.scale = encoder.source(model).scale
            self.features = encoder.source(model).features(texts).to(model.device)
        self.inputs = self.features  # with noise: [T, D], or [R, T, D]
        self.extra: tuple[Tensor, Tensor] | None = None  # rows of texts, and words added to them
        self.table = model.tables.get(name)
        if self.table is not None:
            self._lay_out(texts)

    def _lay_out(self, texts: Lexicon) -> None:
        """Lay out the words of the selected texts for each replica, also in the order of words."""
        assert self.table is not None
        self.table.make_room()
        words, counts, self.lengths = texts.bags(np.arange(self.all_texts))
        self.all_words = len(words)
        lengths = self.lengths[self.selected]
        starts = np.cumsum(self.lengths) - self.lengths
        self.entries = ranges(starts[self.selected], lengths)  # among the words of all texts
        words = words[self.entries]
        self.counts = counts[self.entries]
        self.known = [np.flatnonzero(known) for known in self.table.known]
        room = self.table.weight.shape[1]
        count = len(words)
        order = np.argsort(words, kind="stable")
        occurrences = np.bincount(words, minlength=room)
        owners = np.repeat(np.arange(self.texts), lengths)[order]
        self.words = self._of_replicas(words, room)
        self.starts = self._of_replicas(np.cumsum(lengths) - lengths, count)
        self.order = self._of_replicas(order, count)
        self.owners = self._of_replicas(owners, self.texts)
        self.word_starts = self._of_replicas(np.cumsum(occurrences) - occurrences, count)

    def _of_replicas(self, array: Ids, step: int) -> Tensor:
        """Repeat indices for each replica, as int32, since every update reads all of them."""
        replica = np.arange(self.replicas)[:, None]
        indices = (array + replica * step).astype(np.int32)
        return torch.from_numpy(indices.ravel()).to(self.model.device)

    def rows(self, ids: Ids) -> Tensor:
        """The rows of texts [K, R, B], counted through all replicas: [K, R · B]."""
        rows = self.index[ids] + np.arange(self.replicas)[:, None] * self.texts
        return torch.from_numpy(rows.reshape(len(ids), -1)).to(self.model.device)

    def add_noise(self, noise: Noise, generators: Generators) -> None:
        """Draw new noise for each replica: drop and add words, blur vectors."""
        self.inputs = self.features
        self.extra = None
        if self.table is not None:
            self._add_word_noise(noise, generators)
        if self.features is not None and noise.blur:
            width = self.features.shape[1]
            shape = (self.texts, width)
            normal = np.stack([by.standard_normal(shape, np.float32) for by in generators])
            blur = torch.from_numpy(normal).to(self.model.device) * (noise.blur / width**0.5)
            has_vector = self.features.norm(dim=1, keepdim=True) > 0
            blurred = scaled(self.features / self.scale + blur, self.scale)
            self.inputs = torch.where(has_vector, blurred, 0.0)

    def _add_word_noise(self, noise: Noise, generators: Generators) -> None:
        """Draw for the words of all texts, so that draws do not depend on other replicas."""
        assert self.table is not None
        weights = np.tile(self.counts, (self.replicas, 1))
        owners = []
        words = []
        for replica, by in enumerate(generators):
            if noise.drop:
                uniform = np.frombuffer(by.bytes(2 * self.all_words), np.uint16)[self.entries]
                weights[replica] *= uniform >= round(noise.drop * 2**16)
            if noise.add:
                owner = np.repeat(self.index, by.binomial(self.lengths, noise.add))
                word = by.choice(self.known[replica], len(owner))
                owners.append(owner[owner >= 0] + replica * self.texts)
                words.append(word[owner >= 0] + replica * self.table.weight.shape[1])
        device = self.model.device
        self.weights = torch.from_numpy(weights.ravel()).to(device)
        if noise.add:
            rows = torch.from_numpy(np.concatenate(owners)).to(device)
            self.extra = (rows, torch.from_numpy(np.concatenate(words)).to(device))

    def forward(self) -> Tensor:
        """The last layer, [R, T, H]."""
        weights = self.model.weights
        width = self.model.widths[0]
        first = weights[f"{self.name} b1"]
        if self.inputs is not None and self.matrix is not None:
            first = first + torch.matmul(self.inputs, weights[self.matrix])
        if self.table is not None:
            flat = self.table.weight.view(-1, width)
            bags = functional.embedding_bag(
                self.words, flat, self.starts, mode="sum", per_sample_weights=self.weights
            )
            if self.extra is not None:
                bags.index_add_(0, self.extra[0], flat.index_select(0, self.extra[1]))
            first = bags.view(self.replicas, self.texts, width).add_(first)
        self.hidden = [first.tanh_()]
        for layer in range(2, self.layers + 1):
            bias = weights[f"{self.name} b{layer}"]
            product = weights[f"{self.name} W{layer}"]
            self.hidden.append(torch.baddbmm(bias, self.hidden[-1], product).tanh_())
        return self.hidden[-1]

    def backward(self, back: Tensor) -> Gradients:
        """Return gradients, for that of the last layer [R, T, H], which is overwritten."""
        gradients: Gradients = {}
        for layer in range(self.layers, 0, -1):
            delta = tanh_backward(back, self.hidden[layer - 1], grad_input=back)  # in place
            spread = self._spread(delta, "delta")
            gradients[f"{self.name} b{layer}"] = spread.sum(1, keepdim=True)
            if layer > 1:
                name = f"{self.name} W{layer}"
                below = self._spread(self.hidden[layer - 2], "hidden")
                gradients[name] = torch.bmm(below.transpose(1, 2), spread)
                back = torch.bmm(delta, self.model.weights[name].transpose(1, 2))
        if self.inputs is not None and self.matrix is not None:
            gradients[self.matrix] = torch.matmul(self.inputs.transpose(-2, -1), delta)
        if self.table is not None:
            flat = delta.reshape(-1, delta.shape[2])
            weights = self.weights.index_select(0, self.order)
            sums = functional.embedding_bag(
                self.owners, flat, self.word_starts, mode="sum", per_sample_weights=weights
            )
            if self.extra is not None:
                sums.index_add_(0, self.extra[1], flat.index_select(0, self.extra[0]))
            gradients[f"table {self.name}"] = sums.view(self.table.weight.shape)
        return gradients

    def _spread(self, rows: Tensor, name: str) -> Tensor:
        """The rows of the selected texts [R, T, H] among all texts, with zeros elsewhere.

        A sum over all texts rounds the same for any selection of texts, so that a replica's sums
        do not depend on what the others read.
        """
        if self.texts == self.all_texts:
            return rows
        if name not in self.spreads:
            self.spreads[name] = rows.new_zeros(len(rows), self.all_texts, rows.shape[2])
            at = self.selected + np.arange(len(rows))[:, None] * self.all_texts
            self.at = torch.from_numpy(at.ravel()).to(rows.device)
        spread = self.spreads[name]
        width = rows.shape[2]
        spread.view(-1, width).index_copy_(0, self.at, rows.view(-1, width))
        return spread


class FusedAdam:
    """The steps of `Adam` in one operation, for replicas that have made the same number."""

    def __init__(self, adam: Adam) -> None:
        tables = {f"table {name}": table.weight for name, table in adam.model.tables.items()}
        self.rate = adam.learning_rate
        self.weights = {**adam.model.weights, **tables}
        self.m, self.v, self.counts = adam.moments(self.weights)
        self.applies = all(bool((count == count[0]).all()) for count in self.counts)

    def move(self, gradients: Gradients) -> None:
        ordered = [gradients[name] for name in self.weights]
        steps = [count[0, 0, 0] for count in self.counts]
        fused_adam(self.rate, list(self.weights.values()), ordered, self.m, self.v, steps)
        for count in self.counts:
            count.fill_(float(count[0, 0, 0]))


class FastReturnLearning(ReturnLearning):
    """The updates of `ReturnLearning`, up to rounding, and `ReturnLearning` for other models.

    Noise in texts is drawn differently, for all texts at once.
    """

    def fit(self, fits: Fits, generators: Generators) -> None:
        model = self.student
        adam = self.optimiser
        if type(adam) is not Adam or not fits.weights.all() or not can_fit(model):
            return super().fit(fits, generators)
        assert isinstance(model, DRRN)
        optimiser = FusedAdam(adam)
        states = Tower(model, "state", fits.pages.states)
        actions = Tower(model, "action", fits.pages.actions[..., 0])
        if not optimiser.applies:
            return super().fit(fits, generators)
        state_rows = states.rows(fits.pages.states)
        action_rows = actions.rows(fits.pages.actions[..., 0])
        targets = torch.from_numpy(fits.targets).to(model.device)
        state_noise, action_noise = noise_of(self.settings)
        for k in range(len(fits.targets)):
            states.add_noise(state_noise, generators)
            actions.add_noise(action_noise, generators)
            optimiser.move(gradients(states, actions, state_rows[k], action_rows[k], targets[k]))
            if self.average:
                self.average.follow()
        pairs = rows_of(states, state_rows[-1]) * rows_of(actions, action_rows[-1])
        errors = targets[-1] - pairs.sum(1).view(targets[-1].shape)
        self.last_errors = (errors, fits.weights[-1])


@torch.no_grad()
def rows_of(tower: Tower, rows: Tensor) -> Tensor:
    """The vectors of texts, by the rows that they have in a tower."""
    hidden = tower.forward()
    return hidden.view(-1, hidden.shape[2]).index_select(0, rows)


@torch.no_grad()
def gradients(
    states: Tower, actions: Tower, state_rows: Tensor, action_rows: Tensor, targets: Tensor
) -> Gradients:
    """The gradients of Σ ½ (y - Q)², for rows of texts [R · B] and targets [R, B]."""
    h_s = states.forward()
    h_a = actions.forward()
    flat_s = h_s.view(-1, h_s.shape[2])
    flat_a = h_a.view(-1, h_a.shape[2])
    s = flat_s.index_select(0, state_rows)
    a = flat_a.index_select(0, action_rows)
    error = targets - (s * a).sum(1).view(targets.shape)
    delta = error.view(-1, 1).neg()
    back_s = torch.zeros_like(flat_s).index_add_(0, state_rows, a.mul_(delta)).view(h_s.shape)
    back_a = torch.zeros_like(flat_a).index_add_(0, action_rows, s.mul_(delta)).view(h_a.shape)
    return {**states.backward(back_s), **actions.backward(back_a)}
