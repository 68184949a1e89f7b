"""Methods of the simulator, each of which tells one passage, to Twee.

A method adds to `self.text`, `self.current_links` and `self.actions`, sets `self.params`, draws lots, and shows other
passages by calling them out of `self.methodDict`; in Twee that is text, links, <<set>>, random() and <<display>>.
Whatever else stands in a method is refused.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from drrn.lab.authors.python2 import number_literal, strange, string_literal, string_literals
from drrn.lab.authors.twee_source import in_text, is_label, is_plain, is_text, on_lines
from drrn.stories.twine.story import unescape_html

Links = list[tuple[str, str]]  # label, target

DEEPEST = 20  # if in if
COMPARED: dict[type[ast.cmpop], str] = {
    ast.Eq: "is", ast.NotEq: "neq", ast.Lt: "lt", ast.LtE: "lte", ast.Gt: "gt", ast.GtE: "gte",
}  # fmt: skip


class SimulatorPassage:
    """The Twee of one method, the passages it shows or leads to, and the words of its links as the source has them."""

    def __init__(self, method: ast.FunctionDef) -> None:
        self.shown: set[str] = set()
        self.targets: set[str] = set()
        self.labels: list[str] = []
        *body, last = method.body
        if not isinstance(last, ast.Return) or last.value is not None:
            raise strange(last, "a bare return at the end")
        self.source = self._block(body, 0)

    def _block(self, statements: Sequence[ast.stmt], depth: int) -> str:
        """Statements in a row. A link whose words stand in the texts before it is put there; others get lines."""
        if depth > DEEPEST:
            raise strange(statements[0], f"no more than {DEEPEST} conditions in one another")
        block = _Block()
        for statement in statements:
            match statement:
                case ast.AugAssign(ast.Attribute(ast.Name("self"), "text"), ast.Add(), value):
                    block.add_text(self._text(value))
                case ast.AugAssign(
                    ast.Attribute(ast.Name("self"), "current_links"), ast.Add(), value
                ):
                    block.targets += string_literals(value)
                case ast.AugAssign(ast.Attribute(ast.Name("self"), "actions"), ast.Add(), value):
                    block.add_links(self._links(string_literals(value), block.targets, statement))
                case ast.If(test, body, otherwise):
                    block.pieces.append(self._branches(test, body, otherwise, depth + 1))
                case ast.Assign([target], value):
                    block.pieces.append(f"<<set {_variable(target)} = {_value(value)}>>")
                case ast.Expr(
                    ast.Call(
                        ast.Subscript(ast.Attribute(ast.Name("self"), "methodDict"), name), [], []
                    )
                ):
                    block.pieces.append(self._display(name))
                case _:
                    raise strange(
                        statement, "a text, links, a condition, a variable or another passage"
                    )
        if block.targets:
            raise strange(statements[-1], "as many actions as links")
        return "".join(block.pieces)

    def _branches(
        self, test: ast.expr, body: list[ast.stmt], otherwise: list[ast.stmt], depth: int
    ) -> str:
        condition = _condition(test)
        then = self._block(body, depth)
        return f"<<if {condition}>>{then}{f'<<else>>{self._block(otherwise, depth)}' if otherwise else ''}<<endif>>"

    def _text(self, node: ast.expr) -> str:
        """Strings and `str(self.params[…])`, added up."""
        parts = []
        while isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            parts.append(node.right)
            node = node.left
        return "".join(_said(part) for part in (node, *reversed(parts)))

    def _links(self, labels: list[str], targets: list[str], place: ast.stmt) -> Links:
        if len(labels) != len(targets):
            raise strange(place, "as many actions as links")
        self.labels += labels
        self.targets.update(targets)
        links = [
            (unescape_html(label), target) for label, target in zip(labels, targets, strict=True)
        ]
        if not all(is_label(label) and is_plain(target) for label, target in links):
            raise strange(place, "links without brackets, bars and line breaks")
        return links

    def _display(self, node: ast.expr) -> str:
        name = string_literal(node)
        if not is_plain(name):
            raise strange(node, "a plain name of a passage")
        self.shown.add(name)
        return f"<<display '{name}'>>" if '"' in name else f'<<display "{name}">>'


@dataclass
class _Block:
    """The Twee of statements in a row, as far as they were read."""

    pieces: list[str] = field(default_factory=list)
    texts: list[int] = field(default_factory=list)  # which of the pieces are texts without links
    targets: list[str] = field(default_factory=list)  # of links whose words are yet to come

    def add_text(self, text: str) -> None:
        self.texts.append(len(self.pieces))
        self.pieces.append(text)

    def add_links(self, links: Links) -> None:
        self.targets = []
        placed = in_text([self.pieces[i] for i in self.texts], links)
        if not placed:
            self.pieces.append(on_lines(links))
            return
        for i, text in zip(self.texts, placed, strict=True):
            self.pieces[i] = text
        self.texts = []


def _said(node: ast.expr) -> str:
    match node:
        case ast.Call(ast.Name("str"), [variable], []):
            return f"<<print {_variable(variable)}>>"
    # An <<endif>> was left behind where the published text was made out of the story's source.
    text = unescape_html(string_literal(node)).replace("<<endif>>", "")
    if not is_text(text):
        raise strange(node, "a text without macros and links")
    return text


def _condition(node: ast.expr) -> str:
    match node:
        case ast.BoolOp(ast.And() | ast.Or() as joined, parts):
            word = " and " if isinstance(joined, ast.And) else " or "
            return word.join(
                f"({_condition(p)})" if isinstance(p, ast.BoolOp) else _condition(p) for p in parts
            )
        case ast.Compare(variable, [sign], [value]) if type(sign) in COMPARED:
            return f"{_variable(variable)} {COMPARED[type(sign)]} {number_literal(value)}"
    raise strange(node, "a variable compared with a number")


def _variable(node: ast.expr) -> str:
    match node:
        case ast.Subscript(ast.Attribute(ast.Name("self"), "params"), key):
            if re.fullmatch(r"[A-Za-z_]\w*", name := string_literal(key), re.A):
                return f"${name}"
    raise strange(node, "a variable out of self.params")


def _value(node: ast.expr) -> str:
    """A number, a variable, a sum or difference of two of them, or a lot."""
    match node:
        case ast.Constant() | ast.UnaryOp():
            return str(number_literal(node))
        case ast.BinOp(left, ast.Add() | ast.Sub() as sign, right):
            return f"{_term(left)} {'+' if isinstance(sign, ast.Add) else '-'} {_term(right)}"
        case ast.Call(
            ast.Name("int"), [ast.Call(floor, [ast.BinOp(drawn, ast.Add(), least)], [])], []
        ):
            return _lot(node, floor, drawn, least)
    return _variable(node)


def _term(node: ast.expr) -> str:
    return str(number_literal(node)) if isinstance(node, ast.Constant) else _variable(node)


def _lot(node: ast.expr, floor: ast.expr, drawn: ast.expr, least: ast.expr) -> str:
    """`int(np.floor(np.random.random() * 3 + 1))` is random(1, 3)."""
    match floor, drawn:
        case (
            ast.Attribute(ast.Name("np"), "floor"),
            ast.BinOp(
                ast.Call(ast.Attribute(ast.Attribute(ast.Name("np"), "random"), "random"), [], []),
                ast.Mult(),
                ast.Constant(int(ways)),
            ),
        ) if ways >= 1 and isinstance(least, ast.Constant) and isinstance(least.value, int):
            return f"random({least.value}, {least.value + ways - 1})"
    raise strange(node, "a whole number drawn by lot")
