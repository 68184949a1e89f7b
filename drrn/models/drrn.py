"""The deep reinforcement relevance network: two towers, and an interaction of what they give."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from drrn.models.base import Model, Pages, Reading, picked
from drrn.models.encoders.base import Leaves
from drrn.models.interactions import interaction_of
from drrn.models.pairs import Paired, paired_q
from drrn.text import Ids


class DRRN(Model):
    """Q(s, a) = g(h_s, h_a); h₁ = tanh(W₁ x + b₁), h_l = tanh(W_l h_{l-1} + b_l), for each side its own."""

    def build(self) -> None:
        shape = self.shape
        self.widths = (shape.hidden, shape.action_hidden or shape.hidden)
        sides = {"text": "states"} if shape.shared else {"state": "states", "action": "actions"}
        for (side, texts), width in zip(sides.items(), self.widths, strict=False):
            self.add_encoder(side, texts, width)
            self.add_bias(f"{side} b1", width)
            for layer in range(2, shape.layers + 1):
                self.add_weight(f"{side} W{layer}", width, width)
                self.add_bias(f"{side} b{layer}", width)
        self.pair_up(*(("text", "text") if shape.shared else ("state", "action")))
        self.interaction = interaction_of(shape.interaction)
        self.interaction.prepare(self)

    def reads(self, pages: Pages) -> dict[str, Ids]:
        actions = pages.flat_actions
        if self.shape.shared:
            return {"text": np.concatenate([pages.states, actions], axis=-1)}
        return {"state": pages.states, "action": actions}

    def forward(self, reading: Reading, leaves: Leaves | None) -> Tensor:
        if self.reads_pairs:
            return paired_q(self, reading, leaves, self.of_pairs)
        return self.interaction.interact(self, *self.embeddings(reading, leaves))

    def of_pairs(self, pair: Paired) -> Tensor:
        """Q of texts that were read one beside the other: to the interaction, each pair is a page of one action."""
        assert self.pairs is not None
        s = self.tower(self.pairs[0], pair.states.flatten(1, 2))  # [R, B · A, H]
        a = self.tower(self.pairs[1], pair.actions.flatten(1, 2)).unsqueeze(2)
        return self.interaction.interact(self, s, a).view(pair.states.shape[:3])

    def embeddings(self, reading: Reading, leaves: Leaves | None = None) -> tuple[Tensor, Tensor]:
        """h_s [R, B, H] and h_a [R, B, A, H'] of pages."""
        replicas, batch, most = reading.pages.actions.shape
        if self.shape.shared:
            vectors, at = self.encode(reading, "text", leaves)
            h = picked(self.tower("text", vectors), at)
            s = h[:, :batch]
            a = h[:, batch:]
        else:
            sides = {side: self.encode(reading, side, leaves) for side in ("state", "action")}
            s, a = (
                picked(self.tower(side, vectors), at) for side, (vectors, at) in sides.items()
            )  # [R, B · A, H]
        return s, a.reshape(replicas, batch, most, -1)

    def tower(self, side: str, vectors: Tensor) -> Tensor:
        """From texts after the first layer's product to their embeddings: [R, U, H] → [R, U, H]."""
        h = torch.tanh(vectors + self.weights[f"{side} b1"])
        for layer in range(2, self.shape.layers + 1):
            h = torch.tanh(
                torch.baddbmm(self.weights[f"{side} b{layer}"], h, self.weights[f"{side} W{layer}"])
            )
        return h
