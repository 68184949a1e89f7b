"""The games of the page, each with an id: built in, added, given on the command line, uploaded.

A request names a game by its id, which is looked up here. No part of it becomes part of a path.
"""

import hashlib
import json
import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request

from textgames.errors import InputError
from textgames.files import home, read_text, slug, write
from textgames.game.contract import close, title_of
from textgames.openers import BUILT_IN, WORLDS, GameSpec, installed_games, spec_for
from textgames.registry import registered
from textgames_page.async_service import AsyncService
from textgames_page.limits import Limits
from textgames_page.products import STORIES, has_stories

ABOUT = "about.json"  # written last into the folder of an uploaded story
STORY_TYPES = (".html", ".htm", ".twee", ".tw", ".json", ".ink")
RULES_TYPE = ".toml"
TYPES = (*STORY_TYPES, RULES_TYPE)


@dataclass(frozen=True)
class GameEntry:
    """A game of the library."""

    id: str
    title: str
    kind: str  # built in, added, given or uploaded
    spec: GameSpec
    name: str  # in the table of scores
    file: str | None = None  # name of its file, without the folder
    folder: Path | None = None  # of an uploaded story

    @property
    def modified(self) -> float:
        """When a story file of its folder was last written. 0 if it is not a file."""
        if self.kind != "given" or self.file is None:
            return 0.0
        files = Path(self.spec.source).parent.glob("*")
        return max((f.stat().st_mtime for f in files if f.suffix.lower() in TYPES), default=0.0)

    def as_json(self, runs: int = 0) -> dict[str, Any]:
        own = {name: getattr(self, name) for name in ("id", "title", "kind", "file")}
        return {**own, "removable": self.folder is not None, "runs": runs}


def uploads_folder() -> Path:
    """The folder of uploaded stories."""
    return home() / "serve" / "games"


class Library:
    """All games by id. Uploaded stories are listed again when a server starts."""

    def __init__(self, given: Sequence[GameEntry] = (), limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        self.entries: dict[str, GameEntry] = {}
        for entry in (*given, *_built_in(), *_added(), *_uploaded()):
            self.entries.setdefault(entry.id, entry)

    def __iter__(self) -> Iterator[GameEntry]:
        return iter(list(self.entries.values()))

    def __getitem__(self, id: str) -> GameEntry:  # noqa: A002
        entry = self.entries.get(id)
        if entry is None:
            raise HTTPException(404, "There is no such game.")
        return entry

    def rename(self, entry: GameEntry, title: str) -> None:
        """Set the title that a game had when it was opened."""
        if self.entries.get(entry.id) is entry and title != entry.title:
            self.entries[entry.id] = replace(entry, title=title)

    def remove(self, entry: GameEntry) -> None:
        """Remove an uploaded story and its files."""
        if entry.folder is None:
            raise HTTPException(409, "Only uploaded stories can be removed.")
        del self.entries[entry.id]
        shutil.rmtree(entry.folder, ignore_errors=True)

    def find(self, source: str | None, title: str) -> GameEntry | None:
        """Return the game with this source, or else with this title."""
        by_source = (entry for entry in self if source and entry.spec.source == source)
        by_title = (entry for entry in self if entry.title == title)
        return next(by_source, None) or next(by_title, None)

    async def upload(self, request: Request, opener: AsyncService) -> GameEntry:
        """Add the story in a form, unless it is there already.

        `opener` is a service of `OpeningWorker`, since the story may do harm.
        """
        if not has_stories():
            raise InputError(STORIES)
        async with request.form(max_files=self.limits.upload_files, max_fields=4) as form:
            files = await _files(form)
        story = _story_name(files)
        parts = (name.encode() + b"\0" + data for name, data in sorted(files.items()))
        digest = hashlib.sha256(b"\0".join(parts)).hexdigest()[:10]
        id_ = f"{_id_part(PurePosixPath(story).stem)}-{digest}"
        if id_ not in self.entries:
            if sum(entry.kind == "uploaded" for entry in self) >= self.limits.uploads:
                raise HTTPException(429, "Too many stories are uploaded. Remove some first.")
            self.entries[id_] = await _save(id_, story, files, opener, self.limits.seconds)
        return self.entries[id_]

    def rules_of(self, entry: GameEntry) -> tuple[Path, str | None]:
        """The file of a story's TOML, and its text if it exists."""
        toml = Path(entry.spec.source).with_suffix(RULES_TYPE)
        return toml, read_text(toml) if toml.exists() else None

    async def write_rules(self, entry: GameEntry, text: str, opener: AsyncService) -> None:
        """Write a story's TOML. If the story cannot be opened with it, the old one stays."""
        toml, before = self.rules_of(entry)
        write(toml, text)
        try:
            await opener.ask("open", entry.spec, timeout=self.limits.seconds)
        except Exception:
            toml.unlink() if before is None else write(toml, before)
            raise


def _id_part(text: str) -> str:
    return slug(text.replace(".", "-"), plain=True)[:40]


def given_entries(names: Sequence[str]) -> list[GameEntry]:
    """The games of the command line. One that cannot be opened is an error."""
    entries: dict[str, GameEntry] = {}
    for name in names:
        path = Path(name)
        file = path.name if path.exists() else None
        id_ = name
        if not re.fullmatch(r"[\w-]{1,60}", name):
            id_ = _id_part(path.stem if file else name)
        if id_ in entries:
            raise InputError(f"{name}: two games have the id {id_}; rename one of the files")
        spec = spec_for(name, lenient=True)
        game = spec.open()
        entries[id_] = GameEntry(id_, title_of(game), "given", spec, game.name, file)
        close(game)
    return list(entries.values())


def _built_in() -> Iterator[GameEntry]:
    for name in (*BUILT_IN, *WORLDS) if has_stories() else WORLDS:
        spec = spec_for(name)
        yield GameEntry(_id_part(name), title_of(spec.open()), "built in", spec, name)


def _added() -> Iterator[GameEntry]:
    stories = installed_games() if has_stories() else ()
    for name in (*stories, *registered("game")):
        title = name.replace("-", " ").title()  # until it is opened
        yield GameEntry(_id_part(name), title, "added", spec_for(name), name)


def _uploaded() -> Iterator[GameEntry]:
    for about in sorted(uploads_folder().glob(f"*/{ABOUT}")):
        try:
            yield _upload_entry(about.parent, json.loads(about.read_text(encoding="utf-8")))
        except (OSError, ValueError, KeyError, TypeError, InputError):
            continue  # an incomplete folder


def _upload_entry(folder: Path, about: dict[str, Any]) -> GameEntry:
    file = Path(str(about["file"])).name
    spec = spec_for(folder / file, lenient=True)
    title = str(about["title"])
    return GameEntry(folder.name, title, "uploaded", spec, folder.name, file, folder)


async def _files(form: FormData) -> dict[str, bytes]:
    """The files of a form, with safe names."""
    files: dict[str, bytes] = {}
    for part in form.getlist("file"):
        if not isinstance(part, UploadFile):
            raise HTTPException(400, 'Each part named "file" must be a file.')
        name = safe_name(part.filename or "")
        if PurePosixPath(name).suffix.lower() not in TYPES:
            cause = f"not a supported type of file, which are {', '.join(TYPES)}"
            raise HTTPException(415, f"{name}: {cause}.")
        files[name] = await part.read()
    if not files:
        raise HTTPException(400, 'The form has no file. Its parts must be named "file".')
    return files


def safe_name(name: str) -> str:
    """The last part of a file name, without special characters."""
    last = re.split(r"[/\\]", name)[-1]
    plain = PurePosixPath(re.sub(r"[^\w .,'()!&+-]+", "-", last).lstrip(".- "))
    safe = f"{plain.stem[:80] or 'story'}{plain.suffix.lower()[:8]}"
    return f"story-{safe}" if safe.lower() == ABOUT else safe


def _story_name(files: dict[str, bytes]) -> str:
    """The name of the file that is the story."""
    stories = [name for name in files if PurePosixPath(name).suffix.lower() in STORY_TYPES]
    if len(stories) != 1:
        count = "no story" if not stories else "more than one story"
        cure = "drop one story, with its TOML if it has one"
        raise HTTPException(400, f"The files contain {count}; {cure}.")
    return stories[0]


async def _save(
    id_: str, story: str, files: dict[str, bytes], opener: AsyncService, seconds: float
) -> GameEntry:
    """Write the files, open the story in another process, and move the folder if that works."""
    uploads_folder().mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=".new-", dir=uploads_folder()))
    try:
        for name, data in files.items():
            (temporary / name).write_bytes(data)
        main_file = next((name for name in files if name.endswith(RULES_TYPE)), story)
        spec = spec_for(temporary / main_file, lenient=True)
        title, _ = await opener.ask("open", spec, timeout=seconds)
        about = {"file": main_file, "title": title}
        (temporary / ABOUT).write_text(json.dumps(about, ensure_ascii=False), encoding="utf-8")
        folder = uploads_folder() / id_
        shutil.rmtree(folder, ignore_errors=True)  # not in the library, so it is incomplete
        temporary.rename(folder)
        return _upload_entry(folder, about)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
