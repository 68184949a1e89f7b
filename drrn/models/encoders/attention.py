"""Attention: the mean of a text's word vectors, with weights that depend on the other text.

The weight of a word of the state depends on the action, and that of a word of the action on the
state; so a text has a vector for each text it is paired with. Where a model reads a text alone, a
learned query replaces the other text.
"""

from __future__ import annotations

import torch
from torch import Tensor

from drrn.models.encoders.base import Encoder, Weights
from drrn.models.encoders.recurrent import WORD_SCALE

POSITION_WIDTH = 16  # sines and cosines of wavelengths from 6 to 20,000 words


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
        """Return vectors [R, N, K, H].

        Args:
            model: has the weights.
            words: word vectors of texts, [R, N, L, E].
            mask: true where there is a word, [R, N, L].
            others: summaries of the K texts paired with each, [R, N, K, S]; None: read alone.
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
        """q or p for each pair, [R, N, K, …]; for texts read alone, [R, 1, 1, …]."""
        bias = model.weights[f"{self.name} {part} b"]
        if others is None:
            return bias.unsqueeze(1)
        flat = others.reshape(len(others), -1, others.shape[3])
        query = torch.baddbmm(bias, flat, model.weights[f"{self.name} {part}"])
        return query.view(*others.shape[:3], -1)


def positions(words: Tensor) -> Tensor:
    """Return the encoding of each position up to the longest text, [L, POSITION_WIDTH]."""
    half = POSITION_WIDTH // 2
    lengths = 20_000 ** (torch.arange(half, device=words.device) / half)
    angles = torch.arange(words.shape[2], device=words.device).unsqueeze(1) / lengths
    return torch.cat([angles.sin(), angles.cos()], dim=1)


def mean_of_words(words: Tensor, mask: Tensor) -> Tensor:
    """[R, U, L, E] → [R, U, E]; 0 for a text without words."""
    return words.sum(2) / mask.sum(2, keepdim=True).clamp(min=1)
