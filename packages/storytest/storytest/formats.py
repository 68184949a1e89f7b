"""Story formats of Twine 2: reads and installs them, and publishes stories with them.

A format's file is `window.storyFormat({"name": …, "version": …, "source": …})`. It is never run.
Its members are JSON; JavaScript functions may follow them. Installed formats are in the home
folder. Publishing writes a story as the page that Twine would write.
"""

import contextlib
import hashlib
import html
import json
import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from storytest import packages
from storytest.twine.native import TWINE_2, twine_2_format
from storytest.twine.reading import read_twine_html
from storytest.twine.story import Passage, Story
from textgames.errors import InputError
from textgames.files import UTF8, decode, home, read_bytes, slug, write
from textgames.version import __version__

LARGEST_FORMAT = 32 * 2**20  # bytes; the largest known format has one million
OPENING = re.compile(r"\bstoryFormat\s*\(\s*\{")
MEMBER = re.compile(r'[\s,]*"?(\w+)"?\s*:\s*')
VERSION = re.compile(r"\d{1,9}(?:\.\d{1,9}){0,3}(?:[-+][\w.+-]{1,40})?")
NAME = re.compile(r"[^\W_](?:[\w .+'-]{0,60}\w)?")
STORY_DATA = "{{STORY_DATA}}"
UNTITLED = "Untitled Story"
FILE_NAME = "format.js"  # as Twine and Tweego name it
TITLES = {title.lower(): title for title in TWINE_2}
FAMILY = re.compile(r"(.+?)[ -]v?(\d+)(?:\.[\d.x]*)?")  # "sugarcube-2", as Tweego names formats
HOW = f"{packages.HOW} (find its format.js on the web site of the format)"
SCRIPT = re.compile(r"<script\b", re.I)
ELEMENT = re.compile(r"<tw-storydata\b.*?</tw-storydata\b[^>]*>", re.I | re.S)
PLACEHOLDER = re.compile(r"\{\{STORY_(NAME|DATA)\}\}")
# Passages that become attributes of the page, or were read before.
METADATA = frozenset("StoryTitle StoryData StorySettings StoryIncludes".split())
NO_DATA_TAGS = frozenset(("script", "stylesheet", "Twine.private"))


# --- files


@dataclass(frozen=True)
class StoryFormat:
    """A story format, whose source is a page with {{STORY_NAME}} and {{STORY_DATA}} to replace."""

    name: str
    version: str
    source: str

    def __str__(self) -> str:
        return f"{self.name} {self.version}"

    @property
    def key(self) -> str:
        """The name in stories and file names: lower case, joined by hyphens."""
        return slug(self.name, plain=True)

    @property
    def path(self) -> Path:
        """Where it is stored in the home folder."""
        return formats_folder() / f"{self.key}_{self.version}.js"


def read_format(path: Path) -> StoryFormat:
    return format_in(decode(read_bytes(path, LARGEST_FORMAT), str(path), UTF8), str(path))


def format_in(text: str, source: str) -> StoryFormat:
    """The format in the text of a `format.js` file, which errors call `source`."""
    opening = OPENING.search(text)
    if opening is None:
        cause = "not a story format of Twine 2: it never calls window.storyFormat({…})"
        raise InputError(f"{source}: {cause}")
    members = _members(text, opening.end())
    texts = [members.get(key) for key in ("name", "version", "source")]
    if not all(isinstance(value, str) for value in texts):
        cause = "a damaged story format: its name, version or source is missing or is not text"
        raise InputError(f"{source}: {cause}; copy the file again from Twine")
    story_format = StoryFormat(*map(str, texts))
    if fault := _fault(story_format, members):
        raise InputError(f"{source}: {fault}")
    return story_format


def _members(text: str, position: int) -> dict[str, Any]:
    """The members before the first whose value is not JSON."""
    decoder = json.JSONDecoder(strict=False)
    members: dict[str, Any] = {}
    while match := MEMBER.match(text, position):
        try:
            members[match[1]], position = decoder.raw_decode(text, match.end())
        except (ValueError, RecursionError):
            break
    return members


def _fault(story_format: StoryFormat, members: dict[str, Any]) -> str:
    name = story_format.name
    version = story_format.version
    if not (NAME.fullmatch(name) and story_format.key and VERSION.fullmatch(version)):
        return f"{name[:60]!r}, version {version[:40]!r}: no name or no version such as 3.3.9"
    if members.get("proofing") is True:
        return f"{story_format} is a proofing format, which prints stories and cannot play them"
    if STORY_DATA not in story_format.source:
        return f"{story_format} cannot contain a story: its source lacks {STORY_DATA}"
    return ""


# --- the library


def formats_folder() -> Path:
    return home() / "formats"


def library_formats() -> list[StoryFormat]:
    """The formats that were added, by name and version. A damaged file is not one of them."""
    formats = []
    for path in sorted(formats_folder().glob("*_*.js")):
        with contextlib.suppress(InputError):
            formats.append(read_format(path))
    return sorted(formats, key=lambda one: (one.key, packages.numbers(one.version)))


def format_for(story: Story) -> StoryFormat:
    """The format of a story in its version, or else a newer one.

    That is the newest release of that minor version, or of the next newer one. A story that names
    no version gets the newest one. An older one lacks macros and a much newer one lacks functions
    that were removed, so that they would report errors that the story does not have.
    """
    key, version = wanted_format(story)
    formats = [one for one in library_formats() if one.key == key]
    near = [one for one in formats if packages.plays(one.version, version)]
    if not near:
        others = f" (added: {', '.join(one.version for one in formats)})" if formats else ""
        name = f"{TITLES.get(key, key)} {version}".strip()
        cause = f"its story format, {name}, is not installed{others}"
        command = packages.command_for(key, version) or HOW
        raise InputError(f"{story.source}: {cause}; add it with {command}")
    if version.count("."):
        next_minor = packages.numbers(near[0].version)[:2]
        near = [one for one in near if packages.numbers(one.version)[:2] == next_minor]
    same = [one for one in near if one.version == version]
    return (same or near)[-1]


def wanted_format(story: Story) -> tuple[str, str]:
    """The key and version of a story's format, named or recognised. Version "" is any."""
    name = story.format or twine_2_format(story)
    if not name and any("<<" in passage.text for passage in story.pages.values()):
        name = "SugarCube"
    if not name:
        raise InputError(
            f"{story.source}: it names no story format; add the one that it was written for to its "
            'passage StoryData, such as "format": "Harlowe", "format-version": "3.3.9"'
        )
    key = slug(name, plain=True)
    family = FAMILY.fullmatch(name)
    if family and not any(one.key == key for one in library_formats()):
        return slug(family[1], plain=True), story.format_version or family[2]
    return key, story.format_version


def add_formats(path: Path) -> list[StoryFormat]:
    """Add the format in a file, or every usable format below a folder."""
    added = []
    errors = []
    for file in sorted(path.rglob(FILE_NAME)) if path.is_dir() else [path]:
        try:
            added.append(add_format(read_bytes(file, LARGEST_FORMAT), str(file)))
        except InputError as error:  # such as a proofing format
            errors.append(str(error))
    if not added:
        cause = f"{path}: no {FILE_NAME} in this folder; name Twine's folder story-formats"
        raise InputError("; ".join(errors) or cause)
    return added


def add_format(data: bytes, source: str) -> StoryFormat:
    """Store a format, in place of an earlier file of its version."""
    story_format = format_in(decode(data, source, UTF8), source)
    write(story_format.path, data)
    return story_format


# --- publishing


def with_engine(page: str, source: str) -> str:
    """The page, or if it is an archive, its first story published with its format."""
    data = ELEMENT.search(page)
    if data is None or SCRIPT.search(ELEMENT.sub("", page)):
        return page
    story = read_twine_html(data.group(), source)
    return _fill(format_for(story), story, data.group())


def publish(story: Story, story_format: StoryFormat) -> str:
    """The text of the published page."""
    return _fill(story_format, story, story_data(story, story_format))


def _fill(story_format: StoryFormat, story: Story, data: str) -> str:
    parts = {"NAME": html.escape(_title(story)), "DATA": data}
    return PLACEHOLDER.sub(lambda match: parts[match[1]], story_format.source)


def _title(story: Story) -> str:
    return story.title or UNTITLED


def story_data(story: Story, story_format: StoryFormat) -> str:
    """The `tw-storydata` element: style sheets, scripts, tag colours, and the passages."""
    pages = (p for p in story.passages.values() if p.name not in METADATA)
    passages = [passage for passage in pages if NO_DATA_TAGS.isdisjoint(passage.tags)]
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
    }
    style = _joined(story, "stylesheet", "</style")
    script = _joined(story, "script", "</script")
    style_type = 'role="stylesheet" id="twine-user-stylesheet" type="text/twine-css"'
    script_type = 'role="script" id="twine-user-script" type="text/twine-javascript"'
    elements = [f"<style {style_type}>{style}</style>", f"<script {script_type}>{script}</script>"]
    elements += [_passage_element(numbers[passage.name], passage) for passage in passages]
    return f"<tw-storydata{_written(attributes)} hidden>{''.join(elements)}</tw-storydata>"


def ifid(story: Story) -> str:
    """The story's identifier: its own, or a hash of its passages."""
    own = story.data.get("ifid")
    if isinstance(own, str) and own.strip():
        return own.strip()
    passages = repr([(passage.name, passage.text) for passage in story.passages.values()])
    digest = hashlib.sha256(passages.encode("utf-8", "replace")).digest()
    return str(uuid.UUID(bytes=digest[:16], version=4)).upper()


def _joined(story: Story, tag: str, closing: str) -> str:
    texts = (passage.text for passage in story.passages.values() if tag in passage.tags)
    pattern = re.compile(re.escape(closing), re.I)
    return pattern.sub(lambda match: f"<\\{match[0][1:]}", "\n".join(texts))


def _passage_element(number: int, passage: Passage) -> str:
    attributes = {"pid": number, "name": passage.name, "tags": " ".join(passage.tags)}
    return f"<tw-passagedata{_written(attributes)}>{html.escape(passage.text)}</tw-passagedata>"


def _written(attributes: Mapping[str, Any]) -> str:
    return "".join(f' {name}="{html.escape(str(value))}"' for name, value in attributes.items())
