"""The pass over a file of word vectors that makes its index, and finds what is wrong with it.

    text         word, space, numbers; one word a line, as GloVe writes it
    word2vec     the same after a first line "words dimensions"; or after each word and a space the numbers themselves,
                 as 32-bit floats (.bin)
    safetensors  one tensor [words, dimensions] of floats, and a tensor `words` of bytes: the words, one a line

Of each line the number of fields is checked here; whether they are numbers, when they are asked for.
"""

from __future__ import annotations

import codecs
import hashlib
import json
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from drrn.errors import InputError
from drrn.text import Ids
from drrn.vectors.index import Bytes, Hashes, Layout, VectorIndex, word_hashes

BLOCK = 2**22  # bytes that are read at once
HEAD = 2**20  # of the beginning, by which the form is told: no line is longer
FLOATS = {"F16": 2, "BF16": 2, "F32": 4, "F64": 8}  # bytes a number
SPACE, LINE_END, RETURN = b" \n\r"
COUNTS = re.compile(rb"(\d+) (\d+) ?\r?\n")
COMPRESSED = (b"\x1f\x8b", b"PK\x03\x04", b"BZh", b"\xfd7zXZ", b"(\xb5/\xfd")
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

    def rest(self) -> None:
        """Read on to the end, for the digest alone."""
        while self.block():
            pass

    def refuse(self, why: str) -> InputError:
        return InputError(f"{self.path}{why}")


def scan(path: Path, file: IO[bytes], size: int) -> VectorIndex:
    """The index of an open file."""
    source, head = Source(path, file, size), file.read(HEAD)
    file.seek(0)
    if not head:
        raise source.refuse(f": it is empty: {KNOWN}")
    if head.startswith(COMPRESSED):
        raise source.refuse(": it is compressed: unpack it first")
    if len(head) > 8 and head[8:9] == b"{" and head[5:8] == b"\0\0\0":
        return _scan_safetensors(source)
    counts = COUNTS.match(head)
    if counts is None:
        return _scan_text(source, _fields_of_first(source, head), lines_before=0, count=None)
    count, dimensions = int(counts[1]), int(counts[2])
    if not count or not dimensions:
        raise source.refuse(f", line 1: it says {count} words of {dimensions} dimensions: {AGAIN}")
    if path.suffix == ".bin" or not _is_text(head):
        return _scan_binary(source, counts.end(), count, dimensions)
    return _scan_text(source, dimensions, lines_before=1, count=count)


# --- text


@dataclass(frozen=True)
class Lines:
    """The lines of a block within the file."""

    before: int
    last: bool  # whether the file ends with them


def _scan_text(source: Source, dimensions: int, *, lines_before: int, count: int | None) -> VectorIndex:
    starts: list[Ids] = []
    hashes: list[Hashes] = []
    lines = 0
    for offset, block in _whole_lines(source):
        begins, ends = _lines(block)
        skipped = lines_before if lines == 0 else 0
        begins, ends = begins[skipped:], ends[skipped:]
        told = Lines(lines + skipped, last=offset + len(block) >= source.size)
        _check_fields(source, block, begins, ends, dimensions, told)
        lines += skipped + len(begins)
        starts.append(begins + offset)
        hashes.append(word_hashes(block, begins, SPACE))
    found = lines - lines_before
    if count is not None and found != count:
        raise source.refuse(f": it has {found:,} words, and its first line says {count:,}: {AGAIN}")
    starts.append(np.array([source.size]))
    layout = Layout("text", dimensions, lines_before)
    return VectorIndex.of(layout, source.sha256.hexdigest(), np.concatenate(starts), np.concatenate(hashes))


def _whole_lines(source: Source) -> Iterator[tuple[int, Bytes]]:
    """The file in blocks that end where a line does, each with its place; a last line's end is put where it lacks."""
    rest, offset = b"", 0
    while True:
        more = source.block()
        block = rest + more if more or not rest else rest + b"\n"
        end = block.rfind(b"\n") + 1
        if end:
            yield offset, np.frombuffer(block, np.uint8, end)
        elif len(block) > HEAD:
            raise source.refuse(f": a line of over a million bytes is no word with its numbers: {KNOWN}")
        if not more:
            return
        rest, offset = block[end:], offset + end


def _lines(block: Bytes) -> tuple[Ids, Ids]:
    """Where the lines of a block begin, and where what stands in them ends: without "\\r" and one space at the end."""
    ends = np.flatnonzero(block == LINE_END)
    begins = np.concatenate([[0], ends[:-1] + 1])
    ends = ends - (block[ends - 1] == RETURN)
    return begins, ends - (block[ends - 1] == SPACE)


def _check_fields(source: Source, block: Bytes, begins: Ids, ends: Ids, dimensions: int, lines: Lines) -> None:
    """Refuse a line with fewer numbers or more, and a last one that was cut; a word may hold spaces, as some do."""
    if not len(begins):
        return
    bounds = np.stack([begins, np.maximum(ends, begins)], axis=1).ravel()
    odd = np.add.reduceat(block == SPACE, bounds, dtype=np.int32)[::2] != dimensions
    odd[-1] |= lines.last
    for at in np.flatnonzero(odd | (ends <= begins)).tolist():
        fields = bytes(block[begins[at] : max(ends[at], begins[at])]).split(b" ")[1:]
        found, where = sum(map(is_number, fields)), f", line {lines.before + at + 1}: "
        if found == dimensions and all(map(is_number, fields[-dimensions:])):
            continue
        if lines.last and at == len(begins) - 1 and found < dimensions:
            raise source.refuse(f"{where}it ends there after {found} of {dimensions} numbers: {AGAIN}")
        numbers = f"it has {found} numbers after the word, and the lines before it have {dimensions}"
        raise source.refuse(f"{where}{numbers}: {AGAIN}, or mend that line")


def _fields_of_first(source: Source, head: bytes) -> int:
    """How many numbers stand in the first line of a text without counts."""
    line, end, _ = head.partition(b"\n")
    fields = line.rstrip(b"\r ").split(b" ")
    if not _is_text(head) or (not end and len(head) == HEAD) or len(fields) < 2 or not all(map(is_number, fields[1:])):
        raise source.refuse(f": not a known form of word vectors: {KNOWN}")
    return len(fields) - 1


def is_number(field: bytes) -> bool:
    """Whether it says a number, finite or not."""
    try:
        float(field)
    except ValueError:
        return False
    return True


def _is_text(head: bytes) -> bool:
    """Whether bytes are UTF-8 without control characters; their last character may be cut."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except ValueError:
        return False
    return not re.search(rb"[\x00-\x08\x0e-\x1f]", head)


# --- word2vec's binary form


def _scan_binary(source: Source, header: int, count: int, dimensions: int) -> VectorIndex:
    if count * (2 + 4 * dimensions) > source.size:
        raise source.refuse(f": it is too short for the {count:,} words that its first line says: {AGAIN}")
    starts, hashes = np.zeros(count + 1, np.int64), np.zeros(count, np.uint64)
    block, offset, done = source.block()[header:], header, 0
    while done < count:
        begins, at = _entries(block, dimensions, count - done)
        some = slice(done, done + len(begins))
        starts[some], hashes[some] = begins + offset, word_hashes(np.frombuffer(block, np.uint8), begins, SPACE)
        block, offset, done = block[at:], offset + at, some.stop
        if done < count:
            more = source.block()
            if not more or len(block) > HEAD + 4 * dimensions:  # no word is so long
                raise source.refuse(f": it ends in the middle of word {done + 1:,} of {count:,}: {AGAIN}")
            block += more
    source.rest()
    starts[count] = offset
    if source.size - offset > 1:  # a line's end may follow
        raise source.refuse(f": more follows after the {count:,} words that its first line says: {AGAIN}")
    return VectorIndex.of(Layout("binary", dimensions), source.sha256.hexdigest(), starts, hashes)


def _entries(block: bytes, dimensions: int, most: int) -> tuple[Ids, int]:
    """Where the whole entries of a block begin, and where the first that is cut does."""
    begins: list[int] = []
    at = 0
    while len(begins) < most:
        begin = at + (block[at : at + 1] == b"\n")  # word2vec ends an entry with one, others do not
        space = block.find(b" ", begin)
        end = space + 1 + 4 * dimensions
        if space < 0 or end > len(block):
            break
        begins.append(begin)
        at = end
    return np.array(begins, np.int64), at


# --- safetensors


def _scan_safetensors(source: Source) -> VectorIndex:
    source.rest()
    source.file.seek(0)
    (length,) = struct.unpack("<Q", source.file.read(8))
    if 8 + length > source.size:
        raise source.refuse(f": it is cut short: {AGAIN}")
    layout, rows, (begin, end) = _tensors(source, source.file.read(length), 8 + length)
    source.file.seek(begin)
    spelled = source.file.read(end - begin)
    block = np.frombuffer(spelled if spelled.endswith(b"\n") else spelled + b"\n", np.uint8)
    ends = np.flatnonzero(block == LINE_END)
    if len(ends) != rows:
        raise source.refuse(f": it has {rows:,} vectors, and `words` names {len(ends):,}: write one word a line")
    begins = np.concatenate([[0], ends[:-1] + 1])
    starts = np.append(begins, len(spelled)) + begin
    return VectorIndex.of(layout, source.sha256.hexdigest(), starts, word_hashes(block, begins, LINE_END))


def _tensors(source: Source, text: bytes, data: int) -> tuple[Layout, int, tuple[int, int]]:
    """The matrix, its rows, and from where to where the words stand."""
    try:
        header = {name: entry for name, entry in json.loads(text).items() if name != "__metadata__"}
        for entry in header.values():
            if data + entry["data_offsets"][1] > source.size:
                raise source.refuse(f": it is cut short: {AGAIN}")
        words = header.pop("words")
        matrices = [entry for entry in header.values() if entry["dtype"] in FLOATS and len(entry["shape"]) == 2]
        (matrix,) = matrices
        rows, dimensions = matrix["shape"]
        begin, end = (data + at for at in words["data_offsets"])
        at, matrix_end = (data + at for at in matrix["data_offsets"])
        if words["dtype"] != "U8" or not rows or not dimensions or begin < data or at < data or end <= begin:
            raise ValueError
        if matrix_end - at != rows * dimensions * FLOATS[matrix["dtype"]]:
            raise ValueError
    except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        needs = "one 2-D tensor of floats, and a U8 tensor `words` with one word a line"
        raise source.refuse(f": not word vectors in safetensors: it must hold {needs}") from error
    return Layout("safetensors", dimensions, matrix=at, kind=matrix["dtype"]), rows, (begin, end)


def numbers_of(raw: bytes, kind: str = "F32") -> NDArray[np.float32]:
    """The numbers that little-endian bytes hold."""
    if kind == "BF16":  # the upper half of a 32-bit float
        wide: NDArray[Any] = np.frombuffer(raw, "<u2").astype("<u4") << 16
        return wide.view("<f4")
    with np.errstate(over="ignore"):
        return np.frombuffer(raw, f"<f{FLOATS[kind]}").astype(np.float32)
