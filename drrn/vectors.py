"""Vectors of words that others trained, from a file.

A file of word vectors has one of these formats:

GloVe     text: a word, a space and its numbers on each line
word2vec  text: the same after a first line "words dimensions"; binary: after that line, each word,
          a space and its numbers as 32-bit floats

The first use of a large file copies its vectors into the cache, as an array; later uses map the
array into memory.
"""

import codecs
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
from itertools import count
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from drrn.errors import InputError
from drrn.files import home, write_atomically

HEAD = 2**20  # bytes that decide the format; no line is longer
MOST_DIMENSIONS = HEAD // 4
MARK = codecs.BOM_UTF8
COUNTS = re.compile(rb"(?:" + MARK + rb")?(\d{1,18}) (\d{1,18}) ?\r?(?:\n|\Z)")
COMPRESSED = (b"\x1f\x8b", b"PK\x03\x04", b"BZh", b"\xfd7zXZ", b"(\xb5/\xfd")
AGAIN = "copy or download it again"
KNOWN = "use GloVe's text format, or word2vec's text or binary format"

CACHED_SIZE = 2**22  # bytes of a file from which on a copy saves time
VERSION = 4  # of the files in the cache

A = 1e-3  # of SIF's weight a / (a + p(word))
# the most frequent words, whose main direction is common to all texts; None in a smaller file
FREQUENT = 5000
ENOUGH_WORDS = 1000
RUNS = re.compile(r"\d+|[^\W\d]+")
# meanings of endings, in a file whose words are not split there; stems that change before n't
ENDINGS = {"n't": "not", "'ll": "will", "'re": "are", "'ve": "have", "'m": "am", "'d": "would"}
ENDINGS["'s"] = ""
STEMS = {"ca": "can", "wo": "will", "sha": "shall"}

Vectors = NDArray[np.float32]
Index = dict[str, Any]  # digest of the file, dimensions, sorted hashes of words, their ranks
Entries = Iterator[tuple[bytes, bytes]]  # a word, and its numbers as 32-bit floats

log = logging.getLogger("drrn")


# --- word vectors


class WordVectors:
    """The words of a file, from the most frequent to the least, and their vectors.

    A word that the file lacks is read in the parts that it has: "don't" as "do" and "n't",
    "captain's" as "captain" and "'s", as GloVe's tokeniser splits them (if the file has no "n't",
    as "do" and "not"), "12b" as "12" and "b", an unknown number digit by digit. Vectors are
    weighted as SIF does (Arora et al. 2017).
    """

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
        """Return the position of a word in the file, from 0; None if the file lacks it."""
        key = np.uint64(_hash(word.encode("utf-8", "surrogatepass")))
        at = int(np.searchsorted(self.hashes, key))
        return int(self.ranks[at]) if at < len(self.hashes) and self.hashes[at] == key else None

    def vector(self, word: str) -> Vectors | None:
        """Return the word's numbers in the file; None if the file lacks it."""
        rank = self.rank(word)
        return None if rank is None else self._vector(rank)

    def weighted(self, words: Sequence[str]) -> Vectors:
        """Return each word's vector times its weight [N, D]; 0 for a word that the file lacks."""
        rows = np.zeros((len(words), self.dimensions), np.float32)
        for at, parts in enumerate(self.parts(words)):
            for rank in map(self.rank, parts):
                assert rank is not None
                weight = A / (A + 1 / ((rank + 1) * self._total))  # SIF's a / (a + p)
                rows[at] += np.float32(weight) * self._vector(rank)
        return rows

    @cached_property
    def common(self) -> Vectors | None:
        """The direction that texts have in common, of length 1; None if the file has few words.

        It is the first principal component of the most frequent words, as they occur in texts.
        """
        frequent = min(len(self), FREQUENT)
        if frequent < ENOUGH_WORDS:
            return None
        shares = 1 / (np.arange(1, frequent + 1) * self._total)
        rows = np.stack([self._vector(rank) for rank in range(frequent)])
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
            where = f"word {rank + 1}: number {int(np.argmin(finite)) + 1}"
            raise InputError(f"{self.path}, {where} is not finite; correct it, or remove the word")
        return vector


def open_vectors(path: str | Path) -> WordVectors:
    """Open a file of word vectors, in GloVe's text format, or word2vec's text or binary format.

    Raises:
        InputError: the file cannot be read, is damaged, or has another format.
    """
    path = Path(path).expanduser().resolve()
    try:
        with path.open("rb") as file:
            is_large = os.fstat(file.fileno()).st_size >= CACHED_SIZE
            if is_large and (cached := _open_cached(path, file)):
                return cached
            output = io.BytesIO()
            index = _copy(path, file, output)
            return WordVectors(path, index, np.frombuffer(output.getbuffer(), "<f4"))
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such file; name a file of word vectors") from error
    except IsADirectoryError as error:
        raise InputError(f"{path}: this is a folder; name a file of word vectors") from error
    except OSError as error:
        raise InputError(f"{path}: cannot be read or cached: {error.strerror}") from error


def _copy(path: Path, file: IO[bytes], output: IO[bytes]) -> Index:
    """Write the numbers of all words, and return their index."""
    dimensions, entries = _read(path, file)
    hashes = array("Q")
    for word, numbers in entries:
        hashes.append(_hash(word))
        output.write(numbers)
    file.seek(0)
    digest = hashlib.sha256()
    while block := file.read(HEAD):
        digest.update(block)
    keys = np.frombuffer(hashes, np.uint64)
    order = np.argsort(keys, kind="stable")
    sizes = {"digest": digest.hexdigest(), "dimensions": dimensions}
    return {**sizes, "hashes": keys[order], "ranks": order}


def _hash(word: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(word, digest_size=8).digest(), "little")


def _open_cached(path: Path, file: IO[bytes]) -> WordVectors | None:
    """Open the copy of a file; make it if there is none, or if the file has changed.

    Returns None if the cache cannot be written.
    """
    cache = home() / "cache"
    stat = os.fstat(file.fileno())
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
        return None
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


# --- formats of files


def _read(path: Path, file: IO[bytes]) -> tuple[int, Entries]:
    """Find the format; return the dimensions and the entries."""
    head = file.read(HEAD)
    if not head:
        raise InputError(f"{path}: the file is empty; {KNOWN}")
    if head.startswith(COMPRESSED):
        raise InputError(f"{path}: the file is compressed; unpack it first")
    counts = COUNTS.match(head)
    if counts is None:
        line, end, _ = head.partition(b"\n")
        fields = line.rstrip(b"\r ").split(b" ")[1:]
        whole = bool(end) or len(head) < HEAD
        if not (_is_text(head) and whole and fields and all(map(_is_number, fields))):
            raise InputError(f"{path}: unknown format of word vectors; {KNOWN}")
        file.seek(0)
        return len(fields), _read_text(path, file, len(fields), None)
    words = int(counts[1])
    dimensions = int(counts[2])
    if not words or not 0 < dimensions <= MOST_DIMENSIONS:
        sizes = f"{words} words of {dimensions} dimensions"
        raise InputError(f"{path}, line 1: it announces {sizes}; {AGAIN}")
    file.seek(counts.end())
    read = _read_binary if path.suffix == ".bin" or not _is_text(head) else _read_text
    return dimensions, read(path, file, dimensions, words)


def _read_text(path: Path, file: IO[bytes], dimensions: int, announced: int | None) -> Entries:
    """Read a word, which may hold spaces, and its numbers from each line."""
    total = 0
    for number in count(1 if announced is None else 2):
        line = file.readline(HEAD + 1)
        if not line:
            break
        if len(line) > HEAD:
            raise InputError(f"{path}, line {number}: over a million bytes; {KNOWN}")
        line = line.rstrip(b"\r\n").removesuffix(b" ").removeprefix(MARK)
        if not line:
            continue
        word, *fields = line.rsplit(b" ", dimensions)
        try:
            row = array("f", list(map(float, fields)))  # too large for 32 bits: infinity
        except ValueError:
            row = array("f")
        if len(row) != dimensions or any(map(_is_number, word.split(b" ")[1:])):
            numbers = sum(map(_is_number, line.split(b" ")[1:]))
            reason = f"{numbers} numbers after the word instead of {dimensions}"
            raise InputError(f"{path}, line {number}: {reason}; {AGAIN}, or correct the line")
        total += 1
        yield word, row.tobytes()
    if announced not in (None, total):
        counts = f"{total:,} words, but the first line announces {announced:,}"
        raise InputError(f"{path}: {counts}; {AGAIN}")


def _read_binary(path: Path, file: IO[bytes], dimensions: int, words: int) -> Entries:
    width = 4 * dimensions
    at = file.tell()
    with mmap(file.fileno(), 0, access=ACCESS_READ) as data:
        for number in range(1, words + 1):
            at += data[at : at + 1] == b"\n"  # word2vec ends an entry with one, others do not
            space = data.find(b" ", at, at + HEAD)
            end = space + 1 + width
            if space < 0 or end > len(data):
                where = f"word {number:,} of {words:,}"
                raise InputError(f"{path}: the file ends in the middle of {where}; {AGAIN}")
            yield data[at:space], data[space + 1 : end]
            at = end
        if len(data) - at > 1:  # a line's end may follow
            raise InputError(f"{path}: more than the {words:,} words that it announces; {AGAIN}")


def _is_number(field: bytes) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def _is_text(head: bytes) -> bool:
    """Whether bytes are UTF-8 without control characters; the last character may be cut."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except ValueError:
        return False
    return not re.search(rb"[\x00-\x08\x0e-\x1f]", head)
