"""Frozen vectors of texts: the SIF-weighted mean of their words' vectors from a file, scaled to one length.

Nothing here is learned. A word that no training text had is read by its spelling, as any other.
"""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor

from drrn.errors import InputError
from drrn.models.encoders.word_table import bag_sums
from drrn.text import Ids, Lexicon, Vocabulary
from drrn.vectors import WordVectors

MOST_TEXTS = 16_384  # of a lexicon whose vectors are all kept; of a larger one, those of a batch are made anew
ENOUGH = 10  # words of a vocabulary that grows, none of them known: the file is of another language, or of another kind


@dataclass
class KnownTexts:
    """Vectors of the texts of a lexicon so far: that of text i in row i + 1; row 0 is that of no text, zero."""

    generation: int
    count: int
    rows: Tensor  # [room, D]


@dataclass
class KnownWords:
    """Weighted vectors of the words of a vocabulary so far."""

    spelled: list[str]  # the vocabulary's own list: another one numbers words otherwise
    rows: Tensor  # [V, D]
    met: bool  # whether the file has one of them


class TextVectors:
    """Reads texts with word vectors. What was made is kept as long as the lexicon lives."""

    def __init__(self, words: WordVectors, scale: float = 5.0) -> None:
        """Every text has the length `scale`; one without any known word is zero."""
        self.words = words
        self.scale = scale
        self._texts: WeakKeyDictionary[Lexicon, KnownTexts] = WeakKeyDictionary()
        self._words: WeakKeyDictionary[Vocabulary, KnownWords] = WeakKeyDictionary()

    @property
    def dimensions(self) -> int:
        return self.words.dimensions

    def features(self, texts: Lexicon) -> Tensor:
        """The vectors of all texts of a lexicon, [T, D]; those that were there before are not made again."""
        return self._all_rows(texts)[1 : len(texts) + 1]

    def rows_of(self, texts: Lexicon, ids: Ids) -> tuple[Tensor, Ids]:
        """A table of vectors, and the row of each text in it; -1 is no text, and zero. A text that lacks words while it
        is learned from is read whole here: its vector does not rest on any one word."""
        if texts.whole is not None:
            whole, found = texts.whole
            table, rows = self.rows_of(whole, np.append(found, -1))
            vectors = table[torch.from_numpy(rows)]
            if texts.blur is not None:
                known = vectors[:-1].norm(dim=1, keepdim=True) > 0
                blurred = scaled(
                    vectors[:-1] / self.scale + torch.from_numpy(texts.blur), self.scale
                )
                vectors = torch.cat([torch.where(known, blurred, 0.0), vectors[-1:]])
            return vectors, np.where(ids < 0, len(found), ids)
        if len(texts) <= MOST_TEXTS:
            return self._all_rows(texts), ids + 1
        asked, places = np.unique(ids, return_inverse=True)
        some = asked[asked >= 0]
        padded = torch.cat([torch.zeros(1, self.dimensions), self._made(texts, some)])
        return padded, places.reshape(ids.shape) + (len(some) == len(asked))

    def check_known(self, vocabulary: Vocabulary, what: str = "game") -> None:
        """Refuse a file that has none of the words."""
        if len(vocabulary) and not self._known(vocabulary).met:
            some = ", ".join(vocabulary.spelled[:3])
            raise InputError(
                f"{self.words.path}: it has none of the {len(vocabulary)} words of the {what} ({some} …): "
                "give word vectors of its language, with words in small letters"
            )

    def _all_rows(self, texts: Lexicon) -> Tensor:
        kept = self._texts.get(texts)
        if kept is None or kept.generation != texts.generation:
            kept = self._texts[texts] = KnownTexts(
                texts.generation, 0, torch.zeros(1, self.dimensions)
            )
        count = len(texts)
        if kept.count < count:
            if len(kept.rows) <= count:
                larger = torch.zeros(max(count + 1, 2 * len(kept.rows)), self.dimensions)
                larger[: kept.count + 1] = kept.rows[: kept.count + 1]
                kept.rows = larger
            kept.rows[kept.count + 1 : count + 1] = self._made(texts, np.arange(kept.count, count))
            kept.count = count
        return kept.rows

    def _made(self, texts: Lexicon, ids: Ids) -> Tensor:
        """The vectors of some texts, [N, D]."""
        known = self._known(texts.vocabulary)
        if len(texts.vocabulary) >= ENOUGH:
            self.check_known(texts.vocabulary)
        starts = texts.starts
        lengths = starts[ids + 1] - starts[ids]
        members = texts.words_of(ids)
        sums = bag_sums(
            known.rows, members, np.cumsum(lengths) - lengths, np.ones(len(members), np.float32)
        )
        for place, text in enumerate(ids.tolist()) if texts.unknown else ():
            if text in texts.unknown:
                sums[place] += torch.from_numpy(
                    self.words.weighted(texts.unknown[text])[0].sum(axis=0)
                )
        if self.words.common is not None:  # what all texts have in common hides in what they differ
            common = torch.from_numpy(self.words.common)
            sums -= torch.outer(sums @ common, common)
        return scaled(sums, self.scale)

    def _known(self, vocabulary: Vocabulary) -> KnownWords:
        kept = self._words.get(vocabulary)
        if kept is None or kept.spelled is not vocabulary.spelled:
            kept = self._words[vocabulary] = KnownWords(
                vocabulary.spelled, torch.zeros(0, self.dimensions), False
            )
        new = vocabulary.spelled[len(kept.rows) :]
        if new:
            rows, found = self.words.weighted(new)
            kept.rows = torch.cat([kept.rows, torch.from_numpy(rows)])
            kept.met = kept.met or bool(found.any())
        return kept


def scaled(vectors: Tensor, length: float) -> Tensor:
    """Vectors [..., D] at one length; what is zero stays so."""
    norms = vectors.norm(dim=-1, keepdim=True)
    return torch.where(norms > 1e-12, vectors * (length / norms.clamp(min=1e-12)), 0.0)
