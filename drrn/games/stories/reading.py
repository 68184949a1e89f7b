"""From a file or a folder of Twee files to a story: which notation it is in, and which encoding."""

from __future__ import annotations

import codecs
import os
import re
from collections.abc import Sequence
from pathlib import Path

from drrn.errors import InputError
from drrn.games.stories.story import Passage, Story
from drrn.games.stories.twee import read_twee, twee_passages, twee_story
from drrn.games.stories.twine_html import read_twine_html

LARGEST = 64 * 2**20  # bytes
TWEE = (".twee", ".tw", ".twee2", ".txt")
HTML = (".html", ".htm")
IN_A_FOLDER = (".twee", ".tw")
BESIDE_TWEE = {".js": "script", ".css": "stylesheet"}  # taken with the Twee files of a folder, as Tweego takes them
ONCE = ("StoryData", "StoryTitle", "Start")  # a second one is a second story
MOST_FILES = 5_000  # searched for Twee
MARKS = [(codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16")]
NO_TEXT = frozenset("idna punycode undefined unicode-escape raw-unicode-escape".split())  # codecs, but of no story
DECLARED = re.compile(rb"<meta[^>]{0,200}charset\s*=\s*[\"']?\s*([\w-]+)", re.I)


def read_story(path: Path, encoding: str | None = None) -> Story:
    """The story in a Twee file, a published Twine page, or a folder of Twee files."""
    if path.is_dir():
        return read_files(story_files(path), str(path), encoding)
    text = decode(read_bytes(path), str(path), encoding)
    if path.suffix.lower() in HTML or (path.suffix.lower() not in TWEE and text.lstrip()[:1] == "<"):
        return read_twine_html(text, str(path))
    return read_twee(text, str(path))


def read_files(files: Sequence[Path], source: str, encoding: str | None = None) -> Story:
    """One story of several files, in their order: Twee, and scripts and style sheets as they lie beside it."""
    passages: list[Passage] = []
    homes: dict[str, Path] = {}
    for path in files:
        found = _passages_of(path, encoding)
        for name in (passage.name for passage in found if passage.name in ONCE):
            if homes.setdefault(name, path) != path:
                raise InputError(
                    f'{source}: {homes[name].name} and {path.name} both have a passage "{name}", and a folder is read '
                    "as one story: name the file of the one you mean, or put each story in a folder of its own"
                )
        passages += found
    return twee_story(passages, source)


def story_files(folder: Path) -> list[Path]:
    """The Twee files in a folder and below it, sorted; then the scripts and style sheets that lie beside them."""
    twee: list[Path] = []
    beside: list[Path] = []
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name != "node_modules")
        paths = [Path(place, name) for name in sorted(names) if not name.startswith(".")]
        here = [path for path in paths if path.suffix.lower() in IN_A_FOLDER]
        twee += here
        beside += [path for path in paths if here and path.suffix.lower() in BESIDE_TWEE]
        if len(twee) + len(beside) > MOST_FILES:
            raise InputError(f"{folder}: more than {MOST_FILES:,} files: name the folder of one story")
    if not twee:
        raise InputError(f"{folder}: no Twee file ({', '.join(IN_A_FOLDER)}) in this folder: name the story in it")
    return sorted(twee) + sorted(beside)


def _passages_of(path: Path, encoding: str | None) -> list[Passage]:
    text = decode(read_bytes(path), str(path), encoding)
    tag = BESIDE_TWEE.get(path.suffix.lower())
    return [Passage(path.name, text, (tag,))] if tag else twee_passages(text, str(path))


def decode(data: bytes, source: str, encoding: str | None = None) -> str:
    """The text, by the encoding asked for, marked, declared in the HTML, or UTF-8; line breaks as `\\n`."""
    encoding = encoding or next((name for mark, name in MARKS if data.startswith(mark)), None)
    if encoding is None:
        declared = DECLARED.search(data[:4096])
        encoding = declared.group(1).decode("ascii") if declared else "utf-8"
    try:
        if codecs.lookup(encoding).name.replace("_", "-") in NO_TEXT:
            raise LookupError
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"{source}, line {line}: byte 0x{data[error.start]:02x} is not {encoding}: "
            "save the file as UTF-8, or name its encoding (for many old stories: cp1252)"
        ) from error
    except (LookupError, ValueError) as error:
        raise InputError(f'{source}: the encoding "{encoding}" is not known: try utf-8 or cp1252') from error
    if "\0" in text:
        raise InputError(f"{source}: it holds NUL characters: this is no text file")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_text(path: Path) -> str:
    """A small text file in UTF-8."""
    return decode(read_bytes(path), str(path), "utf-8-sig")


def read_bytes(path: Path, largest: int = LARGEST) -> bytes:
    """A file's bytes, if they are not too many."""
    try:
        if path.stat().st_size > largest:
            raise InputError(f"{path}: {path.stat().st_size:,} bytes; the most is {largest:,}")
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
