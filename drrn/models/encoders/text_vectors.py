"""Fixed vectors of texts: the SIF-weighted mean of given word vectors, or the output of a function
of the text.

Nothing here is learned. All vectors are scaled to one length; a text without any known word has a
zero vector."""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from drrn.errors import InputError
from drrn.models.word_table import bag_sums
from drrn.text import Ids, Lexicon, Vocabulary
from drrn.vectors import SentenceVectors, WordVectors

MOST_TEXTS = 16_384  # a lexicon of more texts is not cached whole: each batch is computed
MOST_SENTENCES = 50_000  # cached vectors of sentences, in addition to those of live lexicons
# a growing vocabulary of so many words, none of them in the file: the file is of another language
ENOUGH_WORDS = 10


@dataclass
class TextCache:
    """Vectors of the texts of a lexicon: text i in row i + 1; row 0 is zero, for no text."""

    generation: int
    count: int
    rows: Tensor  # [room, D]


@dataclass
class WordCache:
    """Weighted vectors of the words of a vocabulary."""

    spelled: list[str]  # the vocabulary's list; another list numbers words differently
    rows: Tensor  # [V, D]
    any_in_file: bool


class TextVectors:
    """Vectors of texts from word vectors, cached for the lifetime of a lexicon.

    Example:
        vectors = TextVectors(open_vectors("glove.100d.txt"))
        vectors.features(store.states)  # [texts, dimensions]
    """

    def __init__(self, words: WordVectors, scale: float = 5.0) -> None:
        """Every text's vector has the length `scale`."""
        self.words = words
        self.scale = scale
        self._texts: WeakKeyDictionary[Lexicon, TextCache] = WeakKeyDictionary()
        self._words: WeakKeyDictionary[Vocabulary, WordCache] = WeakKeyDictionary()

    @property
    def dimensions(self) -> int:
        return self.words.dimensions

    def features(self, texts: Lexicon) -> Tensor:
        """Return the vectors of all texts of a lexicon, [T, D]; only new texts are computed."""
        return self._all_rows(texts)[1 : len(texts) + 1]

    def rows_of(self, texts: Lexicon, ids: Ids) -> tuple[Tensor, Ids]:
        """Return a table of vectors, and the row of each text in it; id -1 has a zero vector. A
        text that lacks words because of noise is read with all of its words, since its vector does
        not rest on any single word."""
        if texts.whole is not None:
            whole, whole_ids = texts.whole
            table, rows = self.rows_of(whole, np.append(whole_ids, -1))
            vectors = table[torch.from_numpy(rows)]
            if texts.blur is not None:
                has_words = vectors[:-1].norm(dim=1, keepdim=True) > 0
                noise = torch.from_numpy(texts.blur)
                noisy = add_noise(vectors[:-1], noise, self.scale, has_words)
                vectors = torch.cat([noisy, vectors[-1:]])
            return vectors, np.where(ids < 0, len(whole_ids), ids)
        if len(texts) <= MOST_TEXTS:
            return self._all_rows(texts), ids + 1
        unique, index = np.unique(ids, return_inverse=True)
        some = unique[unique >= 0]
        padded = torch.cat([torch.zeros(1, self.dimensions), self._compute(texts, some)])
        return padded, index.reshape(ids.shape) + (len(some) == len(unique))

    def check_known(self, vocabulary: Vocabulary, owner: str = "game") -> None:
        """Raise InputError if the file has none of the words."""
        if len(vocabulary) and not self._word_rows(vocabulary).any_in_file:
            some = ", ".join(vocabulary.spelled[:3])
            raise InputError(
                f"{self.words.path}: it has none of the {len(vocabulary)} words of the {owner} "
                f"({some} …): use word vectors of its language, with lower-case words"
            )

    def sums_of_unknown(self, texts: Lexicon, ids: Ids) -> NDArray[np.float32] | None:
        """Return the sums over words outside the vocabulary [N, D], which a scratch store records
        by their spelling; None if the lexicon has no such words."""
        if not texts.unknown:
            return None
        sums = np.zeros((len(ids), self.dimensions), np.float32)
        for at, text in enumerate(ids.tolist()):
            if text in texts.unknown:
                sums[at] = self.words.weighted(texts.unknown[text])[0].sum(axis=0)
        return sums

    def _all_rows(self, texts: Lexicon) -> Tensor:
        cache = self._texts.get(texts)
        if cache is None or cache.generation != texts.generation:
            cache = TextCache(texts.generation, 0, torch.zeros(1, self.dimensions))
            self._texts[texts] = cache
        count = len(texts)
        if cache.count < count:
            cache.rows = grow(cache.rows, cache.count + 1, count + 1)
            new = np.arange(cache.count, count)
            cache.rows[cache.count + 1 : count + 1] = self._compute(texts, new)
            cache.count = count
        return cache.rows

    def _compute(self, texts: Lexicon, ids: Ids) -> Tensor:
        """Return the vectors of some texts, [N, D]."""
        word_rows = self._word_rows(texts.vocabulary).rows
        if len(texts.vocabulary) >= ENOUGH_WORDS:
            self.check_known(texts.vocabulary)
        lengths = texts.starts[ids + 1] - texts.starts[ids]
        members = texts.words_of(ids)
        starts = np.cumsum(lengths) - lengths
        sums = bag_sums(word_rows, members, starts, np.ones(len(members), np.float32))
        unknown = self.sums_of_unknown(texts, ids)
        if unknown is not None:
            sums += torch.from_numpy(unknown)
        if self.words.common is not None:  # what all texts share would hide their differences
            common = torch.from_numpy(self.words.common)
            sums -= torch.outer(sums @ common, common)
        return scaled(sums, self.scale)

    def _word_rows(self, vocabulary: Vocabulary) -> WordCache:
        cache = self._words.get(vocabulary)
        if cache is None or cache.spelled is not vocabulary.spelled:
            cache = WordCache(vocabulary.spelled, torch.zeros(0, self.dimensions), False)
            self._words[vocabulary] = cache
        new = vocabulary.spelled[len(cache.rows) :]
        if new:
            rows, in_file = self.words.weighted(new)
            cache.rows = torch.cat([cache.rows, torch.from_numpy(rows)])
            cache.any_in_file = cache.any_in_file or bool(in_file.any())
        return cache


class SentenceTexts:
    """Vectors of whole texts, each computed once and cached."""

    def __init__(self, function: SentenceVectors, scale: float = 1.0) -> None:
        """Every text's vector has the length `scale`."""
        self.function = function
        self.scale = scale
        self._clear()

    @property
    def dimensions(self) -> int:
        return self.function.dimensions

    def rows_of(self, texts: Lexicon, ids: Ids) -> tuple[Tensor, Ids]:
        """Return a table of vectors, and the row of each text in it; id -1 has row 0, which is
        zero. A text that lacks words because of noise is read whole."""
        if texts.whole is not None:
            whole, whole_ids = texts.whole
            table, rows = self.rows_of(whole, np.append(whole_ids, -1))
            return table, rows[np.where(ids < 0, len(whole_ids), ids)]
        rows = self._rows(texts)
        return self.table, np.append(rows, 0)[ids]

    def _clear(self) -> None:
        self.table = torch.zeros(1, self.dimensions)  # may have more rows than texts
        self.numbers = dict[str, int]()
        self._rows_by_lexicon: WeakKeyDictionary[Lexicon, tuple[int, Ids]] = WeakKeyDictionary()

    def _rows(self, texts: Lexicon) -> Ids:
        """Return the row of every text of a lexicon."""
        if len(texts.spoken) != len(texts):
            raise InputError("the encoder sentence needs the original texts, which were not saved")
        if len(self.numbers) > MOST_SENTENCES + 2 * sum(map(len, self._rows_by_lexicon)):
            self._clear()
        empty = np.zeros(0, np.int64)
        generation, rows = self._rows_by_lexicon.get(texts, (-1, empty))
        if generation != texts.generation:
            rows = empty
        if len(rows) < len(texts):
            more = texts.spoken[len(rows) :]
            self._compute([text for text in dict.fromkeys(more) if text not in self.numbers])
            rows = np.append(rows, np.array([self.numbers[text] for text in more], np.int64))
            self._rows_by_lexicon[texts] = (texts.generation, rows)
        return rows

    def _compute(self, new: list[str]) -> None:
        first = len(self.numbers) + 1
        end = first + len(new)
        vectors = scaled(torch.from_numpy(self.function(new)), self.scale)
        self.table = grow(self.table, first, end)
        self.table[first:end] = vectors
        self.numbers.update({text: first + number for number, text in enumerate(new)})


def grow(table: Tensor, used: int, rows: int) -> Tensor:
    """Return the table, or if `rows` do not fit, a copy of its used rows with at least twice the
    room."""
    if rows <= len(table):
        return table
    larger = torch.zeros(max(rows, 2 * len(table)), table.shape[1])
    larger[:used] = table[:used]
    return larger


def scaled(vectors: Tensor, length: float) -> Tensor:
    """Return vectors [..., D] at one length; zero vectors stay zero."""
    norms = vectors.norm(dim=-1, keepdim=True)
    return torch.where(norms > 1e-12, vectors * (length / norms.clamp(min=1e-12)), 0.0)


def add_noise(vectors: Tensor, noise: Tensor, length: float, has_words: Tensor) -> Tensor:
    """Return vectors [N, D] with noise, relative to their length and scaled back to it; 0 for texts
    without words."""
    return torch.where(has_words, scaled(vectors / length + noise, length), 0.0)
