"""A passage cut into pieces of markup and text, in time linear in its length, however hostile it is.

The pattern finds openings only. What has a far end looks for it once: an ending that was missed is gone for good.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from drrn.stories.twine.layout import split_link

LONGEST_MACRO = 20_000  # characters
LONGEST_LINK = 2_000

OPENING = re.compile(
    r"[-<>\[{/@'_=~^\\!*#]"
)  # what any markup begins with: prose is passed over at the speed of C
MARKUP = re.compile(
    r"""
      (?P<rule>^(?:-{4,}|<<<)$)
    | (?P<span>/% | <!-- | /\* | \{\{\{)
    | (?P<macro><<)
    | (?P<image>\[[<>]?img\[[^\[\]\n]*\](?:\[(?P<image_target>[^\[\]\n]*)\])?\])
    | (?P<link>\[\[)
    | (?P<tag></?(?P<element>[A-Za-z][\w:-]*)(?:\s[^<>]*)?/?>)
    | (?P<url>(?:(?<=http:)|(?<=https:)|(?<=ftp:))//[^\s'"<>\[\]]+)
    | (?P<style>@@(?:(?:[\w-]{1,40}\([^)\n]{0,200}\):|[\w-]{1,40}:[^;@\n]{0,200};|\.[\w.-]+;)+)?)
    | (?P<lead>^(?:!{1,6}|\*+|\#+|>+(?!>)))
    | (?P<mark>''|//|__|==|~~|\^\^)
    | (?P<dash>--)
    | (?P<joined>\\[^\S\n]*\n)
    """,
    re.X | re.M | re.I,
)
ENDINGS = {
    "/%": re.compile("%/"),
    "<!--": re.compile("-->"),
    "/*": re.compile(r"\*/"),
    "{{{": re.compile(r"\}\}\}"),
    **{
        name: re.compile(rf"</{name}\s*>", re.I)
        for name in ("script", "style", "a", "span", "button")
    },
}
IN_MACRO = re.compile(r"""<<|>>|\\["'\\]|"[^"\\]*(?:\\.[^"\\]*)*"|'[^'\\]*(?:\\.[^'\\]*)*'""", re.S)
SHORT_MACRO = re.compile(r"<<[^<>\n]*>>")  # where quotes do not pair
BRACKETS = re.compile(r"\[+")
ATTRIBUTE = re.compile(r"""\bdata-(passage|setter)\s*=\s*(?:"([^"]*)"|'([^']*)')""", re.I)


class Piece(NamedTuple):
    """Some of a passage; the reader's method of that kind takes it."""

    kind: str
    source: str  # as it stands in the passage
    parts: tuple[str, ...] = ()  # of a link: words, target, setter; of others: what stands inside


def pieces(source: str) -> Iterator[Piece]:
    """All of the passage, in order: text, and what is not text."""
    endings = _Endings(source)
    told = position = 0
    while opening := OPENING.search(source, position):
        start = opening.start()
        match = MARKUP.match(source, start)
        piece = _piece(match, endings) if match else None
        if piece is None:  # it only looks like markup
            position = start + 1
            continue
        if told < start:
            yield Piece("text", source[told:start])
        yield piece
        told = position = start + len(piece.source)
    if told < len(source):
        yield Piece("text", source[told:])


def link_at(source: str, start: int) -> tuple[int, str, str] | None:
    """The end, the body and the setter of the link whose brackets open at `start`."""
    close = source.find("]]", start + 2, start + LONGEST_LINK)
    if close < 0:
        return None
    middle = source.find("][", start + 2, close + 1)
    if middle < 0:
        return close + 2, source[start + 2 : close], ""
    setter = source[middle + 2 : close]
    if setter.count("[") > setter.count("]") and source.startswith(
        "]]]", close
    ):  # `[$x = $list[0]]]`
        close += 1
    return close + 2, source[start + 2 : middle], source[middle + 2 : close]


class _Endings:
    """Where things end in one passage."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.gone: set[str] = set()

    def after(self, opening: str, start: int) -> re.Match[str] | None:
        if opening in self.gone:
            return None
        found = ENDINGS[opening].search(self.source, start)
        if found is None:
            self.gone.add(opening)
        return found


def _piece(match: re.Match[str], endings: _Endings) -> Piece | None:
    kind = match.lastgroup or ""
    if kind == "macro":
        return _macro(match.string, match.start())
    if kind == "link":
        return _link(match.string, match.start())
    if kind == "span":
        return _span(match, endings)
    if kind == "tag":
        return _tag(match, endings)
    return Piece(kind, match.group(), (match["image_target"] or "",) if kind == "image" else ())


def _macro(source: str, start: int) -> Piece | None:
    for part in IN_MACRO.finditer(source, start + 2, start + LONGEST_MACRO):
        if part.group() == ">>":
            return Piece("macro", source[start : part.end()])
        if part.group() == "<<":
            break
    if short := SHORT_MACRO.match(source, start):
        return Piece("macro", short.group())
    return (
        Piece("unclosed", "<<", (source[start : start + 60],))
        if source[start + 2 : start + 3].isalpha()
        else None
    )


def _link(source: str, start: int) -> Piece:
    found = link_at(source, start)
    if found is None:
        return Piece("unclosed", BRACKETS.match(source, start)[0], (source[start : start + 60],))  # type: ignore[index]
    end, body, setter = found
    return Piece("link", source[start:end], (*split_link(body), setter))


def _span(match: re.Match[str], endings: _Endings) -> Piece | None:
    """A comment, or text that is to stand as it is."""
    end = endings.after(match.group(), match.end())
    if end is None:
        return None
    kind = "verbatim" if match.group() == "{{{" else "comment"
    return Piece(
        kind, match.string[match.start() : end.end()], (match.string[match.end() : end.start()],)
    )


def _tag(match: re.Match[str], endings: _Endings) -> Piece:
    tag = match.group()
    name = match["element"].lower()
    attributes = (
        {key.lower(): one or two for key, one, two in ATTRIBUTE.findall(tag)}
        if "data-" in tag
        else {}
    )
    far = name in ("script", "style") or (name in ENDINGS and "passage" in attributes)
    end = endings.after(name, match.end()) if far and tag[1] != "/" else None
    if end is None:
        return Piece("tag", tag, (name,))
    whole = match.string[match.start() : end.end()]
    inside = match.string[match.end() : end.start()]
    if "passage" not in attributes:
        return Piece("comment", whole)
    return Piece("link", whole, (inside, attributes["passage"], attributes.get("setter", "")))
