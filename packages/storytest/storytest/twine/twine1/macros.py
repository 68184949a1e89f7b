"""Reads passages of the classic Twine 1 formats: their markup and macros as nodes over a page.

A new macro is a function with `@macro("name")`.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from storytest.twine import values as js
from storytest.twine.script import Expression, ExpressionError, Link, Node, Page, Problem, Script
from storytest.twine.story import Passage, split_link, unescape_html
from storytest.twine.twine1.expressions import parse
from storytest.twine.twine1.markup import PLAIN, Piece, link_at, pieces
from textgames.errors import InputError, did_you_mean

BLOCK_TAGS = frozenset(
    "br p div h1 h2 h3 h4 h5 h6 li ul ol tr table blockquote center hr html pre".split()
)
EXTERNAL = re.compile(
    r"^(?:[a-z]+:)?//|^(?:mailto|javascript|data):|^www\.|^#|\.(?:html?|png|jpe?g|gif|pdf)$", re.I
)
QUOTED = re.compile(r"\"([^\"]*)\"|'([^']*)'")

Words = Callable[[Page], str]
Macro = Callable[["Reader", str, str], None]  # takes the reader, the arguments, the whole source
MACROS: dict[str, Macro] = {}


def macro(names: str) -> Callable[[Macro], Macro]:
    """Register a macro under one or more names."""

    def register(function: Macro) -> Macro:
        MACROS.update(dict.fromkeys(names.split(), function))
        return function

    return register


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
    """Makes nodes of the markup of one passage, and adds problems to the script."""

    def __init__(self, script: Script, passage: Passage, names: frozenset[str]) -> None:
        self.script = script
        self.passage = passage
        self.names = names
        self.links = script.links.setdefault(passage.name, set())
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
        inner = Reader(self.script, self.passage, self.names)
        inner.line = self.line
        return inner.read(source)

    def _add_piece(self, piece: Piece) -> None:
        """Add a piece. Comments, styles, bold and italic, and the signs of lists add nothing."""
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
            self.words.append("\n")  # even inside <<nobr>>
        elif kind == "macro":
            self._add_macro(piece.source)
        elif kind == "link":
            label, target, setter = piece.parts
            self.add_link(label, target, setter, piece.source)
        elif kind == "image" and piece.parts[0]:
            self.add_link("", piece.parts[0], "", piece.source)
        elif kind == "unclosed":
            ending = ">>" if piece.source == "<<" else "]]"
            self.problem(f"{shortened(piece.parts[0])} has no closing {ending}")

    def _add_macro(self, source: str) -> None:
        inside = source[2:-2].strip()
        name, arguments = (*inside.split(None, 1), "", "")[:2]
        lower = name.lower()
        # the macro that `/name` or `endname` ends
        block = next((lower.removeprefix(p) for p in ("/", "end") if lower.startswith(p)), "")
        if name in MACROS:
            MACROS[name](self, arguments, source)
        elif name.startswith("$"):
            _print(self, inside, source)
        elif name in self.names:
            _display(self, name, source)
        elif lower in MACROS:
            MACROS[lower](self, arguments, source)
        elif block not in self.script.unknown:  # an unknown macro is reported without its end
            self.script.unknown.add(lower)
            what = "the macro <<{}>> is not supported".format
            self.problem(what(shortened(name)), cause=what(shortened(lower)))

    # --- nodes

    def print(self, text: str) -> None:
        if self.glued:
            text = text.replace("\n", "")
        if text:
            self.words.append(text)

    def add(self, node: Node) -> None:
        self.flush()
        self.nodes.append(node)

    def flush(self) -> None:
        if self.words:
            text = "".join(self.words)
            self.words.clear()
            self.nodes.append(lambda page: page.print(text))

    def problem(self, what: str, line: int | None = None, cause: str = "") -> None:
        self.script.problems.append(self._problem(what, line or self.line, cause))

    def _problem(self, what: str, line: int, cause: str = "") -> Problem:
        return Problem(self.passage.line_in_file(line), self.passage.name, what, line, cause)

    def expression(self, source: str, macro: str) -> Expression | None:
        """The parsed expression, or None after adding a problem."""
        cache = self.script.expressions
        try:
            if source not in cache:
                script = self.script
                cache[source] = parse(source, script.facts, script.answers, script.limits)
            return cache[source]
        except ExpressionError as error:
            self.problem(f"{shortened(macro)}: {error}", cause=str(error))
            return None

    # --- links

    def add_link(self, label: str, target: str, setter: str, source: str) -> None:
        """Add a link to a passage, itself or by an expression. An external link is plain text."""
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
                page.pieces.append(Link(words(page), name, effect))
            else:
                page.print(words(page))

        self.add(node)

    def target(self, target: str, source: str, verb: str) -> Words | None:
        """The target of a link or display, or None if it is not a passage."""
        if target in self.names:
            self.links.add(target)
            return lambda page: target
        if EXTERNAL.search(target):
            return None
        if "$" in target or "(" in target:
            expression = self.expression(target, source)
            return self._computed(expression, source, verb) if expression else None
        self.problem(self._missing(source, verb, target))
        return None

    def _computed(self, expression: Expression, source: str, verb: str) -> Words:
        location = self._problem("", self.line)

        def target(page: Page) -> str:
            name = js.string(expression(page))
            if name not in self.names and not self.script.lenient:
                raise InputError(f"{location}{self._missing(source, verb, name)}")
            return name

        return target

    def _missing(self, source: str, verb: str, name: str) -> str:
        few = len(self.script.problems) < 20  # each hint compares all names
        hint = did_you_mean(name[:100], self.names) if few else ""
        return f'{shortened(source)} {verb} "{shortened(name)}", which is not a passage.{hint}'

    def label(self, source: str) -> Words:
        """A link's label, which may contain markup and macros."""
        if PLAIN.fullmatch(source):
            return lambda page: source
        inner = self.read_inner(source)
        return lambda page: "".join(
            piece if isinstance(piece, str) else piece.label for piece in page.capture(inner)
        )

    # --- blocks

    def open(self, kind: str, condition: Expression = lambda page: True) -> None:
        most = self.script.limits.blocks
        if len(self.blocks) >= most:
            location = self._problem(f"more than {most} nested blocks", self.line)
            message = f"{self.script.story.source}, {location}: use <<elseif>> or <<display>>"
            raise InputError(message)
        self.flush()
        self.blocks.append(OpenBlock(kind, self.line, self.nodes, self.glued, condition))
        self.nodes = []
        self.glued |= kind == "nobr"

    def branch(self, condition: Expression) -> None:
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
            self.add(lambda page: page.capture(first))
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


def _run_first_true(page: Page, branches: list[tuple[Expression, Node]]) -> None:
    for condition, node in branches:
        if js.truth(condition(page)):
            page.run_nested(node)
            return


def shortened(source: str) -> str:
    source = " ".join(source.split())
    return source if len(source) <= 60 else source[:57] + "…" + source[-2:]


# --- values


@macro("set remember")
def _set(reader: Reader, arguments: str, source: str) -> None:
    expression = reader.expression(arguments, source)
    if expression is not None:
        reader.add(expression)


@macro("print")
def _print(reader: Reader, arguments: str, source: str) -> None:
    """Print a value. Markup in it, links included, is read as such."""
    expression = reader.expression(arguments, source)
    if expression is None:
        return
    cache: dict[str, Node] = {}

    def node(page: Page) -> None:
        value = expression(page)
        if value is None or value != value:
            return
        text = js.string(value)
        if PLAIN.fullmatch(text):
            page.print(text)
            return
        if text not in cache:
            if len(cache) > reader.script.limits.printed:
                cache.clear()
            count = len(reader.script.problems)
            cache[text] = reader.read_inner(text)
            del reader.script.problems[count:]  # too late to refuse the story
        page.run_nested(cache[text])

    reader.add(node)


# --- passages


@macro("display")
def _display(reader: Reader, arguments: str, source: str) -> None:
    """Display a passage that is named in quotes, bare, as a link, or by an expression."""
    name = arguments.strip()
    if name.startswith("[[") and (link := link_at(name, 0)):
        name = split_link(link[1])[1]
    elif quoted := QUOTED.fullmatch(name):
        name = quoted[1] or quoted[2] or ""
    elif name not in reader.names:
        name = f"({name})"
    target = reader.target(name, source, "shows")
    if target is None:
        return

    def node(page: Page) -> None:
        name = target(page)
        if name in page.script:  # else the play is lenient
            page.display(name)

    reader.add(node)


# --- blocks


@macro("if")
def _if(reader: Reader, arguments: str, source: str) -> None:
    reader.open("if", reader.expression(arguments, source) or (lambda page: False))


@macro("else")
def _else(reader: Reader, arguments: str, source: str) -> None:
    if not reader.blocks or reader.blocks[-1].kind != "if":
        reader.problem(f"{shortened(source)} is outside an <<if>>")
    elif arguments.split(None, 1)[:1] == ["if"]:
        reader.branch(reader.expression(arguments[2:], source) or (lambda page: False))
    else:
        reader.branch(lambda page: True)


@macro("elseif")
def _else_if(reader: Reader, arguments: str, source: str) -> None:
    _else(reader, f"if {arguments}", source)


@macro("silently nobr")
def _block(reader: Reader, arguments: str, source: str) -> None:
    reader.open(source[2:-2].split(maxsplit=1)[0].lower())


@macro("endif endsilently endnobr /if /silently /nobr")
def _end(reader: Reader, arguments: str, source: str) -> None:
    """End a block. Like the formats, ignore an end without a block."""
    name = source[2:-2].split(maxsplit=1)[0].lower().lstrip("/").removeprefix("end")
    if reader.blocks and reader.blocks[-1].kind == name:
        reader.close()
