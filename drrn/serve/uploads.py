"""Story files that are dropped on the page: checked, kept in a folder named by their hash, opened once, and added."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

from starlette.datastructures import FormData, UploadFile
from starlette.requests import Request

from drrn.errors import InputError
from drrn.serve.answers import Refusal
from drrn.serve.asking import AskedProcess
from drrn.serve.guard import MOST_UPLOAD
from drrn.serve.library import ABOUT, GameEntry, Library, slug, upload_entry, uploads_folder
from drrn.suites import is_suite_toml

STORIES = (".html", ".htm", ".twee", ".tw", ".json", ".ink")
RULES = ".toml"
TYPES = (*STORIES, RULES)
MOST_FILES = 4
# uploaded stories
MOST_KEPT = 200
MOST_KEPT_BYTES = 2**30
OPENING_SECONDS = 60

Files = Mapping[str, bytes]  # by name


async def uploaded(
    request: Request, library: Library, opener: AskedProcess
) -> tuple[GameEntry, bool]:
    """Take in the files of a request: the game, and whether it is new; `opener` is the process that opens it once."""
    if (
        request.headers.get("content-type", "").partition(";")[0].strip().lower()
        != "multipart/form-data"
    ):
        raise Refusal(415, "Send the files as a form (multipart/form-data).")
    async with request.form(max_files=MOST_FILES, max_fields=4) as form:
        files = await _files(form)
        beside = form.get("game")
    if isinstance(beside, str) and beside:
        files = {**_own_files(library[beside]), **files}
    story = _story(files)
    digest = hashlib.sha256(
        b"\0".join(name.encode() + b"\0" + data for name, data in sorted(files.items()))
    )
    id_ = f"{slug(PurePosixPath(story).stem)}-{digest.hexdigest()[:10]}"
    if id_ in library.entries:
        return library[id_], False
    kept = [entry.folder for entry in library if entry.folder is not None]
    if len(kept) >= MOST_KEPT or sum(map(_size, kept)) > MOST_KEPT_BYTES:
        raise Refusal(429, "There are too many uploaded stories already: remove some first.")
    entry = await _kept(id_, story, files, opener)
    library.add(entry)
    return entry, True


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.glob("*") if path.is_file())


async def _files(form: FormData) -> dict[str, bytes]:
    """The files of a form, under names that are safe."""
    found: dict[str, bytes] = {}
    for part in form.getlist("file"):
        if not isinstance(part, UploadFile):
            raise Refusal(400, 'Each part named "file" must be a file.')
        name = safe_name(part.filename or "")
        if PurePosixPath(name).suffix.lower() not in TYPES:
            raise Refusal(
                415, f"{name}: not a kind of file that can be added; those are {', '.join(TYPES)}."
            )
        found[name] = await part.read()
    if not found:
        raise Refusal(400, 'No file was sent: the parts of the form must be named "file".')
    if sum(map(len, found.values())) > MOST_UPLOAD:
        raise Refusal(413, f"That is too large: a story has at most {MOST_UPLOAD // 2**20} MB.")
    return found


def safe_name(name: str) -> str:
    """The last part of a file's name, without signs that mean something to a file system or a terminal."""
    last = re.split(r"[/\\]", name)[-1]
    plain = re.sub(r"[^\w .,'()!&+-]+", "-", last).lstrip(".- ")
    stem = PurePosixPath(plain).stem
    suffix = PurePosixPath(plain).suffix.lower()
    named = f"{stem[:80] or 'story'}{suffix[:8]}"
    return f"story-{named}" if named.lower() == ABOUT else named  # that name is taken


def _story(files: Files) -> str:
    """The name of the file that is the story."""
    stories = [name for name in files if PurePosixPath(name).suffix.lower() in STORIES]
    if len(stories) != 1:
        what = "no story among the files" if not stories else "more than one story among the files"
        raise Refusal(
            400,
            f"There is {what}: drop one story, and with it the TOML of its rewards if it has one.",
        )
    return stories[0]


def _own_files(entry: GameEntry) -> dict[str, bytes]:
    """The files of a story that was uploaded before, so that a TOML can be put beside it."""
    if entry.folder is None:
        raise Refusal(409, "A TOML can be added to an uploaded story only.")
    own = (path for path in entry.folder.iterdir() if path.suffix.lower() in STORIES)
    return {path.name: path.read_bytes() for path in own}


async def _kept(id_: str, story: str, files: Files, opener: AskedProcess) -> GameEntry:
    """Write the files, open the story in a process apart, and put the folder in place if that went well."""
    uploads_folder().mkdir(parents=True, exist_ok=True)
    unfinished = Path(tempfile.mkdtemp(prefix=".new-", dir=uploads_folder()))
    try:
        for name, data in files.items():
            (unfinished / name).write_bytes(data)
        named = next((name for name in files if name.endswith(RULES)), story)
        about = await _opened(unfinished, named, opener)
        (unfinished / ABOUT).write_text(json.dumps(about, ensure_ascii=False), encoding="utf-8")
        place = uploads_folder() / id_
        shutil.rmtree(
            place, ignore_errors=True
        )  # what is there without being in the table is not whole
        unfinished.rename(place)
        return upload_entry(place, about)
    except InputError as error:
        raise Refusal(400, str(error).replace(f"{unfinished}/", "")) from error
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


async def _opened(folder: Path, file: str, opener: AskedProcess) -> dict[str, Any]:
    """What the story says of itself, as far as it can be played; what it cannot be played with is noted."""
    if is_suite_toml(str(folder / file)):
        raise InputError(
            f"{file}: it names the game of a suite; only a story's TOML can be uploaded"
        )
    entry = upload_entry(folder, {"file": file, "title": "", "lenient": False})
    try:
        told = await opener.ask(entry.recipe, seconds=OPENING_SECONDS)
    except InputError:  # play on without what is not supported, and say so
        told = await opener.ask(replace(entry.recipe, lenient=True), seconds=OPENING_SECONDS)
    return {"file": file, **told}
