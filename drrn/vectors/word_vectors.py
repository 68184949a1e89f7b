"""Word vectors of a file, weighted as SIF does (Arora et al. 2017).

The first use of a large file copies its vectors into the cache, as an array; later uses map the
array into memory.
"""

from __future__ import annotations

import hashlib
import io
import json
import logging
import os
import re
import tempfile
import zipfile
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from drrn.errors import InputError
from drrn.files import home, write_atomically
from drrn.vectors.formats import BLOCK, VectorFile, Vectors

CACHED_SIZE = 2**22  # bytes of a file from which on a copy saves time
VERSION = 2  # of the files in the cache
HEADER = 128  # bytes before the numbers of an .npy file

A = 1e-3  # of SIF's weight a / (a + p(word))
# the most frequent words, whose main direction is common to all texts; None in a smaller file
FREQUENT = 5000
ENOUGH_WORDS = 1000
RUNS = re.compile(r"\d+|[^\W\d]+")
# meanings of endings, in a file whose words are not split there; stems that change before n't
ENDINGS = {"n't": "not", "'ll": "will", "'re": "are", "'ve": "have", "'m": "am", "'d": "would"}
ENDINGS["'s"] = ""
STEMS = {"ca": "can", "wo": "will", "sha": "shall"}

log = logging.getLogger("drrn")


@dataclass(frozen=True)
class WordIndex:
    """Positions of words in a file, by a hash of the word."""

    digest: str  # SHA-256 of the file
    dimensions: int
    first_line: int | None  # line of the first word, in a text
    hashes: NDArray[np.uint64]  # [N], ascending
    ranks: NDArray[np.int64]  # [N]; of equal words, the first in the file comes first

    def rank(self, word: str) -> int | None:
        key = np.uint64(_hash(word.encode("utf-8", "surrogatepass")))
        at = int(np.searchsorted(self.hashes, key))
        return int(self.ranks[at]) if at < len(self.hashes) and self.hashes[at] == key else None


def _hash(word: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(word, digest_size=8).digest(), "little")


class WordVectors:
    """The words of a file, from the most frequent to the least, and their vectors.

    A word that the file lacks is read in the parts that it has: "don't" as "do" and "n't",
    "captain's" as "captain" and "'s", as GloVe's tokeniser splits them (if the file has no "n't",
    as "do" and "not"), "12b" as "12" and "b", an unknown number digit by digit.
    """

    def __init__(self, path: Path, index: WordIndex, vectors: Vectors) -> None:
        self.path = path
        self.index = index
        self.vectors = vectors  # [N, D]
        self.dimensions = index.dimensions
        self.digest = index.digest
        self.rank = index.rank  # position of a word in the file, from 0; None if the file lacks it
        # Zipf's law: the share of a rank is 1 / (rank · total)
        self._total = float(np.sum(1 / np.arange(1, len(self) + 1)))

    def __len__(self) -> int:
        return len(self.index.ranks)

    def vector(self, word: str) -> Vectors | None:
        """Return the word's numbers in the file; None if the file lacks it."""
        rank = self.rank(word)
        return None if rank is None else self._vector(rank)

    def weight(self, rank: int) -> float:
        """Return SIF's a / (a + p); p, the word's share of a text, follows from its rank."""
        return A / (A + 1 / ((rank + 1) * self._total))

    def weighted(self, words: Sequence[str]) -> Vectors:
        """Return each word's vector times its weight [N, D]; 0 for a word that the file lacks."""
        rows = np.zeros((len(words), self.dimensions), np.float32)
        for at, parts in enumerate(self.parts(words)):
            for rank in map(self.rank, parts):
                assert rank is not None
                rows[at] += np.float32(self.weight(rank)) * self._vector(rank)
        return rows

    @cached_property
    def common(self) -> Vectors | None:
        """The direction that texts have in common, of length 1: the first principal component of
        the most frequent words, as they occur in texts. None if the file has few words."""
        count = min(len(self), FREQUENT)
        if count < ENOUGH_WORDS:
            return None
        shares = 1 / (np.arange(1, count + 1) * self._total)
        rows = np.stack([self._vector(rank) for rank in range(count)])
        weighted = rows * np.sqrt(shares * A / (A + shares))[:, None]
        direction = np.linalg.eigh(weighted.T @ weighted)[1][:, -1]
        return direction.astype(np.float32)

    def parts(self, words: Sequence[str]) -> list[list[str]]:
        """Return the words of the file that each word is read as: itself, its parts, or none."""
        return [[word] if self._has(word) else self._parts(word) for word in words]

    def _parts(self, word: str) -> list[str]:
        runs = RUNS.findall(word)
        if len(word) > 3 and word.endswith("n't"):
            stem = word[:-3] if self._has("n't") else STEMS.get(word[:-3], word[:-3])
            pieces = [stem, self._ending("n't")]
        elif "'" in word:
            first, *others = word.split("'")
            pieces = [first, *(self._ending(f"'{other}") for other in others)]
        elif len(runs) > 1:
            pieces = runs
        else:
            digits = word.isdigit() and len(word) > 1
            return [digit for digit in word if self._has(digit)] if digits else []
        return [part for some in self.parts(list(filter(None, pieces))) for part in some]

    def _ending(self, ending: str) -> str:
        """Return the ending if the file has it, or its meaning, or its letters."""
        return ending if self._has(ending) else ENDINGS.get(ending, ending.strip("'"))

    def _has(self, word: str) -> bool:
        return self.rank(word) is not None

    def _vector(self, rank: int) -> Vectors:
        vector = np.array(self.vectors[rank])
        finite = np.isfinite(vector)
        if not finite.all():
            first = self.index.first_line
            where = f"word {rank + 1}" if first is None else f"line {rank + first}"
            raise InputError(
                f"{self.path}, {where}: number {int(np.argmin(finite)) + 1} is not finite: "
                "correct it, or remove the word"
            )
        return vector


def open_vectors(path: str | Path) -> WordVectors:
    """Open a file of word vectors.

    Args:
        path: GloVe's text, word2vec's text or binary format, or safetensors.

    Raises:
        InputError: the file cannot be read, is damaged, or has another format.

    Example:
        open_vectors("glove.100d.txt").vector("sea")
    """
    path = Path(path).expanduser().resolve()
    try:
        with path.open("rb") as file:
            stat = os.fstat(file.fileno())
            if stat.st_size >= CACHED_SIZE:
                return _open_cached(path, file, stat)
            output = io.BytesIO()
            index = _copy(VectorFile(path, file, stat.st_size), output)
            vectors = np.frombuffer(output.getbuffer(), "<f4").reshape(-1, index.dimensions)
            return WordVectors(path, index, vectors)
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such file: name a file of word vectors") from error
    except IsADirectoryError as error:
        raise InputError(f"{path}: this is a folder: name a file of word vectors") from error
    except OSError as error:
        raise InputError(f"{path}: cannot be read or cached: {error.strerror}") from error


def _copy(source: VectorFile, output: IO[bytes]) -> WordIndex:
    """Write the numbers of all words, and return their index."""
    hashes = array("Q")
    for words, rows in source.blocks:
        hashes.extend(map(_hash, words))
        output.write(rows.astype("<f4").tobytes())
    source.file.seek(0)
    digest = hashlib.sha256()
    while block := source.file.read(BLOCK):
        digest.update(block)
    keys = np.frombuffer(hashes, np.uint64)
    order = np.argsort(keys, kind="stable")
    return WordIndex(digest.hexdigest(), source.dimensions, source.first_line, keys[order], order)


def _open_cached(path: Path, file: IO[bytes], stat: os.stat_result) -> WordVectors:
    """Open the copy of a file; make it if there is none, or if the file has changed."""
    cache = home() / "cache"
    version = f"{VERSION}\0{path}\0{stat.st_size}\0{stat.st_mtime_ns}"
    key = hashlib.sha256(version.encode("utf-8", "surrogatepass")).hexdigest()[:24]
    index_path = cache / f"vectors-{key}.npz"
    try:
        index = _load_index(index_path)
        return WordVectors(path, index, np.load(_array_path(cache, index), mmap_mode="r"))
    except FileNotFoundError:
        pass
    except (OSError, EOFError, LookupError, TypeError, ValueError, zipfile.BadZipFile) as error:
        log.warning("%s: damaged (%s): making it again", index_path, type(error).__name__)
    folder: Path | None = cache
    try:
        cache.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=cache)
    except OSError as error:
        log.warning("%s: cannot be written (%s): vectors are not cached", cache, error.strerror)
        folder = None
        descriptor, name = tempfile.mkstemp()
    try:
        with os.fdopen(descriptor, "wb") as output:
            output.seek(HEADER)
            index = _copy(VectorFile(path, file, stat.st_size), output)
            output.seek(0)
            shape = (len(index.ranks), index.dimensions)
            header = {"descr": "<f4", "fortran_order": False, "shape": shape}
            np.lib.format.write_array_header_1_0(output, header)
        vectors = np.load(name, mmap_mode="r")
        if folder:
            Path(name).replace(_array_path(folder, index))
            _save_index(index, index_path)
        return WordVectors(path, index, vectors)
    finally:
        Path(name).unlink(missing_ok=True)  # a mapped file stays readable


def _array_path(cache: Path, index: WordIndex) -> Path:
    return cache / f"vectors-{index.digest[:24]}.npy"


def _load_index(path: Path) -> WordIndex:
    with path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
        facts = json.loads(file["facts"].tobytes())
        return WordIndex(**facts, hashes=file["hashes"], ranks=file["ranks"])


def _save_index(index: WordIndex, path: Path) -> None:
    facts = {name: getattr(index, name) for name in ("digest", "dimensions", "first_line")}
    output = io.BytesIO()
    raw = np.frombuffer(json.dumps(facts).encode(), np.uint8)
    np.savez(output, facts=raw, hashes=index.hashes, ranks=index.ranks)
    write_atomically(path, [output.getvalue()])
