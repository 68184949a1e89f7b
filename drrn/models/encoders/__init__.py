"""From texts to vectors; a new encoder is a class, a line here, and its name in `settings.ENCODERS`."""

from drrn.models.encoders.bag import BagOfWords
from drrn.models.encoders.base import Encoder

ENCODERS: dict[str, type[Encoder]] = {"bag": BagOfWords}

__all__ = ["ENCODERS", "BagOfWords", "Encoder"]
