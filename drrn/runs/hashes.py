"""hashes.json of a run's folder: the SHA-256 of every file, by which damage is found when the run is opened again.

It is written twice: before the files are replaced, with the old hashes and the new, since a kill may come between any
two of them; and after the last, with the new alone. A folder without one is of a run before there were hashes, and is
taken as it is.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from drrn.files import write_atomically
from drrn.errors import InputError
from drrn.runs import tensor_file

NAME = "hashes.json"
FREE = ("rounds", "vectors")  # settings that a person may change in config.json: more rounds, a file that was moved
REMADE = ("model.safetensors", "vocabulary.json", "metrics.jsonl")  # what going on with a run makes anew
COMPUTED = "reference_scores.json"  # what is computed anew where it is missing

Parts = Mapping[str, list[bytes]]  # the bytes of each file, by its name


def replace_files(folder: Path, files: Parts) -> None:
    """Write the files in their order, each whole, and the hashes that vouch for them."""
    known = hashes_of_run(folder) or {}
    new = {name: [hash_of(name, parts)] for name, parts in files.items()}
    either = {name: list(dict.fromkeys([*known.get(name, ()), *hashes])) for name, hashes in new.items()}
    _write(folder, {**known, **either})
    for name, parts in files.items():
        write_atomically(folder / name, parts)
    _write(folder, {**known, **new})


def check_files(folder: Path, names: Iterable[str]) -> None:
    """Refuse a file that is not as the run wrote it."""
    known = hashes_of_run(folder) or {}
    for name in names:
        path = folder / name
        if name in known and path.exists() and hash_of(name, [tensor_file.contents(path)]) not in known[name]:
            raise InputError(f"{path}: it was damaged or changed since the run wrote it: {cure(folder, name)}")


def cure(folder: Path, name: str) -> str:
    """What to do about a file that was damaged."""
    if name == COMPUTED:
        return "remove it, and it is computed anew"
    again = f"drrn train --resume {folder} makes it anew" if name in REMADE else "put back a copy of it"
    return f"{again}, or begin a new run"


def hashes_of_run(folder: Path) -> dict[str, list[str]] | None:
    """The hashes that each file may have; None where the run kept none."""
    path = folder / NAME
    if not path.exists():
        return None
    try:
        found = json.loads(tensor_file.contents(path))
        if found["sha256"] != _hash_of_hashes(found["files"]):
            raise ValueError("damaged")
        return {str(name): [str(one) for one in hashes] for name, hashes in found["files"].items()}
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        cure = "remove it, and the files of the run are taken as they are"
        raise InputError(f"{path}: not the hashes of a run's files: {cure}") from error


def hash_of(name: str, parts: Iterable[bytes]) -> str:
    """SHA-256 of a file; of config.json without what a person may change there."""
    digest = hashlib.sha256()
    for part in [_unfree(b"".join(parts))] if name == "config.json" else parts:
        digest.update(part)
    return digest.hexdigest()


def _unfree(config: bytes) -> bytes:
    """A config without what a person may change; bytes that are none stay as they are."""
    try:
        found = json.loads(config)
        settings = {key: value for key, value in found["settings"].items() if key not in FREE}
        return json.dumps({**found, "settings": settings, "folder": None}, sort_keys=True).encode()
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
        return config


def _write(folder: Path, hashes: Mapping[str, list[str]]) -> None:
    files = dict(hashes)
    text = json.dumps({"files": files, "sha256": _hash_of_hashes(files)}, indent=2) + "\n"
    write_atomically(folder / NAME, [text.encode()])


def _hash_of_hashes(files: Mapping[str, list[str]]) -> str:
    return hashlib.sha256(json.dumps(files, sort_keys=True).encode()).hexdigest()
