"""Counters: variables that only grow and are only compared with numbers, so that past the largest they are all one."""

from __future__ import annotations

import re
from collections.abc import Iterable

from drrn.games.hosted.assignments import VARIABLE, settings_in

NUMBER = r"-?\d+(?:\.\d+)?"
SIGN = r"(?:is not|isnot|is|gte|gt|lte|lt|eq|neq|>=|<=|>|<|===?|!==?)"
COMPARED = re.compile(rf"\$([A-Za-z_]\w*)\s*{SIGN}\s*({NUMBER})(?=\s*(?:\)|>>|\]|and\b|or\b|&&|\|\|))", re.I)
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
        refused.update(VARIABLE.findall(COMPARED.sub("", rest)))
        for target, action in settings:
            names = set(VARIABLE.findall(action))
            if not (CONSTANT.fullmatch(action) or (GROWS.fullmatch(action) and names <= {target})):
                refused |= names | {target}
            largest.setdefault(target, 0.0)
            if constant := CONSTANT.fullmatch(action):
                largest[target] = max(largest[target], float(constant[1]))
    return {name: number + 1 for name, number in largest.items() if name not in refused}
