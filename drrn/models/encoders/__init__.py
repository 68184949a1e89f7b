"""From texts to vectors; a new encoder is a class, a line here, and its name in `settings.ENCODERS`."""

from drrn.models.encoders.attention import AttentionEncoder
from drrn.models.encoders.bag import BagOfWords
from drrn.models.encoders.base import Encoder
from drrn.models.encoders.gru import GRUEncoder
from drrn.models.encoders.lstm import LSTMEncoder
from drrn.models.encoders.sentence import SentenceEncoder
from drrn.models.encoders.trained_vectors import BagAndTrainedVectors, TrainedVectors
from drrn.models.encoders.vectors import BagAndVectors, MeanOfVectors

ENCODERS: dict[str, type[Encoder]] = {
    "bag": BagOfWords,
    "lstm": LSTMEncoder,
    "gru": GRUEncoder,
    "attention": AttentionEncoder,
    "vectors": MeanOfVectors,
    "bag+vectors": BagAndVectors,
    "sentence": SentenceEncoder,
}
# What stands for the encoders of word vectors where these are trained on.
TRAINED: dict[type[Encoder], type[Encoder]] = {
    MeanOfVectors: TrainedVectors,
    BagAndVectors: BagAndTrainedVectors,
}

__all__ = ["ENCODERS", "TRAINED", "BagAndVectors", "BagOfWords", "Encoder", "MeanOfVectors"]
