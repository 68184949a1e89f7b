"""The games that the page shows, each under an id: built in, added, named on the command line, uploaded.

A request names a game by its id, and an id is looked up in this table: nothing of a request becomes part of a path.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from drrn.errors import InputError
from drrn.files import home
from drrn.game.contract import Game
from drrn.game.make import BUILT_IN, WORLDS, GameSpec, spec_for
from drrn.game.optional import title_of
from drrn.lab.authors import text_world
from drrn.registry import registered
from drrn.serve.answers import Refusal
from drrn.stories import added as place

ABOUT = "about.json"  # beside an uploaded story: what it is, written last


@dataclass(frozen=True)
class GameEntry:
    """A game of the table: what it is called, and how it is opened."""

    id: str
    title: str
    kind: str  # built in, added, given or uploaded
    recipe: GameSpec
    file: str | None = None  # the name of its file, without a folder
    folder: Path | None = None  # of an uploaded one
    format: str = "story"  # story, world, suite or other
    name: str = ""  # under which scores are kept
    notes: tuple[str, ...] = field(default=())  # what was left out to play it

    @property
    def removable(self) -> bool:
        return self.folder is not None

    def told(self, runs: int = 0) -> dict[str, Any]:
        """As the page gets it."""
        shown = {
            name: getattr(self, name)
            for name in ("id", "title", "kind", "format", "file", "removable", "notes")
        }
        return {**shown, "runs": runs}


def uploads_folder() -> Path:
    """Where uploaded stories are kept."""
    return home() / "serve" / "games"


class Library:
    """The table of games. Uploaded ones are found again when a server begins."""

    def __init__(self, given: Sequence[GameEntry] = ()) -> None:
        self.entries: dict[str, GameEntry] = {}
        for entry in (*given, *_built_in(), *_added(), *_kept_uploads()):
            self.entries.setdefault(entry.id, entry)

    def __iter__(self) -> Iterator[GameEntry]:
        return iter(list(self.entries.values()))

    def __getitem__(self, id: str) -> GameEntry:  # noqa: A002
        found = self.entries.get(id)
        if found is None:
            raise Refusal(404, "There is no such game here any more.")
        return found

    def add(self, entry: GameEntry) -> None:
        self.entries[entry.id] = entry

    def rename(self, entry: GameEntry, title: str) -> None:
        """Keep the title that a game said of itself when it was opened."""
        if self.entries.get(entry.id) is entry and title != entry.title:
            self.entries[entry.id] = replace(entry, title=title)

    def remove(self, entry: GameEntry) -> None:
        """Forget an uploaded story, and remove its folder."""
        if entry.folder is None:
            raise Refusal(409, "Only a story that was uploaded can be removed.")
        del self.entries[entry.id]
        shutil.rmtree(entry.folder, ignore_errors=True)

    def played_by(self, source: str | None, title: str) -> GameEntry | None:
        """The game that a run was learned on, by what opened it or by its title."""
        by_source = (
            entry for entry in self if source is not None and entry.recipe.source == source
        )
        return next(by_source, None) or next(
            (entry for entry in self if entry.title == title), None
        )


def slug(text: str) -> str:
    """A text as part of an id."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:40] or "game"


def given_entry(name: str, game: Game, recipe: GameSpec) -> GameEntry:
    """A game that the command line named."""
    path = Path(name)
    file = path.name if path.exists() else None
    kind = "suite" if ":" in name and file is None else "story" if file else "other"
    id_ = name if re.fullmatch(r"[\w-]{1,60}", name) else slug(path.stem if file else name)
    return GameEntry(id_, title_of(game), "given", recipe, file, format=kind, name=game.name)


def _built_in() -> Iterator[GameEntry]:
    for name in BUILT_IN:
        yield _named(name, "built in", "story")
    for name in WORLDS:
        yield _named(name, "built in", "world")


def _added() -> Iterator[GameEntry]:
    if place.origin_if_sound() is not None:
        for name in place.NAMES:
            yield _named(name, "added", "story")
    try:
        if text_world.added_home_world():
            yield _named(text_world.ORIGINAL, "added", "world")
    except InputError:
        pass
    for name in registered("game"):
        yield _named(name, "added", "other")


def _named(name: str, kind: str, form: str) -> GameEntry:
    recipe = spec_for(name)
    title = (
        title_of(recipe.open()) if kind == "built in" else name.replace("-", " ").title()
    )  # until it is opened
    return GameEntry(slug(name), title, kind, recipe, format=form, name=name)


def _kept_uploads() -> Iterator[GameEntry]:
    folder = uploads_folder()
    for about in sorted(folder.glob(f"*/{ABOUT}")) if folder.is_dir() else ():
        try:
            yield upload_entry(about.parent, json.loads(about.read_text(encoding="utf-8")))
        except (OSError, ValueError, KeyError, TypeError, InputError):
            continue  # a folder that is not whole is no game


def upload_entry(folder: Path, about: dict[str, Any]) -> GameEntry:
    """An uploaded story by what is kept beside it."""
    file = Path(str(about["file"])).name
    recipe = spec_for(folder / file, lenient=bool(about["lenient"]))
    notes = tuple(map(str, about.get("notes", ())))
    return GameEntry(
        folder.name,
        str(about["title"]),
        "uploaded",
        recipe,
        file,
        folder,
        name=folder.name,
        notes=notes,
    )
