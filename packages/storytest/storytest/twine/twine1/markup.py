"""Markup of the classic Twine 1 formats: the pieces of a passage.

The scanner takes time linear in the passage's length: its pattern finds openings only, and an
ending that was missed once is not searched again.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from storytest.twine.story import split_link

# The first characters of markup, so that a fast search skips prose.
OPENING = re.compile(r"[-<>\[{/@'_=~^\\!*#]")
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
SPANS = {"/%": "%/", "<!--": "-->", "/*": r"\*/", "{{{": r"\}\}\}"}
ELEMENTS = ("script", "style")
ENDINGS = {opening: re.compile(ending) for opening, ending in SPANS.items()} | {
    name: re.compile(rf"</{name}\s*>", re.I) for name in ELEMENTS
}
IN_MACRO = re.compile(r"""<<|>>|\\["'\\]|"[^"\\]*(?:\\.[^"\\]*)*"|'[^'\\]*(?:\\.[^'\\]*)*'""", re.S)
SHORT_MACRO = re.compile(r"<<[^<>\n]*>>")  # with unpaired quotes
BRACKETS = re.compile(r"\[*")
PLAIN = re.compile(r"[^<\[{@'/_=~^\\&!*#>-]*")  # text without markup


class Piece(NamedTuple):
    """A piece of a passage: text, or markup of a kind."""

    kind: str
    source: str
    parts: tuple[str, ...] = ()  # of a link: label, target, setter; else: the contents


def pieces(source: str) -> Iterator[Piece]:
    """Yield all of a passage, in order."""
    scanner = _Scanner(source)
    position = 0
    text_start = 0
    while opening := OPENING.search(source, position):
        start = opening.start()
        match = MARKUP.match(source, start)
        piece = scanner.piece(match) if match else None
        if piece is None:  # it only looks like markup
            position = start + 1
            continue
        if text_start < start:
            yield Piece("text", source[text_start:start])
        yield piece
        position = start + len(piece.source)
        text_start = position
    if text_start < len(source):
        yield Piece("text", source[text_start:])


def link_at(source: str, start: int, longest: int = 2_000) -> tuple[int, str, str] | None:
    """The end, the body and the setter of the link whose brackets open at `start`."""
    close = source.find("]]", start + 2, start + longest)
    if close < 0:
        return None
    middle = source.find("][", start + 2, close + 1)
    if middle < 0:
        return close + 2, source[start + 2 : close], ""
    setter = source[middle + 2 : close]
    if setter.count("[") > setter.count("]") and source.startswith("]]]", close):
        close += 1  # `[$x = $list[0]]]`
    return close + 2, source[start + 2 : middle], source[middle + 2 : close]


class _Scanner:
    def __init__(self, source: str) -> None:
        self.source = source
        self.missing: set[str] = set()  # openings without an ending in the rest

    def piece(self, match: re.Match[str]) -> Piece | None:
        kind = match.lastgroup or ""
        if kind == "macro":
            return self._macro(match.start())
        if kind == "link":
            return self._link(match.start())
        if kind == "tag":
            return self._tag(match)
        if kind == "image":
            return Piece(kind, match.group(), (match["image_target"] or "",))
        if kind != "span":
            return Piece(kind, match.group())
        close = self._ending(match.group(), match.end())
        if close is None:
            return None
        kind = "verbatim" if match.group() == "{{{" else "comment"
        inside = self.source[match.end() : close.start()]
        return Piece(kind, self.source[match.start() : close.end()], (inside,))

    def _ending(self, opening: str, start: int) -> re.Match[str] | None:
        match = ENDINGS[opening].search(self.source, start) if opening not in self.missing else None
        if match is None:
            self.missing.add(opening)
        return match

    def _macro(self, start: int, longest: int = 20_000) -> Piece | None:
        source = self.source
        for part in IN_MACRO.finditer(source, start + 2, start + longest):
            if part.group() == ">>":
                return Piece("macro", source[start : part.end()])
            if part.group() == "<<":
                break
        if short := SHORT_MACRO.match(source, start):
            return Piece("macro", short.group())
        is_name = source[start + 2 : start + 3].isalpha()
        return Piece("unclosed", "<<", (source[start : start + 60],)) if is_name else None

    def _link(self, start: int) -> Piece:
        source = self.source
        link = link_at(source, start)
        if link is None:
            brackets = BRACKETS.match(source, start)
            assert brackets is not None
            return Piece("unclosed", brackets.group(), (source[start : start + 60],))
        end, body, setter = link
        return Piece("link", source[start:end], (*split_link(body), setter))

    def _tag(self, match: re.Match[str]) -> Piece:
        tag = match.group()
        name = match["element"].lower()
        end = self._ending(name, match.end()) if name in ELEMENTS and tag[1] != "/" else None
        if end is None:
            return Piece("tag", tag, (name,))
        return Piece("comment", self.source[match.start() : end.end()])
