"""Words, vocabularies and bags: each distinct text is read once and from then on is a number.

A word is a lower-cased run of letters and digits; an apostrophe inside a word stays with it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")

Ids = NDArray[np.int64]


def words(text: str) -> list[str]:
    return WORD.findall(text.lower().replace("’", "'"))


class Lexicon:
    """A vocabulary that grows, and texts interned to ids, each with its sparse bag of words.

    A bag holds raw counts, or, with a `norm`, counts scaled to that Euclidean length. The bags of all texts lie in one
    pair of arrays, `word_ids` and `counts`; text i has the slice from `starts[i]` to `starts[i + 1]`, its word ids
    ascending.
    """

    def __init__(self, vocabulary: Iterable[str] = (), norm: float | None = None) -> None:
        self.norm = norm
        self.spelled: list[str] = list(dict.fromkeys(vocabulary))  # words by number
        self.vocabulary: dict[str, int] = {word: number for number, word in enumerate(self.spelled)}
        self.texts: list[str] = []
        self.grows = True  # while False, a word not in the vocabulary counts for nothing
        self._ids: dict[str, int] = {}
        self._partial: set[int] = set()  # texts read while the vocabulary was closed, with words left out
        self._starts = np.zeros(1024, np.int64)
        self._words = np.zeros(16384, np.int64)
        self._counts = np.zeros(16384, np.float32)

    def __len__(self) -> int:
        return len(self.texts)

    def id(self, text: str) -> int:
        """The text's number; a text not met before is read and kept."""
        found = self._ids.get(text)
        if found is None or (self.grows and found in self._partial):
            return self._intern(text)
        return found

    @property
    def starts(self) -> Ids:
        return self._starts[: len(self.texts) + 1]

    @property
    def word_ids(self) -> Ids:
        return self._words[: self.starts[-1]]

    @property
    def counts(self) -> NDArray[np.float32]:
        return self._counts[: self.starts[-1]]

    def bag(self, text: int) -> dict[int, float]:
        """Word id → count, for one text."""
        span = slice(self._starts[text], self._starts[text + 1])
        return dict(zip(self._words[span].tolist(), self._counts[span].tolist(), strict=True))

    def restore(self, words: list[str], texts: list[str], arrays: Mapping[str, NDArray[Any]]) -> None:
        """Become what `arrays` and the lists were taken from; a text that was read twice has its later number."""
        self.spelled, self.texts = list(words), list(texts)
        self.vocabulary = {word: number for number, word in enumerate(words)}
        self._ids = {text: number for number, text in enumerate(texts)}
        self._starts, self._words, self._counts = arrays["starts"], arrays["words"], arrays["counts"]
        self._partial = set(arrays["partial"].tolist())

    def arrays(self) -> dict[str, NDArray[Any]]:
        partial = np.array(sorted(self._partial), np.int64)
        return {"starts": self.starts, "words": self.word_ids, "counts": self.counts, "partial": partial}

    def _intern(self, text: str) -> int:
        number = self._ids[text] = len(self.texts)
        self.texts.append(text)
        found = words(text)
        known = self._known(found)
        if len(known) < len(found):
            self._partial.add(number)
        bag = sorted(Counter(known).items())
        start = self._starts[number]
        end = start + len(bag)
        self._starts = _room(self._starts, number + 2)
        self._words, self._counts = _room(self._words, end), _room(self._counts, end)
        self._starts[number + 1] = end
        self._words[start:end] = [word for word, _ in bag]
        self._counts[start:end] = [count for _, count in bag]
        if self.norm and bag:
            self._counts[start:end] *= self.norm / np.linalg.norm(self._counts[start:end])
        return number

    def _known(self, found: list[str]) -> list[int]:
        for word in found if self.grows else ():
            if word not in self.vocabulary:
                self.vocabulary[word] = len(self.spelled)
                self.spelled.append(word)
        return [self.vocabulary[word] for word in found if word in self.vocabulary]


def bags_of(lexicon: Lexicon, texts: Ids) -> tuple[Ids, NDArray[np.float32], Ids]:
    """The bags of many texts end to end: word ids, counts, and how many words each has; -1 is a text without words."""
    starts = lexicon.starts
    first = starts[texts]
    lengths = starts[texts + 1] - first
    lengths[texts < 0] = 0
    ends = np.cumsum(lengths)
    places = np.arange(ends[-1] if len(ends) else 0) + np.repeat(first - ends + lengths, lengths)
    return lexicon.word_ids[places], lexicon.counts[places], lengths


def _room(array: NDArray, size: int) -> NDArray:  # type: ignore[type-arg]
    """The array itself, or a copy at least twice as long where `size` does not fit."""
    if size <= len(array):
        return array
    larger = np.zeros(max(size, 2 * len(array)), array.dtype)
    larger[: len(array)] = array
    return larger
