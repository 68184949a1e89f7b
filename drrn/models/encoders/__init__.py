"""Encoders, which turn texts into vectors. The names are also in the settings."""

from drrn.models.encoders.attention import AttentionEncoder
from drrn.models.encoders.bag import BagOfWords
from drrn.models.encoders.base import Encoder, Leaves
from drrn.models.encoders.recurrent import GRUEncoder, LSTMEncoder
from drrn.models.encoders.vectors import (
    BagAndTrainedVectors,
    BagAndVectors,
    MeanOfVectors,
    SentenceEncoder,
    TrainedVectors,
)

ENCODERS: dict[str, type[Encoder]] = {
    "bag": BagOfWords,
    "lstm": LSTMEncoder,
    "gru": GRUEncoder,
    "attention": AttentionEncoder,
    "vectors": MeanOfVectors,
    "bag+vectors": BagAndVectors,
    "sentence": SentenceEncoder,
}
# replacements where given word vectors are trained
TRAINED: dict[type[Encoder], type[Encoder]] = {
    MeanOfVectors: TrainedVectors,
    BagAndVectors: BagAndTrainedVectors,
}

__all__ = [
    "ENCODERS",
    "TRAINED",
    "BagAndVectors",
    "BagOfWords",
    "Encoder",
    "Leaves",
    "MeanOfVectors",
]
