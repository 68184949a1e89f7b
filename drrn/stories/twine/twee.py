"""Twee source, versions 1 and 3, to passages."""

from __future__ import annotations

import json
import re
from typing import Any

from drrn.errors import InputError
from drrn.stories.twine.story import Passage, Story, check_passage_name, story_of

METADATA = re.compile(r"(?<!\\)\{.*\}$")  # a backslash takes the meaning off a bracket in a name
TAGS = re.compile(r"(?<!\\)\[([^\[\]]*)\]$")


def read_twee(text: str, source: str) -> Story:
    """A story of the passages in Twee notation; `source` names the file in messages."""
    return twee_story(twee_passages(text, source), source)


def twee_story(passages: list[Passage], source: str) -> Story:
    """A story of passages that were read from Twee, out of one file or several."""
    return story_of(source, passages, **_story_data(passages, source))


def twee_passages(text: str, source: str) -> list[Passage]:
    """The passages in Twee notation, in their order."""
    passages: list[Passage] = []
    name = ""
    first = 0
    tags: tuple[str, ...] = ()
    body: list[str] = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("::"):
            if first:
                passages.append(_passage(name, tags, body, first))
            name, tags = _header(line, f"{source}, line {number}")
            first = number + 1
            body = []
        else:
            body.append(line[1:] if line.startswith("\\::") else line)
    if first:
        passages.append(_passage(name, tags, body, first))
    return passages


def _header(line: str, place: str) -> tuple[str, tuple[str, ...]]:
    """Name and tags of `:: Name [tags] {metadata}`."""
    rest = METADATA.sub("", line[2:].strip()).rstrip()
    tags = TAGS.search(rest)
    name = re.sub(r"\\(.)", r"\1", rest[: tags.start()] if tags else rest).strip().lstrip(": ")
    check_passage_name(name, place)
    return name, tuple(tags[1].replace("\\", "").split()) if tags else ()


def _passage(name: str, tags: tuple[str, ...], body: list[str], first: int) -> Passage:
    blank = next((i for i, line in enumerate(body) if line.strip()), len(body))
    return Passage(name, "\n".join(body[blank:]).rstrip(), tags, first + blank)


def _story_data(passages: list[Passage], source: str) -> dict[str, Any]:
    """Start and format out of Twee 3's StoryData; the format of Twee 1's StorySettings does not matter."""
    data = next((passage for passage in passages if passage.name == "StoryData"), None)
    if data is None or not data.text.strip():
        return {}
    try:
        table = json.loads(data.text)
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"{source}, line {data.line}: StoryData is not valid JSON: {error}"
        ) from error
    if not isinstance(table, dict):
        raise InputError(f"{source}, line {data.line}: StoryData must be a JSON object")
    found = {
        key: table[key]
        for key in ("start", "format")
        if isinstance(table.get(key), str) and table[key]
    }
    if "format" in found:
        found["format"] = found["format"].lower()
    return {**found, "data": table}
