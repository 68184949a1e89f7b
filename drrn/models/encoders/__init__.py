"""From texts to vectors: an encoder reads each distinct text of a batch once. A new one is a class, a line here, a name in `settings`."""

from drrn.models.encoders.bag import BagOfWords
from drrn.models.encoders.base import Encoder

ENCODERS: dict[str, type[Encoder]] = {"bag": BagOfWords}

__all__ = ["ENCODERS", "BagOfWords", "Encoder"]
