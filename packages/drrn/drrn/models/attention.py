"""Attention: the mean of a text's word vectors, with weights that depend on the other text.

The weight of a word of the state depends on the action, and that of a word of the action on the
state. So a text has a vector for each text it is paired with. Where a model reads a text alone, a
learned query replaces the other text.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from drrn.models.base import Model, Pages, pick
from drrn.models.encoders.base import Encoder, Weights, WordBatch, in_sequence
from drrn.models.encoders.recurrent import WORD_SCALE

POSITION_WIDTH = 16  # sines and cosines of wavelengths from 6 to 20,000 words
# From the vectors of both texts of each pair, [R, B, A, H] and [R, B, A, H'], to Q [R, B, A].
QOfPairs = Callable[[Tensor, Tensor], Tensor]


class AttentionEncoder(Encoder):
    """x = (Σ α_w v_w) W, α = softmax(v_w · q / √E + s_w · p), q = m Q + q₀, p = m P + p₀.

    m is the mean of the other text's word vectors.
    """

    linear = False
    reads_pairs = True

    def __init__(self, model: Weights, name: str, side: str, width: int) -> None:
        self.word_width = model.shape.embedding or width
        super().__init__(model, name, side, width, self.word_width)
        model.tables[name].scale = WORD_SCALE
        model.add_weight(f"{name} value", self.word_width, width, self.word_width**-0.5)
        model.add_bias(f"{name} query b", self.word_width)
        model.add_bias(f"{name} place b", POSITION_WIDTH)

    @property
    def summary_width(self) -> int:
        return self.word_width

    def pair_with(self, model: Weights, other: int) -> None:
        model.add_weight(f"{self.name} query", other, self.word_width, other**-0.5)
        model.add_weight(f"{self.name} place", other, POSITION_WIDTH, other**-0.5)

    def encode(self, model: Weights, words: Tensor, mask: Tensor) -> Tensor:
        return self.attend(model, words, mask, None).squeeze(2)

    def attend(self, model: Weights, words: Tensor, mask: Tensor, others: Tensor | None) -> Tensor:
        """Vectors [R, N, K, H] of texts from their word vectors [R, N, L, E] and mask.

        `others` are summaries of the K texts paired with each, [R, N, K, S], or None.
        """
        query = self._query(model, "query", others)
        position_query = self._query(model, "place", others)
        scores = query @ words.transpose(2, 3) / self.word_width**0.5
        scores = scores + position_query @ positions(words).T
        weights = scores.masked_fill(~mask.unsqueeze(2), -1e9).softmax(dim=3) * mask.unsqueeze(2)
        replicas, count, pairs, _ = weights.shape
        mixed = (weights @ words).view(replicas, -1, self.word_width)
        vectors = torch.bmm(mixed, model.weights[f"{self.name} value"])
        return vectors.view(replicas, count, pairs, -1)

    def _query(self, model: Weights, part: str, others: Tensor | None) -> Tensor:
        """q or p for each pair, [R, N, K, …], or [R, 1, 1, …] for texts read alone."""
        bias = model.weights[f"{self.name} {part} b"]
        if others is None:
            return bias.unsqueeze(1)
        flat = others.reshape(len(others), -1, others.shape[3])
        query = torch.baddbmm(bias, flat, model.weights[f"{self.name} {part}"])
        return query.view(*others.shape[:3], -1)


def positions(words: Tensor) -> Tensor:
    """The encoding of each position up to the longest text, [L, POSITION_WIDTH]."""
    half = POSITION_WIDTH // 2
    lengths = 20_000 ** (torch.arange(half, device=words.device) / half)
    angles = torch.arange(words.shape[2], device=words.device).unsqueeze(1) / lengths
    return torch.cat([angles.sin(), angles.cos()], dim=1)


# --- pairs of texts


@dataclass(frozen=True)
class _Side:
    """The distinct texts of a batch: as words if the encoder reads pairs, else as vectors."""

    encoder: AttentionEncoder | None
    vectors: Tensor  # [R, U, L, E] of words, or [R, U, H]
    mask: Tensor | None  # [R, U, L]
    index: Tensor | None  # [R, N]

    def span(self, texts: slice) -> _Side:
        return self if self.index is None else replace(self, index=self.index[:, texts])

    def summaries(self) -> Tensor:
        """What represents each text to the texts of the other side: [R, N, S]."""
        if self.mask is None:
            return pick(self.vectors, self.index)
        means = self.vectors.sum(2) / self.mask.sum(2, keepdim=True).clamp(min=1)  # of words
        return pick(means, self.index)

    def pair_with(self, model: Model, others: Tensor) -> Tensor:
        """Pair each text with K others [R, N, K, S]: [R, N, K, H]."""
        if self.encoder is None or self.mask is None or self.index is None:
            vectors = pick(self.vectors, self.index).unsqueeze(2)
            return vectors.expand(-1, -1, others.shape[2], -1)
        replicas, texts, longest, width = self.vectors.shape
        words = pick(self.vectors.reshape(replicas, texts, longest * width), self.index)
        words = words.view(replicas, -1, longest, width)
        mask = self.mask.reshape(replicas * texts, longest)[self.index]
        return self.encoder.attend(model, words, mask, others)


def _side(model: Model, pages: Pages, name: str) -> _Side:
    encoder = model.encoders[name]
    batch = pages.texts[name]
    if isinstance(encoder, AttentionEncoder) and isinstance(batch, WordBatch):
        words, mask = in_sequence(batch.word_vectors(model, pages.leaves), batch.layout)
        return _Side(encoder, words, mask, batch.index)
    return _Side(None, batch.encode(model, pages.leaves), None, batch.index)


def pair_vectors(model: Model, pages: Pages) -> tuple[Tensor, Tensor]:
    """Read both texts of every pair of a batch, by the encoders that `model.pairs` names."""
    replicas, batch, most = pages.actions.shape
    state_name, action_name = model.pairs
    states = _side(model, pages, state_name)
    if state_name != action_name:
        actions = _side(model, pages, action_name)
    else:  # one encoder, which reads the states and then the actions
        actions = states.span(slice(batch, None))
        states = states.span(slice(batch))
    of_actions = actions.summaries().view(replicas, batch, most, -1)
    of_states = states.summaries().unsqueeze(2).expand(-1, -1, most, -1)
    of_states = of_states.reshape(replicas, batch * most, 1, -1)
    s = states.pair_with(model, of_actions)
    a = actions.pair_with(model, of_states)
    return s, a.reshape(replicas, batch, most, -1)


def q_by_pairs(
    model: Model, pages: Pages, q_of: QOfPairs, most_pairs: int = 2048, most_words: int = 2**21
) -> Tensor:
    """Q [R, B, A] of a batch's pairs by `q_of`.

    Without gradients, some pages are read at a time: the words of all pairs take memory.
    """
    count = pages.states.shape[1]
    most = pages.actions.shape[2]
    store = pages.store or model.store
    action_words = most * store.actions.lengths(pages.actions).max(initial=1)
    words = max(action_words, store.states.lengths(pages.states).max(initial=1))
    at_once = max(1, min(most_pairs // most, most_words // int(words)))
    if pages.leaves is not None or count <= at_once:
        return q_of(*pair_vectors(model, pages))
    parts = []
    for start in range(0, count, at_once):
        part = pages[None, :, start : start + at_once]
        parts.append(q_of(*pair_vectors(model, model.read(part)[0])))
    return torch.cat(parts, dim=1)
