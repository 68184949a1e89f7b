"""Encoders, which turn texts into vectors. The names are also in the settings."""

from drrn.models.encoders.attention import AttentionEncoder
from drrn.models.encoders.bag import BagOfWords
from drrn.models.encoders.base import Encoder
from drrn.models.encoders.recurrent import GRUEncoder, LSTMEncoder
from drrn.models.encoders.vectors import BagAndVectors, MeanOfVectors, SentenceEncoder

ENCODERS: dict[str, type[Encoder]] = {
    "bag": BagOfWords,
    "lstm": LSTMEncoder,
    "gru": GRUEncoder,
    "attention": AttentionEncoder,
    "vectors": MeanOfVectors,
    "bag+vectors": BagAndVectors,
    "sentence": SentenceEncoder,
}
