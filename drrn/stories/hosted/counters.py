"""Counters: variables that only grow and are only compared with numbers, so that past the largest they are all one."""

from __future__ import annotations

import re
from collections.abc import Iterable

from drrn.stories.hosted.assignments import VARIABLE, settings_in

NUMBER = r"-?\d+(?:\.\d+)?"
SIGN = r"(?:is not|isnot|is|gte|gt|lte|lt|eq|neq|>=|<=|>|<|===?|!==?)"
# A whole comparison, not the end of a sum: `10 - $x > 2` is none.
COMPARED = re.compile(
    rf"(?:(?<=[(:])|(?<=&&)|(?<=\|\|)|\b(?:and|or|not|if|elseif|while)\b)\s*"
    rf"\$([A-Za-z_]\w*)\s*{SIGN}\s*({NUMBER})(?=\s*(?:\)|>>|\]|and\b|or\b|&&|\|\|))",
    re.I,
)
# Where Harlowe compares the same variable again without its name: `and it < 6`, `and < 6`, `or 7`.
CONDITION = re.compile(r"\((?:if|unless|else-?if|cond)\s*:[^\[\]]*", re.I)
UNNAMED = re.compile(
    r"\bits?\b|\b(?:and|or)\b(?!(?:\s|\(|!|not\b)*(?:[$_(]|\w+(?:\.\w+)*\(|\w+-?\w*:|(?:visits?|exits?|turns?|true|false)\b))",
    re.I,
)
GROWS = re.compile(
    r"\s*(?:to\s+(?:it|\$(\w+))\s*\+\s*(\d+(?:\.\d+)?)|\+=\s*(\d+(?:\.\d+)?)|=\s*\$(\w+)\s*\+\s*(\d+(?:\.\d+)?)|\+\+)\s*"
)
CONSTANT = re.compile(rf"\s*(?:to|=)\s*({NUMBER})\s*")


def counters(texts: Iterable[str]) -> dict[str, float]:
    """Each counter, with a number past which no comparison of the story can tell more."""
    largest: dict[str, float] = {}
    refused: set[str] = set()
    for text in texts:
        rest, settings = settings_in(text)
        for name, number in COMPARED.findall(rest):
            largest[name] = max(largest.get(name, 0.0), float(number))
        refused.update(VARIABLE.findall(COMPARED.sub("", rest)), _compared_unnamed(rest))
        for target, action in settings:
            names = set(VARIABLE.findall(action))
            if not (CONSTANT.fullmatch(action) or (GROWS.fullmatch(action) and names <= {target})):
                refused |= names | {target}
            largest.setdefault(target, 0.0)
            if constant := CONSTANT.fullmatch(action):
                largest[target] = max(largest[target], float(constant[1]))
    return {name: number + 1 for name, number in largest.items() if name not in refused}


def _compared_unnamed(text: str) -> set[str]:
    """The variables that may be compared with more numbers than those that stand beside their names."""
    if any(re.search(r"\bits?\b", condition, re.I) for condition in CONDITION.findall(text)):
        return set(VARIABLE.findall(text))
    starts = (found.start(1) - 1 for found in COMPARED.finditer(text))
    tails = [re.split(r"\[|>>|\n", text[start:], maxsplit=1)[0] for start in starts]
    pieces = [*tails, *CONDITION.findall(text)]
    return {name for piece in pieces if UNNAMED.search(piece) for name in VARIABLE.findall(piece)}
