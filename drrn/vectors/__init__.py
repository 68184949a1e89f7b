"""Vectors that others trained: of words, from a file, and of whole texts, from a function."""

from drrn.vectors.sentences import SentenceVectors, open_sentences
from drrn.vectors.word_vectors import WordVectors, open_vectors

__all__ = ["SentenceVectors", "WordVectors", "open_sentences", "open_vectors"]
