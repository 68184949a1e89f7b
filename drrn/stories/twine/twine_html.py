"""Published Twine stories, versions 1 (`storeArea`) and 2 (`tw-storydata`), to passages.

A few patterns read the little HTML that a store is made of, each character once: a general parser takes minutes over a
megabyte of stray `<`.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable
from dataclasses import dataclass

from drrn.errors import InputError
from drrn.stories.twine.story import Passage, Story, decoded, story_of

TWINE_1 = re.compile(r"\bid\s*=\s*[\"']?store-?area\b", re.I)
TWINE_2 = re.compile(r"<tw-storydata\b", re.I)
TWINE_2_END = re.compile(r"</tw-storydata\b", re.I)
ATTRIBUTE = re.compile(
    r"""[\s/]*(?:"|'|=)*([^\s=>"'/]+)\s*(?:=\s*(?:"([^"]*)"|'([^']*)'|([^\s>"']+)))?"""
)
TAG = re.compile(r"</?[A-Za-z][^<>]*>")
# How Twine 1 wrote line breaks, tabs and backslashes into its store.
ESCAPES = {"\\n": "\n", "\\t": "\t", "\\s": "\\", "\\\\": "\\"}


@dataclass(frozen=True, slots=True)
class Element:
    """An HTML element that holds a passage."""

    attributes: dict[str, str]
    text: str
    line: int


def read_twine_html(text: str, source: str) -> Story:
    """A story out of a published HTML file; `source` names the file in messages."""
    if match := TWINE_2.search(text):
        return _twine_2(text, match.start(), source)
    if match := TWINE_1.search(text):
        return _twine_1(text, match.start(), source)
    raise InputError(
        f"{source}: no Twine story in this HTML: there is neither a storeArea nor tw-storydata"
    )


def _twine_2(text: str, position: int, source: str) -> Story:
    root, position = _attributes(text, position + len("<tw-storydata"))
    end = TWINE_2_END.search(text, position)
    passages = []
    start = ""
    for element in _elements(text, "tw-passagedata", position, end.start() if end else len(text)):
        given = element.attributes
        name = given.get("name", "").strip()
        passages.append(
            Passage(name, element.text, tuple(given.get("tags", "").split()), element.line)
        )
        if "pid" in given and given["pid"] == root.get("startnode"):
            start = name
    return story_of(
        source,
        passages,
        title=root.get("name", ""),
        start=start or (passages[0].name if passages else "Start"),
        format=root.get("format", "").lower(),
        data={key: root[key] for key in ("ifid", "format-version") if key in root},
    )


def _twine_1(text: str, position: int, source: str) -> Story:
    found = [e for e in _elements(text, "div", position, len(text)) if "tiddler" in e.attributes]
    settings = next((e.text for e in found if e.attributes["tiddler"] == "StorySettings"), "")
    reveal = _cipher(_unescape(settings).lower())
    passages = []
    for element in found:
        name = element.attributes["tiddler"]
        tags = element.attributes.get("tags", "")
        body = _unescape(element.text)
        if name != "StorySettings" and "Twine.image" not in tags:
            name = reveal(name)
            tags = reveal(tags)
            body = reveal(body)
        if name != "StoryIncludes":  # what it names was put in when the story was published
            passages.append(
                Passage(
                    name.strip(), body, tuple(tags.split()), element.line, "\n" not in element.text
                )
            )
    return story_of(source, passages, start="Start")


def _elements(text: str, name: str, position: int, end: int) -> list[Element]:
    """The elements of one name; none of them holds another that matters."""
    edge = re.compile(rf"</?{name}\b", re.I)
    found: list[Element] = []
    line = 1
    counted = 0
    while opening := edge.search(text, position, end):
        position = opening.end()
        if opening.group()[1] == "/":
            continue
        line += text.count("\n", counted, opening.start())
        counted = opening.start()
        attributes, position = _attributes(text, position)
        after = edge.search(text, position, end)
        inside = text[position : after.start() if after else end]
        found.append(Element(attributes, _plain(decoded(TAG.sub("", inside))), line))
    return found


def _attributes(text: str, position: int) -> tuple[dict[str, str], int]:
    """The attributes that stand here, and where the tag ends."""
    found: dict[str, str] = {}
    while match := ATTRIBUTE.match(text, position):
        name, *values = match.groups()
        found.setdefault(name.lower(), decoded(next(filter(None, values), "")))
        position = match.end()
    close = text.find(">", position)
    return found, close + 1 if close >= 0 else len(text)


def _cipher(settings: str) -> Callable[[str], str]:
    """Twine 1 could hide a story from idle eyes: by ROT13, or by letters swapped in pairs."""
    options = dict(re.findall(r"^[^\S\n]*(\w+)[^\S\n]*:[^\S\n]*(\S+)", settings, re.M))
    kind = options.get("obfuscate", "off")
    if kind == "rot13":
        return lambda text: codecs.decode(text, "rot13")
    if kind == "swap":
        letters = [
            c
            for c in dict.fromkeys(options.get("obfuscatekey", ""))
            if c.isascii() and c not in ':\\"n0'
        ]
        pairs = {
            a: b
            for one, two in zip(letters[::2], letters[1::2], strict=False)
            for a, b in ((one, two), (two, one))
        }
        table = str.maketrans(pairs | {a.upper(): b.upper() for a, b in pairs.items()})
        return lambda text: text.translate(table)
    return lambda text: text


def _unescape(text: str) -> str:
    return _plain(re.sub(r"\\[nts\\]", lambda match: ESCAPES[match.group()], text))


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")
