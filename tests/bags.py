"""Bags of words in tests."""


def bag_of(texts, text, norm=None):
    """Return the counts of one text of a lexicon, by word id."""
    starts, words, counts = texts.bags(norm)
    span = slice(starts[text], starts[text + 1])
    return dict(zip(words[span].tolist(), counts[span].tolist(), strict=True))
