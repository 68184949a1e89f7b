"""Event files for TensorBoard, written by the standard library: records of scalars, each with its check sums.

A record is its length (8 bytes), the masked CRC-32C of that, the data, the masked CRC-32C of the data. The data is an
Event of protocol buffers: field 1 the time (double), 2 the step (varint), 3 the file's version (string), 5 a Summary,
whose field 1 is a Value of tag (1, string) and number (2, float). A file grows at its end, so that a TensorBoard which
looks on sees each round; a run that goes on first cuts off what a kill left half-written.
"""

from __future__ import annotations

import functools
import os
import struct
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path

from drrn.errors import InputError

FOLDER = "tensorboard"
NAME = "events.out.tfevents.drrn"
LABELS = {"final_reward": "final reward", "return": "return"}  # what is told of each policy and replica
# of CRC-32C, its bits reversed; of the format's masked form
POLYNOMIAL = 0x82F63B78
MASK = 0xA282EAD8

Rows = Sequence[dict[str, str]]  # of evaluations.csv


class EventFile:
    """The event file of a run: every round that the rows hold stands in it once."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FOLDER / NAME

    def begin(self, rows: Rows) -> None:
        """Cut off what no row vouches for, and add the rounds that are missing."""
        wanted = [record(event(time.time(), version="brain.Event:2"))]  # the version that TensorBoard knows
        for number, group in groupby(rows, key=lambda row: int(row["round"])):
            wanted += scalar_records(number, list(group))
        with self._refusals():
            self.path.parent.mkdir(exist_ok=True)
            self.path.touch()
            kept = _same_beginning(self.path.read_bytes(), wanted)
            os.truncate(self.path, sum(len(one) for one in wanted[:kept]))
        self._append(wanted[kept:])

    def add(self, rows: Rows) -> None:
        """The rows of one more round."""
        self._append(scalar_records(int(rows[0]["round"]), rows))

    def _append(self, wanted: Iterable[bytes]) -> None:
        with self._refusals(), self.path.open("ab") as file:
            file.write(b"".join(wanted))

    @contextmanager
    def _refusals(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise InputError(f"{self.path}: cannot be written: {error.strerror}") from error


def scalar_records(number: int, rows: Rows) -> list[bytes]:
    """The records of a round: each replica's final reward and return, by each policy."""
    return [record(event(time.time(), step=number, tag=tag, value=value)) for tag, value in _scalars(rows)]


def event(moment: float, *, version: str = "", step: int = 0, tag: str = "", value: float = 0.0) -> bytes:
    """An Event: the file's version, or a number under a tag."""
    told = b"\x09" + struct.pack("<d", moment)
    if version:
        return told + b"\x1a" + _sized(version.encode())
    number = b"\x0a" + _sized(tag.encode()) + b"\x15" + struct.pack("<f", value)
    return told + b"\x10" + _varint(step) + b"\x2a" + _sized(b"\x0a" + _sized(number))


def record(data: bytes) -> bytes:
    """The data in its frame."""
    length = struct.pack("<Q", len(data))
    return length + _masked(length) + data + _masked(data)


def records(data: bytes) -> Iterator[bytes]:
    """The whole records at the beginning of a file's bytes, frames included."""
    while len(data) >= 16:
        (length,) = struct.unpack("<Q", data[:8])
        whole = data[: length + 16]
        if len(whole) < length + 16 or whole != record(whole[12:-4]):
            return
        yield whole
        data = data[length + 16 :]


def crc32c(data: bytes) -> int:
    """The check sum of Castagnoli, as RFC 3720 has it."""
    table = _table()
    rest = 0xFFFFFFFF
    for byte in data:
        rest = table[(rest ^ byte) & 0xFF] ^ (rest >> 8)
    return rest ^ 0xFFFFFFFF


def _same_beginning(data: bytes, wanted: Sequence[bytes]) -> int:
    """How many records stand in the file already: those that say the same, whenever they were written."""
    kept = 0
    for found, one in zip(records(data), wanted, strict=False):
        if (found[:12], found[21:-4]) != (one[:12], one[21:-4]):  # the time takes 9 bytes of the data
            break
        kept += 1
    return kept


def _scalars(rows: Rows) -> Iterator[tuple[str, float]]:
    for row in rows:
        for name, cell in row.items():
            policy, _, measure = name.partition("_")
            if measure in LABELS and cell:
                yield f"{LABELS[measure]}/{policy}/replica {row['replica']}", float(cell)


def _masked(data: bytes) -> bytes:
    check = crc32c(data)
    return struct.pack("<I", ((check >> 15 | check << 17) + MASK) & 0xFFFFFFFF)


@functools.cache
def _table() -> list[int]:
    table = list(range(256))
    for _ in range(8):
        table = [entry >> 1 ^ (POLYNOMIAL if entry & 1 else 0) for entry in table]
    return table


def _sized(data: bytes) -> bytes:
    return _varint(len(data)) + data


def _varint(number: int) -> bytes:
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*found, number])
