"""The pass over a file of word vectors that makes its index, and finds what is wrong with it.

text         word, space, numbers; one word a line, as GloVe writes it
word2vec     the same after a first line "words dimensions"; or after each word and a space the numbers themselves,
             as 32-bit floats (.bin)
safetensors  one tensor [words, dimensions] of floats, and a tensor `words` of bytes: the words, one a line
"""

from __future__ import annotations

import json
import re
import struct
from pathlib import Path
from typing import IO

import numpy as np

from drrn.text import Ids
from drrn.vectors.index import Hashes, Layout, VectorIndex, word_hashes
from drrn.vectors.source import AGAIN, FLOATS, HEAD, KNOWN, LINE_END, MARK, SPACE, Source
from drrn.vectors.text_form import fields_of_first, is_readable, scan_text, whole_lines

COUNTS = re.compile(rb"(?:" + MARK + rb")?(\d{1,18}) (\d{1,18}) ?\r?(?:\n|\Z)")
MOST_DIMENSIONS = HEAD // 4  # of a vector: as a text, it would not fit into a line either
HOLDS = "it must hold one 2-D tensor of floats, and a U8 tensor `words` with one word a line"
COMPRESSED = (b"\x1f\x8b", b"PK\x03\x04", b"BZh", b"\xfd7zXZ", b"(\xb5/\xfd")


def scan(path: Path, file: IO[bytes], size: int) -> VectorIndex:
    """The index of an open file."""
    source = Source(path, file, size)
    head = file.read(HEAD)
    file.seek(0)
    if not head:
        raise source.refuse(f": it is empty: {KNOWN}")
    if head.startswith(COMPRESSED):
        raise source.refuse(": it is compressed: unpack it first")
    if len(head) > 8 and head[8:9] == b"{" and head[5:8] == b"\0\0\0":
        return _scan_safetensors(source)
    counts = COUNTS.match(head)
    if counts is None:
        return scan_text(source, fields_of_first(source, head), lines_before=0, count=None)
    count = int(counts[1])
    dimensions = int(counts[2])
    if not count or not 0 < dimensions <= MOST_DIMENSIONS:
        raise source.refuse(f", line 1: it says {count} words of {dimensions} dimensions: {AGAIN}")
    if path.suffix == ".bin" or not is_readable(head):
        return _scan_binary(source, counts.end(), count, dimensions)
    return scan_text(source, dimensions, lines_before=1, count=count)


# --- word2vec's binary form


def _scan_binary(source: Source, header: int, count: int, dimensions: int) -> VectorIndex:
    if count * (2 + 4 * dimensions) > source.size:
        raise source.refuse(
            f": it is too short for the {count:,} words that its first line says: {AGAIN}"
        )
    starts = np.zeros(count + 1, np.int64)
    hashes = np.zeros(count, np.uint64)
    block = source.block()[header:]
    offset = header
    done = 0
    while done < count:
        begins, at = _entries(block, dimensions, count - done)
        some = slice(done, done + len(begins))
        starts[some], hashes[some] = (
            begins + offset,
            word_hashes(np.frombuffer(block, np.uint8), begins, SPACE),
        )
        block = block[at:]
        offset = offset + at
        done = some.stop
        if done < count:
            more = source.block()
            if not more or len(block) > HEAD + 4 * dimensions:  # no word is so long
                raise source.refuse(
                    f": it ends in the middle of word {done + 1:,} of {count:,}: {AGAIN}"
                )
            block += more
    source.rest()
    starts[count] = offset
    if source.size - offset > 1:  # a line's end may follow
        raise source.refuse(
            f": more follows after the {count:,} words that its first line says: {AGAIN}"
        )
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
    """What it says of itself is checked before it is read through: a header may promise anything."""
    (length,) = struct.unpack("<Q", source.file.read(8))
    if 8 + length > source.size:
        raise source.refuse(f": it is cut short: {AGAIN}")
    if length > HEAD:  # two tensors need a few hundred bytes
        raise source.refuse(f": not word vectors in safetensors: {HOLDS}")
    layout, rows, words = _tensors(source, source.file.read(length), 8 + length)
    starts, hashes = _named(source, rows, *words)
    source.file.seek(0)
    source.rest()
    return VectorIndex.of(layout, source.sha256.hexdigest(), starts, hashes)


def _named(source: Source, rows: int, begin: int, end: int) -> tuple[Ids, Hashes]:
    """Where each word begins, and where the last one ends; and their hashes. The words stand from `begin` to `end`."""
    starts = np.zeros(rows + 1, np.int64)
    hashes = np.zeros(rows, np.uint64)
    found = 0
    for offset, block in whole_lines(source, source.section(begin, end)):
        ends = np.flatnonzero(block == LINE_END)
        begins = np.concatenate([[0], ends[:-1] + 1])
        some = slice(found, found + len(ends))
        found = found + len(ends)
        if found <= rows:
            starts[some], hashes[some] = (
                begins + offset + begin,
                word_hashes(block, begins, LINE_END),
            )
    if found != rows:
        raise source.refuse(
            f": it has {rows:,} vectors, and `words` names {found:,}: write one word a line"
        )
    starts[rows] = end
    return starts, hashes


def _tensors(source: Source, text: bytes, data: int) -> tuple[Layout, int, tuple[int, int]]:
    """The matrix, its rows, and from where to where the words stand."""
    try:
        header = {name: entry for name, entry in json.loads(text).items() if name != "__metadata__"}
        for entry in header.values():
            if data + entry["data_offsets"][1] > source.size:
                raise source.refuse(f": it is cut short: {AGAIN}")
        words = header.pop("words")
        matrices = [
            entry
            for entry in header.values()
            if entry["dtype"] in FLOATS and len(entry["shape"]) == 2
        ]
        (matrix,) = matrices
        rows, dimensions = matrix["shape"]
        begin, end = (data + at for at in words["data_offsets"])
        at, matrix_end = (data + at for at in matrix["data_offsets"])
        whole = all(
            type(number) is int for number in (rows, dimensions, begin, end, at, matrix_end)
        )
        if (
            not whole
            or words["dtype"] != "U8"
            or rows < 1
            or begin < data
            or at < data
            or end <= begin
        ):
            raise ValueError
        if (
            not 0 < dimensions <= MOST_DIMENSIONS
            or matrix_end - at != rows * dimensions * FLOATS[matrix["dtype"]]
        ):
            raise ValueError
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError) as error:
        raise source.refuse(f": not word vectors in safetensors: {HOLDS}") from error
    return Layout("safetensors", dimensions, matrix=at, kind=matrix["dtype"]), rows, (begin, end)
