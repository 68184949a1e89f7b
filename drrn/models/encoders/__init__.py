"""From texts to vectors; a new encoder is a class, a line here, and its name in `settings.ENCODERS`."""

from drrn.models.encoders.attention import AttentionEncoder
from drrn.models.encoders.bag import BagOfWords
from drrn.models.encoders.base import Encoder
from drrn.models.encoders.gru import GRUEncoder
from drrn.models.encoders.lstm import LSTMEncoder
from drrn.models.encoders.vectors import BagAndVectors, MeanOfVectors

ENCODERS: dict[str, type[Encoder]] = {
    "bag": BagOfWords,
    "lstm": LSTMEncoder,
    "gru": GRUEncoder,
    "attention": AttentionEncoder,
    "vectors": MeanOfVectors,
    "bag+vectors": BagAndVectors,
}

__all__ = ["ENCODERS", "BagAndVectors", "BagOfWords", "Encoder", "MeanOfVectors"]
