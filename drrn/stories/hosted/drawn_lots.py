"""Random whole numbers as lots: `floor(random() * n)` in an engine's or author's code becomes a call of the driver's.

Engines draw a whole number below n as a random number times n, rounded down. Rewritten so, each draw tells how many
outcomes it has, and chance can be listed with its exact odds.
"""

from __future__ import annotations

import re

DRAW = re.compile(
    r"(?<![\w$])(?:[A-Za-z_][\w$]*\s*\.\s*random|_nativeMathRandom)\s*\(\s*\)\s*\*\s*"
)
BEFORE = re.compile(
    r"(?:~~|Math\s*\.\s*floor|Math\s*\.\s*trunc|parseInt)\s*\(\s*$"
)  # rounded down from outside
AFTER = re.compile(r"\s*\|\s*0\b")  # or from behind
OPERAND = re.compile(r"[\w$]+(?:\.[\w$]+|\([^()]*\))*")
SPREAD = "__drrn.chance.spread("
NEAR = 40  # characters in which the rounding stands before a draw


def with_lots(text: str) -> str:
    """The text of a page in which every draw that is rounded down is a lot; all other draws stay as they are."""
    pieces = []
    done = 0
    for draw in DRAW.finditer(text):
        if draw.start() < done:
            continue
        end = _operand_end(text, draw.end())
        before = BEFORE.search(text, max(done, draw.start() - NEAR), draw.start())
        rounded = (before and text[end : end + 1] == ")") or AFTER.match(text, end)
        if end > draw.end() and rounded:
            pieces += [text[done : draw.start()], SPREAD, text[draw.end() : end], ")"]
            done = end
    return "".join([*pieces, text[done:]])


def _operand_end(text: str, start: int) -> int:
    """Where the factor of a product ends: a bracketed expression, or a name with its members and calls."""
    if text[start : start + 1] != "(":
        found = OPERAND.match(text, start)
        return found.end() if found else start
    depth = 0
    for place in range(start, min(len(text), start + 500)):
        depth += {"(": 1, ")": -1}.get(text[place], 0)
        if depth == 0:
            return place + 1
    return start
