"""Published Twine stories, versions 1 (`storeArea`) and 2 (`tw-storydata`), to passages."""

from __future__ import annotations

import codecs
import re
from html.parser import HTMLParser

from drrn.errors import InputError
from drrn.games.story import Passage, Story, assemble

TWINE_1 = re.compile(r"<div\b[^>]{0,1000}\bid\s*=\s*[\"']?store-?area[\"']?", re.I)
TWINE_2 = re.compile(r"<tw-storydata\b", re.I)
# How Twine 1 wrote line breaks, tabs and backslashes into its store.
ESCAPES = {"\\n": "\n", "\\t": "\t", "\\s": "\\", "\\\\": "\\"}


def read_twine_html(text: str, source: str) -> Story:
    """A story out of a published HTML file; `source` names the file in messages."""
    if match := TWINE_2.search(text):
        return _twine_2(text[match.start() :], source, text.count("\n", 0, match.start()))
    if match := TWINE_1.search(text):
        return _twine_1(text[match.start() :], source, text.count("\n", 0, match.start()))
    raise InputError(f"{source}: no Twine story in this HTML: there is neither a storeArea nor tw-storydata")


class _Elements(HTMLParser):
    """The elements of one name, with attributes, text and line; the story's own attributes beside them."""

    def __init__(self, wanted: str, root: str) -> None:
        super().__init__(convert_charrefs=True)
        self.wanted, self.root = wanted, root
        self.attributes: dict[str, str] = {}
        self.found: list[tuple[dict[str, str], list[str], int]] = []
        self._inside = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == self.root and not self.attributes:
            self.attributes = given
        elif tag == self.wanted:
            self.found.append((given, [], self.getpos()[0]))
            self._inside = True

    def handle_endtag(self, tag: str) -> None:
        if tag == self.wanted:
            self._inside = False

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.found[-1][1].append(data)


def _elements(text: str, wanted: str, root: str) -> _Elements:
    parser = _Elements(wanted, root)
    parser.feed(text)
    parser.close()
    return parser


def _twine_2(text: str, source: str, skipped: int) -> Story:
    end = text.find("</tw-storydata")
    parser = _elements(text if end < 0 else text[:end], "tw-passagedata", "tw-storydata")
    passages, start = [], ""
    for attributes, chunks, line in parser.found:
        name = attributes.get("name", "")
        passages.append(
            Passage(name, _plain("".join(chunks)), tuple(attributes.get("tags", "").split()), skipped + line)
        )
        if attributes.get("pid") == parser.attributes.get("startnode"):
            start = name
    return assemble(
        source,
        passages,
        title=parser.attributes.get("name", ""),
        start=start or (passages[0].name if passages else "Start"),
        format=parser.attributes.get("format", "").lower(),
    )


def _twine_1(text: str, source: str, skipped: int) -> Story:
    found = [e for e in _elements(text, "div", "body").found if "tiddler" in e[0]]
    settings = next(
        ("".join(chunks) for attributes, chunks, _ in found if attributes["tiddler"] == "StorySettings"), ""
    )
    reveal = _cipher(_unescape(settings))
    passages = []
    for attributes, chunks, line in found:
        name, tags, body = attributes["tiddler"], attributes.get("tags", ""), _unescape("".join(chunks))
        if name != "StorySettings" and "Twine.image" not in tags:
            name, tags, body = reveal(name), reveal(tags), reveal(body)
        passages.append(Passage(name, body, tuple(tags.split()), skipped + line))
    return assemble(source, passages, start="Start")


def _cipher(settings: str):  # type: ignore[no-untyped-def]
    """Twine 1 could hide a story from idle eyes: by ROT13, or by letters swapped in pairs."""
    options = dict(re.findall(r"^\s*(\w+)\s*:\s*(\S+)", settings, re.M))
    kind = options.get("obfuscate", "off").lower()
    if kind == "rot13":
        return lambda text: codecs.decode(text, "rot13")
    if kind == "swap":
        letters = [c for c in dict.fromkeys(options.get("obfuscatekey", "").lower()) if c not in ':\\"n0']
        pairs = {
            a: b for one, two in zip(letters[::2], letters[1::2], strict=False) for a, b in ((one, two), (two, one))
        }
        table = str.maketrans(pairs | {a.upper(): b.upper() for a, b in pairs.items()})
        return lambda text: text.translate(table)
    return lambda text: text


def _unescape(text: str) -> str:
    return _plain(re.sub(r"\\[nts\\]", lambda match: ESCAPES[match.group()], text))


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")
