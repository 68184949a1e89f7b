"""The deep reinforcement relevance network: two towers, and an interaction (equation 7)."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from drrn.models.attention import q_by_pairs
from drrn.models.base import Model, Pages, pick
from textgames import registry
from textgames.arrays import Ids
from textgames.errors import InputError


class DRRN(Model):
    """Q(s, a) = g(h_s, h_a), h₁ = tanh(W₁ x + b₁), h_l = tanh(W_l h_{l-1} + b_l) on each side."""

    def build(self) -> None:
        shape = self.shape
        self.widths = (shape.hidden, shape.action_hidden or shape.hidden)
        sides = {"text": "states"} if shape.shared else {"state": "states", "action": "actions"}
        for (side, texts), width in zip(sides.items(), self.widths, strict=False):
            self.add_encoder(side, texts, width)
            self.add_layers(f"{side} ", width)
        self.pair_up(*(("text", "text") if shape.shared else ("state", "action")))
        self.interaction = interaction_of(shape.interaction)
        self.interaction.prepare(self)

    def reads(self, pages: Pages) -> dict[str, Ids]:
        actions = pages.flat_actions
        if self.shape.shared:
            return {"text": np.concatenate([pages.states, actions], axis=-1)}
        return {"state": pages.states, "action": actions}

    def forward(self, pages: Pages) -> Tensor:
        if self.reads_pairs:
            return q_by_pairs(self, pages, self.of_pairs)
        return self.interaction.interact(self, *self.embeddings(pages))

    def of_pairs(self, states: Tensor, actions: Tensor) -> Tensor:
        """Q [R, B, A] of texts that were read in pairs. A pair is a page of one action."""
        s = self.layers(f"{self.pairs[0]} ", states.flatten(1, 2))  # [R, B · A, H]
        a = self.layers(f"{self.pairs[1]} ", actions.flatten(1, 2)).unsqueeze(2)
        return self.interaction.interact(self, s, a).view(states.shape[:3])

    def embeddings(self, pages: Pages) -> tuple[Tensor, Tensor]:
        """Return h_s [R, B, H] and h_a [R, B, A, H'] of pages."""
        replicas, batch, most = pages.actions.shape
        h = []
        for name in ("text",) if self.shape.shared else ("state", "action"):
            vectors, index = self.encode(pages, name)
            h.append(pick(self.layers(f"{name} ", vectors), index))
        s, a = (h[0][:, :batch], h[0][:, batch:]) if self.shape.shared else h
        return s, a.reshape(replicas, batch, most, -1)


# --- interactions: from s [R, B, H] and a [R, B, A, H'] to Q [R, B, A]


@dataclass(frozen=True)
class Interaction:
    """A function of (model, s, a), and one that adds its weights to the model."""

    interact: Callable[[Model, Tensor, Tensor], Tensor]
    prepare: Callable[[Model], None] = lambda model: None


def inner(model: Model, s: Tensor, a: Tensor) -> Tensor:
    """h_sᵀ h_a."""
    return torch.einsum("rbh,rbah->rba", s, a)


def bilinear(model: Model, s: Tensor, a: Tensor) -> Tensor:
    """h_sᵀ M h_a: the two sides may differ in size."""
    return inner(model, s @ model.weights["interaction"], a)


def network(model: Model, s: Tensor, a: Tensor) -> Tensor:
    """A hidden layer over both embeddings, then one output."""
    w = model.weights
    from_state = (s @ w["interaction s"] + w["interaction b"]).unsqueeze(2)  # [R, B, 1, H]
    from_action = torch.einsum("rbah,rhk->rbak", a, w["interaction a"])
    hidden = torch.tanh(from_state + from_action)
    return torch.einsum("rbak,rk->rba", hidden, w["interaction out"].squeeze(-1))


def _prepare_inner(model: Model) -> None:
    if model.widths[0] != model.widths[1]:
        sizes = f"{model.widths[0]} and {model.widths[1]}"
        remedy = "use the bilinear or network interaction"
        raise InputError(
            f"the inner product needs two sides of the same size, not {sizes}; {remedy}"
        )


def _prepare_network(model: Model) -> None:
    states, actions = model.widths
    model.add_weight("interaction s", states, states)
    model.add_weight("interaction a", actions, states)
    model.add_bias("interaction b", states)
    model.add_weight("interaction out", states, 1)


INTERACTIONS: dict[str, Interaction] = {
    "inner": Interaction(inner, _prepare_inner),
    "bilinear": Interaction(bilinear, lambda model: model.add_weight("interaction", *model.widths)),
    "network": Interaction(network, _prepare_network),
}


def interaction_of(name: str) -> Interaction:
    """An interaction by name. A user's may be a plain function of (model, s, a)."""
    value = registry.resolve("interaction", name, INTERACTIONS)
    if isinstance(value, Interaction):
        return value
    if isinstance(value, type) or not callable(value):
        needed = "it must be an Interaction, or a function of (model, s, a)"
        raise InputError(f'interaction "{name}": {needed}')
    return Interaction(value)
