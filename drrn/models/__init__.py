"""Models that give Q-values; a new one is a class and a line in `MODELS`."""

from __future__ import annotations

import torch

from drrn.errors import InputError, did_you_mean
from drrn.models.base import Model, Pages, Shape
from drrn.models.baselines import Linear, MaxActionDQN, PerActionDQN, Table
from drrn.models.drrn import DRRN
from drrn.models.interactions import INTERACTIONS
from drrn.text import Lexicon

MODELS: dict[str, type[Model]] = {
    "drrn": DRRN,
    "linear": Linear,
    "max-action": MaxActionDQN,
    "per-action": PerActionDQN,
    "table": Table,
}

__all__ = ["INTERACTIONS", "MODELS", "Model", "Pages", "Shape", "build_model"]


def build_model(
    name: str, shape: Shape, states: Lexicon, actions: Lexicon, seeds: list[int], device: torch.device
) -> Model:
    """A model by name, with small random weights, one replica for each seed."""
    if name not in MODELS:
        raise InputError(f'no model is named "{name}".{did_you_mean(name, MODELS)} Known: {", ".join(MODELS)}')
    if shape.interaction not in INTERACTIONS:
        near = did_you_mean(shape.interaction, INTERACTIONS)
        raise InputError(f'no interaction is named "{shape.interaction}".{near} Known: {", ".join(INTERACTIONS)}')
    return MODELS[name](shape, states, actions, seeds, device)
