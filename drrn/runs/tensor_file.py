"""Tensors in one file, in the safetensors format: a JSON header, then the numbers; nothing in it can be run."""

from __future__ import annotations

import contextlib
import json
import math
import os
import struct
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drrn.errors import InputError
from drrn.files import write_atomically

KINDS = {"F32": np.float32, "F64": np.float64, "I16": np.int16, "I32": np.int32, "I64": np.int64, "BOOL": np.bool_}
NAMES = {np.dtype(kind): name for name, kind in KINDS.items()}

Arrays = Mapping[str, NDArray[Any]]


def save(path: Path, arrays: Arrays, metadata: Mapping[str, str] | None = None) -> None:
    """Write beside the file and put it in place at once, so that a half-written file never bears the name."""
    write_atomically(path, packed(arrays, metadata))


def packed(arrays: Arrays, metadata: Mapping[str, str] | None = None) -> list[bytes]:
    """The bytes of the file, part by part."""
    header: dict[str, Any] = {"__metadata__": dict(metadata or {})}
    end = 0
    for name, array in arrays.items():
        header[name] = {
            "dtype": NAMES[array.dtype],
            "shape": list(array.shape),
            "data_offsets": [end, end + array.nbytes],
        }
        end += array.nbytes
    text = json.dumps(header, ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    beginning = struct.pack("<Q", len(text)) + text
    return [beginning, *(np.ascontiguousarray(array).tobytes() for array in arrays.values())]


def load(path: Path) -> tuple[dict[str, NDArray[Any]], dict[str, str]]:
    """The arrays and the metadata; a file that is cut short or foreign is refused."""
    data = contents(path)
    try:
        (length,) = struct.unpack("<Q", data[:8])
        header = json.loads(data[8 : 8 + length])
        metadata = dict(header.pop("__metadata__", {}))
        body = memoryview(data)[8 + length :]
        return {name: _array(entry, body) for name, entry in header.items()}, metadata
    except (struct.error, ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise InputError(f"{path}: not a whole safetensors file: it was cut short, or is something else") from error


def check_finite(path: Path, arrays: Arrays, cure: str, infinite: tuple[str, ...] = ()) -> None:
    """Refuse a file with a number that is not finite: no run writes one, since training ends before. Arrays whose
    names begin with one of `infinite` may hold infinities."""
    for name, array in arrays.items():
        if array.dtype.kind == "f" and (np.isnan(array) if name.startswith(infinite) else ~np.isfinite(array)).any():
            raise InputError(f'{path}: damaged: its numbers "{name}" are not all finite: {cure}')


def contents(path: Path) -> bytes:
    """The bytes of a file, or a sentence."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error


def _array(entry: dict[str, Any], body: memoryview) -> NDArray[Any]:
    (start, end), shape = entry["data_offsets"], [*entry["shape"]]
    kind = np.dtype(KINDS[entry["dtype"]])
    if not all(type(size) is int and size >= 0 for size in (start, end, *shape)):
        raise ValueError("sizes that are no sizes")
    if end > len(body) or end - start != kind.itemsize * math.prod(shape):
        raise ValueError("cut short")
    array: NDArray[Any] = np.frombuffer(body[start:end], kind).reshape(shape).copy()
    return array
