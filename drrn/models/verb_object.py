"""The DQN of Narasimhan et al. (2015) for commands of two words: Q(s, verb) and Q(s, object), averaged.

With the encoder `bag` and two layers it is BOW-DQN, with `lstm` and two layers LSTM-DQN.
"""

from __future__ import annotations

import torch
from torch import Tensor

from drrn.models.base import Model, Pages, Reading, picked
from drrn.models.encoders.base import Leaves, Weights
from drrn.models.encoders.sequence import SequenceEncoder
from drrn.text import Ids

MANY = 4  # as many distinct actions as so many menus: all of them with all states would be waste


class VerbObjectDQN(Model):
    """Q(s, a) = (w_verb · [h; 1] + w_object · [h; 1]) / 2; h_l = relu(W_l h_{l-1} + b_l), the first from the encoder.

    An action's first word is its verb, the rest its object. Each word has an output of either head; an object of
    several words has the sum of theirs.
    """

    def build(self) -> None:
        width = self.shape.hidden
        self.add_encoder("state", "states", width)
        self.linear = self.encoders["state"].linear  # then its product is the first layer's
        if self.linear:
            self.add_bias("b1", width)
        for layer in range(2, self.shape.layers + 1):
            self.add_weight(f"W{layer}", width, width)
            self.add_bias(f"b{layer}", width)
        for kind in (VerbHead, ObjectHead):
            head = self.encoders[kind.part] = kind(kind.part, "actions", width + 1)
            head.build(self)

    def reads(self, pages: Pages) -> dict[str, Ids]:
        actions = pages.flat_actions
        return {"state": pages.states, VerbHead.part: actions, ObjectHead.part: actions}

    def forward(self, reading: Reading, leaves: Leaves | None) -> Tensor:
        states, at_state = self.encode(reading, "state", leaves)
        h = picked(self.hidden_layers(states), at_state)  # [R, B, H]
        verbs, at_action = self.encode(reading, VerbHead.part, leaves)
        objects, _ = self.encode(
            reading, ObjectHead.part, leaves
        )  # of the same texts, so at the same places
        ones = h.new_ones(*h.shape[:2], 1)
        return _products(
            torch.cat([h, ones], dim=2),
            (verbs + objects) / 2,
            at_action,
            reading.pages.actions.shape[2],
        )

    def hidden_layers(self, vectors: Tensor) -> Tensor:
        """From a text's vector to the last hidden layer: [R, U, H] → [R, U, H]."""
        h = torch.relu(vectors + self.weights["b1"]) if self.linear else vectors
        for layer in range(2, self.shape.layers + 1):
            h = torch.relu(torch.baddbmm(self.weights[f"b{layer}"], h, self.weights[f"W{layer}"]))
        return h


class VerbHead(SequenceEncoder):
    """The outputs of one head: a row [H + 1] for an action's first word, the last number being the bias."""

    part = "verb"

    def read(self, model: Weights, words: Tensor, mask: Tensor) -> Tensor:
        return words[:, :, 0]


class ObjectHead(SequenceEncoder):
    """The outputs of the other head: the sum of the rows of an action's other words."""

    part = "object"

    def read(self, model: Weights, words: Tensor, mask: Tensor) -> Tensor:
        return words[:, :, 1:].sum(dim=2)


def _products(s: Tensor, a: Tensor, at: Tensor | None, most: int) -> Tensor:
    """s [R, B, H] times those of the distinct actions' vectors [R, U, H] that stand at [R, B · A]: [R, B, A]."""
    replicas, batch, _ = s.shape
    if at is None or a.shape[1] > MANY * most:
        return torch.einsum("rbh,rbah->rba", s, picked(a, at).view(replicas, batch, most, -1))
    first = torch.arange(replicas, device=a.device).view(-1, 1, 1) * a.shape[1]
    return torch.bmm(s, a.transpose(1, 2)).gather(2, at.view(replicas, batch, most) - first)
