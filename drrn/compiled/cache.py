"""The cache of compiled games: a file for each, named by a hash of all that made it; an unreadable one is ignored."""

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
from drrn.compiled.graph import EndingPlace, StateGraph
from drrn.files import home
from drrn.game.contract import Game
from drrn.game.optional import fingerprint_of, step_limit_of, title_of

FIELDS = dataclasses.fields(StateGraph)
UNREADABLE = (
    OSError,
    EOFError,
    LookupError,
    TypeError,
    ValueError,
    AttributeError,
    NotImplementedError,
)
CODE = ("game", "compiled", "stories", "worlds", "suites")  # parts that a compiled game depends on
REFUSED = ".refused.json"  # beside the file that a compiled game would have
TABLES = "tables"  # what is no array, as JSON in bytes

log = logging.getLogger("drrn")


def cache_folder() -> Path:
    return home() / "cache"


def place(game: Game, folder: Path) -> Path:
    """The file for a game: its name, and a hash of the game, of how it is told and of the code that tells it."""
    told = getattr(
        game, "edition", ""
    )  # what the fingerprint leaves out and a player still sees, such as paraphrases
    made_of = (
        _code(),
        game.name,
        title_of(game),
        str(step_limit_of(game)),
        fingerprint_of(game),
        told,
    )
    digest = hashlib.sha256("\0".join(made_of).encode())
    return folder / f"{re.sub(r'[^-.A-Za-z0-9_]', '-', game.name)}-{digest.hexdigest()[:24]}.npz"


@cache
def _code() -> str:
    """A hash of the code of this room, so that nothing told by an older version is taken for today's."""
    digest = hashlib.sha256()
    package = Path(__file__).parents[1]
    for part in CODE:
        for path in sorted((*(package / part).rglob("*.py"), *(package / part).rglob("*.js"))):
            digest.update(path.read_bytes())
    return digest.hexdigest()


def load_compiled(path: Path, shuffle: bool) -> Compiled | None:
    """The compiled game in a file; None where there is none, or none that can be read (which is noted)."""
    if not path.is_file():
        return None
    try:
        with path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
            tables = json.loads(file[TABLES].tobytes())
            tables["endings"] = [EndingPlace(*ending) for ending in tables["endings"]]
            values: dict[str, Any] = {
                key: tuple(value) if isinstance(value, list) else value
                for key, value in tables.items()
            }
            values.update((key, _wide(file[key])) for key in file.files if key != TABLES)
        if values.pop("key") != path.stem:
            raise ValueError("it is another game's")
        return _sound(Compiled(**values, shuffle=shuffle))
    except (*UNREADABLE, zipfile.BadZipFile, zlib.error) as error:
        log.warning("%s: not a compiled game (%s): compiled anew", path, type(error).__name__)
        return None


def _sound(c: Compiled) -> Compiled:
    """The game itself, if its arrays fit each other."""
    lengths = (
        len(c.first) == len(c.page) + 1,
        c.first[-1] == len(c.row),
        c.row_first[-1] == len(c.successor),
    )
    inside = (
        (c.successor, len(c.page)),
        (c.row, len(c.row_first) - 1),
        (c.page, len(c.page_text)),
        (c.page_text, len(c.texts)),
        (c.page_action, len(c.actions)),
        (c.passage, len(c.passages)),
        (c.ending_at + 1, len(c.endings) + 1),
    )
    fits = all(
        len(array) == 0 or (array.min() >= 0 and array.max() < size) for array, size in inside
    )
    if (
        not all(lengths)
        or not fits
        or len(c.probability) != len(c.successor)
        or len(c.reward) != len(c.page)
    ):
        raise ValueError("its arrays do not fit each other")
    return c


def save_compiled(compiled: Compiled, path: Path) -> None:
    """Write the file whole or not at all; a folder that cannot be written is noted, no more."""
    values = {f.name: getattr(compiled, f.name) for f in FIELDS}
    arrays = {key: _narrow(value) for key, value in values.items() if isinstance(value, np.ndarray)}
    tables = {key: value for key, value in values.items() if key not in arrays}
    tables["key"] = path.stem
    tables["endings"] = [dataclasses.astuple(ending) for ending in compiled.endings]
    arrays[TABLES] = np.frombuffer(json.dumps(tables).encode(), np.uint8)
    unfinished = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with unfinished.open("wb") as file:
            np.savez(file, **arrays)  # type: ignore[arg-type]
        unfinished.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            unfinished.unlink()
        log.warning(
            "%s: cannot be written (%s): the game is compiled anew each time", path, error.strerror
        )


def _narrow(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return (
        array.astype(np.int32) if array.dtype == np.intp and array.max(initial=0) < 2**31 else array
    )


def _wide(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return array.astype(np.intp) if array.dtype == np.int32 else array


def kept_refusal(path: Path, seconds: float) -> str | None:
    """Why a search of at least so many seconds did not compile a game; None where none is kept."""
    try:
        kept = json.loads(path.with_suffix(REFUSED).read_text(encoding="utf-8"))
        return str(kept["why"]) if float(kept["seconds"]) >= seconds else None
    except UNREADABLE:
        return None


def keep_refusal(path: Path, seconds: float, why: str) -> None:
    """Keep why a search of so many seconds failed, so that nobody waits for it twice."""
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.with_suffix(REFUSED).write_text(
            json.dumps({"seconds": seconds, "why": why}), encoding="utf-8"
        )
