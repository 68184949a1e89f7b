"""Markup of the classic Twine 1 formats: marks, tags and links of one passage become nodes over a page."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from drrn.errors import InputError, did_you_mean
from drrn.stories.twine import values as js
from drrn.stories.twine.page import Expression, Link, Node, Page
from drrn.stories.twine.script import ExpressionError, Problem, Script
from drrn.stories.twine.story import Passage, decoded
from drrn.stories.twine.twine1.expressions import parse
from drrn.stories.twine.twine1.scanner import Piece, pieces

DEEPEST = 40  # <<if>> in <<if>>
MOST_HINTS = 20  # did-you-means in one story: each looks through all names

BLOCK_TAGS = frozenset(
    "br p div h1 h2 h3 h4 h5 h6 li ul ol tr table blockquote center hr html pre".split()
)
PLAIN = re.compile(r"[^<\[{@'/_=~^\\&!*#>-]*")  # holds no markup, so it is said as it stands
EXTERNAL = re.compile(
    r"^(?:[a-z]+:)?//|^(?:mailto|javascript|data):|^www\.|^#|\.(?:html?|png|jpe?g|gif|pdf)$", re.I
)

Words = Callable[[Page], str]


@dataclass
class OpenBlock:
    """An <<if>>, <<silently>> or <<nobr>> that is still open."""

    kind: str
    line: int
    outer: list[Node]  # what the block stands in
    glued: bool  # whether that has no line breaks
    branches: list[tuple[Expression, Node]] = field(default_factory=list)
    condition: Expression = lambda page: True


class Reader:
    """Turns the markup of one passage into nodes; what it cannot play it lists in the script's problems."""

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
            getattr(self, f"_{piece.kind}", self._nothing)(piece)
            self.line += piece.source.count("\n")
        while self.blocks:
            kind = self.blocks[-1].kind
            self.problem(f"<<{kind}>> has no <<end{kind}>>", self.blocks[-1].line)
            self.close()
        self.flush()
        return in_sequence(self.nodes)

    def again(self, source: str) -> Node:
        """Markup inside markup: a link's words, a variable that holds a link."""
        inner = Reader(self.script, self.passage, self.names, self.macro)
        inner.line = self.line
        return inner.read(source)

    # --- gathering

    def say(self, text: str) -> None:
        if self.glued:
            text = text.replace("\n", "")
        if text:
            self.words.append(text)

    def break_line(self) -> None:
        """A line break that holds inside <<nobr>>, too."""
        self.words.append("\n")

    def add(self, node: Node) -> None:
        self.flush()
        self.nodes.append(node)

    def flush(self) -> None:
        """Words said in a row become one node."""
        if self.words:
            text = "".join(self.words)
            self.words.clear()
            self.nodes.append(lambda page: page.say(text))

    def aside(self, gather: Callable[[], None]) -> Node:
        """What `gather` adds, as one node that is not yet part of the passage."""
        self.flush()
        outer = self.nodes
        self.nodes = []
        gather()
        self.flush()
        node = in_sequence(self.nodes)
        self.nodes = outer
        return node

    def problem(self, what: str, line: int | None = None, cause: str = "") -> None:
        self.script.problems.append(self.place(what, line or self.line, cause))

    def place(self, what: str, line: int, cause: str = "") -> Problem:
        """What is to be said of a line of the passage."""
        return Problem(self.passage.line_in_file(line), self.passage.name, what, line, cause)

    def expression(self, source: str, macro: str) -> Expression | None:
        """The closure, or None with a problem noted."""
        known = self.script.expressions
        try:
            if source not in known:
                known[source] = parse(source, self.script.facts, self.script.answers)
            return self.guarded(known[source], macro)
        except ExpressionError as error:
            self.problem(f"{shortened(macro)}: {error}", cause=str(error))
            return None

    def guarded(self, expression: Expression, macro: str) -> Expression:
        """The expression; where it lets a value grow without end, the error says where it stands."""
        line = self.line

        def guarded(page: Page) -> js.Value:
            try:
                return expression(page)
            except js.GrowthError as error:
                place = self.place(shortened(macro), line)
                raise InputError(f"{place} makes {error}: give it a bound") from error

        return guarded

    # --- text and marks

    def _nothing(self, piece: Piece) -> None:
        """Comments, styles, the signs of headings and lists, bold and italic: nothing a player reads."""

    def _text(self, piece: Piece) -> None:
        self.say(decoded(piece.source))

    def _verbatim(self, piece: Piece) -> None:
        self.say(piece.parts[0])

    def _url(self, piece: Piece) -> None:
        self.say(piece.source)

    def _dash(self, piece: Piece) -> None:
        self.say("—")

    def _tag(self, piece: Piece) -> None:
        if piece.parts[0] in BLOCK_TAGS:
            self.break_line()

    def _macro(self, piece: Piece) -> None:
        self.macro(self, piece.source)

    def _unclosed(self, piece: Piece) -> None:
        ending = ">>" if piece.source == "<<" else "]]"
        self.problem(f"{shortened(piece.parts[0])} has no {ending} that closes it")

    # --- links

    def _link(self, piece: Piece) -> None:
        label, target, setter = piece.parts
        self.offer(label, target, setter, piece.source)

    def _image(self, piece: Piece) -> None:
        if piece.parts[0]:
            self.offer("", piece.parts[0], "", piece.source)

    def offer(
        self, label: str, target: str, setter: str, source: str, mark: Words | None = None
    ) -> None:
        """Add a link: to a passage, to where a variable says, or out of the story (then it is only words)."""
        where = self.where(target, source, "leads to")
        if where is None:
            self.tell(self.label(label or target))
            return
        words = self.label(label or target) if label or target in self.names else where
        taken = None
        if setter.strip() and (expression := self.expression(setter, source)):
            taken = (setter, expression)

        def node(page: Page) -> None:
            target = where(page)
            if target in self.names:
                page.offer(Link(words(page), target, taken, mark(page) if mark else None))
            else:
                page.say(words(page))

        self.add(node)

    def tell(self, words: Words) -> None:
        self.add(lambda page: page.say(words(page)))

    def where(self, target: str, source: str, verb: str) -> Words | None:
        """The passage that a link or display names, itself or by an expression; None if there is none."""
        if target in self.names:
            self.script.links[self.passage.name].add(target)
            return lambda page: target
        if EXTERNAL.search(target):
            return None
        if "$" in target or "(" in target:
            expression = self.expression(target, source)
            return self._computed(expression, source, verb) if expression else None
        self.problem(self._nowhere(source, verb, target))
        return None

    def _computed(self, expression: Expression, source: str, verb: str) -> Words:
        place = self.place("", self.line)

        def target(page: Page) -> str:
            name = js.string(expression(page))
            if name not in self.names and not self.script.lenient:
                raise InputError(
                    f"{self.script.story.source}, {place}{self._nowhere(source, verb, name)}"
                )
            return name

        return target

    def _nowhere(self, source: str, verb: str, name: str) -> str:
        hint = (
            did_you_mean(name[:100], self.names) if len(self.script.problems) < MOST_HINTS else ""
        )
        return f'{shortened(source)} {verb} no passage: there is no "{shortened(name)}".{hint}'

    def label(self, source: str) -> Words:
        """A link's words, which may hold marks and macros of their own."""
        if PLAIN.fullmatch(source):
            return lambda page: source
        inner = self.again(source)
        return lambda page: "".join(
            piece if isinstance(piece, str) else piece.label for piece in page.muted(inner)
        )

    # --- blocks

    def open(self, kind: str, condition: Expression | None = None) -> None:
        if len(self.blocks) >= DEEPEST:
            place = self.place(f"more than {DEEPEST} blocks stand in one another", self.line)
            raise InputError(f"{self.script.story.source}, {place}: use <<elseif>> or <<display>>")
        self.flush()
        block = OpenBlock(kind, self.line, self.nodes, self.glued)
        block.condition = condition or block.condition
        self.blocks.append(block)
        self.nodes = []
        self.glued |= kind == "nobr"

    def branch(self, condition: Expression) -> None:
        """The next <<else if>> or <<else>> of the open <<if>>."""
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
        if block.kind == "silently":
            silent = block.branches[0][1]
            self.add(lambda page: discard(page.muted(silent)))
        elif block.kind == "nobr":
            self.add(block.branches[0][1])
        else:
            self.add(_first_true(block.branches))


def in_sequence(nodes: list[Node]) -> Node:
    if len(nodes) == 1:
        return nodes[0]
    steps = tuple(nodes)

    def run(page: Page) -> None:
        for step in steps:
            step(page)

    return run


def discard(_: object) -> None:
    """A node gives nothing back."""


def shortened(source: str) -> str:
    source = " ".join(source.split())
    return source if len(source) <= 60 else source[:57] + "…" + source[-2:]


def _first_true(branches: list[tuple[Expression, Node]]) -> Node:
    def choose(page: Page) -> None:
        for condition, node in branches:
            if js.truth(condition(page)):
                page.nested(node)
                return

    return choose
