"""Reads a story format of Twine 2: `window.storyFormat({"name": …, "version": …, "source": …})`.

The file is never run. Its members are JSON; JavaScript functions may follow them.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from drrn.errors import InputError
from drrn.files import decode, read_bytes

LARGEST_FORMAT = 32 * 2**20  # bytes; the largest known format has one million
OPENING = re.compile(r"\bstoryFormat\s*\(\s*\{")
MEMBER = re.compile(r'[\s,]*"?(\w+)"?\s*:\s*')
VERSION = re.compile(r"\d{1,9}(?:\.\d{1,9}){0,3}(?:[-+][\w.+-]{1,40})?")
NAME = re.compile(r"[^\W_](?:[\w .+'-]{0,60}\w)?")
STORY_DATA = "{{STORY_DATA}}"


@dataclass(frozen=True)
class StoryFormat:
    """A story format; `source` is a page with {{STORY_NAME}} and {{STORY_DATA}} to replace."""

    name: str
    version: str
    source: str

    def __str__(self) -> str:
        return f"{self.name} {self.version}"

    @property
    def key(self) -> str:
        """The name in stories and file names: lower case, joined by hyphens."""
        return format_key(self.name)


def format_key(name: str) -> str:
    return re.sub(r"[^a-z0-9.]+", "-", name.lower()).strip("-.")


def read_format(path: Path) -> StoryFormat:
    """Read the format in a file; raise InputError if there is none."""
    return format_in(decode(read_bytes(path, LARGEST_FORMAT), str(path), "utf-8-sig"), str(path))


def format_in(text: str, source: str) -> StoryFormat:
    """Return the format in the text of a `format.js`; `source` names the file in errors."""
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
    """Return the members before the first whose value is not JSON."""
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
    if not NAME.fullmatch(name) or not story_format.key:
        return f"the name of the story format is {name[:60]!r}; it must be a few plain words"
    if not VERSION.fullmatch(version):
        return f'{name} has the version {version[:40]!r}; it must look like "3.3.9"'
    if members.get("proofing") is True:
        return f"{story_format} is a proofing format, which prints stories and cannot play them"
    if STORY_DATA not in story_format.source:
        return f"{story_format} cannot contain a story: its source lacks {STORY_DATA}"
    return ""
