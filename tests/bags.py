"""Bags of words in tests."""

import numpy as np


def bag_of(texts, text):
    """The counts of one text of a lexicon, by word id."""
    words, counts, _ = texts.bags(np.array([text]))
    return dict(zip(words.tolist(), counts.tolist(), strict=True))
