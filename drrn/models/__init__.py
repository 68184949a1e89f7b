"""Models that give Q-values: those built in, by name, and classes of the user's as `module:name`."""

from __future__ import annotations

import torch

from drrn import registry
from drrn.errors import InputError
from drrn.models.base import Model, Pages, Shape
from drrn.models.baselines import Linear, LookUpTable, MaxActionDQN, PerActionDQN
from drrn.models.drrn import DRRN
from drrn.models.encoders import ENCODERS, TRAINED, Encoder
from drrn.models.encoders.sentence import SentenceTexts
from drrn.models.encoders.text_vectors import TextVectors
from drrn.models.interactions import INTERACTIONS
from drrn.models.verb_object import VerbObjectDQN
from drrn.text import Store

MODELS: dict[str, type[Model]] = {
    "drrn": DRRN,
    "linear": Linear,
    "max-action": MaxActionDQN,
    "per-action": PerActionDQN,
    "table": LookUpTable,
    "verb-object": VerbObjectDQN,
}

__all__ = ["INTERACTIONS", "MODELS", "Model", "Pages", "SentenceTexts", "Shape", "TextVectors", "build_model",
           "encoder_of"]  # fmt: skip


def build_model(
    name: str, shape: Shape, store: Store, seeds: list[int], device: torch.device
) -> Model:
    """A model by name, with small random weights, one replica for each seed."""
    return model_class(name)(shape, store, seeds, device)


def encoder_of(name: str, *, trained: bool = False) -> type[Encoder]:
    """An encoder's class: of the built-in name, or of the user's module:name, or registered by a package; of those that
    read word vectors, the one that trains them on, if wanted."""
    found = registry.resolve("encoder", name, ENCODERS)
    if not (isinstance(found, type) and issubclass(found, Encoder)):
        raise InputError(f'encoder "{name}": it must be a subclass of drrn.models.encoders.Encoder')
    return TRAINED.get(found, found) if trained else found


def model_class(name: str) -> type[Model]:
    """A model's class: of the built-in name, or of the user's module:name, or registered by a package."""
    found = registry.resolve("model", name, MODELS)
    if not (isinstance(found, type) and issubclass(found, Model)):
        raise InputError(f'model "{name}": it must be a subclass of drrn.models.Model')
    return found
