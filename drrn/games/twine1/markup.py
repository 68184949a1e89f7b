"""Markup of the classic Twine 1 formats: marks, tags and links of one passage become nodes over a page."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from drrn.errors import InputError, did_you_mean
from drrn.games import values as js
from drrn.games.expressions import ExpressionError, parse
from drrn.games.page import Expression, Link, Node, Page
from drrn.games.script import Problem, Script
from drrn.games.story import Passage

DEEPEST = 100  # <<if>> in <<if>>

MARKUP = re.compile(
    r"""
      (?P<rule>^(?:-{4,}|<<<)$)
    | (?P<comment>/%.*?%/ | <!--.*?--> | /\*.*?\*/)
    | (?P<macro><<(?:"(?:[^"\\]|\\.){0,2000}"|'(?:[^'\\]|\\.){0,2000}'|[^"'<>\\]|\\.|<(?!<)|>(?!>))*>> | <<[^<>\n]*>>)
    | (?P<image>\[[<>]?img\[[^\[\]\n]*\](?:\[(?P<image_target>[^\[\]\n]*)\])?\])
    | (?P<link>\[\[(?P<body>[^\n]{1,2000}?)\](?:\[(?P<setter>[^\n]{0,2000}?)\])?\])
    | (?P<code>\{\{\{(?P<verbatim>.*?)\}\}\})
    | (?P<dropped><(?P<element>script|style)\b[^>]*>.*?</(?P=element)\s*>)
    | (?P<anchor><a\b[^<>]*\bdata-passage\s*=\s*["'](?P<anchor_target>[^"'<>]*)["'][^<>]*>(?P<anchor_label>.*?)</a\s*>)
    | (?P<tag></?[A-Za-z][\w:-]*(?:\s[^<>]*)?/?>)
    | (?P<url>\b(?:https?|ftp)://[^\s'"<>\[\]]+)
    | (?P<style>@@(?:(?:[\w-]+\([^)\n]*\):|[\w-]+:[^;@\n]*;|\.[\w.-]+;)+)?)
    | (?P<lead>^(?:!{1,6}|\*+|\#+|>+(?!>)))
    | (?P<mark>''|//|__|==|~~|\^\^)
    | (?P<dash>--)
    | (?P<joined>\\[^\S\n]*\n)
    """,
    re.X | re.S | re.M | re.I,
)
BLOCK_TAGS = frozenset("br p div h1 h2 h3 h4 h5 h6 li ul ol tr table blockquote center hr html pre".split())
PLAIN = re.compile(r"[^<\[{@'/_=~^\\&!*#>-]*")  # holds no markup, so it is said as it stands
EXTERNAL = re.compile(r"^(?:[a-z]+:)?//|^(?:mailto|javascript|data):|^www\.", re.I)

Words = Callable[[Page], str]


@dataclass
class Block:
    """An <<if>>, <<silently>> or <<nobr>> that is still open."""

    kind: str
    line: int
    outer: list[Node]  # what the block stands in
    branches: list[tuple[Expression, Node]] = field(default_factory=list)
    condition: Expression = lambda page: True


class Reader:
    """Turns the markup of one passage into nodes; what it cannot play it lists in the script's problems."""

    def __init__(
        self, script: Script, passage: Passage, names: frozenset[str], macro: Callable[[Reader, str], None]
    ) -> None:
        self.script, self.passage, self.names, self.macro = script, passage, names, macro
        self.line = passage.line
        self.glued = "nobr" in passage.tags
        self.blocks: list[Block] = []
        self.nodes: list[Node] = []
        self.words: list[str] = []

    def read(self, source: str) -> Node:
        position = 0
        for match in MARKUP.finditer(source):
            self._go_to(source, position, match.start())
            position = match.end()
            getattr(self, f"_{match.lastgroup}", self._nothing)(match)
            self.line += match.group().count("\n")
        self._go_to(source, position, len(source))
        while self.blocks:
            kind = self.blocks[-1].kind
            self.problem(f"<<{kind}>> has no <<end{kind}>>", self.blocks[-1].line)
            self.close()
        self.flush()
        return sequence(self.nodes)

    def again(self, source: str) -> Node:
        """Markup inside markup: a link's words, a variable that holds a link."""
        inner = Reader(self.script, self.passage, self.names, self.macro)
        inner.line = self.line
        return inner.read(source)

    # --- gathering

    def say(self, text: str) -> None:
        if self.glued or any(block.kind == "nobr" for block in self.blocks):
            text = text.replace("\n", "")
        if text:
            self.words.append(text)

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
        outer, self.nodes = self.nodes, []
        gather()
        self.flush()
        node, self.nodes = sequence(self.nodes), outer
        return node

    def problem(self, what: str, line: int | None = None) -> None:
        self.script.problems.append(Problem(line or self.line, self.passage.name, what))

    def expression(self, source: str, macro: str) -> Expression | None:
        """The closure, or None with a problem noted."""
        try:
            return self._guarded(parse(source, self.script.facts, self.script.answers), macro)
        except ExpressionError as error:
            self.problem(f"{shortened(macro)}: {error}")
            return None

    def _guarded(self, expression: Expression, macro: str) -> Expression:
        place = Problem(self.line, self.passage.name, shortened(macro))

        def guarded(page: Page) -> js.Value:
            try:
                return expression(page)
            except js.GrowthError as error:
                raise InputError(f"{place} makes {error}: give it a bound") from error

        return guarded

    def _go_to(self, source: str, start: int, end: int) -> None:
        text = source[start:end]
        self.line += text.count("\n")
        self.say(html.unescape(text))

    # --- marks

    def _nothing(self, match: re.Match[str]) -> None:
        """Comments, styles, the signs of headings and lists, bold and italic: nothing a player reads."""

    def _code(self, match: re.Match[str]) -> None:
        self.say(match["verbatim"])

    def _url(self, match: re.Match[str]) -> None:
        self.say(match.group())

    def _dash(self, match: re.Match[str]) -> None:
        self.say("—")

    def _tag(self, match: re.Match[str]) -> None:
        if match.group().strip("</>").split()[0].lower() in BLOCK_TAGS:
            self.say("\n")

    def _macro(self, match: re.Match[str]) -> None:
        self.macro(self, match.group())

    # --- links

    def _link(self, match: re.Match[str]) -> None:
        label, target = split_link(match["body"])
        self.offer(label, target, match["setter"], match.group())

    def _image(self, match: re.Match[str]) -> None:
        if match["image_target"]:
            self.offer("", match["image_target"], None, match.group())

    def _anchor(self, match: re.Match[str]) -> None:
        self.offer(match["anchor_label"], match["anchor_target"], None, match.group())

    def offer(self, label: str, target: str, setter: str | None, source: str, mark: str | None = None) -> None:
        """Add a link: to a passage, to where a variable says, or out of the story (then it is only words)."""
        words = self._label(label) if label else None
        where = self.where(target, source, "leads to")
        if where is None:
            outside = words or (lambda page: target)
            if words or EXTERNAL.search(target):
                self.add(lambda page: page.say(outside(page)))
            return
        taken = None
        if setter and setter.strip() and (expression := self.expression(setter, source)):
            taken = (setter, expression)

        def node(page: Page) -> None:
            name = where(page)
            page.offer(Link(words(page) if words else name, name, taken, mark))

        self.add(node)

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
        place = Problem(self.line, self.passage.name, "")

        def target(page: Page) -> str:
            name = js.string(expression(page))
            if name not in self.names:
                raise InputError(f"{self.script.story.source}, {place}{self._nowhere(source, verb, name)}")
            return name

        return target

    def _nowhere(self, source: str, verb: str, name: str) -> str:
        return f'{shortened(source)} {verb} no passage: there is no "{name}".{did_you_mean(name, self.names)}'

    def _label(self, source: str) -> Words:
        """A link's words may hold marks and macros of their own."""
        if PLAIN.fullmatch(source):
            return lambda page: source
        inner = self.again(source)
        return lambda page: "".join(piece if isinstance(piece, str) else piece.label for piece in page.muted(inner))

    # --- blocks

    def open(self, kind: str, condition: Expression | None = None) -> None:
        if len(self.blocks) >= DEEPEST:
            place = Problem(self.line, self.passage.name, f"more than {DEEPEST} blocks stand in one another")
            raise InputError(f"{self.script.story.source}, {place}: use <<elseif>> or <<display>>")
        self.flush()
        block = Block(kind, self.line, self.nodes)
        block.condition = condition or block.condition
        self.blocks.append(block)
        self.nodes = []

    def branch(self, condition: Expression) -> None:
        """The next <<else if>> or <<else>> of the open <<if>>."""
        self.flush()
        block = self.blocks[-1]
        block.branches.append((block.condition, sequence(self.nodes)))
        block.condition, self.nodes = condition, []

    def close(self) -> None:
        self.branch(lambda page: False)
        block = self.blocks.pop()
        self.nodes = block.outer
        if block.kind == "silently":
            silent = block.branches[0][1]
            self.add(lambda page: discard(page.muted(silent)))
        elif block.kind == "nobr":
            self.add(block.branches[0][1])
        else:
            self.add(_first_true(block.branches))


def split_link(body: str) -> tuple[str, str]:
    """Label and target of `x`, `label|target`, `label->target` or `target<-label`; no label where it is the target."""
    if "|" in body:
        label, _, target = body.partition("|")
    elif "->" in body:
        label, _, target = body.rpartition("->")
    elif "<-" in body:
        target, _, label = body.partition("<-")
    else:
        label, target = "", body
    return label.strip(), target.strip()


def sequence(nodes: list[Node]) -> Node:
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
                node(page)
                return

    return choose
