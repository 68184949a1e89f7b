"""The state of a training run in one file: nested dictionaries and lists of arrays, and of what JSON can hold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drrn.errors import InputError
from drrn.text import State
from drrn.runs import hashes, tensor_file

EDITION = "2"  # raised whenever what a checkpoint holds changes
INFINITE = ("explorer/",)  # its best return of an action that was never tried is -inf
ARRAY = "\0array"  # what stands in the JSON for an array: its name in the file


def packed_state(state: State) -> list[bytes]:
    """The bytes of the file, part by part."""
    arrays: dict[str, NDArray[Any]] = {}
    tree = _without_arrays(state, "", arrays)
    return tensor_file.packed(arrays, {"state": json.dumps(tree, ensure_ascii=False), "edition": EDITION})


def load_state(path: Path) -> State:
    """What `packed_state` made; a file that is cut short, foreign or of another edition is refused."""
    arrays, metadata = tensor_file.load(path)
    if metadata.get("edition") != EDITION:
        raise InputError(
            f"{path}: an older version of drrn wrote it, so the run cannot go on: begin a new one "
            "(its agent can still be asked and evaluated)"
        )
    tensor_file.check_finite(path, arrays, hashes.cure(path.parent, path.name), INFINITE)
    try:
        found: State = _with_arrays(json.loads(metadata["state"]), arrays)
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise InputError(f"{path}: not the checkpoint of a run: {error}") from error
    return found


def _without_arrays(value: Any, name: str, arrays: dict[str, NDArray[Any]]) -> Any:
    """The value with each array put aside under its path."""
    if isinstance(value, np.ndarray):
        arrays[name] = value
        return {ARRAY: name}
    if isinstance(value, dict):
        return {key: _without_arrays(part, f"{name}/{key}" if name else key, arrays) for key, part in value.items()}
    if isinstance(value, (list, tuple)) and any(isinstance(part, (dict, np.ndarray)) for part in value):
        return [_without_arrays(part, f"{name}/{at}", arrays) for at, part in enumerate(value)]
    return value


def _with_arrays(value: Any, arrays: dict[str, NDArray[Any]]) -> Any:
    if isinstance(value, dict):
        if ARRAY in value:
            return arrays[value[ARRAY]]
        return {key: _with_arrays(part, arrays) for key, part in value.items()}
    if isinstance(value, list):
        return [_with_arrays(part, arrays) for part in value]
    return value
