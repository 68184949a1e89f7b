"""Story formats in the home folder, and publishing: a story as the page that Twine would write."""

from __future__ import annotations

import hashlib
import html
import os
import re
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from drrn.errors import InputError
from drrn.files import decode, home, read_bytes, write_atomically
from drrn.stories.formats.file import (
    LARGEST_FORMAT,
    StoryFormat,
    format_in,
    format_key,
    read_format,
)
from drrn.stories.twine.reading import TWINE_2, TWINE_2_END, read_twine_html
from drrn.stories.twine.story import Passage, Story
from drrn.version import __version__

FILE_NAME = "format.js"  # as Twine and Tweego name it
MAX_FOLDERS = 20_000  # to search for formats
LIBRARY_FILE = re.compile(r"([a-z0-9][a-z0-9.-]*)_(\d[\w.+-]*)\.js")
TITLES = {
    "harlowe": "Harlowe",
    "sugarcube": "SugarCube",
    "chapbook": "Chapbook",
    "snowman": "Snowman",
}
FAMILY = re.compile(r"(.+?)[ -]v?(\d+)(?:\.[\d.x]*)?")  # "sugarcube-2", as Tweego names formats
WHERE = (
    "Twine has its formats as files format.js in the folder public/story-formats of "
    "github.com/klembot/twinejs, Tweego in its folder storyformats, and each format's own site "
    "offers it as well"
)
HOW = f"drrn formats add FILE_OR_FOLDER ({WHERE})"
# Code by which the format of a story that names none is recognised.
CODE = {
    "harlowe": r"\((?:set|put|(?:else-)?if|unless|else|print|display|link|click|either|random|a|"
    r"go-?to|text)[\w-]*:",
    "sugarcube": r"<</?[A-Za-z$=-]",
    "snowman": r"<%",
    "chapbook": r"^\[(?:if|unless|else|after|cont|JavaScript)\b[^\]\n]*\]$|^--$|"
    r"\{(?:embed|reveal|cycling)\b",
}
SCRIPT = re.compile(r"<script\b", re.I)
PLACEHOLDER = re.compile(r"\{\{STORY_(NAME|DATA)\}\}")
# Passages that become attributes of the page, or were read before.
METADATA = frozenset("StoryTitle StoryData StorySettings StoryIncludes".split())
NO_DATA_TAGS = frozenset(("script", "stylesheet", "Twine.private"))


@dataclass(frozen=True)
class LibraryFormat:
    """A format's file in the home folder, as its file name describes it."""

    key: str
    version: str
    path: Path

    @property
    def order(self) -> tuple[tuple[int, ...], bool, str]:
        """Sorts versions; a release comes after its previews."""
        match = re.fullmatch(r"([\d.]*\d)(.*)", self.version, re.S)
        assert match is not None
        numbers = tuple(int(number) for number in match[1].split(".") if number)
        return numbers, not match[2].startswith("-"), match[2]

    def read(self) -> StoryFormat:
        story_format = read_format(self.path)
        if (story_format.key, story_format.version) != (self.key, self.version):
            cure = "not what its name says; delete it and add it again"
            raise InputError(f"{self.path}: it holds {story_format}, {cure}")
        return story_format


@dataclass(frozen=True)
class Addition:
    """The outcome of adding a file."""

    path: Path
    story_format: StoryFormat | None = None  # None: it was skipped
    what: str = ""


def formats_folder() -> Path:
    return home() / "formats"


def library_formats() -> list[LibraryFormat]:
    """Return the formats that were added, by name and version."""
    folder = formats_folder()
    formats = []
    for path in folder.iterdir() if folder.is_dir() else ():
        match = LIBRARY_FILE.fullmatch(path.name)
        if match and path.is_file():
            formats.append(LibraryFormat(match[1], match[2], path))
    return sorted(formats, key=lambda one: (one.key, one.order))


def format_for(story: Story) -> StoryFormat:
    """Return the format of a story: its version, or the newest with the same major version.

    Raises:
        InputError: The story names no format, or its format was not added.
    """
    key, version = wanted_format(story)
    formats = [one for one in library_formats() if one.key == key]
    major = version.split(".")[0]
    near = [one for one in formats if not version or one.version.split(".")[0] == major]
    if not near:
        others = f" (added: {', '.join(one.version for one in formats)})" if formats else ""
        name = f"{TITLES.get(key, key)} {version}".strip()
        cause = f"its story format, {name}, is not installed{others}"
        raise InputError(f"{story.source}: {cause}; add it with {HOW}")
    same = [one for one in near if one.version == version]
    return (same or [max(near, key=lambda one: one.order)])[0].read()


def wanted_format(story: Story) -> tuple[str, str]:
    """Return the key and version of a story's format, named or recognised; "": any version."""
    name = story.format or _likely_format(story)
    if not name:
        raise InputError(
            f"{story.source}: it names no story format: add to its passage StoryData "
            '"format": "Harlowe", "format-version": "3.3.9", or the one that it was written for'
        )
    key = format_key(name)
    family = FAMILY.fullmatch(name)
    if family and not any(one.key == key for one in library_formats()):
        return format_key(family[1]), story.format_version or family[2]
    return key, story.format_version


def _likely_format(story: Story) -> str:
    texts = [passage.text for passage in story.pages.values()]
    counts = {
        name: sum(len(re.findall(code, text, re.M)) for text in texts)
        for name, code in CODE.items()
    }
    name = max(counts, key=lambda name: counts[name])
    return name if counts[name] else ""


def add_formats(path: Path, *, replace: bool = False) -> list[Addition]:
    """Add the format in a file, or every format below a folder; other files are skipped."""
    if not path.is_dir():
        return [_add(path, replace)]
    additions = []
    for file in _format_files(path):
        try:
            additions.append(_add(file, replace))
        except InputError as error:
            additions.append(Addition(file, what=str(error)))
    if not additions:
        cure = "name Twine's folder story-formats"
        raise InputError(f"{path}: no {FILE_NAME} in this folder or below it; {cure}")
    return additions


def _format_files(folder: Path) -> list[Path]:
    paths: list[Path] = []
    for number, (parent, folders, files) in enumerate(os.walk(folder)):
        if number >= MAX_FOLDERS:
            cure = "name the one that holds the formats"
            raise InputError(f"{folder}: more than {MAX_FOLDERS:,} folders; {cure}")
        folders[:] = [name for name in folders if not name.startswith(".")]
        paths += [Path(parent, name) for name in files if name == FILE_NAME]
    return sorted(paths)


def _add(path: Path, replace: bool) -> Addition:
    data = read_bytes(path, LARGEST_FORMAT)
    story_format = format_in(decode(data, str(path), "utf-8-sig"), str(path))
    target = formats_folder() / f"{story_format.key}_{story_format.version}.js"
    try:
        before = target.read_bytes() if target.exists() else None
        if before == data:
            return Addition(path, story_format, "already added")
        if before is not None and not replace:
            cause = f"another file of {story_format} is installed as {target}"
            raise InputError(f"{path}: {cause}; to use this one instead, add --replace")
        target.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(target, data)
    except OSError as error:
        raise InputError(f"{target}: cannot be written: {error.strerror}") from error
    return Addition(path, story_format, "added" if before is None else "replaced")


def with_engine(page: str, source: str) -> str:
    """Return the page, or if it is an archive, its first story published with its format."""
    data = next(iter(archived_data(page)), None)
    if data is None:
        return page
    story = read_twine_html(data, source)
    return _fill(format_for(story), html.escape(story.title), data)


def archived_data(page: str) -> list[str]:
    """Return the `tw-storydata` elements of an archive; none if the page has an engine."""
    elements: list[str] = []
    position = 0
    while opening := TWINE_2.search(page, position):
        end = TWINE_2_END.search(page, opening.end())
        if SCRIPT.search(page, position, opening.start()) or end is None:
            return []
        position = end.end()
        elements.append(f"{page[opening.start() : end.start()]}</tw-storydata>")
    return [] if SCRIPT.search(page, position) else elements


def publish(story: Story, story_format: StoryFormat) -> str:
    """Return the text of the published page."""
    return _fill(story_format, html.escape(_title(story)), story_data(story, story_format))


def _fill(story_format: StoryFormat, name: str, data: str) -> str:
    parts = {"NAME": name, "DATA": data}
    return PLACEHOLDER.sub(lambda match: parts[match[1]], story_format.source)


def story_data(story: Story, story_format: StoryFormat) -> str:
    """Return the `tw-storydata` element: style sheets, scripts, tag colours, and the passages."""
    passages = [passage for passage in story.passages.values() if _has_element(passage)]
    numbers = {passage.name: number for number, passage in enumerate(passages, 1)}
    attributes = {
        "name": _title(story),
        "startnode": numbers[story.start],
        "creator": "drrn",
        "creator-version": __version__,
        "format": story_format.name,
        "format-version": story_format.version,
        "ifid": ifid(story),
        "options": "",
        "tags": "",
        "zoom": story.data.get("zoom", 1),
    }
    style = _joined(story, "stylesheet", "</style")
    script = _joined(story, "script", "</script")
    style_type = 'role="stylesheet" id="twine-user-stylesheet" type="text/twine-css"'
    script_type = 'role="script" id="twine-user-script" type="text/twine-javascript"'
    elements = [f"<style {style_type}>{style}</style>", f"<script {script_type}>{script}</script>"]
    elements += _tag_colours(story.data.get("tag-colors"))
    elements += [_passage_element(numbers[passage.name], passage) for passage in passages]
    return f"<tw-storydata{_written(attributes)} hidden>{''.join(elements)}</tw-storydata>"


def ifid(story: Story) -> str:
    """Return the story's identifier: its own, or a hash of its passages."""
    own = story.data.get("ifid")
    if isinstance(own, str) and own.strip():
        return own.strip()
    passages = repr([(passage.name, passage.text) for passage in story.passages.values()])
    digest = hashlib.sha256(passages.encode("utf-8", "replace")).digest()
    return str(uuid.UUID(bytes=digest[:16], version=4)).upper()


def _title(story: Story) -> str:
    return story.title or "Untitled Story"


def _has_element(passage: Passage) -> bool:
    return passage.name not in METADATA and NO_DATA_TAGS.isdisjoint(passage.tags)


def _joined(story: Story, tag: str, closing: str) -> str:
    """Join all passages with a tag into a text that cannot close its element."""
    texts = (passage.text for passage in story.passages.values() if tag in passage.tags)
    pattern = re.compile(re.escape(closing), re.I)
    return pattern.sub(lambda match: f"<\\{match[0][1:]}", "\n".join(texts))


def _tag_colours(colours: Any) -> Iterator[str]:
    for name, colour in colours.items() if isinstance(colours, dict) else ():
        yield f"<tw-tag{_written({'name': name, 'color': colour})}></tw-tag>"


def _passage_element(number: int, passage: Passage) -> str:
    row, column = divmod(number - 1, 10)  # position in Twine's editor
    attributes = {
        "pid": number,
        "name": passage.name,
        "tags": " ".join(passage.tags),
        "position": f"{100 + 125 * column},{100 + 125 * row}",
        "size": "100,100",
    }
    return f"<tw-passagedata{_written(attributes)}>{html.escape(passage.text)}</tw-passagedata>"


def _written(attributes: Mapping[str, Any]) -> str:
    return "".join(f' {name}="{html.escape(str(value))}"' for name, value in attributes.items())
