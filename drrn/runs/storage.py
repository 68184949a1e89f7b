"""Files of a run's folder: hashes.json, which detects damage, and tensors as safetensors.

hashes.json has the SHA-256 of every file. It is written twice: before the files are replaced, with
the old and the new hashes, since the process may be killed between two files ("" stands for a file
that did not exist); and after the last file, with the new hashes alone.
"""

import hashlib
import json
import logging
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drrn import files
from drrn.errors import InputError, require
from drrn.files import write_atomically
from drrn.text import State

CONFIG = "config.json"
ROWS = "evaluations.csv"
METRICS = "metrics.jsonl"
PROGRESS = "progress.csv"
SCORES = "reference_scores.json"
LEARNING = "learning.json"
WORDS = "vocabulary.json"
WEIGHTS = "model.safetensors"
MEMORY = "memory.json"
CHECKPOINT = "checkpoint.safetensors"
HASHES = "hashes.json"
CARD = "README.md"
CURVE = "curve.png"
COMPUTED = (WEIGHTS, WORDS, MEMORY, METRICS)  # `drrn train --resume` writes them again
SEALED = (CONFIG, ROWS, PROGRESS, LEARNING, CHECKPOINT, *COMPUTED, SCORES)
FILES = (*SEALED, HASHES, CURVE, CARD)
FREE = ("rounds", "vectors")  # settings that users may edit in config.json
EDITION = 3  # of checkpoints; raised whenever their contents change
INFINITE = "/best"  # arrays in which -inf is valid: the best return of an empty memory
DAMAGE = (KeyError, TypeError, ValueError, AttributeError, RecursionError)  # in JSON
ARRAY = "\0array"  # stands for an array in the JSON of a checkpoint
UNVERIFIED = "DRRN_UNVERIFIED"  # environment variable: runs without hashes.json are accepted
ABSENT = ""  # the hash of a file that does not exist
UNLISTED = (SCORES, CARD)  # may be absent from hashes.json
REMOVABLE = (SCORES, CARD, LEARNING)  # users may delete them

Arrays = Mapping[str, NDArray[Any]]
log = logging.getLogger("drrn")


def read_bytes(path: Path) -> bytes:
    """Return the contents of a file of any size."""
    return files.read_bytes(path, math.inf)


def read_json(path: Path, missing: str = "") -> Any:
    """Return the contents of a JSON file; `missing` is the error message if it does not exist."""
    try:
        return _parse(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise InputError(missing or f"{path}: no such file") from error
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path}: cannot be read as JSON: {error}") from error


def _parse(text: str) -> Any:
    """Return a JSON value; a ValueError says if it has half of a character, NaN or infinity."""
    value = json.loads(text)
    json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    return value


def json_bytes(value: Any) -> bytes:
    """Return the contents of a JSON file."""
    return json.dumps(value, indent=2).encode()


# --- hashes


def replace_files(folder: Path, contents: Mapping[str, bytes]) -> None:
    """Write the files in their order, each atomically, and update hashes.json."""
    known = read_hashes(folder) if (folder / HASHES).exists() else {}
    new = {name: [hash_of(name, data)] for name, data in contents.items()}
    either = {name: list(dict.fromkeys([*known.get(name, [ABSENT]), *new[name]])) for name in new}
    _write_hashes(folder, {**known, **either})
    for name, data in contents.items():
        write_atomically(folder / name, data)
    _write_hashes(folder, {**known, **new})


def settle_hashes(folder: Path) -> None:
    """Drop the hashes of rounds that were cut: those that the present files do not have."""
    if (folder / HASHES).exists():
        known = read_hashes(folder)
        paths = [folder / name for name in known if (folder / name).is_file()]
        present = {path.name: hash_of(path.name, read_bytes(path)) for path in paths}
        settled = {name: [each] for name, each in present.items() if each in known[name]}
        _write_hashes(folder, settled)


def check_files(folder: Path, *names: str) -> None:
    """Raise an `InputError` if a file differs from what the run wrote."""
    known = read_hashes(folder)
    for path in (folder / name for name in names):
        allowed = known.get(path.name)
        if path.exists():
            if known and allowed is None and path.name not in UNLISTED:
                raise InputError(f"{path}: not listed in {HASHES}; {remedy(path)}")
            if allowed and hash_of(path.name, read_bytes(path)) not in allowed:
                cause = "damaged or changed since it was written"
                raise InputError(f"{path}: {cause}; {remedy(path)}")
        elif allowed and ABSENT not in allowed and path.name not in REMOVABLE:
            raise InputError(f"{path}: missing; {remedy(path)}")


def damage_of(folder: Path) -> str | None:
    """Return a sentence about the first damaged file of a run, whether it is needed or not."""
    try:
        known = read_hashes(folder)
        check_files(folder, *sorted(known.keys() - {CARD}))  # users may edit the card
        for path in (folder / name for name in FILES):
            if path.exists() and not path.is_file():
                raise InputError(f"{path}: not a file; {remedy(path)}")
    except InputError as error:
        return str(error)
    return None


def remedy(path: Path) -> str:
    """Return what to do about a damaged file."""
    if path.name == SCORES:
        return "delete it, and it will be computed again"
    if path.name == LEARNING:
        return "delete it; only the pictures of the rounds so far are lost"
    if path.name in COMPUTED:
        return f"rebuild it with drrn train --resume {path.parent}, or start a new run"
    return "restore it from a copy, or start a new run"


def read_hashes(folder: Path) -> dict[str, list[str]]:
    """Return the hashes that each file may have."""
    path = folder / HASHES
    if not path.exists():
        if (accepted := os.environ.get(UNVERIFIED, "")) and str(path) not in accepted:
            log.warning("%s: missing; the files of the run are not verified", path)
            os.environ[UNVERIFIED] = f"{accepted}\n{path}"
        if accepted:
            return {}
        cause = "missing, so damage to the files of the run cannot be detected"
        raise InputError(f"{path}: {cause}; restore it, or accept them with --unverified")
    try:
        entry = json.loads(read_bytes(path))
        if entry["sha256"] != _hash_of_hashes(entry["files"]):
            raise ValueError("damaged")
        return {str(name): list(map(str, hashes)) for name, hashes in entry["files"].items()}
    except DAMAGE as error:
        raise InputError(f"{path}: not the hashes of a run; {remedy(path)}") from error


def hash_of(name: str, data: bytes) -> str:
    """Return the SHA-256 of a file, without what users may edit and without measured seconds."""
    if name == CONFIG:
        data = _without_free(data)
    if name == PROGRESS:
        data = without_seconds(data)
    return hashlib.sha256(data).hexdigest()


def without_seconds(progress: bytes) -> bytes:
    """Return progress.csv without its last column, which differs from run to run."""
    return b"\n".join(line.rpartition(b",")[0] for line in progress.split(b"\n"))


def _without_free(data: bytes) -> bytes:
    try:
        config = json.loads(data)
        settings = {key: value for key, value in config["settings"].items() if key not in FREE}
        return json.dumps({**config, "settings": settings, "folder": None}, sort_keys=True).encode()
    except DAMAGE:
        return data


def _write_hashes(folder: Path, hashes: Mapping[str, list[str]]) -> None:
    entry = {"files": dict(sorted(hashes.items())), "sha256": _hash_of_hashes(hashes)}
    write_atomically(folder / HASHES, f"{json.dumps(entry, indent=2)}\n".encode())


def _hash_of_hashes(hashes: Mapping[str, list[str]]) -> str:
    return hashlib.sha256(json.dumps(dict(hashes), sort_keys=True).encode()).hexdigest()


# --- tensors


def tensor_bytes(arrays: Arrays, metadata: Mapping[str, str] | None = None) -> bytes:
    """Return arrays in the safetensors format.

    Give at most one key of metadata: the library writes several in no fixed order.
    """
    library = require("safetensors.numpy", "torch")
    in_order = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    data: bytes = library.save(in_order, dict(metadata) if metadata else None)
    return data


def load_tensors(path: Path) -> tuple[dict[str, NDArray[Any]], dict[str, str]]:
    """Read the arrays and the metadata of a safetensors file; one that is cut short is refused."""
    library = require("safetensors", "torch")
    read_bytes(path)  # a file that cannot be read has its own message
    try:
        with library.safe_open(path, framework="numpy") as file:
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            return arrays, dict(file.metadata() or {})
    except (library.SafetensorError, OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path}: not a complete safetensors file: {error}") from error


def check_finite(path: Path, arrays: Arrays) -> None:
    """Refuse numbers that no run writes."""
    for name, array in arrays.items():
        if array.dtype.kind != "f":
            continue
        is_best = name.endswith(INFINITE)
        if not (np.isfinite(array) | (is_best & (array == -np.inf))).all():
            raise InputError(f'{path}: damaged: "{name}" contains NaN or infinity; {remedy(path)}')


# --- checkpoints: nested dictionaries and lists of arrays and of JSON values


def checkpoint_bytes(state: State) -> bytes:
    """Return the contents of a checkpoint."""
    arrays: dict[str, NDArray[Any]] = {}
    tree = {"edition": EDITION, **_without_arrays(state, "", arrays)}
    return tensor_bytes(arrays, {"state": json.dumps(tree, ensure_ascii=False)})


def load_checkpoint(path: Path) -> State:
    """Read a checkpoint; one that is damaged or of another edition is refused."""
    arrays, metadata = load_tensors(path)
    check_finite(path, arrays)
    try:
        state: dict[str, Any] = _with_arrays(_parse(metadata["state"]), arrays)
        edition = state.pop("edition")
    except DAMAGE as error:
        raise InputError(f"{path}: not the checkpoint of a run: {error}") from error
    if edition != EDITION:
        cause = "written by another version of drrn, so the run cannot be resumed"
        cure = "start a new run (its agent can still be asked and evaluated)"
        raise InputError(f"{path}: {cause}; {cure}")
    return state


def _without_arrays(value: Any, name: str, arrays: dict[str, NDArray[Any]]) -> Any:
    """Return the value with each array moved to `arrays`, under its path."""
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
