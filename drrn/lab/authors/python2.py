"""Parses Python 2 source to a syntax tree, which is read and never executed.

As in Python 2, a character of the source is a byte, and the bytes of a string are UTF-8.
"""

from __future__ import annotations

import ast
import re
import warnings
from typing import Any

from drrn.errors import InputError
from drrn.lab.authors.clone import SIMULATOR

# Strings and comments first, so that nothing inside them is read as code.
TOKEN = re.compile(
    r"""
      (?P<string>"{3}(?:[^\\]|\\.)*?"{3} | '{3}(?:[^\\]|\\.)*?'{3}
                |"(?:[^"\\\n]|\\.)*" | '(?:[^'\\\n]|\\.)*')
    | (?P<comment>\#[^\n]*)
    | (?P<unequal><>)
    | (?P<print>(?<![\w.])print(?=[ \t]+[\w"'`]))
    """,
    re.X | re.S,
)
Code = ast.ClassDef | ast.FunctionDef
PYTHON3 = {"unequal": "!=", "print": "print,"}


def parse_python2(data: bytes) -> ast.Module:
    """Return the syntax tree; `<>` becomes `!=`, and `print x` the pair `print, x`."""
    source = TOKEN.sub(lambda t: PYTHON3.get(t.lastgroup or "", t.group()), data.decode("latin-1"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about escapes that Python 2 accepted
        return ast.parse(source)


def form_error(node: ast.AST) -> InputError:
    """Return the error for code that the converter does not know."""
    return InputError(f"{SIMULATOR}, line {getattr(node, 'lineno', 1)}: cannot be converted")


def member(parent: ast.Module | Code, name: str) -> Code:
    """Return a class or function by its name."""
    for node in parent.body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and node.name == name:
            return node
    raise form_error(parent)


def literal(node: ast.AST) -> Any:
    """Return a number, a string or a list of strings."""
    return _decoded(ast.literal_eval(node))


def _decoded(value: Any) -> Any:
    if isinstance(value, list):
        return [_decoded(each) for each in value]
    return value.encode("latin-1").decode("utf-8") if isinstance(value, str) else value


def dotted_name(node: ast.AST) -> str:
    """Return `self.tiddler` as it is written; empty for other code."""
    match node:
        case ast.Name(name):
            return name
        case ast.Attribute(value, name) if inner := dotted_name(value):
            return f"{inner}.{name}"
    return ""
