"""Small files of word vectors, with and without word2vec's first line."""

import numpy as np

# By frequency, as in published files; includes the parts that GloVe's tokeniser produces.
WORDS = (
    "the to 's n't do not go sea a you it on out row is in boat light lamp wait 1 2 7 captain rock "
    "12 th grey home swim sail b man night day see look up down"
).split()


def matrix(words=WORDS, dimensions=6, seed=0):
    """Return random vectors that decimal text represents exactly."""
    values = np.random.default_rng(seed).integers(-128, 128, size=(len(words), dimensions)) / 64
    return values.astype(np.float32)


def glove(words, vectors, end="\n"):
    lines = [
        f"{word} {' '.join(map(str, row))}"
        for word, row in zip(words, vectors.tolist(), strict=True)
    ]
    return (end.join(lines) + end).encode()


def word2vec_text(words, vectors):
    return f"{len(words)} {vectors.shape[1]}\n".encode() + glove(
        words, vectors, end=" \n"
    )  # word2vec ends lines with a space


FORMS = {"glove.txt": glove, "word2vec.txt": word2vec_text}


def vector_file(folder, name="glove.txt", words=WORDS, vectors=None):
    """Write a file in the format of its name; return its path."""
    path = folder / name
    path.write_bytes(FORMS[name](words, matrix(words) if vectors is None else vectors))
    return path
