"""An index of a file of word vectors: where each word's entry begins, found by a hash of the word.

It is made in one pass over the file, block by block, and takes 20 bytes a word whatever the file's size.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import zipfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from drrn.files import home
from drrn.text import Ids

EDITION = 1  # raised whenever what an index holds changes
WORTH_KEEPING = 2**24  # bytes of a file: a smaller one is read through in a moment
LONGEST = 256  # bytes of a word that its hash is made of

# FNV-1a: simple, and made of operations that NumPy does for all words at once
BASIS = np.uint64(0xCBF29CE484222325)
PRIME = np.uint64(0x100000001B3)

Bytes = NDArray[np.uint8]
Hashes = NDArray[np.uint64]

log = logging.getLogger("drrn")


@dataclass(frozen=True)
class Layout:
    """How a file's entries are written."""

    form: str  # text, binary or safetensors
    dimensions: int
    lines_before: int = 0  # lines before the first entry, of a text
    matrix: int = 0  # where the numbers begin, of a safetensors file
    kind: str = "F32"  # of a number, of a safetensors file


@dataclass(frozen=True)
class VectorIndex:
    """Entries are numbered as they stand in the file, which is from the most frequent word to the least."""

    layout: Layout
    digest: str  # SHA-256 of the whole file
    starts: Ids  # [N + 1], where each entry begins, and where the last one ends
    order: NDArray[
        np.uint32
    ]  # [N], entries by the hash of their word; of equal ones the first comes first
    hashes: Hashes  # [N], ascending

    @staticmethod
    def of(layout: Layout, digest: str, starts: Ids, hashes: Hashes) -> VectorIndex:
        """From the hashes in the order of the file."""
        order = np.argsort(hashes, kind="stable").astype(np.uint32)
        return VectorIndex(layout, digest, starts, order, hashes[order])

    def candidates(self, words: Sequence[str]) -> list[list[int]]:
        """For each word, the entries whose word has its hash: hardly ever more than one."""
        if not words:
            return []
        wanted = hashes_of_words(words)
        first = np.searchsorted(self.hashes, wanted, side="left")
        last = np.searchsorted(self.hashes, wanted, side="right")
        return [self.order[a:b].tolist() for a, b in zip(first, last, strict=True)]


def word_hashes(block: Bytes, starts: Ids, stop: int) -> Hashes:
    """The hash of each word: of the bytes from its start up to the byte that stops it."""
    found = np.full(len(starts), BASIS)
    going = np.arange(len(starts))
    at = starts
    for _ in range(LONGEST):
        byte = block[at]
        on = byte != stop
        going = going[on]
        at = at[on] + 1
        byte = byte[on]
        if not len(going):
            break
        found[going] = (found[going] ^ byte) * PRIME
    return found


def hashes_of_words(words: Sequence[str]) -> Hashes:
    """The hashes of words that are at hand; none of them holds a line's end."""
    spelled = [word.encode("utf-8", "surrogatepass") + b"\n" for word in words]
    starts = np.cumsum([0, *(len(one) for one in spelled[:-1])])
    return word_hashes(np.frombuffer(b"".join(spelled), np.uint8), starts, stop=10)


# --- kept from run to run


def place_of_index(path: Path, stat: os.stat_result) -> Path:
    """Where the index of a file is kept; a file that was written to since has another."""
    made_of = f"{EDITION}\0{path}\0{stat.st_size}\0{stat.st_mtime_ns}"
    return (
        home()
        / "cache"
        / f"vectors-{hashlib.sha256(made_of.encode('utf-8', 'surrogatepass')).hexdigest()[:24]}.npz"
    )


def load_index(place: Path) -> VectorIndex | None:
    """The kept index; None where there is none, or none that can be read."""
    try:
        with place.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
            said = json.loads(file["said"].tobytes())
            arrays = {name: file[name] for name in ("starts", "order", "hashes")}
        return VectorIndex(
            Layout(**{f.name: said[f.name] for f in fields(Layout)}), said["digest"], **arrays
        )
    except FileNotFoundError:
        return None
    except (OSError, EOFError, LookupError, TypeError, ValueError, zipfile.BadZipFile) as error:
        log.warning("%s: not an index of word vectors (%s): made anew", place, type(error).__name__)
        return None


def save_index(index: VectorIndex, place: Path) -> None:
    """Write the file whole or not at all; a folder that cannot be written is noted, no more."""
    said = json.dumps({**asdict(index.layout), "digest": index.digest}).encode()
    unfinished = place.with_name(f"{place.name}.{os.getpid()}.tmp")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with unfinished.open("wb") as file:
            np.savez(
                file,
                said=np.frombuffer(said, np.uint8),
                starts=index.starts,
                order=index.order,
                hashes=index.hashes,
            )
        unfinished.replace(place)
    except OSError as error:
        with contextlib.suppress(OSError):
            unfinished.unlink()
        log.warning(
            "%s: cannot be written (%s): the index is made anew each time", place, error.strerror
        )
