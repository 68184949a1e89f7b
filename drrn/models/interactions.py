"""How a state's and an action's embedding give a Q-value: g(h_s, h_a), the paper's equation 7.

An interaction takes s [R, B, H] and a [R, B, A, H'] and gives [R, B, A]. A new one is a function and a line in
`INTERACTIONS`; what weights it needs it names in `prepare`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from drrn import registry
from drrn.errors import InputError
from drrn.models.base import Model

Interact = Callable[[Model, Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class Interaction:
    """How Q comes of a state's vector and an action's, and the weights that takes, if any."""

    interact: Interact
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
    return torch.einsum(
        "rbak,rk->rba", torch.tanh(from_state + from_action), w["interaction out"].squeeze(-1)
    )


def _prepare_inner(model: Model) -> None:
    if model.widths[0] != model.widths[1]:
        raise InputError(
            f"the inner product needs both sides of one size, not {model.widths[0]} and {model.widths[1]}: "
            "use the bilinear or network interaction"
        )


def _prepare_bilinear(model: Model) -> None:
    model.add_weight("interaction", *model.widths)


def _prepare_network(model: Model) -> None:
    states, actions = model.widths
    model.add_weight("interaction s", states, states)
    model.add_weight("interaction a", actions, states)
    model.add_bias("interaction b", states)
    model.add_weight("interaction out", states, 1)


INTERACTIONS: dict[str, Interaction] = {
    "inner": Interaction(inner, _prepare_inner),
    "bilinear": Interaction(bilinear, _prepare_bilinear),
    "network": Interaction(network, _prepare_network),
}


def interaction_of(name: str) -> Interaction:
    """An interaction by name; one of the user's, as module:name, may be a plain function of (model, s, a)."""
    found = registry.resolve("interaction", name, INTERACTIONS)
    if isinstance(found, Interaction):
        return found
    if isinstance(found, type) or not callable(found):
        raise InputError(
            f'interaction "{name}": it must be an Interaction, or a function of (model, s, a)'
        )
    return Interaction(found)
