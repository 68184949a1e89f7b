"""Word vectors that others trained, from a file.

The file has GloVe's text format: each line is a word, a space and its numbers. word2vec's text
format is the same after a first line "words dimensions".

The first use of a file copies its vectors into the cache, as an array. Later uses map the array
into memory.
"""

import contextlib
import hashlib
import io
import re
from array import array
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from textgames.errors import InputError
from textgames.files import home, write

KNOWN = "use GloVe's text format, unpacked, or correct the line"
VERSION = 5  # of the files in the cache

RUNS = re.compile(r"\d+|[^\W\d]+")
# Meanings of endings, in a file whose words are not split there.
ENDINGS = {"n't": "not", "'ll": "will", "'re": "are", "'ve": "have", "'m": "am", "'d": "would"}
ENDINGS["'s"] = ""
# Stems that change before n't.
STEMS = {"ca": "can", "wo": "will", "sha": "shall"}

Vectors = NDArray[np.float32]


class WordVectors:
    """The words of a file, from the most frequent to the least, and their vectors.

    A word that the file lacks is read in the parts that it has: "don't" as "do" and "n't",
    "captain's" as "captain" and "'s", as GloVe's tokeniser splits them (if the file has no "n't",
    as "do" and "not"), "12b" as "12" and "b", an unknown number digit by digit. Vectors are
    weighted as SIF does (Arora et al. 2017), by a / (a + p(word)).
    """

    a = 1e-3

    def __init__(self, path: Path, digest: str, words: Sequence[str], vectors: Vectors) -> None:
        self.path = path
        self.digest = digest
        self.vectors = vectors
        self.dimensions = vectors.shape[1]
        # The first of equal words is used.
        self.ranks = {word: rank for rank, word in reversed(list(enumerate(words)))}
        # Zipf's law: the share of a rank is 1 / (rank · total)
        self._total = float(np.sum(1 / np.arange(1, len(self) + 1)))

    def __len__(self) -> int:
        return len(self.vectors)

    def vector(self, word: str) -> Vectors | None:
        """The word's numbers in the file, or None if the file lacks it."""
        rank = self.ranks.get(word)
        return None if rank is None else np.array(self.vectors[rank])

    def weighted(self, words: Sequence[str]) -> Vectors:
        """Each word's vector times its weight [N, D], 0 for a word that the file lacks."""
        rows = np.zeros((len(words), self.dimensions), np.float32)
        for at, parts in enumerate(self.parts(words)):
            for rank in (self.ranks[part] for part in parts):
                weight = self.a / (self.a + 1 / ((rank + 1) * self._total))
                rows[at] += np.float32(weight) * self.vectors[rank]
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
        weighted = self.vectors[:frequent] * np.sqrt(shares * self.a / (self.a + shares))[:, None]
        direction = np.linalg.eigh(weighted.T @ weighted)[1][:, -1]
        return direction.astype(np.float32)

    def parts(self, words: Sequence[str]) -> list[list[str]]:
        """The words of the file that each word is read as: itself, its parts, or none."""
        return [[word] if word in self.ranks else self._parts(word) for word in words]

    def _parts(self, word: str) -> list[str]:
        runs = RUNS.findall(word)
        if len(word) > 3 and word.endswith("n't"):
            stem = word[:-3] if "n't" in self.ranks else STEMS.get(word[:-3], word[:-3])
            pieces = [stem, self._ending("n't")]
        elif "'" in word:
            first, *others = word.split("'")
            pieces = [first, *(self._ending(f"'{other}") for other in others)]
        elif len(runs) > 1:
            pieces = runs
        else:
            digits = word.isdigit() and len(word) > 1
            return [digit for digit in word if digit in self.ranks] if digits else []
        return [part for some in self.parts(list(filter(None, pieces))) for part in some]

    def _ending(self, ending: str) -> str:
        """The ending if the file has it, else its meaning, else its letters."""
        return ending if ending in self.ranks else ENDINGS.get(ending, ending.strip("'"))


def open_vectors(path: str | Path) -> WordVectors:
    """Open a file of word vectors in text format.

    Raises:
        InputError: The file cannot be read, is damaged, or has another format.
    """
    path = Path(path).expanduser().resolve()
    try:
        stat = path.stat()
        version = f"{VERSION}\0{path}\0{stat.st_size}\0{stat.st_mtime_ns}"
        key = hashlib.sha256(version.encode("utf-8", "surrogatepass")).hexdigest()[:24]
        cached = home() / "cache" / f"vectors-{key}.npy"
        names = cached.with_suffix(".txt")
        try:
            digest, *words = names.read_bytes().decode().split("\n")
            return WordVectors(path, digest, words, np.load(cached, mmap_mode="r"))
        except (OSError, ValueError):  # not cached, or damaged
            pass
        with path.open("rb") as file:
            digest, words, vectors = _read(path, file)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    content = io.BytesIO()
    np.save(content, vectors)
    with contextlib.suppress(InputError):  # without a writable cache, the file is read each time
        write(names, "\n".join([digest, *words]))
        write(cached, content.getvalue())
    return WordVectors(path, digest, words, vectors)


def _read(path: Path, file: IO[bytes], longest: int = 2**20) -> tuple[str, list[str], Vectors]:
    """The SHA-256 of a file, its words, which may contain spaces, and their vectors [N, D]."""
    digest = hashlib.sha256()
    dimensions = 0
    announced: int | None = None  # words, by word2vec's first line
    words = []
    numbers = array("f")
    for number, line in enumerate(iter(lambda: file.readline(longest), b""), 1):
        digest.update(line)
        line = line.rstrip(b"\r\n").removesuffix(b" ").removeprefix(b"\xef\xbb\xbf")
        if number == 1 and re.fullmatch(rb"\d{1,18} \d{1,18}", line):
            announced, dimensions = map(int, line.split())
            continue
        if not line:
            continue
        dimensions = dimensions or line.count(b" ")
        word, *fields = line.rsplit(b" ", dimensions)
        try:
            numbers.extend(map(float, fields))  # too large for 32 bits: infinity
        except ValueError:
            fields = []
        if not fields or len(fields) != dimensions:
            cause = f"it is not a word and {dimensions or 'its'} numbers"
            raise InputError(f"{path}, line {number}: {cause}; {KNOWN}")
        words.append(word.decode("utf-8", "replace"))
    if not words or announced not in (None, len(words)):
        expected = "" if announced is None else f", but the first line announces {announced}"
        raise InputError(f"{path}: {len(words)} words{expected}; copy or download it again")
    vectors = np.array(numbers).reshape(-1, dimensions)
    finite = np.isfinite(vectors).all(axis=1)
    if not finite.all():
        name = words[int(np.argmin(finite))]
        raise InputError(f'{path}: the vector of "{name}" has a number that is not finite')
    return digest.hexdigest(), words, vectors
