"""Word vectors that others trained, read from a file that stays on the disk: GloVe's, word2vec's, safetensors."""

from drrn.vectors.word_vectors import WordVectors, open_vectors

__all__ = ["WordVectors", "open_vectors"]
