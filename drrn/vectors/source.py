"""A file of word vectors while it is read through; and what the readers of its forms share."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from drrn.errors import InputError

BLOCK = 2**22  # bytes that are read at once
HEAD = 2**20  # of the beginning, by which the form is told: no line is longer
FLOATS = {"F16": 2, "BF16": 2, "F32": 4, "F64": 8}  # bytes a number
SPACE, LINE_END, RETURN = b" \n\r"
MARK = b"\xef\xbb\xbf"  # that a text is UTF-8, as editors write it at its beginning
AGAIN = "copy or download it again"
KNOWN = "give GloVe's text form, word2vec's text or binary form, or safetensors"


@dataclass
class Source:
    """A file that is being read through: what was read goes into the digest."""

    path: Path
    file: IO[bytes]
    size: int

    def __post_init__(self) -> None:
        self.sha256 = hashlib.sha256()
        self.read = 0

    def block(self) -> bytes:
        """The next bytes; none at the end."""
        found = self.file.read(BLOCK)
        self.read += len(found)
        self.sha256.update(found)
        return found

    def blocks(self) -> Iterator[bytes]:
        """All that is left."""
        while found := self.block():
            yield found

    def rest(self) -> None:
        """Read on to the end, for the digest alone."""
        for _ in self.blocks():
            pass

    def section(self, begin: int, end: int) -> Iterator[bytes]:
        """The blocks of a part of the file, which go into no digest."""
        self.file.seek(begin)
        while begin < end and (found := self.file.read(min(BLOCK, end - begin))):
            begin += len(found)
            yield found

    def refuse(self, why: str) -> InputError:
        return InputError(f"{self.path}{why}")


def is_number(field: bytes) -> bool:
    """Whether it says a number, finite or not."""
    try:
        float(field)
    except ValueError:
        return False
    return True


def numbers_of(raw: bytes, kind: str = "F32") -> NDArray[np.float32]:
    """The numbers that little-endian bytes hold."""
    if kind == "BF16":  # the upper half of a 32-bit float
        wide: NDArray[Any] = np.frombuffer(raw, "<u2").astype("<u4") << 16
        return wide.view("<f4")
    with np.errstate(over="ignore"):
        return np.frombuffer(raw, f"<f{FLOATS[kind]}").astype(np.float32)
