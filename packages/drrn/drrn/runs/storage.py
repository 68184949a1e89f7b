"""Files of a run's folder: their names, JSON, CSV, and the manifest, which detects damage.

The manifest hashes.json has the SHA-256 of the other files. A save removes it first and writes it
last. So a run without one was killed while it was saved: its files are not checked, and
`drrn train --resume` writes them again. Users who change a file delete it.
"""

import csv
import hashlib
import io
import json
import math
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from textgames import files
from textgames.errors import InputError
from textgames.files import decode, json_bytes, read_csv, write_atomically

CONFIG = "config.json"
ROWS = "evaluations.csv"
PROGRESS = "progress.csv"
SCORES = "reference_scores.json"
LEARNING = "learning.json"
WORDS = "vocabulary.json"
WEIGHTS = "model.safetensors"
MEMORY = "memory.json"
CHECKPOINT = "checkpoint.safetensors"
HASHES = "hashes.json"
CURVE = "curve.svg"
COMPUTED = (WEIGHTS, WORDS, MEMORY)  # `drrn train --resume` writes them again
HASHED = (CONFIG, ROWS, LEARNING, CHECKPOINT, *COMPUTED, SCORES)  # progress.csv measures seconds
FILES = (*HASHED, PROGRESS, HASHES, CURVE)
REMOVABLE = (SCORES, LEARNING)  # files that users may delete
DAMAGE = (KeyError, TypeError, ValueError, AttributeError, RecursionError)  # in JSON


def read_bytes(path: Path) -> bytes:
    """The contents of a file. A pipe or a device, which would not end, is refused."""
    if path.exists() and not path.is_file():
        raise InputError(f"{path}: not a file; {remedy(path)}")
    if path.suffix == ".json":
        return files.read_bytes(path)
    return files.read_bytes(path, math.inf)


def read_json(path: Path, missing: str = "") -> Any:
    """The contents of a JSON file. `missing` is the error message if it does not exist."""
    if not path.exists():
        raise InputError(missing or f"{path}: no such file")
    try:
        return json.loads(read_bytes(path))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: cannot be read as JSON: {error}") from error


def csv_bytes(columns: Collection[str], rows: Iterable[Mapping[str, Any]]) -> bytes:
    """The contents of a CSV file."""
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def read_rows(path: Path, columns: Mapping[str, Callable[[str], Any]]) -> list[dict[str, Any]]:
    """The rows of a CSV file. An `InputError` names the line of an invalid one."""
    return read_csv(decode(read_bytes(path), str(path), "utf-8"), columns, path)


# --- the manifest


def replace_files(folder: Path, contents: Mapping[str, bytes]) -> None:
    """Write files in their order, each atomically, between removing and writing the manifest."""
    hashes = _read_hashes(folder)
    if hashes is None:  # of a new run, or the last save was interrupted
        present = [path for name in HASHED if (path := folder / name).is_file()]
        hashes = {path.name: _hash_of(read_bytes(path)) for path in present}
    (folder / HASHES).unlink(missing_ok=True)
    for name, data in contents.items():
        write_atomically(folder / name, data)
        if name in HASHED:
            hashes[name] = _hash_of(data)
    manifest = {"files": dict(sorted(hashes.items()))}
    write_atomically(folder / HASHES, json_bytes(manifest, indent=2))


def check_files(folder: Path, *names: str) -> None:
    """Raise an `InputError` if a file differs from what the run wrote."""
    hashes = _read_hashes(folder) or {}
    for path in (folder / name for name in names if name in hashes):
        if path.exists():
            if _hash_of(read_bytes(path)) != hashes[path.name]:
                raise InputError(f"{path}: damaged or changed since it was written; {remedy(path)}")
        elif path.name not in REMOVABLE:
            raise InputError(f"{path}: missing; {remedy(path)}")


def remedy(path: Path) -> str:
    """What to do about a damaged file."""
    if path.name in REMOVABLE:
        return "delete it"
    if path.name in COMPUTED:
        return f"rebuild it with drrn train --resume {path.parent}, or start a new run"
    if path.name == HASHES:
        return "delete it, and damage to the other files is no longer detected"
    return f"restore it from a copy, or delete {HASHES} if you changed it yourself"


def _read_hashes(folder: Path) -> dict[str, str] | None:
    """The manifest, or None if there is none."""
    path = folder / HASHES
    if not path.exists():
        return None
    try:
        return {str(name): str(own) for name, own in read_json(path)["files"].items()}
    except DAMAGE as error:
        raise InputError(f"{path}: not the hashes of a run; {remedy(path)}") from error


def _hash_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
