"""Python 2 source to a syntax tree, which is only ever looked at; and the readers that look.

The file is read byte by byte, as Python 2 did: a character of the source is a byte, and a string's bytes are UTF-8.
"""

from __future__ import annotations

import ast
import re
import warnings

from drrn.errors import InputError
from drrn.lab.authors.sources import REPOSITORY, SIMULATOR

LONGEST_STATEMENT = 5_000  # characters of code; the parser of some Pythons crashes on endless ones

# Strings and comments first, so that nothing inside them is taken for code.
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
    """The tree of Python 2 source: `<>` is written `!=`, and `print x` as the pair `print, x`."""
    source = data.decode("latin-1")
    if _longest_statement(source) > LONGEST_STATEMENT:
        raise InputError(f"{SIMULATOR}: a statement without end: clone {REPOSITORY} again")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of today's Python, about yesterday's escapes
            return ast.parse(TOKEN.sub(_today, source))
    except SyntaxError as error:
        raise InputError(
            f"{SIMULATOR}, line {error.lineno}: {error.msg}: clone {REPOSITORY} again"
        ) from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise InputError(
            f"{SIMULATOR}: it is no Python source: clone {REPOSITORY} again"
        ) from error


def _today(token: re.Match[str]) -> str:
    return {"unequal": "!=", "print": "print,"}.get(token.lastgroup or "", token.group())


def _longest_statement(source: str) -> int:
    """In characters of code; a line break inside brackets does not end a statement."""
    code = TOKEN.sub(
        lambda token: "" if token.lastgroup in ("string", "comment") else token.group(), source
    )
    depth = start = longest = 0
    for found in BREAKS.finditer(code + "\n"):
        sign = found.group()
        depth = max(0, depth + (sign in "([{") - (sign in ")]}"))
        if sign == "\n" and depth == 0:
            longest = max(longest, found.start() - start)
            start = found.end()
    return max(longest, len(code) - start)


def strange(node: ast.AST, wanted: str) -> InputError:
    """For code of another form than the published one."""
    line = getattr(node, "lineno", 1)
    return InputError(f"{SIMULATOR}, line {line}: expected {wanted}: clone {REPOSITORY} again")


def class_named(tree: ast.Module, name: str) -> ast.ClassDef:
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name == name:
            return node
    raise strange(tree, f"a class {name} somewhere in the file")


def function_named(place: ast.Module | ast.ClassDef, name: str) -> ast.FunctionDef:
    for node in place.body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return node
    raise strange(place, f"a function {name} in it")


def string_literal(node: ast.AST) -> str:
    """The text of a string literal."""
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
        raise strange(node, "a string")
    try:
        text = node.value.encode("latin-1").decode("utf-8")
    except UnicodeError as error:
        raise strange(node, "a string in UTF-8") from error
    if re.search(r"[\x00-\x08\x0b-\x1f\x7f]", text):
        raise strange(node, "a string without control characters")
    return text


def string_literals(node: ast.AST) -> list[str]:
    if not isinstance(node, ast.List):
        raise strange(node, "a list of strings")
    return [string_literal(element) for element in node.elts]


def number_literal(node: ast.AST) -> float:
    """A number literal, with or without a minus."""
    match node:
        case ast.UnaryOp(ast.USub(), operand):
            return -number_literal(operand)
        case ast.Constant(int() | float() as value) if (
            not isinstance(value, bool) and abs(value) < 1e9
        ):
            return value
    raise strange(node, "a number")


def dotted(node: ast.AST) -> str:
    """`self.tiddler` as it is written; '' for what is no such name."""
    match node:
        case ast.Name(name):
            return name
        case ast.Attribute(value, name) if inner := dotted(value):
            return f"{inner}.{name}"
    return ""
