"""Word vectors that others trained, from a file.

The file has GloVe's text format: each line is a word, a space and its numbers. word2vec's text
format is the same after a first line "words dimensions".

The first use of a large file copies its vectors into the cache, as an array. Later uses map the
array into memory.
"""

import hashlib
import io
import logging
import os
import re
import tempfile
import zipfile
from array import array
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from textgames.errors import InputError
from textgames.files import home, write_atomically

KNOWN = "use GloVe's text format, unpacked"
VERSION = 4  # of the files in the cache

RUNS = re.compile(r"\d+|[^\W\d]+")
# Meanings of endings, in a file whose words are not split there.
ENDINGS = {"n't": "not", "'ll": "will", "'re": "are", "'ve": "have", "'m": "am", "'d": "would"}
ENDINGS["'s"] = ""
# Stems that change before n't.
STEMS = {"ca": "can", "wo": "will", "sha": "shall"}

Vectors = NDArray[np.float32]
Index = dict[str, Any]  # digest of the file, dimensions, sorted hashes of words, their ranks

log = logging.getLogger("textgames")


class WordVectors:
    """The words of a file, from the most frequent to the least, and their vectors.

    A word that the file lacks is read in the parts that it has: "don't" as "do" and "n't",
    "captain's" as "captain" and "'s", as GloVe's tokeniser splits them (if the file has no "n't",
    as "do" and "not"), "12b" as "12" and "b", an unknown number digit by digit. Vectors are
    weighted as SIF does (Arora et al. 2017), by a / (a + p(word)).
    """

    a = 1e-3

    def __init__(self, path: Path, index: Index, vectors: Vectors) -> None:
        self.path = path
        self.digest = str(index["digest"])
        self.dimensions = int(index["dimensions"])
        self.hashes: NDArray[np.uint64] = index["hashes"]
        self.ranks: NDArray[np.int64] = index["ranks"]
        self.vectors = vectors.reshape(len(self), self.dimensions)
        # Zipf's law: the share of a rank is 1 / (rank · total)
        self._total = float(np.sum(1 / np.arange(1, len(self) + 1)))

    def __len__(self) -> int:
        return len(self.ranks)

    def rank(self, word: str) -> int | None:
        """The position of a word in the file, from 0, or None if the file lacks it."""
        key = np.uint64(_hash(word.encode("utf-8", "surrogatepass")))
        at = int(np.searchsorted(self.hashes, key))
        return int(self.ranks[at]) if at < len(self.hashes) and self.hashes[at] == key else None

    def vector(self, word: str) -> Vectors | None:
        """The word's numbers in the file, or None if the file lacks it."""
        rank = self.rank(word)
        return None if rank is None else self._vector(rank)

    def weighted(self, words: Sequence[str]) -> Vectors:
        """Each word's vector times its weight [N, D], 0 for a word that the file lacks."""
        rows = np.zeros((len(words), self.dimensions), np.float32)
        for at, parts in enumerate(self.parts(words)):
            for rank in map(self.rank, parts):
                assert rank is not None
                weight = self.a / (self.a + 1 / ((rank + 1) * self._total))
                rows[at] += np.float32(weight) * self._vector(rank)
        return rows

    @cached_property
    def common(self) -> Vectors | None:
        """The direction that texts have in common, of length 1.

        It is the first principal component of the 5,000 most frequent words, as they occur in
        texts. None if the file has fewer than 1,000 words.
        """
        if len(self) < 1000:
            return None
        frequent = min(len(self), 5000)
        shares = 1 / (np.arange(1, frequent + 1) * self._total)
        rows = np.stack([self._vector(rank) for rank in range(frequent)])
        weighted = rows * np.sqrt(shares * self.a / (self.a + shares))[:, None]
        direction = np.linalg.eigh(weighted.T @ weighted)[1][:, -1]
        return direction.astype(np.float32)

    def parts(self, words: Sequence[str]) -> list[list[str]]:
        """The words of the file that each word is read as: itself, its parts, or none."""
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
        """The ending if the file has it, else its meaning, else its letters."""
        return ending if self._has(ending) else ENDINGS.get(ending, ending.strip("'"))

    def _has(self, word: str) -> bool:
        return self.rank(word) is not None

    def _vector(self, rank: int) -> Vectors:
        vector = np.array(self.vectors[rank])
        finite = np.isfinite(vector)
        if not finite.all():
            where = f"word {rank + 1}: number {int(np.argmin(finite)) + 1}"
            raise InputError(f"{self.path}, {where} is not finite; correct it, or remove the word")
        return vector


def open_vectors(path: str | Path, *, cached_size: int = 2**22) -> WordVectors:
    """Open a file of word vectors in text format.

    Args:
        path: The file.
        cached_size: A file of at least this many bytes is copied into the cache.

    Raises:
        InputError: The file cannot be read, is damaged, or has another format.
    """
    path = Path(path).expanduser().resolve()
    try:
        with path.open("rb") as file:
            stat = os.fstat(file.fileno())
            if stat.st_size >= cached_size:
                return _open_cached(path, file, stat)
            return _open_in_memory(path, file)
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such file; name a file of word vectors") from error
    except OSError as error:
        raise InputError(f"{path}: cannot be read or cached: {error.strerror}") from error


def _open_in_memory(path: Path, file: IO[bytes]) -> WordVectors:
    output = io.BytesIO()
    index = _copy(path, file, output)
    return WordVectors(path, index, np.frombuffer(output.getbuffer(), "<f4"))


def _open_cached(path: Path, file: IO[bytes], stat: os.stat_result) -> WordVectors:
    """Open the copy of a file. It is made if there is none, or if the file has changed."""
    cache = home() / "cache"
    version = f"{VERSION}\0{path}\0{stat.st_size}\0{stat.st_mtime_ns}"
    key = hashlib.sha256(version.encode("utf-8", "surrogatepass")).hexdigest()[:24]
    index_path = cache / f"vectors-{key}.npz"
    vectors_path = index_path.with_suffix(".f32")
    try:
        with index_path.open("rb") as raw, np.load(raw, allow_pickle=False) as saved:
            return WordVectors(path, dict(saved), np.memmap(vectors_path, "<f4", "r"))
    except FileNotFoundError:
        pass
    except (OSError, EOFError, LookupError, TypeError, ValueError, zipfile.BadZipFile) as error:
        log.warning("%s: damaged (%s); rebuilding it", index_path, type(error).__name__)
    try:
        cache.mkdir(parents=True, exist_ok=True)
        output = tempfile.NamedTemporaryFile(dir=cache, delete=False)  # noqa: SIM115
    except OSError as error:
        log.warning("%s: cannot be written (%s); vectors are not cached", cache, error.strerror)
        return _open_in_memory(path, file)
    try:
        with output:
            index = _copy(path, file, output)
        Path(output.name).replace(vectors_path)
    finally:
        Path(output.name).unlink(missing_ok=True)
    content = io.BytesIO()
    np.savez(content, **index)
    write_atomically(index_path, content.getvalue())
    return WordVectors(path, index, np.memmap(vectors_path, "<f4", "r"))


def _copy(path: Path, file: IO[bytes], output: IO[bytes]) -> Index:
    """Write the numbers of all words as 32-bit floats, and return their index."""
    hashes = array("Q")
    dimensions = 0
    for word, numbers in _entries(path, file):
        hashes.append(_hash(word))
        output.write(numbers.tobytes())
        dimensions = len(numbers)
    file.seek(0)
    digest = hashlib.sha256()
    while block := file.read(2**20):
        digest.update(block)
    keys = np.frombuffer(hashes, np.uint64)
    order = np.argsort(keys, kind="stable")
    sizes = {"digest": digest.hexdigest(), "dimensions": dimensions}
    return {**sizes, "hashes": keys[order], "ranks": order}


def _hash(word: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(word, digest_size=8).digest(), "little")


def _entries(path: Path, file: IO[bytes], longest: int = 2**20) -> Iterator[tuple[bytes, Any]]:
    """Yield each word, which may contain spaces, and its numbers as an array."""
    dimensions = 0
    words: int | None = None  # as word2vec's first line announces
    total = 0
    for number, line in enumerate(iter(lambda: file.readline(longest + 1), b""), 1):
        if len(line) > longest:
            raise InputError(f"{path}, line {number}: over a million bytes; {KNOWN}")
        line = line.rstrip(b"\r\n").removesuffix(b" ").removeprefix(b"\xef\xbb\xbf")
        if number == 1 and re.fullmatch(rb"\d{1,18} \d{1,18}", line):
            words, dimensions = map(int, line.split())
            continue
        if not line:
            continue
        dimensions = dimensions or line.count(b" ")
        word, *fields = line.rsplit(b" ", dimensions)
        try:
            numbers = array("f", list(map(float, fields)))  # too large for 32 bits: infinity
        except ValueError:
            numbers = array("f")
        if not numbers or len(numbers) != dimensions or any(map(_is_number, word.split(b" ")[1:])):
            count = sum(map(_is_number, line.split(b" ")[1:]))
            cause = f"{count} numbers after the word instead of {dimensions}"
            raise InputError(f"{path}, line {number}: {cause}; {KNOWN}, or correct the line")
        total += 1
        yield word, numbers
    if not total or words not in (None, total):
        announced = "" if words is None else f", but the first line announces {words:,}"
        raise InputError(f"{path}: {total:,} words{announced}; copy or download it again")


def _is_number(field: bytes) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True
