"""The files of a clone that the games are made from: each there, of a sane size, and as published."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from drrn.errors import InputError
from drrn.stories.added import HOW as HOW
from drrn.stories.added import REPOSITORY as REPOSITORY

COMMIT = "936b583"
LARGEST = 4 * 2**20  # bytes; the largest published file has 160,000

SIMULATOR = "simulators/MySimulator.py"
# What the games are made from, and the SHA-256 of each file as published.
PUBLISHED = {
    SIMULATOR: "ee28fdc076267aa28c1f8d63f7c91b33782bb5b46d2f7047517011a10d0d98ed",
    "simulators/savingjohn.pickle": "2eb26fa81e3d1061d667858cf5e4556b3a482ea1da185b4d99f5f3aa5c582dc3",
    "simulators/savingjohn_wordId.pickle": "3e48c2d9965b19897cc33331efa3fe56297d9e3cbe60990387215fd43758af47",
    "simulators/savingjohn_actionId.pickle": "3572519d3ba434c894bb587d535167f76462fe5f5b9ff7c1f7d5406d771f9856",
    "simulators/machineofdeath_wordId.pickle": "ed1a8b2a910b1b5457eb0b5c5cbc3c4725c7be78f34571e777d198cffe78bd54",
    "simulators/machineofdeath_actionId.pickle": "294d1bfe5bbf8e363d7bb72454ac897c116b2d1c42610de005400326492fae88",
    "simulators/machineofdeath_originalActions.txt": "1f7e5fac92834bea5f134a743ecfcd0262a6052354e49b5d19c0f883cfd845e4",
    "simulators/machineofdeath_paraphrasedActions.txt": (
        "113503cbab31772969a0fa093c9d693254f39124f4402ec1d6eb54d41ec8729e"
    ),
}


@dataclass(frozen=True)
class Sources:
    """What was read, by the file's name in the clone; line ends are as git keeps them."""

    files: dict[str, bytes]

    @property
    def hashes(self) -> dict[str, str]:
        return {name: hashlib.sha256(data).hexdigest() for name, data in self.files.items()}

    @property
    def altered(self) -> list[str]:
        """The files that are not those published."""
        return [name for name, sha256 in self.hashes.items() if sha256 != PUBLISHED[name]]

    @property
    def sha256(self) -> str:
        """One hash of them all."""
        return hashlib.sha256(
            "\n".join(f"{sha256}  {name}" for name, sha256 in self.hashes.items()).encode()
        ).hexdigest()


def read_sources(clone: Path, *, altered: bool = False) -> Sources:
    """All files that the games are made from; `altered` takes files that differ from the published ones, too."""
    if not clone.is_dir():
        raise InputError(f"{clone}: no such folder: give a clone of {REPOSITORY}: {HOW}")
    if not (clone / SIMULATOR).is_file():
        raise InputError(f"{clone}: no clone of {REPOSITORY}: it has no {SIMULATOR}: {HOW}")
    found = Sources({name: _bytes(clone, name) for name in PUBLISHED})
    if found.altered and not altered:
        name = found.altered[0]
        raise InputError(
            f"{clone / name}: not the file that was published at commit {COMMIT}: get it back with "
            f"`git -C {clone} checkout {COMMIT} -- {name}`, or take it as it is with --altered"
        )
    return found


def _bytes(clone: Path, name: str) -> bytes:
    path = clone / name
    try:
        if not path.is_file():
            raise InputError(
                f"{path}: no such file: get it back with `git -C {clone} checkout {COMMIT} -- {name}`, or clone again"
            )
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    if len(data) > LARGEST:
        raise InputError(
            f"{path}: more than {LARGEST:,} bytes: this is not the published file: clone {REPOSITORY} again"
        )
    return data.replace(b"\r\n", b"\n")  # a clone on Windows has them
