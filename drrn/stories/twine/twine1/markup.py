"""Markup of the classic Twine 1 formats: the pieces of a passage, and their nodes over a page.

The scanner takes time linear in the passage's length: its pattern finds openings only, and an
ending that was missed once is not searched again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from drrn.errors import InputError, did_you_mean
from drrn.stories.twine import values as js
from drrn.stories.twine.page import Expression, Link, Node, Page
from drrn.stories.twine.script import ExpressionError, Problem, Script
from drrn.stories.twine.story import Passage, split_link, unescape_html
from drrn.stories.twine.twine1.expressions import parse

LONGEST_MACRO = 20_000  # characters
LONGEST_LINK = 2_000
DEEPEST = 40  # nested blocks
MOST_HINTS = 20  # "did you mean"s in one story: each compares all names

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
ELEMENTS = ("script", "style", "a", "span", "button")
ENDINGS = {opening: re.compile(ending) for opening, ending in SPANS.items()} | {
    name: re.compile(rf"</{name}\s*>", re.I) for name in ELEMENTS
}
IN_MACRO = re.compile(r"""<<|>>|\\["'\\]|"[^"\\]*(?:\\.[^"\\]*)*"|'[^'\\]*(?:\\.[^'\\]*)*'""", re.S)
SHORT_MACRO = re.compile(r"<<[^<>\n]*>>")  # with unpaired quotes
BRACKETS = re.compile(r"\[*")
ATTRIBUTE = re.compile(r"""\bdata-(passage|setter)\s*=\s*(?:"([^"]*)"|'([^']*)')""", re.I)
BLOCK_TAGS = frozenset(
    "br p div h1 h2 h3 h4 h5 h6 li ul ol tr table blockquote center hr html pre".split()
)
PLAIN = re.compile(r"[^<\[{@'/_=~^\\&!*#>-]*")  # text without markup
EXTERNAL = re.compile(
    r"^(?:[a-z]+:)?//|^(?:mailto|javascript|data):|^www\.|^#|\.(?:html?|png|jpe?g|gif|pdf)$", re.I
)

Words = Callable[[Page], str]


# --- scanner


class Piece(NamedTuple):
    """A piece of a passage: text, or markup of a kind."""

    kind: str
    source: str
    parts: tuple[str, ...] = ()  # of a link: label, target, setter; else: the contents


def pieces(source: str) -> Iterator[Piece]:
    """Yield all of a passage, in order."""
    endings = _Endings(source)
    position = 0
    text_start = 0
    while opening := OPENING.search(source, position):
        start = opening.start()
        match = MARKUP.match(source, start)
        piece = _piece(match, endings) if match else None
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


def link_at(source: str, start: int) -> tuple[int, str, str] | None:
    """Return the end, the body and the setter of the link whose brackets open at `start`."""
    close = source.find("]]", start + 2, start + LONGEST_LINK)
    if close < 0:
        return None
    middle = source.find("][", start + 2, close + 1)
    if middle < 0:
        return close + 2, source[start + 2 : close], ""
    setter = source[middle + 2 : close]
    if setter.count("[") > setter.count("]") and source.startswith("]]]", close):
        close += 1  # `[$x = $list[0]]]`
    return close + 2, source[start + 2 : middle], source[middle + 2 : close]


class _Endings:
    """Finds the ends of markup in one passage."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.missing: set[str] = set()

    def after(self, opening: str, start: int) -> re.Match[str] | None:
        if opening in self.missing:
            return None
        match = ENDINGS[opening].search(self.source, start)
        if match is None:
            self.missing.add(opening)
        return match


def _piece(match: re.Match[str], endings: _Endings) -> Piece | None:
    kind = match.lastgroup or ""
    source = match.string
    start = match.start()
    if kind == "macro":
        return _macro(source, start)
    if kind == "tag":
        return _tag(match, endings)
    if kind == "image":
        return Piece(kind, match.group(), (match["image_target"] or "",))
    if kind == "link":
        link = link_at(source, start)
        if link is None:
            brackets = BRACKETS.match(source, start)
            return Piece(
                "unclosed", brackets.group() if brackets else "", (source[start : start + 60],)
            )
        end, body, setter = link
        return Piece("link", source[start:end], (*split_link(body), setter))
    if kind == "span":
        close = endings.after(match.group(), match.end())
        if close is None:
            return None
        kind = "verbatim" if match.group() == "{{{" else "comment"
        return Piece(kind, source[start : close.end()], (source[match.end() : close.start()],))
    return Piece(kind, match.group())


def _macro(source: str, start: int) -> Piece | None:
    for part in IN_MACRO.finditer(source, start + 2, start + LONGEST_MACRO):
        if part.group() == ">>":
            return Piece("macro", source[start : part.end()])
        if part.group() == "<<":
            break
    if short := SHORT_MACRO.match(source, start):
        return Piece("macro", short.group())
    is_name = source[start + 2 : start + 3].isalpha()
    return Piece("unclosed", "<<", (source[start : start + 60],)) if is_name else None


def _tag(match: re.Match[str], endings: _Endings) -> Piece:
    tag = match.group()
    name = match["element"].lower()
    attributes: dict[str, str] = {}
    if "data-" in tag:
        attributes = {key.lower(): one or two for key, one, two in ATTRIBUTE.findall(tag)}
    has_end = name in ("script", "style") or (name in ENDINGS and "passage" in attributes)
    end = endings.after(name, match.end()) if has_end and tag[1] != "/" else None
    if end is None:
        return Piece("tag", tag, (name,))
    whole = match.string[match.start() : end.end()]
    if "passage" not in attributes:
        return Piece("comment", whole)
    label = match.string[match.end() : end.start()]
    return Piece("link", whole, (label, attributes["passage"], attributes.get("setter", "")))


# --- reader


@dataclass
class OpenBlock:
    """An <<if>>, <<silently>> or <<nobr>> without its end yet."""

    kind: str
    line: int
    outer: list[Node]  # the nodes around it
    glued: bool  # whether line breaks are removed around it
    condition: Expression
    branches: list[tuple[Expression, Node]] = field(default_factory=list)


class Reader:
    """Makes nodes of the markup of one passage; adds problems to the script."""

    def __init__(
        self,
        script: Script,
        passage: Passage,
        names: frozenset[str],
        macro: Callable[[Reader, str], None],
    ) -> None:
        self.script = script
        self.passage = passage
        self.names = names
        self.macro = macro
        self.line = 1  # of the passage
        self.glued = "nobr" in passage.tags
        self.blocks: list[OpenBlock] = []
        self.nodes: list[Node] = []
        self.words: list[str] = []

    def read(self, source: str) -> Node:
        for piece in pieces(source):
            self._add_piece(piece)
            self.line += piece.source.count("\n")
        while self.blocks:
            kind = self.blocks[-1].kind
            self.problem(f"<<{kind}>> has no <<end{kind}>>", self.blocks[-1].line)
            self.close()
        self.flush()
        return in_sequence(self.nodes)

    def read_inner(self, source: str) -> Node:
        """Read markup inside markup: a link's label, or a variable that contains a link."""
        inner = Reader(self.script, self.passage, self.names, self.macro)
        inner.line = self.line
        return inner.read(source)

    def _add_piece(self, piece: Piece) -> None:
        """Add a piece; comments, styles, bold and italic, and the signs of lists add nothing."""
        kind = piece.kind
        if kind == "text":
            self.print(unescape_html(piece.source))
        elif kind == "verbatim":
            self.print(piece.parts[0])
        elif kind == "url":
            self.print(piece.source)
        elif kind == "dash":
            self.print("—")
        elif kind == "tag" and piece.parts[0] in BLOCK_TAGS:
            self.break_line()
        elif kind == "macro":
            self.macro(self, piece.source)
        elif kind == "link":
            label, target, setter = piece.parts
            self.add_link(label, target, setter, piece.source)
        elif kind == "image" and piece.parts[0]:
            self.add_link("", piece.parts[0], "", piece.source)
        elif kind == "unclosed":
            ending = ">>" if piece.source == "<<" else "]]"
            self.problem(f"{shortened(piece.parts[0])} has no closing {ending}")

    # --- nodes

    def print(self, text: str) -> None:
        if self.glued:
            text = text.replace("\n", "")
        if text:
            self.words.append(text)

    def break_line(self) -> None:
        """Add a line break, even inside <<nobr>>."""
        self.words.append("\n")

    def add(self, node: Node) -> None:
        self.flush()
        self.nodes.append(node)

    def flush(self) -> None:
        """Make one node of consecutive text."""
        if self.words:
            text = "".join(self.words)
            self.words.clear()
            self.nodes.append(lambda page: page.print(text))

    def separate(self, add: Callable[[], None]) -> Node:
        """Return what `add` adds as one node that is not part of the passage yet."""
        self.flush()
        outer = self.nodes
        self.nodes = []
        add()
        self.flush()
        node = in_sequence(self.nodes)
        self.nodes = outer
        return node

    def problem(self, what: str, line: int | None = None, cause: str = "") -> None:
        self.script.problems.append(self._problem(what, line or self.line, cause))

    def _problem(self, what: str, line: int, cause: str = "") -> Problem:
        return Problem(self.passage.line_in_file(line), self.passage.name, what, line, cause)

    def expression(self, source: str, macro: str) -> Expression | None:
        """Return the parsed expression, or None after adding a problem."""
        cache = self.script.expressions
        try:
            if source not in cache:
                cache[source] = parse(source, self.script.facts, self.script.answers)
            return self.guarded(cache[source], macro)
        except ExpressionError as error:
            self.problem(f"{shortened(macro)}: {error}", cause=str(error))
            return None

    def guarded(self, expression: Expression, macro: str) -> Expression:
        """Return the expression with the location in errors about values that are too large."""
        line = self.line

        def guarded(page: Page) -> js.Value:
            try:
                return expression(page)
            except js.GrowthError as error:
                location = self._problem(shortened(macro), line)
                raise InputError(f"{location} makes {error}: limit it") from error

        return guarded

    # --- links

    def add_link(
        self, label: str, target: str, setter: str, source: str, mark: Words | None = None
    ) -> None:
        """Add a link to a passage, itself or by an expression; an external link is plain text."""
        where = self.target(target, source, "leads to")
        if where is None:
            text = self.label(label or target)
            self.add(lambda page: page.print(text(page)))
            return
        words = self.label(label or target) if label or target in self.names else where
        effect = None
        if setter.strip() and (expression := self.expression(setter, source)):
            effect = (setter, expression)

        def node(page: Page) -> None:
            name = where(page)
            if name in self.names:
                page.pieces.append(Link(words(page), name, effect, mark(page) if mark else None))
            else:
                page.print(words(page))

        self.add(node)

    def target(self, target: str, source: str, verb: str) -> Words | None:
        """Return the target of a link or display; None if it is not a passage."""
        if target in self.names:
            self.script.links[self.passage.name].add(target)
            return lambda page: target
        if EXTERNAL.search(target):
            return None
        if "$" in target or "(" in target:
            expression = self.expression(target, source)
            return self._computed(expression, source, verb) if expression else None
        self.problem(self._missing(source, verb, target))
        return None

    def _computed(self, expression: Expression, source: str, verb: str) -> Words:
        location = f"{self.script.story.source}, {self._problem('', self.line)}"

        def target(page: Page) -> str:
            name = js.string(expression(page))
            if name not in self.names and not self.script.lenient:
                raise InputError(f"{location}{self._missing(source, verb, name)}")
            return name

        return target

    def _missing(self, source: str, verb: str, name: str) -> str:
        few = len(self.script.problems) < MOST_HINTS
        hint = did_you_mean(name[:100], self.names) if few else ""
        return f'{shortened(source)} {verb} no passage: there is no "{shortened(name)}".{hint}'

    def label(self, source: str) -> Words:
        """Return a link's label, which may contain markup and macros."""
        if PLAIN.fullmatch(source):
            return lambda page: source
        inner = self.read_inner(source)
        return lambda page: "".join(
            piece if isinstance(piece, str) else piece.label for piece in page.capture(inner)
        )

    # --- blocks

    def open(self, kind: str, condition: Expression = lambda page: True) -> None:
        if len(self.blocks) >= DEEPEST:
            location = self._problem(f"more than {DEEPEST} nested blocks", self.line)
            raise InputError(
                f"{self.script.story.source}, {location}: use <<elseif>> or <<display>>"
            )
        self.flush()
        self.blocks.append(OpenBlock(kind, self.line, self.nodes, self.glued, condition))
        self.nodes = []
        self.glued |= kind == "nobr"

    def branch(self, condition: Expression) -> None:
        """Start the next branch of the open <<if>>."""
        self.flush()
        block = self.blocks[-1]
        block.branches.append((block.condition, in_sequence(self.nodes)))
        block.condition = condition
        self.nodes = []

    def close(self) -> None:
        self.branch(lambda page: False)
        block = self.blocks.pop()
        self.nodes = block.outer
        self.glued = block.glued
        branches = block.branches
        first = branches[0][1]
        if block.kind == "silently":
            self.add(lambda page: discard(page.capture(first)))
        elif block.kind == "nobr":
            self.add(first)
        else:
            self.add(lambda page: _run_first_true(page, branches))


def in_sequence(nodes: list[Node]) -> Node:
    if len(nodes) == 1:
        return nodes[0]
    steps = tuple(nodes)

    def run(page: Page) -> None:
        for step in steps:
            step(page)

    return run


def discard(_: object) -> None:
    """Return nothing, as a node does."""


def shortened(source: str) -> str:
    source = " ".join(source.split())
    return source if len(source) <= 60 else source[:57] + "…" + source[-2:]


def _run_first_true(page: Page, branches: list[tuple[Expression, Node]]) -> None:
    for condition, node in branches:
        if js.truth(condition(page)):
            page.run_nested(node)
            return
