"""Files of a run's folder: their names, JSON, and the manifest, which detects damage.

The manifest hashes.json has the SHA-256 of every file, and is written after all of them. Since the
process may be killed between two files, hashes-next.json is written before the first. Until it is
removed, each file may have its old hash or its next one.
"""

import hashlib
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from textgames import files
from textgames.errors import InputError
from textgames.files import json_bytes, write_atomically

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
NEXT = "hashes-next.json"
CARD = "README.md"
CURVE = "curve.png"
COMPUTED = (WEIGHTS, WORDS, MEMORY, METRICS)  # `drrn train --resume` writes them again
SAVED = (CONFIG, ROWS, PROGRESS, LEARNING, CHECKPOINT, *COMPUTED, SCORES)
FILES = (*SAVED, HASHES, NEXT, CURVE, CARD)
FREE = ("rounds", "vectors")  # settings that users may edit in config.json
REMOVABLE = (SCORES, LEARNING)  # files that users may delete
ABSENT = ""  # the hash of a file that does not exist
DAMAGE = (KeyError, TypeError, ValueError, AttributeError, RecursionError)  # in JSON

Hashes = dict[str, list[str]]  # the hashes that each file may have


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


# --- the manifest


def replace_files(folder: Path, contents: Mapping[str, bytes]) -> None:
    """Write files in their order, each atomically, and then the manifest."""
    hashes = _hashes_of_present(folder)
    hashes |= {name: [hash_of(name, data)] for name, data in contents.items()}
    manifest = json_bytes({"files": dict(sorted(hashes.items()))}, indent=2)
    write_atomically(folder / NEXT, manifest)
    for name, data in contents.items():
        write_atomically(folder / name, data)
    write_atomically(folder / HASHES, manifest)
    (folder / NEXT).unlink(missing_ok=True)


def _hashes_of_present(folder: Path) -> Hashes:
    """The manifest. If the last save was cut, it is first written for the present files."""
    if not (folder / NEXT).exists():
        return read_hashes(folder) if (folder / HASHES).exists() else {}
    present = {}
    for name, allowed in read_hashes(folder).items():
        if (folder / name).is_file():
            own = hash_of(name, read_bytes(folder / name))
            present[name] = [own] if own in allowed else allowed
    write_atomically(folder / HASHES, json_bytes({"files": present}, indent=2))
    return present


def check_files(folder: Path, *names: str) -> None:
    """Raise an `InputError` if a file differs from what the run wrote."""
    hashes = read_hashes(folder)
    for path in (folder / name for name in names):
        allowed = hashes.get(path.name, [ABSENT])
        if path.exists():
            if hash_of(path.name, read_bytes(path)) not in allowed:
                raise InputError(f"{path}: damaged or changed since it was written; {remedy(path)}")
        elif ABSENT not in allowed and path.name not in REMOVABLE:
            raise InputError(f"{path}: missing; {remedy(path)}")


def remedy(path: Path) -> str:
    """What to do about a damaged file."""
    if path.name == SCORES:
        return "delete it, and it will be computed again"
    if path.name == LEARNING:
        return "delete it; only the pictures of the rounds so far are lost"
    if path.name in COMPUTED:
        return f"rebuild it with drrn train --resume {path.parent}, or start a new run"
    return "restore it from a copy, or start a new run"


def read_hashes(folder: Path) -> Hashes:
    """The hashes that each file may have: by the manifest, and by the next one if any."""
    hashes: Hashes = {}
    if not (folder / NEXT).exists() or (folder / HASHES).exists():
        hashes = _read_manifest(folder / HASHES)
    if (folder / NEXT).exists():
        for name, after in _read_manifest(folder / NEXT).items():
            hashes[name] = hashes.get(name, [ABSENT]) + after
    return hashes


def _read_manifest(path: Path) -> Hashes:
    missing = f"{path}: missing, so damage to the files of the run cannot be detected"
    try:
        entry = read_json(path, f"{missing}; {remedy(path)}")
        return {str(name): list(map(str, hashes)) for name, hashes in entry["files"].items()}
    except DAMAGE as error:
        raise InputError(f"{path}: not the hashes of a run; {remedy(path)}") from error


def hash_of(name: str, data: bytes) -> str:
    """The SHA-256 of a file, without what users may edit and without measured seconds."""
    if name == CONFIG:
        data = _without_free(data)
    if name == PROGRESS:
        data = without_seconds(data)
    return hashlib.sha256(data).hexdigest()


def without_seconds(progress: bytes) -> bytes:
    """progress.csv without its last column, which differs from run to run."""
    return b"\n".join(line.rpartition(b",")[0] for line in progress.split(b"\n"))


def _without_free(data: bytes) -> bytes:
    try:
        config = json.loads(data)
        settings = {key: value for key, value in config["settings"].items() if key not in FREE}
        return json.dumps({**config, "settings": settings, "folder": None}, sort_keys=True).encode()
    except DAMAGE:
        return data
