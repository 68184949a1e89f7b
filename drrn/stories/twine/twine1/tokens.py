"""The tokens of an expression: numbers, strings, variables, names and signs."""

from __future__ import annotations

import re

from drrn.stories.twine.script import ExpressionError

LONGEST = 10_000  # characters of one expression

TOKEN = re.compile(
    r"""\s*(?:
        (?P<number>\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+)
      | (?P<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
      | (?P<variable>\$[A-Za-z_\u00c0-\u0171][\w\u00c0-\u0171]*|\$\d+[A-Za-z_]\w*)
      | (?P<name>Math\.\w+|[A-Za-z_]\w*)
      | (?P<sign>===|!==|==|!=|<=|>=|&&|\|\||\+\+|--|\+=|-=|\*=|/=|%=|[-+*/%<>=!?:;,.()\[\]])
    )""",
    re.X,
)
# Operators in words, as the classic formats replace them.
WORDS = {
    "eq": "==", "is": "==", "neq": "!=", "gt": ">", "gte": ">=", "lt": "<", "lte": "<=",
    "and": "&&", "or": "||", "not": "!", "to": "=",
}  # fmt: skip


def tokens(source: str) -> list[tuple[str, str]]:
    """Kind and text of each; operators in words become signs."""
    if len(source) > LONGEST:
        raise ExpressionError(
            f"an expression of {len(source):,} characters; the most is {LONGEST:,}"
        )
    found: list[tuple[str, str]] = []
    position = 0
    end = len(source.rstrip())
    while position < end:
        match = TOKEN.match(source, position)
        if match is None:
            raise ExpressionError(f"cannot read {source[position : position + 20].strip()!r}")
        kind = match.lastgroup or ""
        text = match.group(kind)
        if kind == "name" and text.lower() in WORDS:
            kind = "sign"
            text = WORDS[text.lower()]
        found.append((kind, text))
        position = match.end()
    return found
