"""Models, which compute Q-values: built-in ones by name, a user's as `module:name`."""

import torch

from drrn.models.attention import AttentionEncoder
from drrn.models.base import Model, Pages, pick
from drrn.models.baselines import Linear, LookUpTable, MaxActionDQN, PerActionDQN, VerbObjectDQN
from drrn.models.drrn import DRRN
from drrn.models.encoders.bag import BagOfWords
from drrn.models.encoders.base import Encoder, Shape
from drrn.models.encoders.recurrent import GRUEncoder, LSTMEncoder
from drrn.models.encoders.text_vectors import SentenceTexts, TextVectors
from drrn.models.encoders.vectors import BagAndVectors, MeanOfVectors, SentenceEncoder
from drrn.text import Store
from textgames import registry
from textgames.errors import InputError

MODELS: dict[str, type[Model]] = {
    "drrn": DRRN,
    "linear": Linear,
    "max-action": MaxActionDQN,
    "per-action": PerActionDQN,
    "table": LookUpTable,
    "verb-object": VerbObjectDQN,
}

ENCODERS: dict[str, type[Encoder]] = {
    "bag": BagOfWords,
    "lstm": LSTMEncoder,
    "gru": GRUEncoder,
    "attention": AttentionEncoder,
    "vectors": MeanOfVectors,
    "bag+vectors": BagAndVectors,
    "sentence": SentenceEncoder,
    "hash": BagOfWords,  # of one word, the whole text
}

__all__ = ["Encoder", "Model", "Pages", "SentenceTexts", "Shape", "TextVectors", "pick"]


def build_model(
    name: str, shape: Shape, store: Store, seeds: list[int], device: torch.device
) -> Model:
    """A model with small random weights, one replica for each seed.

    The name is of a built-in model, `module:name`, or one that an installed package registers.
    """
    return model_class(name)(shape, store, seeds, device)


def encoder_of(name: str) -> type[Encoder]:
    """An encoder's class by its name."""
    kind = registry.resolve("encoder", name, ENCODERS)
    if not (isinstance(kind, type) and issubclass(kind, Encoder)):
        raise InputError(f'encoder "{name}": it must be a subclass of drrn.models.Encoder')
    return kind


def model_class(name: str) -> type[Model]:
    """A model's class by its name."""
    kind = registry.resolve("model", name, MODELS)
    if not (isinstance(kind, type) and issubclass(kind, Model)):
        raise InputError(f'model "{name}": it must be a subclass of drrn.models.Model')
    return kind
