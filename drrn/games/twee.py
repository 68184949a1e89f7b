"""Twee source, versions 1 and 3, to passages."""

from __future__ import annotations

import json
import re

from drrn.errors import InputError
from drrn.games.story import Passage, Story, assemble

# `:: Name [tags] {metadata}`; a backslash takes the meaning off a bracket in a name.
HEADER = re.compile(
    r"^::[^\S\n]*(?P<name>(?:[^\[\]{}\\\n]|\\.)*?)[^\S\n]*(?:\[(?P<tags>[^\]\n]*)\][^\S\n]*)?(?P<metadata>\{[^\n]*\})?[^\S\n]*$"
)


def read_twee(text: str, source: str) -> Story:
    """A story of the passages in Twee notation; `source` names the file in messages."""
    passages: list[Passage] = []
    name, first = "", 0
    tags: tuple[str, ...] = ()
    body: list[str] = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("::"):
            if first:
                passages.append(_passage(name, tags, body, first))
            name, tags = _header(line, f"{source}, line {number}")
            first, body = number + 1, []
        else:
            body.append(line[1:] if line.startswith("\\::") else line)
    if first:
        passages.append(_passage(name, tags, body, first))
    return assemble(source, passages, **_story_data(passages, source))


def _header(line: str, place: str) -> tuple[str, tuple[str, ...]]:
    match = HEADER.match(line)
    if match is None:  # Twee 1 let brackets stand in names: what closes the line is the tags
        bare, _, tags = line[2:].strip().partition("[")
        name = bare.strip()
    else:
        name, tags = re.sub(r"\\(.)", r"\1", match["name"]), match["tags"] or ""
    if not name:
        raise InputError(f"{place}: a passage without a name: write it after the two colons")
    return name, tuple(tags.rstrip("]").replace("\\", "").split())


def _passage(name: str, tags: tuple[str, ...], body: list[str], first: int) -> Passage:
    while body and not body[0].strip():
        body = body[1:]
        first += 1
    return Passage(name, "\n".join(body).rstrip(), tags, first)


def _story_data(passages: list[Passage], source: str) -> dict[str, str]:
    """Start and format out of Twee 3's StoryData; the format of Twee 1's StorySettings does not matter."""
    data = next((passage for passage in passages if passage.name == "StoryData"), None)
    if data is None or not data.text.strip():
        return {}
    try:
        table = json.loads(data.text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise InputError(f"{source}, line {data.line}: StoryData is not valid JSON: {error}") from error
    if not isinstance(table, dict):
        raise InputError(f"{source}, line {data.line}: StoryData must be a JSON object")
    found = {key: table[key] for key in ("start", "format") if isinstance(table.get(key), str) and table[key]}
    if "format" in found:
        found["format"] = found["format"].lower()
    return found
