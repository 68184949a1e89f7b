"""Tensors of a run's folder as safetensors: weights and checkpoints."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drrn.runs.storage import DAMAGE, read_bytes
from drrn.text import State
from textgames.errors import InputError, require

EDITION = 4  # of checkpoints; raised whenever their contents change
ARRAY = "\0array"  # stands for an array in the JSON of a checkpoint

Arrays = Mapping[str, NDArray[Any]]


def tensor_bytes(arrays: Arrays, metadata: Mapping[str, str] | None = None) -> bytes:
    """Arrays in the safetensors format.

    Give at most one key of metadata: the library writes several in no fixed order.
    """
    library = require("safetensors.numpy", "safetensors")
    in_order = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    data: bytes = library.save(in_order, dict(metadata) if metadata else None)
    return data


def load_tensors(path: Path) -> tuple[dict[str, NDArray[Any]], dict[str, str]]:
    """The arrays and the metadata of a safetensors file. One that is cut short is refused."""
    library = require("safetensors")
    read_bytes(path)  # a file that cannot be read has its own message
    try:
        with library.safe_open(path, framework="numpy") as file:
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            return arrays, dict(file.metadata() or {})
    except (library.SafetensorError, OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path}: not a complete safetensors file: {error}") from error


# --- checkpoints: nested dictionaries and lists of arrays and of JSON values


def checkpoint_bytes(state: State) -> bytes:
    """The contents of a checkpoint."""
    arrays: dict[str, NDArray[Any]] = {}
    tree = {"edition": EDITION, **_without_arrays(state, "", arrays)}
    return tensor_bytes(arrays, {"state": json.dumps(tree, ensure_ascii=False)})


def load_checkpoint(path: Path) -> State:
    """Read a checkpoint. One of another edition is refused."""
    arrays, metadata = load_tensors(path)
    try:
        state: dict[str, Any] = _with_arrays(json.loads(metadata["state"]), arrays)
        edition = state.pop("edition")
    except DAMAGE as error:
        raise InputError(f"{path}: not the checkpoint of a run: {error}") from error
    if edition != EDITION:
        cause = "written by another version of drrn, so the run cannot be resumed"
        cure = "start a new run (its agent can still be asked and evaluated)"
        raise InputError(f"{path}: {cause}; {cure}")
    return state


def _without_arrays(value: Any, name: str, arrays: dict[str, NDArray[Any]]) -> Any:
    """The value, with each array moved to `arrays`, under its path."""
    if isinstance(value, np.ndarray):
        arrays[name] = value
        return {ARRAY: name}
    if isinstance(value, dict):
        prefix = f"{name}/" if name else ""
        return {key: _without_arrays(v, f"{prefix}{key}", arrays) for key, v in value.items()}
    if isinstance(value, (list, tuple)) and any(isinstance(v, (dict, np.ndarray)) for v in value):
        return [_without_arrays(v, f"{name}/{index}", arrays) for index, v in enumerate(value)]
    return value


def _with_arrays(value: Any, arrays: dict[str, NDArray[Any]]) -> Any:
    if isinstance(value, dict):
        if ARRAY in value:
            return arrays[value[ARRAY]]
        return {key: _with_arrays(part, arrays) for key, part in value.items()}
    if isinstance(value, list):
        return [_with_arrays(part, arrays) for part in value]
    return value
