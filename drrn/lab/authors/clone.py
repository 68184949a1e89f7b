"""The files of a clone of the authors' repository: complete, of plausible size, as published."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from drrn.errors import InputError
from drrn.stories.added import HOW, REPOSITORY

COMMIT = "936b583"
MAX_BYTES = 4 * 2**20  # the largest published file has 160,000
SIMULATOR = "simulators/MySimulator.py"
_SUMS = resources.files("drrn.lab.authors").joinpath("published.sha256").read_text(encoding="utf-8")
# The files that the games are converted from, and their published SHA-256. Other files are refused,
# so that nothing unknown is parsed.
PUBLISHED = {name: sha256 for sha256, name in (line.split() for line in _SUMS.splitlines())}


@dataclass(frozen=True)
class Sources:
    """The contents of files by their name in the clone, with Unix line ends."""

    files: dict[str, bytes]

    @property
    def hashes(self) -> dict[str, str]:
        return {name: hashlib.sha256(data).hexdigest() for name, data in self.files.items()}

    @property
    def sha256(self) -> str:
        """One hash of all files."""
        lines = (f"{sha256}  {name}" for name, sha256 in self.hashes.items())
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def read_sources(clone: Path) -> Sources:
    """Read all files that the games are converted from.

    Raises:
        InputError: A file is missing, or differs from the published one.
    """
    if not clone.is_dir():
        raise InputError(f"{clone}: no such folder: give a clone of {REPOSITORY}: {HOW}")
    if not (clone / SIMULATOR).is_file():
        raise InputError(f"{clone}: not a clone of {REPOSITORY}: it has no {SIMULATOR}: {HOW}")
    sources = Sources({name: _read(clone, name) for name in PUBLISHED})
    for name, sha256 in sources.hashes.items():
        if sha256 != PUBLISHED[name]:
            restore = _restore(clone, name)
            raise InputError(f"{clone / name}: differs from the published file: {restore}")
    return sources


def _read(clone: Path, name: str) -> bytes:
    """Return the bytes of a file with Unix line ends (Windows clones have others)."""
    path = clone / name
    try:
        if not path.is_file():
            raise InputError(f"{path}: no such file: {_restore(clone, name)}")
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    if len(data) > MAX_BYTES:
        raise InputError(f"{path}: too large to be the published file: {_restore(clone, name)}")
    return data.replace(b"\r\n", b"\n")


def _restore(clone: Path, name: str) -> str:
    return f"restore it with `git -C {clone} checkout {COMMIT} -- {name}`"
