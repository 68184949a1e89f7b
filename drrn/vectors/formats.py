"""Formats of files of word vectors. A file is read once, in blocks of words and their vectors.

GloVe        text: a word, a space and its numbers on each line
word2vec     text: the same after a first line "words dimensions"; binary: after that line, each
             word, a space and its numbers as 32-bit floats
safetensors  a tensor [words, dimensions] of floats, and a tensor `words` of bytes, one word a line
"""

from __future__ import annotations

import codecs
import json
import re
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from drrn.errors import InputError

BLOCK = 2**22  # bytes that are read together
HEAD = 2**20  # bytes that decide the format; no line is longer
MOST_DIMENSIONS = HEAD // 4
FLOATS = {"F16": 2, "BF16": 2, "F32": 4, "F64": 8}  # bytes of a number in safetensors
MARK = codecs.BOM_UTF8
COUNTS = re.compile(rb"(?:" + MARK + rb")?(\d{1,18}) (\d{1,18}) ?\r?(?:\n|\Z)")
COMPRESSED = (b"\x1f\x8b", b"PK\x03\x04", b"BZh", b"\xfd7zXZ", b"(\xb5/\xfd")
AGAIN = "copy or download it again"
KNOWN = "use GloVe's text format, word2vec's text or binary format, or safetensors"
TENSORS = "it needs one 2-D tensor of floats, and a U8 tensor `words` with one word on each line"

Vectors = NDArray[np.float32]
Blocks = Iterator[tuple[list[bytes], Vectors]]


class VectorFile:
    """A file of word vectors: `blocks` are words and their vectors [n, dimensions]."""

    first_line: int | None = None  # line of the first word, in a text

    def __init__(self, path: Path, file: IO[bytes], size: int) -> None:
        """Find the format; raise InputError if it is unknown."""
        self.path = path
        self.file = file
        self.size = size
        head = file.read(HEAD)
        file.seek(0)
        if not head:
            raise self.error(f": the file is empty: {KNOWN}")
        if head.startswith(COMPRESSED):
            raise self.error(": the file is compressed: unpack it first")
        counts = COUNTS.match(head)
        if len(head) > 8 and head[8:9] == b"{" and head[5:8] == b"\0\0\0":
            self.blocks = self._safetensors()
        elif counts is None:
            self.dimensions = self._count_numbers(head)
            self.blocks = self._text(first_line=1, words=None)
        else:
            words = int(counts[1])
            self.dimensions = int(counts[2])
            if not words or not 0 < self.dimensions <= MOST_DIMENSIONS:
                sizes = f"{words} words of {self.dimensions} dimensions"
                raise self.error(f", line 1: it announces {sizes}: {AGAIN}")
            if path.suffix == ".bin" or not _is_text(head):
                self.blocks = self._binary(counts.end(), words)
            else:
                self.blocks = self._text(first_line=2, words=words)

    def error(self, reason: str) -> InputError:
        return InputError(f"{self.path}{reason}")

    # --- text

    def _count_numbers(self, head: bytes) -> int:
        line, end, _ = head.partition(b"\n")
        fields = line.rstrip(b"\r ").split(b" ")[1:]
        whole = bool(end) or len(head) < HEAD
        if not (_is_text(head) and whole and fields and all(map(_is_number, fields))):
            raise self.error(f": unknown format of word vectors: {KNOWN}")
        return len(fields)

    def _text(self, first_line: int, words: int | None) -> Blocks:
        self.first_line = first_line
        self.file.readline(HEAD * (first_line - 1))
        some: list[bytes] = []
        rows: list[list[float]] = []
        number = first_line - 1
        blank = 0
        while line := self.file.readline(HEAD + 1):
            number += 1
            if len(line) > HEAD:
                raise self.error(f", line {number}: over a million bytes: {KNOWN}")
            line = line.rstrip(b"\r\n").removesuffix(b" ")
            if not line:  # at the end of the file only
                blank = blank or number
                continue
            if blank:
                raise self._bad_line(blank, b"")
            word, row = self._parse(number, line.removeprefix(MARK) if number == 1 else line)
            some.append(word)
            rows.append(row)
            if 32 * self.dimensions * len(rows) >= BLOCK:
                yield some, _float32(np.array(rows))
                some = []
                rows = []
        if rows:
            yield some, _float32(np.array(rows))
        total = (blank or number + 1) - first_line
        if words is not None and total != words:
            raise self.error(f": {total:,} words, but the first line announces {words:,}: {AGAIN}")

    def _parse(self, number: int, line: bytes) -> tuple[bytes, list[float]]:
        """Return the word, which may hold spaces, and its numbers."""
        word, *fields = line.rsplit(b" ", self.dimensions)
        try:
            row = list(map(float, fields))
        except ValueError:
            row = []
        if len(row) != self.dimensions or any(map(_is_number, word.split(b" ")[1:])):
            raise self._bad_line(number, line)
        return word, row

    def _bad_line(self, number: int, line: bytes) -> InputError:
        count = sum(map(_is_number, line.split(b" ")[1:]))
        if line and self.file.tell() >= self.size and count < self.dimensions:
            reason = f"the file ends after {count} of {self.dimensions} numbers: {AGAIN}"
        else:
            expected = f"the lines before have {self.dimensions}"
            reason = f"{count} numbers after the word, but {expected}: {AGAIN}, or correct the line"
        return self.error(f", line {number}: {reason}")

    # --- word2vec's binary format

    def _binary(self, start: int, words: int) -> Blocks:
        width = 4 * self.dimensions
        if words * (2 + width) > self.size:
            raise self.error(f": too short for the {words:,} words that it announces: {AGAIN}")
        self.file.seek(start)
        block = b""
        done = 0
        while done < words:
            some: list[bytes] = []
            rows: list[bytes] = []
            at = 0
            while done + len(some) < words:
                at += block[at : at + 1] == b"\n"  # word2vec ends an entry with one, others do not
                space = block.find(b" ", at)
                end = space + 1 + width
                if space < 0 or end > len(block):
                    break
                some.append(block[at:space])
                rows.append(block[space + 1 : end])
                at = end
            if some:
                yield some, np.frombuffer(b"".join(rows), "<f4").reshape(-1, self.dimensions)
            done += len(some)
            block = block[at:]
            if done < words:
                more = self.file.read(BLOCK)
                if not more or len(block) > HEAD + width:
                    where = f"word {done + 1:,} of {words:,}"
                    raise self.error(f": the file ends in the middle of {where}: {AGAIN}")
                block += more
        if self.size - self.file.tell() + len(block) > 1:  # a line's end may follow
            raise self.error(f": more than the {words:,} words that it announces: {AGAIN}")

    # --- safetensors

    def _safetensors(self) -> Blocks:
        """Check the header, which may claim anything, before reading."""
        (length,) = struct.unpack("<Q", self.file.read(8))
        data = 8 + length
        if data > self.size:
            raise self.error(f": the file is truncated: {AGAIN}")
        try:
            tensors = json.loads(self.file.read(length if length <= HEAD else 0))
            words = tensors.pop("words")
            floats = [each for name, each in tensors.items() if name != "__metadata__"]
            (matrix,) = [t for t in floats if t["dtype"] in FLOATS and len(t["shape"]) == 2]
            count, self.dimensions = matrix["shape"]
            start, end = (data + at for at in matrix["data_offsets"])
            words_start, words_end = (data + at for at in words["data_offsets"])
            integers = (count, self.dimensions, start, end, words_start, words_end)
            valid = all(type(each) is int for each in integers) and words["dtype"] == "U8"
            size = FLOATS[matrix["dtype"]] * self.dimensions
            valid = valid and 0 < self.dimensions <= MOST_DIMENSIONS and end - start == count * size
            valid = (
                valid
                and data <= min(start, words_start)
                and start < end
                and words_start < words_end
            )
        except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError):
            valid = False
        if not valid:
            raise self.error(f": not word vectors in safetensors: {TENSORS}")
        if max(end, words_end) > self.size:
            raise self.error(f": the file is truncated: {AGAIN}")
        names = self._names(words_start, words_end, count)
        return self._rows(names, start, matrix["dtype"])

    def _names(self, start: int, end: int, count: int) -> list[bytes]:
        self.file.seek(start)
        names: list[bytes] = []
        total = 0
        while start < end and (line := self.file.readline(min(HEAD + 1, end - start))):
            if len(line) > HEAD:
                raise self.error(f": a word of over a million bytes: {TENSORS}")
            start += len(line)
            total += 1
            if total <= count:
                names.append(line.removesuffix(b"\n"))
        if total != count:
            raise self.error(f": {count:,} vectors, but `words` has {total:,} lines: {TENSORS}")
        return names

    def _rows(self, names: list[bytes], start: int, kind: str) -> Blocks:
        self.file.seek(start)
        size = FLOATS[kind] * self.dimensions
        step = max(1, BLOCK // size)
        for first in range(0, len(names), step):
            some = names[first : first + step]
            raw = self.file.read(size * len(some))
            if kind == "BF16":  # the upper half of a 32-bit float
                rows = (np.frombuffer(raw, "<u2").astype("<u4") << 16).view("<f4")
            else:
                rows = _float32(np.frombuffer(raw, f"<f{FLOATS[kind]}"))
            yield some, rows.reshape(-1, self.dimensions)


def _float32(numbers: NDArray[np.floating]) -> Vectors:
    with np.errstate(over="ignore"):  # reported as not finite when the word is used
        return numbers.astype(np.float32)


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
