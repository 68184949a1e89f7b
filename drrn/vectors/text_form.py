"""The pass over word vectors as text: a word, a space, and its numbers on each line.

Of each line the number of fields is checked here; whether they are numbers, when they are asked for.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from drrn.text import Ids
from drrn.vectors.index import Bytes, Hashes, Layout, VectorIndex, word_hashes
from drrn.vectors.source import AGAIN, HEAD, KNOWN, LINE_END, MARK, RETURN, SPACE, Source, is_number

Number = TypeVar("Number", np.int64, np.uint64)


@dataclass(frozen=True)
class Lines:
    """The lines of a block within the file."""

    before: int
    last: bool  # whether the file ends with them


def scan_text(
    source: Source, dimensions: int, *, lines_before: int, count: int | None
) -> VectorIndex:
    starts: list[Ids] = []
    hashes: list[Hashes] = []
    lines = 0
    for offset, block in whole_lines(source, source.blocks()):
        begins, ends = _lines(block)
        skipped = lines_before if lines == 0 else 0
        begins = begins[skipped:]
        ends = ends[skipped:]
        told = Lines(lines + skipped, last=offset + len(block) >= source.size)
        if told.last:  # lines without anything may follow the last word
            begins, ends = _without_blank_end(begins, ends)
        if not offset and not skipped and bytes(block[: len(MARK)]) == MARK:
            begins[0] = len(MARK)
        _check_fields(source, block, begins, ends, dimensions, told)
        lines += skipped + len(begins)
        starts.append(begins + offset)
        hashes.append(word_hashes(block, begins, SPACE))
    found = lines - lines_before
    if count is not None and found != count:
        raise source.refuse(f": it has {found:,} words, and its first line says {count:,}: {AGAIN}")
    starts.append(np.array([source.size]))
    layout = Layout("text", dimensions, lines_before)
    return VectorIndex.of(layout, source.sha256.hexdigest(), _joined(starts), _joined(hashes))


def _joined(parts: list[NDArray[Number]]) -> NDArray[Number]:
    """One array of many, which are let go of: of a large file, both together would be more than the index itself."""
    found = np.concatenate(parts)
    parts.clear()
    return found


def whole_lines(source: Source, blocks: Iterable[bytes]) -> Iterator[tuple[int, Bytes]]:
    """The same bytes in blocks that end where a line does, each with its place; a last line's end is put where it
    lacks."""
    rest = b""
    offset = 0
    for more in chain(blocks, [b""]):  # nothing more comes after the last
        block = rest + more if more or not rest else rest + b"\n"
        end = block.rfind(b"\n") + 1
        if end:
            yield offset, np.frombuffer(block, np.uint8, end)
        elif len(block) > HEAD:
            raise source.refuse(
                f": a line of over a million bytes is no word with its numbers: {KNOWN}"
            )
        rest = block[end:]
        offset = offset + end


def _lines(block: Bytes) -> tuple[Ids, Ids]:
    """Where the lines of a block begin, and where what stands in them ends: without "\\r" and one space at the end."""
    ends = np.flatnonzero(block == LINE_END)
    begins = np.concatenate([[0], ends[:-1] + 1])
    ends = ends - (block[ends - 1] == RETURN)
    return begins, ends - (block[ends - 1] == SPACE)


def _without_blank_end(begins: Ids, ends: Ids) -> tuple[Ids, Ids]:
    """The lines without those at the end in which nothing stands; the first is kept."""
    said = np.flatnonzero(ends > begins)
    count = int(said[-1]) + 1 if len(said) else min(1, len(begins))
    return begins[:count], ends[:count]


def _check_fields(
    source: Source, block: Bytes, begins: Ids, ends: Ids, dimensions: int, lines: Lines
) -> None:
    """Refuse a line with fewer numbers or more, and a last one that was cut; a word may hold spaces, as some do."""
    if not len(begins):
        return
    bounds = np.stack([begins, np.maximum(ends, begins)], axis=1).ravel()
    odd = np.add.reduceat(block == SPACE, bounds, dtype=np.int32)[::2] != dimensions
    odd[-1] |= lines.last
    for at in np.flatnonzero(odd | (ends <= begins)).tolist():
        fields = bytes(block[begins[at] : max(ends[at], begins[at])]).split(b" ")[1:]
        found = sum(map(is_number, fields))
        where = f", line {lines.before + at + 1}: "
        if found == dimensions and all(map(is_number, fields[-dimensions:])):
            continue
        if lines.last and at == len(begins) - 1 and found < dimensions:
            raise source.refuse(
                f"{where}it ends there after {found} of {dimensions} numbers: {AGAIN}"
            )
        numbers = (
            f"it has {found} numbers after the word, and the lines before it have {dimensions}"
        )
        raise source.refuse(f"{where}{numbers}: {AGAIN}, or mend that line")


def fields_of_first(source: Source, head: bytes) -> int:
    """How many numbers stand in the first line of a text without counts."""
    line, end, _ = head.partition(b"\n")
    fields = line.rstrip(b"\r ").split(b" ")
    if (
        not is_readable(head)
        or (not end and len(head) == HEAD)
        or len(fields) < 2
        or not all(map(is_number, fields[1:]))
    ):
        raise source.refuse(f": not a known form of word vectors: {KNOWN}")
    return len(fields) - 1


def is_readable(head: bytes) -> bool:
    """Whether bytes are UTF-8 without control characters; their last character may be cut."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except ValueError:
        return False
    return not re.search(rb"[\x00-\x08\x0e-\x1f]", head)
