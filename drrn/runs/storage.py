"""Files of a run's folder: their names, JSON, and hashes.json, which detects damage.

hashes.json has the SHA-256 of every file. It is written twice: before the files are replaced, with
the old and the new hashes, since the process may be killed between two files ("" means a file
that did not exist); and after the last file, with the new hashes alone.
"""

import functools
import hashlib
import json
import logging
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from drrn import files
from drrn.errors import InputError
from drrn.files import write_atomically

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
DAMAGE = (KeyError, TypeError, ValueError, AttributeError, RecursionError)  # in JSON
UNVERIFIED = "DRRN_UNVERIFIED"  # environment variable: runs without hashes.json are accepted
ABSENT = ""  # the hash of a file that does not exist
MAX_JSON = 2**24  # bytes of config.json and hashes.json; a parsed file can be 20 times as large
MAX_DATA = 2**26  # bytes of another JSON file
LARGE = 2**20  # bytes; hashing a megabyte takes some milliseconds
UNLISTED = (SCORES, CARD)  # may be absent from hashes.json
REMOVABLE = (SCORES, CARD, LEARNING)  # users may delete them
log = logging.getLogger("drrn")


def read_bytes(path: Path) -> bytes:
    """Return the contents of a file; a pipe or a device would not end."""
    if path.exists() and not path.is_file():
        raise InputError(f"{path}: not a file; {remedy(path)}")
    largest = MAX_JSON if path.name in (CONFIG, HASHES) else MAX_DATA
    return files.read_bytes(path, largest if path.suffix == ".json" else math.inf)


def read_json(path: Path, missing: str = "") -> Any:
    """Return the contents of a JSON file; `missing` is the error message if it does not exist."""
    if not path.exists():
        raise InputError(missing or f"{path}: no such file")
    try:
        return parse_json(read_bytes(path).decode())
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: cannot be read as JSON: {error}") from error


def parse_json(text: str) -> Any:
    """Return a JSON value; raise a ValueError for half of a character, NaN or infinity."""
    value = json.loads(text)
    json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    return value


def json_bytes(value: Any) -> bytes:
    """Return the contents of a JSON file."""
    return json.dumps(value, indent=2).encode()


# --- hashes


def replace_files(folder: Path, contents: Mapping[str, bytes]) -> None:
    """Write the files in their order, each atomically, and update hashes.json."""
    hashes = read_hashes(folder) if (folder / HASHES).exists() else {}
    new = {name: [hash_of(name, data)] for name, data in contents.items()}
    either = {name: list(dict.fromkeys([*hashes.get(name, [ABSENT]), *new[name]])) for name in new}
    _write_hashes(folder, {**hashes, **either})
    for name, data in contents.items():
        write_atomically(folder / name, data)
    _write_hashes(folder, {**hashes, **new})


def settle_hashes(folder: Path) -> None:
    """Drop the hashes of rounds that were cut: those that the present files do not have."""
    if (folder / HASHES).exists():
        hashes = read_hashes(folder)
        paths = [folder / name for name in hashes if (folder / name).is_file()]
        present = {path.name: hash_of(path.name, read_bytes(path)) for path in paths}
        settled = {
            name: [each] if each in hashes[name] else hashes[name] for name, each in present.items()
        }
        _write_hashes(folder, settled)


def check_files(folder: Path, *names: str) -> None:
    """Raise an `InputError` if a file differs from what the run wrote."""
    hashes = read_hashes(folder)
    for path in (folder / name for name in names):
        allowed = hashes.get(path.name)
        if path.exists():
            if hashes and allowed is None and path.name not in UNLISTED:
                raise InputError(f"{path}: not listed in {HASHES}; {remedy(path)}")
            if allowed and hash_of(path.name, read_bytes(path)) not in allowed:
                cause = "damaged or changed since it was written"
                raise InputError(f"{path}: {cause}; {remedy(path)}")
        elif allowed and ABSENT not in allowed and path.name not in REMOVABLE:
            raise InputError(f"{path}: missing; {remedy(path)}")


def damage_of(folder: Path) -> str | None:
    """Return a sentence about the first damaged file of a run, whether it is needed or not.

    A large file is hashed only if it was written after hashes.json; the commands that read it
    check it in full.
    """
    try:
        unchecked = {CARD} | _large_unchanged(folder)  # users may edit the card
        check_files(folder, *sorted(read_hashes(folder).keys() - unchecked))
        for path in (folder / name for name in FILES):
            if path.exists() and not path.is_file():
                raise InputError(f"{path}: not a file; {remedy(path)}")
    except InputError as error:
        return str(error)
    return None


def _large_unchanged(folder: Path) -> set[str]:
    """Return the names of large files that are not newer than hashes.json."""
    entries = {path.name: path.stat() for path in folder.iterdir() if path.is_file()}
    if HASHES not in entries:
        return set()
    newest = entries[HASHES].st_mtime_ns
    return {
        name
        for name, entry in entries.items()
        if entry.st_size > LARGE and entry.st_mtime_ns <= newest
    }


def remedy(path: Path) -> str:
    """Return what to do about a damaged file."""
    if path.name == SCORES:
        return "delete it, and it will be computed again"
    if path.name == LEARNING:
        return "delete it; only the pictures of the rounds so far are lost"
    if path.name in COMPUTED:
        return f"rebuild it with drrn train --resume {path.parent}, or start a new run"
    return "restore it from a copy, or start a new run"


@functools.cache  # one warning for each run
def warn_unverified(hashes: Path) -> None:
    """Warn that the files of a run are not verified."""
    log.warning("%s: missing; the files of the run are not verified", hashes)


def read_hashes(folder: Path) -> dict[str, list[str]]:
    """Return the hashes that each file may have."""
    path = folder / HASHES
    if not path.exists():
        if os.environ.get(UNVERIFIED):
            warn_unverified(path)
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
