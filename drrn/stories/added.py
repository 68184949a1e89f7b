"""Where the authors' games lie once they are added, and what they were made from.

One small file names the folder of the games; it is put in place last, so the games change all at once or not at all.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from drrn.errors import InputError
from drrn.files import home

NAMES = ("saving-john", "machine-of-death")
REPOSITORY = "jvking/text-games"
HOW = f"git clone https://github.com/{REPOSITORY}, then drrn games add text-games"


@dataclass(frozen=True)
class Origin:
    """What the installed games were made from."""

    folder: str
    sha256: str  # of all files that were read
    files: dict[str, str]  # SHA-256 of each
    altered: list[str]  # those that are not as published
    as_published: bool  # rewards as in the code, not as in the paper

    @property
    def path(self) -> Path:
        return games_folder() / self.folder

    def written(self) -> str:
        return json.dumps(asdict(self), indent=2) + "\n"

    def __str__(self) -> str:
        rewards = (
            "rewards as the published code pays them"
            if self.as_published
            else "rewards as the paper has them"
        )
        changed = (
            f", {len(self.altered)} of {len(self.files)} files altered" if self.altered else ""
        )
        return f"sources {self.sha256[:12]}{changed}, {rewards}"


def games_folder() -> Path:
    return home() / "games"


def record_path() -> Path:
    return games_folder() / "text-games.json"


def origin() -> Origin | None:
    """What is installed; None: nothing."""
    path = record_path()
    try:
        if not path.exists():
            return None
        found = Origin(**json.loads(path.read_text(encoding="utf-8")))
        if not re.fullmatch(r"text-games-[0-9a-f]{12}", found.folder):
            raise ValueError("not a folder of games")
        return found
    except (OSError, ValueError, TypeError) as error:
        raise InputError(
            f"{path}: cannot be read: delete it and add the games again: {HOW}"
        ) from error


def origin_if_sound() -> Origin | None:
    """What is installed; None also where the record cannot be read, for who is about to replace it."""
    try:
        return origin()
    except InputError:
        return None


def story_sources(story: Path) -> dict[str, Any]:
    """For a story that was added from its authors' files: the hash of those files, and whose rewards it has."""
    made = origin_if_sound()
    if made is None or story.parent != made.path:
        return {}
    return {"sources_sha256": made.sha256, "as_published": made.as_published}


def toml_of(name: str) -> Path:
    """The TOML of one of the authors' games, or a sentence that tells how to get it."""
    found = origin()
    if found is None:
        raise InputError(f"{name} is one of the paper's games and not yet here: {HOW}")
    path = found.path / f"{name}.toml"
    if not path.is_file():
        raise InputError(f"{path}: the game was deleted: add it again: {HOW}")
    return path
