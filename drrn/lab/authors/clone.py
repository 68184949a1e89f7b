"""The files of a clone of the authors' repository: complete, of plausible size, as published."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from drrn.errors import InputError
from drrn.stories.added import HOW, REPOSITORY

COMMIT = "936b583"
MAX_BYTES = 4 * 2**20  # the largest published file has 160,000
SIMULATOR = "simulators/MySimulator.py"
AGAIN = f"clone {REPOSITORY} again"
# The files that the games are converted from, and their published SHA-256.
PUBLISHED = {
    f"simulators/{name}": sha256
    for name, sha256 in {
        "MySimulator.py": "ee28fdc076267aa28c1f8d63f7c91b33782bb5b46d2f7047517011a10d0d98ed",
        "savingjohn.pickle": "2eb26fa81e3d1061d667858cf5e4556b3a482ea1da185b4d99f5f3aa5c582dc3",
        "savingjohn_wordId.pickle": (
            "3e48c2d9965b19897cc33331efa3fe56297d9e3cbe60990387215fd43758af47"
        ),
        "savingjohn_actionId.pickle": (
            "3572519d3ba434c894bb587d535167f76462fe5f5b9ff7c1f7d5406d771f9856"
        ),
        "machineofdeath_wordId.pickle": (
            "ed1a8b2a910b1b5457eb0b5c5cbc3c4725c7be78f34571e777d198cffe78bd54"
        ),
        "machineofdeath_actionId.pickle": (
            "294d1bfe5bbf8e363d7bb72454ac897c116b2d1c42610de005400326492fae88"
        ),
        "machineofdeath_originalActions.txt": (
            "1f7e5fac92834bea5f134a743ecfcd0262a6052354e49b5d19c0f883cfd845e4"
        ),
        "machineofdeath_paraphrasedActions.txt": (
            "113503cbab31772969a0fa093c9d693254f39124f4402ec1d6eb54d41ec8729e"
        ),
    }.items()
}


@dataclass(frozen=True)
class Sources:
    """The contents of files by their name in the clone, with Unix line ends."""

    files: dict[str, bytes]

    @property
    def hashes(self) -> dict[str, str]:
        return {name: hashlib.sha256(data).hexdigest() for name, data in self.files.items()}

    @property
    def altered(self) -> list[str]:
        """The files that differ from the published ones."""
        return [name for name, sha256 in self.hashes.items() if sha256 != PUBLISHED[name]]

    @property
    def sha256(self) -> str:
        """One hash of all files."""
        lines = (f"{sha256}  {name}" for name, sha256 in self.hashes.items())
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def read_sources(clone: Path, *, altered: bool = False) -> Sources:
    """Read all files that the games are converted from.

    Args:
        clone: The folder of the clone.
        altered: Accept files that differ from the published ones.

    Raises:
        InputError: A file is missing, too large, or altered.
    """
    if not clone.is_dir():
        raise InputError(f"{clone}: no such folder: give a clone of {REPOSITORY}: {HOW}")
    if not (clone / SIMULATOR).is_file():
        raise InputError(f"{clone}: not a clone of {REPOSITORY}: it has no {SIMULATOR}: {HOW}")
    sources = Sources({name: read_file(clone, name, MAX_BYTES, COMMIT) for name in PUBLISHED})
    if sources.altered and not altered:
        raise altered_error(clone, sources.altered[0], COMMIT)
    return sources


def read_file(clone: Path, name: str, most: int, commit: str) -> bytes:
    """Return the bytes of a file in a clone, with Unix line ends (Windows clones have others)."""
    path = clone / name
    try:
        if not path.is_file():
            raise InputError(f"{path}: no such file: {_restore(clone, name, commit)}")
        with path.open("rb") as file:
            data = file.read(most + 1)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    if len(data) > most:
        raise InputError(f"{path}: more than {most:,} bytes, so not as published: clone it again")
    return data.replace(b"\r\n", b"\n")


def altered_error(clone: Path, name: str, commit: str) -> InputError:
    return InputError(
        f"{clone / name}: differs from the file published at commit {commit}: "
        f"{_restore(clone, name, commit)}, or accept it with --altered"
    )


def _restore(clone: Path, name: str, commit: str) -> str:
    return f"restore it with `git -C {clone} checkout {commit} -- {name}`"
