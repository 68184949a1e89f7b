"""Fixed vectors of texts: weighted means of given word vectors, or the output of a function.

Nothing here is learned. All vectors are scaled to one length. A text without any known word has a
zero vector.
"""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from drrn.models.word_table import bag_sums
from drrn.sentences import SentenceVectors
from drrn.text import Lexicon, Vocabulary
from drrn.vectors import WordVectors
from textgames.arrays import Ids
from textgames.errors import InputError


class GivenVectors:
    """Fixed vectors of texts, cached while their lexicon exists. Subclasses define `compute`."""

    def __init__(self, dimensions: int, scale: float) -> None:
        """Every text's vector has `dimensions` numbers and the length `scale`."""
        self.dimensions = dimensions
        self.scale = scale
        # generation, number of texts, and rows: text i in row i + 1; row 0 is zero, for no text
        self._tables: WeakKeyDictionary[Lexicon, tuple[int, int, Tensor]] = WeakKeyDictionary()

    def compute(self, texts: Lexicon, ids: Ids) -> Tensor:
        """The vectors of some texts, [N, D]."""
        raise NotImplementedError

    def features(self, texts: Lexicon) -> Tensor:
        """The vectors of all texts of a lexicon, [T, D]. Only new texts are computed."""
        return self._table(texts)[1 : len(texts) + 1]

    def rows_of(self, texts: Lexicon, ids: Ids) -> tuple[Tensor, Ids]:
        """A table of vectors, and the row of each text in it. The id -1 has a zero vector.

        A text that lacks words because of noise is read with all of its words, since its vector
        does not rest on any single word.
        """
        if texts.whole is not None:
            whole, whole_ids = texts.whole
            table, rows = self.rows_of(whole, np.append(whole_ids, -1))
            vectors = table[torch.from_numpy(rows)]
            if texts.blur is not None and texts.blur.shape[1] == self.dimensions:
                noisy = scaled(vectors[:-1] / self.scale + torch.from_numpy(texts.blur), self.scale)
                vectors[:-1] = torch.where(vectors[:-1].norm(dim=1, keepdim=True) > 0, noisy, 0.0)
            return vectors, np.where(ids < 0, len(whole_ids), ids)
        return self._table(texts), ids + 1

    def _table(self, texts: Lexicon) -> Tensor:
        generation, count, table = self._tables.get(texts, (-1, 0, torch.empty(0)))
        if generation != texts.generation:
            count = 0
            table = torch.zeros(1, self.dimensions)
        if len(texts) >= len(table):
            table = functional.pad(table, (0, 0, 0, len(texts)))
        if count < len(texts):
            table[count + 1 : len(texts) + 1] = self.compute(texts, np.arange(count, len(texts)))
        self._tables[texts] = (texts.generation, len(texts), table)
        return table


class TextVectors(GivenVectors):
    """The mean of the vectors of a text's words, weighted as SIF does.

    Example:
        vectors = TextVectors(open_vectors("glove.100d.txt"))
        vectors.features(store.states)  # [texts, dimensions]
    """

    def __init__(self, words: WordVectors, scale: float = 5.0) -> None:
        super().__init__(words.dimensions, scale)
        self.words = words

    def check_known(self, vocabulary: Vocabulary, owner: str = "game") -> None:
        """Raise InputError if the file has none of the words."""
        if len(vocabulary) and not self.words.weighted(vocabulary.spelled).any():
            some = ", ".join(vocabulary.spelled[:3])
            raise InputError(
                f"{self.words.path}: contains none of the {len(vocabulary)} words of the {owner} "
                f"({some} …); use word vectors of its language, with lower-case words"
            )

    def compute(self, texts: Lexicon, ids: Ids) -> Tensor:
        lengths = texts.lengths(ids)
        words, members = np.unique(texts.words_of(ids), return_inverse=True)
        rows = self.words.weighted([texts.vocabulary.spelled[word] for word in words])
        starts = np.cumsum(lengths) - lengths
        counts = np.ones(len(members), np.float32)
        sums = bag_sums(torch.from_numpy(rows), members, starts, counts)
        if not rows.any() and len(texts.vocabulary) >= 10:  # perhaps a file of another language
            self.check_known(texts.vocabulary)
        for at, text in enumerate(ids.tolist() if texts.unknown else ()):
            if text in texts.unknown:
                sums[at] += torch.from_numpy(self.words.weighted(texts.unknown[text]).sum(axis=0))
        if self.words.common is not None:  # what all texts share would hide their differences
            common = torch.from_numpy(self.words.common)
            sums -= torch.outer(sums @ common, common)
        return scaled(sums, self.scale)


class SentenceTexts(GivenVectors):
    """What a function returns for whole texts. It is called once for each text."""

    most_recent = 50_000  # cached vectors, in addition to those of lexicons in use

    def __init__(self, function: SentenceVectors, scale: float = 1.0) -> None:
        super().__init__(function.dimensions, scale)
        self.function = function
        self._recent: dict[str, Tensor] = {}  # for questions, whose lexicons do not live long

    def compute(self, texts: Lexicon, ids: Ids) -> Tensor:
        if len(texts.spoken) != len(texts):
            raise InputError("the encoder sentence needs the original texts, which were not saved")
        spoken = [texts.spoken[text] for text in ids.tolist()]
        if len(self._recent) + len(spoken) > self.most_recent:
            self._recent.clear()
        new = [text for text in dict.fromkeys(spoken) if text not in self._recent]
        vectors = scaled(torch.from_numpy(self.function(new)), self.scale)
        self._recent.update(zip(new, vectors, strict=True))
        return torch.stack([self._recent[text] for text in spoken])


def scaled(vectors: Tensor, length: float) -> Tensor:
    """Scale vectors [..., D] to one length. Zero vectors stay zero."""
    norms = vectors.norm(dim=-1, keepdim=True)
    return torch.where(norms > 1e-12, vectors * (length / norms.clamp(min=1e-12)), 0.0)
