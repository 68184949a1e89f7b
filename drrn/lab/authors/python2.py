"""Parses Python 2 source to a syntax tree, which is read and never executed.

As in Python 2, a character of the source is a byte, and the bytes of a string are UTF-8.
"""

from __future__ import annotations

import ast
import re
import warnings

from drrn.errors import InputError
from drrn.lab.authors.clone import AGAIN, SIMULATOR

MAX_STATEMENT = 5_000  # characters of code; the parser of some Pythons crashes on longer ones
# Strings and comments first, so that nothing inside them is read as code.
TOKEN = re.compile(
    r"""
      (?P<string>"{3}(?:[^\\]|\\.)*?(?:"{3}|\Z) | '{3}(?:[^\\]|\\.)*?(?:'{3}|\Z)
                |"(?:[^"\\\n]|\\.)*"? | '(?:[^'\\\n]|\\.)*'?)
    | (?P<comment>\#[^\n]*)
    | (?P<unequal><>)
    | (?P<print>(?<![\w.])print(?=[ \t]+[\w"'`]))
    """,
    re.X | re.S,
)
BREAKS = re.compile(r"\\\n|[()\[\]{}\n]")


def parse_python2(data: bytes) -> ast.Module:
    """Return the syntax tree; `<>` becomes `!=`, and `print x` the pair `print, x`."""
    source = data.decode("latin-1")
    if _longest_statement(source) > MAX_STATEMENT:
        raise InputError(f"{SIMULATOR}: a statement is too long: {AGAIN}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about escapes that Python 2 accepted
            return ast.parse(TOKEN.sub(_python3, source))
    except SyntaxError as error:
        raise InputError(f"{SIMULATOR}, line {error.lineno}: {error.msg}: {AGAIN}") from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise InputError(f"{SIMULATOR}: not Python source: {AGAIN}") from error


def _python3(token: re.Match[str]) -> str:
    return {"unequal": "!=", "print": "print,"}.get(token.lastgroup or "", token.group())


def _longest_statement(source: str) -> int:
    """Return the characters of code; a line break inside brackets does not end a statement."""

    def without_texts(token: re.Match[str]) -> str:
        return "" if token.lastgroup in ("string", "comment") else token.group()

    code = TOKEN.sub(without_texts, source)
    depth = start = longest = 0
    for match in BREAKS.finditer(code + "\n"):
        sign = match.group()
        depth = max(0, depth + (sign in "([{") - (sign in ")]}"))
        if sign == "\n" and depth == 0:
            longest = max(longest, match.start() - start)
            start = match.end()
    return max(longest, len(code) - start)


def form_error(node: ast.AST, expected: str) -> InputError:
    """Return the error for code that differs in form from the published code."""
    line = getattr(node, "lineno", 1)
    return InputError(f"{SIMULATOR}, line {line}: expected {expected}: {AGAIN}")


def class_named(tree: ast.Module, name: str) -> ast.ClassDef:
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name == name:
            return node
    raise form_error(tree, f"a class {name} somewhere in the file")


def function_named(parent: ast.Module | ast.ClassDef, name: str) -> ast.FunctionDef:
    for node in parent.body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return node
    raise form_error(parent, f"a function {name} in it")


def string_literal(node: ast.AST) -> str:
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
        raise form_error(node, "a string")
    try:
        text = node.value.encode("latin-1").decode("utf-8")
    except UnicodeError as error:
        raise form_error(node, "a string in UTF-8") from error
    if re.search(r"[\x00-\x08\x0b-\x1f\x7f]", text):
        raise form_error(node, "a string without control characters")
    return text


def string_literals(node: ast.AST) -> list[str]:
    if not isinstance(node, ast.List):
        raise form_error(node, "a list of strings")
    return [string_literal(element) for element in node.elts]


def number_literal(node: ast.AST) -> float:
    match node:
        case ast.UnaryOp(ast.USub(), operand):
            return -number_literal(operand)
        case ast.Constant(int() | float() as value):
            if not isinstance(value, bool) and abs(value) < 1e9:
                return value
    raise form_error(node, "a number")


def dotted_name(node: ast.AST) -> str:
    """Return `self.tiddler` as it is written; empty for other code."""
    match node:
        case ast.Name(name):
            return name
        case ast.Attribute(value, name) if inner := dotted_name(value):
            return f"{inner}.{name}"
    return ""
