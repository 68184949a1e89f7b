"""The story formats that were added: one file each in the home folder, versions side by side."""

from __future__ import annotations

import os
import re
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from drrn.errors import InputError
from drrn.files import decode, home, read_bytes
from drrn.stories.formats.format_file import (
    LARGEST_FORMAT,
    StoryFormat,
    format_in,
    format_key,
    read_format,
)
from drrn.stories.twine.story import Story

FILE_NAME = "format.js"  # as Twine and Tweego name it
MOST_FOLDERS = 20_000  # searched for formats
KEPT = re.compile(r"([a-z0-9][a-z0-9.-]*)_(\d[\w.+-]*)\.js")
TITLES = {
    "harlowe": "Harlowe",
    "sugarcube": "SugarCube",
    "chapbook": "Chapbook",
    "snowman": "Snowman",
}
FAMILY = re.compile(r"(.+?)[ -]v?(\d+)(?:\.[\d.x]*)?")  # "sugarcube-2", as Tweego names formats
WHERE = (
    "Twine has its formats as files format.js in the folder public/story-formats of github.com/klembot/twinejs, Tweego "
    "in its folder storyformats, and each format's own site offers it as well"
)
HOW = f"drrn formats add FILE_OR_FOLDER ({WHERE})"
# What a story that names no format is written in, by how its code looks.
CODE = {
    "harlowe": r"\((?:set|put|(?:else-)?if|unless|else|print|display|link|click|either|random|a|go-?to|text)[\w-]*:",
    "sugarcube": r"<</?[A-Za-z$=-]",
    "snowman": r"<%",
    "chapbook": r"^\[(?:if|unless|else|after|cont|JavaScript)\b[^\]\n]*\]$|^--$|\{(?:embed|reveal|cycling)\b",
}


@dataclass(frozen=True)
class KeptFormat:
    """A format's file in the home folder; what its name says, without reading it."""

    key: str
    version: str
    path: Path

    @property
    def newness(self) -> tuple[tuple[int, ...], bool, str]:
        """What later versions have more of; a release comes after its previews."""
        numbers, preview = re.fullmatch(r"([\d.]*\d)(.*)", self.version, re.S).groups()  # type: ignore[union-attr]
        return (
            tuple(int(number) for number in numbers.split(".") if number),
            not preview.startswith("-"),
            preview,
        )

    def read(self) -> StoryFormat:
        found = read_format(self.path)
        if (found.key, found.version) != (self.key, self.version):
            raise InputError(
                f"{self.path}: it holds {found}, not what its name says: delete it and add it again"
            )
        return found


@dataclass(frozen=True)
class Addition:
    """What became of a file that was to be added."""

    path: Path
    story_format: StoryFormat | None = None  # None: it was left out
    what: str = ""


def formats_folder() -> Path:
    return home() / "formats"


def kept_formats() -> list[KeptFormat]:
    """Those that were added, by name and version."""
    folder = formats_folder()
    names = [
        (path, KEPT.fullmatch(path.name)) for path in (folder.iterdir() if folder.is_dir() else ())
    ]
    found = [
        KeptFormat(match[1], match[2], path) for path, match in names if match and path.is_file()
    ]
    return sorted(found, key=lambda kept: (kept.key, kept.newness))


def format_for(story: Story) -> StoryFormat:
    """The kept format that a story names: its version, else the newest with the same major version."""
    key, version = wanted_format(story)
    kept = [one for one in kept_formats() if one.key == key]
    same = [one for one in kept if one.version == version]
    major = version.split(".")[0]
    near = [one for one in kept if not version or one.version.split(".")[0] == major]
    if not near:
        others = f" (kept: {', '.join(one.version for one in kept)})" if kept else ""
        wanted = f"{TITLES.get(key, key)} {version}".strip()
        raise InputError(
            f"{story.source}: its story format, {wanted}, is not here{others}: add it by {HOW}"
        )
    return (same or [max(near, key=lambda one: one.newness)])[0].read()


def wanted_format(story: Story) -> tuple[str, str]:
    """Name and version of the format that a story names or, by the look of its code, is written in; '': any version."""
    named = story.format or _likely(story)
    if not named:
        raise InputError(
            f'{story.source}: it names no story format: add to its passage StoryData "format": "Harlowe", '
            '"format-version": "3.3.9", or whichever it was written for'
        )
    version = story.format_version
    if (family := FAMILY.fullmatch(named)) and not any(
        one.key == format_key(named) for one in kept_formats()
    ):
        return format_key(family[1]), version or family[2]
    return format_key(named), version


def _likely(story: Story) -> str:
    texts = [passage.text for passage in story.pages.values()]
    counted = Counter(
        {
            name: sum(len(re.findall(code, text, re.M)) for text in texts)
            for name, code in CODE.items()
        }
    )
    name, count = counted.most_common(1)[0]
    return name if count else ""


def add_formats(path: Path, *, replace: bool = False) -> list[Addition]:
    """Keep the format in a file, or every one below a folder; what a folder has that is none is left out and told."""
    if not path.is_dir():
        return [_add(path, replace)]
    additions = [_add_or_tell(file, replace) for file in _format_files(path)]
    if not additions:
        raise InputError(
            f"{path}: no {FILE_NAME} in this folder or below it: name Twine's folder story-formats"
        )
    return additions


def _format_files(folder: Path) -> Iterator[Path]:
    found: list[Path] = []
    for number, (place, folders, files) in enumerate(os.walk(folder)):
        if number >= MOST_FOLDERS:
            raise InputError(
                f"{folder}: more than {MOST_FOLDERS:,} folders: name the one that holds the formats"
            )
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += [Path(place, name) for name in files if name == FILE_NAME]
    return iter(sorted(found))


def _add_or_tell(path: Path, replace: bool) -> Addition:
    try:
        return _add(path, replace)
    except InputError as error:
        return Addition(path, what=str(error))


def _add(path: Path, replace: bool) -> Addition:
    data = read_bytes(path, LARGEST_FORMAT)
    made = format_in(decode(data, str(path), "utf-8-sig"), str(path))
    target = formats_folder() / f"{made.key}_{made.version}.js"
    try:
        before = target.read_bytes() if target.exists() else None
        if before == data:
            return Addition(path, made, "already kept")
        if before is not None and not replace:
            raise InputError(
                f"{path}: another file of {made} is kept as {target}: to take this one instead, say --replace"
            )
        _put(data, target)
    except OSError as error:
        raise InputError(f"{target}: cannot be written: {error.strerror}") from error
    return Addition(path, made, "added" if before is None else "replaced")


def _put(data: bytes, target: Path) -> None:
    """Write beside, then put in place: the file is whole, or as it was."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(
        prefix=".formats-", dir=target.parent, ignore_cleanup_errors=True
    ) as beside:
        unfinished = Path(beside) / target.name
        unfinished.write_bytes(data)
        unfinished.replace(target)
