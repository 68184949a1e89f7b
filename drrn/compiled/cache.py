"""Cache of compiled games: one file per game, named by a hash of the game and of this code."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import logging
import os
import re
import zipfile
import zlib
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from drrn.compiled.game import Compiled
from drrn.compiled.graph import EndingId, StateGraph
from drrn.files import home
from drrn.game.contract import Game
from drrn.game.optional import fingerprint_of, step_limit_of, title_of

Array = np.ndarray[Any, Any]

UNREADABLE = (
    *(OSError, EOFError, LookupError, TypeError, ValueError, AttributeError),
    *(NotImplementedError, zipfile.BadZipFile, zlib.error),
)
CODE = ("game", "compiled", "stories", "worlds", "suites")  # packages that results depend on
REFUSED = ".refused.json"  # suffix of the file that records a failed search
TABLES = "tables"  # everything that is not an array, as JSON

log = logging.getLogger("drrn")


def cache_folder() -> Path:
    return home() / "cache"


def cache_path(game: Game, folder: Path) -> Path:
    """Return the cache file of a game."""
    # what a player sees although the fingerprint leaves it out, such as paraphrases
    edition = getattr(game, "edition", "")
    limit = str(step_limit_of(game))
    parts = (_code_hash(), game.name, title_of(game), limit, fingerprint_of(game), edition)
    digest = hashlib.sha256("\0".join(parts).encode())
    return folder / f"{re.sub(r'[^-.A-Za-z0-9_]', '-', game.name)}-{digest.hexdigest()[:24]}.npz"


@cache
def _code_hash() -> str:
    """Hash the code that compiles games, so that files of other versions are not used."""
    digest = hashlib.sha256()
    package = Path(__file__).parents[1]
    for part in CODE:
        for path in sorted((*(package / part).rglob("*.py"), *(package / part).rglob("*.js"))):
            digest.update(path.read_bytes())
    return digest.hexdigest()


def load_compiled(path: Path, shuffle: bool) -> Compiled | None:
    """Return the compiled game in a file; None if it is missing or unreadable (logged)."""
    if not path.is_file():
        return None
    try:
        with path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
            values: dict[str, Any] = json.loads(file[TABLES].tobytes())
            for key, value in values.items():
                if isinstance(value, list):
                    values[key] = tuple(value)
            values["endings"] = tuple(EndingId(*ending) for ending in values["endings"])
            values.update((key, _widen(file[key])) for key in file.files if key != TABLES)
        if values.pop("key") != path.stem:
            raise ValueError("the file belongs to another game")
        compiled = Compiled(**values, shuffle=shuffle)
        _check_arrays(compiled)
        return compiled
    except UNREADABLE as error:
        log.warning("%s: not a compiled game (%s); compiling again", path, type(error).__name__)
        return None


def _check_arrays(c: Compiled) -> None:
    """Raise a ValueError unless the arrays fit each other."""
    fits = len(c.first) == len(c.page) + 1 and c.first[-1] == len(c.row)
    fits = fits and c.row_first[-1] == len(c.successor) == len(c.probability)
    fits = fits and len(c.reward) == len(c.page)
    bounds = (
        (c.successor, len(c.page)),
        (c.row, len(c.row_first) - 1),
        (c.page, len(c.page_text)),
        (c.page_text, len(c.texts)),
        (c.page_action, len(c.actions)),
        (c.passage, len(c.passages)),
        (c.ending_at + 1, len(c.endings) + 1),
    )
    for array, size in bounds:
        fits = fits and (len(array) == 0 or (array.min() >= 0 and array.max() < size))
    if not fits:
        raise ValueError("the arrays do not fit each other")


def save_compiled(compiled: Compiled, path: Path) -> None:
    """Write a compiled game atomically; a folder that cannot be written to is logged."""
    values = {f.name: getattr(compiled, f.name) for f in dataclasses.fields(StateGraph)}
    arrays = {key: _narrow(value) for key, value in values.items() if isinstance(value, np.ndarray)}
    tables = {key: value for key, value in values.items() if key not in arrays}
    tables["key"] = path.stem
    tables["endings"] = [dataclasses.astuple(ending) for ending in compiled.endings]
    arrays[TABLES] = np.frombuffer(json.dumps(tables).encode(), np.uint8)
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("wb") as file:
            np.savez(file, **arrays)  # type: ignore[arg-type]
        temporary.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        log.warning(
            "%s: cannot be written (%s); the game is compiled each time", path, error.strerror
        )


def _narrow(array: Array) -> Array:
    fits = array.dtype == np.intp and array.max(initial=0) < 2**31
    return array.astype(np.int32) if fits else array


def _widen(array: Array) -> Array:
    return array.astype(np.intp) if array.dtype == np.int32 else array


def load_refusal(path: Path, seconds: float) -> str | None:
    """Return why a search of at least this many seconds failed; None if none is recorded."""
    try:
        record = json.loads(path.with_suffix(REFUSED).read_text(encoding="utf-8"))
        return str(record["why"]) if float(record["seconds"]) >= seconds else None
    except UNREADABLE:
        return None


def save_refusal(path: Path, seconds: float, reason: str) -> None:
    """Record why a search of this many seconds failed, so that it is not repeated."""
    record = json.dumps({"seconds": seconds, "why": reason})
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.with_suffix(REFUSED).write_text(record, encoding="utf-8")
