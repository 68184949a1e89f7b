"""The paper's games, once they are installed, and the files they come from.

Each game is a TOML in the folder `games` of the home folder, which names a story in a folder of
this installation. A small record, written last, has the origin of both games.
"""

import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from storytest.authored import AuthoredGame
from textgames.errors import InputError
from textgames.files import home
from textgames.game.contract import Game
from textgames.openers import PAPER

NAMES = PAPER
REPOSITORY = "jvking/text-games"
HOW = f"git clone https://github.com/{REPOSITORY}, then python -m lab games text-games"


@dataclass(frozen=True)
class Origin:
    """The files that the installed games were made from."""

    folder: str
    sha256: str  # of all files
    files: dict[str, str]  # SHA-256 of each
    as_published: bool  # rewards as in the published code, not as in the paper

    @property
    def path(self) -> Path:
        return games_folder() / self.folder

    def to_json(self) -> str:
        return json.dumps(asdict(self), indent=2) + "\n"

    def __str__(self) -> str:
        source = "published code" if self.as_published else "paper"
        return f"sources {self.sha256[:12]}, rewards of the {source}"


def games_folder() -> Path:
    return home() / "games"


def record_path() -> Path:
    return games_folder() / "text-games.json"


def origin() -> Origin | None:
    """The origin of the installed games, if any are installed."""
    path = record_path()
    try:
        if not path.exists():
            return None
        fields = json.loads(path.read_text(encoding="utf-8"))
        record = Origin(**fields)
        if not re.fullmatch(r"text-games-[0-9a-f]{12}", record.folder):
            raise ValueError("not a folder of games")
        return record
    except (OSError, ValueError, TypeError, AttributeError) as error:
        cure = f"delete it and add the games again: {HOW}"
        raise InputError(f"{path}: cannot be read; {cure}") from error


def origin_if_sound() -> Origin | None:
    """The origin of the installed games, if there is one and it can be read."""
    try:
        return origin()
    except InputError:
        return None


def sources_of(game: Game) -> dict[str, Any]:
    """The hash and kind of the files that a game was made from, if it is one of the paper's."""
    record = origin_if_sound()
    if record is None or not isinstance(game, AuthoredGame):
        return {}
    if Path(game.story.source).parent != record.path:
        return {}
    return {"sources_sha256": record.sha256, "as_published": record.as_published}
