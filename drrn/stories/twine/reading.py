"""From a file or a folder of Twee files to a story: which notation it is in, and which encoding."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from drrn.errors import InputError
from drrn.files import decode, read_bytes
from drrn.stories.twine.story import Passage, Story
from drrn.stories.twine.twee import read_twee, twee_passages, twee_story
from drrn.stories.twine.twine_html import read_twine_html

TWEE = (".twee", ".tw", ".twee2", ".txt")
HTML = (".html", ".htm")
IN_A_FOLDER = (".twee", ".tw")
BESIDE_TWEE = {
    ".js": "script",
    ".css": "stylesheet",
}  # taken with the Twee files of a folder, as Tweego takes them
ONCE = ("StoryData", "StoryTitle", "Start")  # a second one is a second story
MOST_FILES = 5_000  # searched for Twee


def read_story(path: Path, encoding: str | None = None) -> Story:
    """The story in a Twee file, a published Twine page, or a folder of Twee files."""
    if path.is_dir():
        return read_files(story_files(path), str(path), encoding)
    text = decode(read_bytes(path), str(path), encoding)
    if path.suffix.lower() in HTML or (
        path.suffix.lower() not in TWEE and text.lstrip()[:1] == "<"
    ):
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
        folders[:] = sorted(
            name for name in folders if not name.startswith(".") and name != "node_modules"
        )
        paths = [Path(place, name) for name in sorted(names) if not name.startswith(".")]
        here = [path for path in paths if path.suffix.lower() in IN_A_FOLDER]
        twee += here
        beside += [path for path in paths if here and path.suffix.lower() in BESIDE_TWEE]
        if len(twee) + len(beside) > MOST_FILES:
            raise InputError(
                f"{folder}: more than {MOST_FILES:,} files: name the folder of one story"
            )
    if not twee:
        raise InputError(
            f"{folder}: no Twee file ({', '.join(IN_A_FOLDER)}) in this folder: name the story in it"
        )
    return sorted(twee) + sorted(beside)


def _passages_of(path: Path, encoding: str | None) -> list[Passage]:
    text = decode(read_bytes(path), str(path), encoding)
    tag = BESIDE_TWEE.get(path.suffix.lower())
    return [Passage(path.name, text, (tag,))] if tag else twee_passages(text, str(path))
