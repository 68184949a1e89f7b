"""Words to vectors: read from the file as they are asked for, and weighted as SIF does (Arora et al. 2017).

A word that the file does not have is read in its parts, as far as the file has these: "don't" as "do" and "n't",
"captain's" as "captain" and "'s" (so GloVe's tokeniser cut them; where the file has no "n't", as "do" and "not"), "12b"
as "12" and "b", an unknown number digit by digit.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from drrn.errors import InputError
from drrn.vectors.index import WORTH_KEEPING, VectorIndex, load_index, place_of_index, save_index
from drrn.vectors.scan import scan
from drrn.vectors.source import FLOATS, is_number, numbers_of

A = 1e-3  # of SIF's weight a / (a + p(word))
MOST_KEPT = 10_000  # words whose vectors are kept, beside those that an encoder keeps for itself
AT_ONCE = 1_000  # words that are looked for together
# words that show what texts have in common; with fewer it is not asked
FREQUENT = 5000
ENOUGH_WORDS = 1000
RUNS = re.compile(r"\d+|[^\W\d]+")
# What the ending of a word stands for, in a file whose words were not cut there; and stems that change before n't.
ENDINGS = {
    "n't": "not",
    "'ll": "will",
    "'re": "are",
    "'ve": "have",
    "'m": "am",
    "'d": "would",
    "'s": "",
}
STEMS = {"ca": "can", "wo": "will", "sha": "shall"}

Vector = NDArray[np.float32]


def open_vectors(path: str | Path) -> WordVectors:
    """A file of word vectors, read through once; the index of a large one is kept for the next time."""
    path = Path(path).expanduser().resolve()
    try:
        with path.open("rb") as file:
            stat = os.fstat(file.fileno())
            place = place_of_index(path, stat) if stat.st_size >= WORTH_KEEPING else None
            index = load_index(place) if place else None
            if index is None:
                index = scan(path, file, stat.st_size)
                if place:
                    save_index(index, place)
    except FileNotFoundError as error:
        raise InputError(f"{path}: there is no such file: name a file of word vectors") from error
    except IsADirectoryError as error:
        raise InputError(f"{path}: a folder: name the file of word vectors in it") from error
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    return WordVectors(path, index, stat.st_mtime_ns)


class WordVectors:
    """The words of a file, from the most frequent to the least, and their vectors. Only the index is kept in memory."""

    def __init__(self, path: Path, index: VectorIndex, written: int) -> None:
        """`written` is when the file was last written to, in nanoseconds."""
        self.path = path
        self.index = index
        self.written = written
        self.dimensions = index.layout.dimensions
        self.digest = index.digest
        self._total = float(
            np.sum(1 / np.arange(1, len(self) + 1))
        )  # of Zipf's law: the share of a rank is 1 / rank
        self._kept: dict[str, tuple[int, Vector] | None] = {}

    def __len__(self) -> int:
        return len(self.index.order)

    def rank(self, word: str) -> int | None:
        """The word's place in the file, from 0; None where the file does not have it."""
        found = self._read([word])[word]
        return None if found is None else found[0]

    def vector(self, word: str) -> Vector | None:
        """The word's numbers as the file has them."""
        found = self._read([word])[word]
        return None if found is None else found[1]

    def weight(self, rank: int) -> float:
        """SIF's a / (a + p); p, the word's share of a text, is taken from its rank by Zipf's law."""
        return A / (A + 1 / ((rank + 1) * self._total))

    def weighted(self, words: Sequence[str]) -> tuple[Vector, NDArray[np.bool_]]:
        """Each word's vector times its weight [N, D], zero where the file has nothing of it; and whether it has."""
        found = np.zeros((len(words), self.dimensions), np.float32)
        known = np.zeros(len(words), bool)
        for begin in range(0, len(words), AT_ONCE):
            parts = self.parts(words[begin : begin + AT_ONCE])
            read = self._read({part for some in parts for part in some})
            for at, some in enumerate(parts, begin):
                known[at] = bool(some)
                for entry in map(read.get, some):
                    assert entry is not None
                    found[at] += np.float32(self.weight(entry[0])) * entry[1]
        return found, known

    @cached_property
    def common(self) -> Vector | None:
        """The direction that texts have in common, of length 1: the first principal component of the most frequent
        words, as they occur in texts. None: the file has too few words to tell."""
        count = min(len(self), FREQUENT)
        if count < ENOUGH_WORDS:
            return None
        shares = 1 / (np.arange(1, count + 1) * self._total)
        with self._opened() as file:
            found = (self._entry(file, number, None) for number in range(count))
            rows = np.stack([row for row in found if row is not None])
        weighted = rows * np.sqrt(shares * A / (A + shares))[:, None]
        direction = np.linalg.eigh(weighted.T @ weighted)[1][:, -1]
        return direction.astype(np.float32)

    def parts(self, words: Sequence[str]) -> list[list[str]]:
        """The words of the file that stand for each word: itself, or parts of it, or none."""
        here = self._read(words)
        return [[word] if here[word] else self._parts(word) for word in words]

    def _parts(self, word: str) -> list[str]:
        if len(word) > 3 and word.endswith("n't"):
            stem = word[:-3] if self._has("n't") else STEMS.get(word[:-3], word[:-3])
            return self._those_of(stem, self._ending("n't"))
        if "'" in word:
            first, *others = word.split("'")
            return self._those_of(first, *(self._ending(f"'{other}") for other in others))
        runs = RUNS.findall(word)
        if len(runs) > 1:
            return self._those_of(*runs)
        return (
            [digit for digit in word if self._has(digit)]
            if word.isdigit() and len(word) > 1
            else []
        )

    def _those_of(self, *pieces: str) -> list[str]:
        return [part for some in self.parts([piece for piece in pieces if piece]) for part in some]

    def _ending(self, ending: str) -> str:
        """The ending as the file has it, or what it stands for, or the letters alone."""
        return ending if self._has(ending) else ENDINGS.get(ending, ending.strip("'"))

    def _has(self, word: str) -> bool:
        return self._read([word])[word] is not None

    # --- the file

    def _read(self, words: Iterable[str]) -> dict[str, tuple[int, Vector] | None]:
        """The rank and the vector of each word; None for what the file does not have."""
        wanted = list(dict.fromkeys(words))
        new = [word for word in wanted if word not in self._kept]
        if new:
            if len(self._kept) + len(new) > MOST_KEPT:
                self._kept.clear()
                new = wanted
            self._kept.update(self._from_file(new))
        return {word: self._kept[word] for word in wanted}

    def _from_file(self, words: Sequence[str]) -> dict[str, tuple[int, Vector] | None]:
        candidates = self.index.candidates(words)
        found: dict[str, tuple[int, Vector] | None] = dict.fromkeys(words)
        if not any(candidates):
            return found
        with self._opened() as file:
            for word, numbers in zip(words, candidates, strict=True):
                for number in numbers:
                    vector = self._entry(file, number, word.encode("utf-8", "surrogatepass"))
                    if vector is not None:
                        found[word] = (number, vector)
                        break
        return found

    @contextmanager
    def _opened(self) -> Iterator[IO[bytes]]:
        """The file, if it is still the one that was read through."""
        try:
            with self.path.open("rb") as file:
                if os.fstat(file.fileno()).st_mtime_ns != self.written:
                    raise InputError(
                        f"{self.path}: it was changed while it was in use: begin again"
                    )
                yield file
        except OSError as error:
            raise InputError(
                f"{self.path}: cannot be read any more: {error.strerror}: put the file back"
            ) from error

    def _entry(self, file: IO[bytes], number: int, word: bytes | None) -> Vector | None:
        """The vector of an entry; None where its word is not the one that is wanted, but has the same hash."""
        layout, (start, end) = self.index.layout, self.index.starts[number : number + 2].tolist()
        file.seek(start)
        raw = file.read(end - start)
        if layout.form == "text":
            spelled, *fields = (
                raw.rstrip(b"\r\n").removesuffix(b" ").rsplit(b" ", layout.dimensions)
            )
            if word not in (None, spelled):
                return None
            with np.errstate(over="ignore"):
                values = np.array([float(f) if is_number(f) else np.nan for f in fields]).astype(
                    np.float32
                )
        elif layout.form == "binary":
            spelled, _, rest = raw.partition(b" ")
            if word not in (None, spelled):
                return None
            values = numbers_of(rest[: 4 * layout.dimensions])
        else:
            spelled = raw.removesuffix(b"\n")
            if word not in (None, spelled):
                return None
            size = layout.dimensions * FLOATS[layout.kind]
            file.seek(layout.matrix + number * size)
            values = numbers_of(file.read(size), layout.kind)
        return self._checked(values, number, spelled)

    def _checked(self, values: Vector, number: int, word: bytes) -> Vector:
        layout = self.index.layout
        if not np.isfinite(values).all():
            at = (
                f"line {number + layout.lines_before + 1}"
                if layout.form == "text"
                else f"word {number + 1}"
            )
            what = f'number {int(np.argmin(np.isfinite(values))) + 1} of "{word.decode("utf-8", "replace")}"'
            raise InputError(
                f"{self.path}, {at}: {what} is not a finite number: mend it, or take the word out"
            )
        return values
