"""Attention: a text is a mean of its words' vectors, each with a learned weight that the other text helps to set.

The weight of a word of the state depends on the action, and that of a word of the action on the state; so a text has a
vector for each text beside it. Where a model reads a text alone, a learned question takes the place of the other text.
"""

from __future__ import annotations

import torch
from torch import Tensor

from drrn.models.encoders.base import Weights
from drrn.models.encoders.recurrent import WORD_SCALE
from drrn.models.encoders.sequence import SequenceEncoder

PLACES = 16  # numbers that say where a word stands: sines and cosines of wave lengths from 6 to 20,000 words


class AttentionEncoder(SequenceEncoder):
    """x = (Σ α_w v_w) W, α = softmax(v_w · q / √E + s_w · p), q = m Q + q₀, p = m P + p₀; m: the other text's mean."""

    linear = False
    reads_pairs = True

    def build(self, model: Weights) -> None:
        self.wide = model.embedding or self.width
        model.add_table(self.name, self.side, self.wide)
        model.tables[self.name].scale = WORD_SCALE
        model.add_weight(f"{self.name} value", self.wide, self.width, self.wide**-0.5)
        model.add_bias(f"{self.name} query b", self.wide)
        model.add_bias(f"{self.name} place b", PLACES)

    @property
    def summary_width(self) -> int:
        return self.wide

    def pair_with(self, model: Weights, other: int) -> None:
        model.add_weight(f"{self.name} query", other, self.wide, other**-0.5)
        model.add_weight(f"{self.name} place", other, PLACES, other**-0.5)

    def read(self, model: Weights, words: Tensor, mask: Tensor) -> Tensor:
        return self.attend(model, words, mask, None)[0].squeeze(2)

    def attend(
        self, model: Weights, words: Tensor, mask: Tensor, others: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """Of texts' words [R, N, L, E], each text read beside K others [R, N, K, S] or alone: vectors [R, N, K, H], and
        the weights [R, N, K, L], 0 where there is no word."""
        query, place = (self._asked(model, part, others) for part in ("query", "place"))
        scores = query @ words.transpose(2, 3) / self.wide**0.5 + place @ positions(words).T
        weights = scores.masked_fill(~mask.unsqueeze(2), -1e9).softmax(dim=3) * mask.unsqueeze(2)
        replicas, count, others_each, _ = weights.shape
        mixed = (weights @ words).view(replicas, -1, self.wide)
        vectors = torch.bmm(mixed, model.weights[f"{self.name} value"])
        return vectors.view(replicas, count, others_each, -1), weights

    def _asked(self, model: Weights, part: str, others: Tensor | None) -> Tensor:
        """q or p for each text and each of its others: [R, N, K, …]; alone [R, 1, 1, …]."""
        bias = model.weights[f"{self.name} {part} b"]
        if others is None:
            return bias.unsqueeze(1)
        matrix = model.weights[f"{self.name} {part}"]
        found = torch.baddbmm(bias, others.reshape(len(others), -1, others.shape[3]), matrix)
        return found.view(*others.shape[:3], -1)


def positions(words: Tensor) -> Tensor:
    """Where each word of the longest text stands, as numbers: [L, PLACES]."""
    lengths = 20_000 ** (torch.arange(PLACES // 2, device=words.device) / (PLACES // 2))
    angles = torch.arange(words.shape[2], device=words.device).unsqueeze(1) / lengths
    return torch.cat([angles.sin(), angles.cos()], dim=1)


def mean_of_words(words: Tensor, mask: Tensor) -> Tensor:
    """[R, U, L, E] → [R, U, E]; of a text without words, 0."""
    return words.sum(2) / mask.sum(2, keepdim=True).clamp(min=1)
