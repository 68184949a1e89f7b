"""Functions that expressions may call."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

from drrn.stories.twine import values as js
from drrn.stories.twine.page import Page
from drrn.stories.twine.values import Value

Function = Callable[[Page, Sequence[Value]], Value]


def random(page: Page, arguments: Sequence[Value]) -> Value:
    """A whole number from a to b, both included; with one argument, from 0 to it."""
    ends = [_integer(argument) for argument in arguments[:2]]
    low = min(ends) if len(ends) == 2 and ends[1] != 0 else 0
    return low + page.draw(max(ends, default=0) - low + 1)


def either(page: Page, arguments: Sequence[Value]) -> Value:
    """A random one of the arguments, or of the items if the only argument is a list."""
    items = arguments[0] if len(arguments) == 1 and isinstance(arguments[0], tuple) else arguments
    return items[page.draw(len(items))] if items else 0


def visited(page: Page, arguments: Sequence[Value]) -> Value:
    """The visits to a passage, this one included; of several passages, the minimum."""
    names = [js.string(argument) for argument in arguments] or [page.passage]
    return min(_integer(page.read(f"visited {name}")) for name in names)


def visited_tag(page: Page, arguments: Sequence[Value]) -> Value:
    """The visits to passages that have all the tags."""
    required = set(" ".join(js.string(argument) for argument in arguments).split())
    names = [name for name, tags in page.tags.items() if required <= set(tags)]
    return sum(_integer(page.read(f"visited {name}")) for name in names)


def parameter(page: Page, arguments: Sequence[Value]) -> Value:
    """A parameter of the short form of <<display>>, by index."""
    index = _integer(arguments[0]) if arguments else 0
    return page.parameters[index] if 0 <= index < len(page.parameters) else 0


def _integer(value: Value) -> int:
    number = js.numeric(value)
    return int(number) if math.isfinite(number) and abs(number) < 2**53 else 0


def _round(how: Callable[[float], int], _: Page, arguments: Sequence[Value]) -> Value:
    number = js.numeric(arguments[0]) if arguments else js.NAN
    return js.number(how(number)) if math.isfinite(number) else number


FUNCTIONS: dict[str, Function] = {
    "random": random,
    "either": either,
    "visited": visited,
    "visitedTag": visited_tag,
    "visitedTags": visited_tag,
    "turns": lambda page, _: page.read("turns"),
    "previous": lambda page, _: page.read("previous") or "",
    "passage": lambda page, _: page.passage,
    "parameter": parameter,
    "tags": lambda page, _: page.tags.get(page.passage, ()),
    "Math.abs": lambda _, a: js.number(abs(js.numeric(a[0]))) if a else js.NAN,
    "Math.min": lambda _, a: js.number(min(map(js.numeric, a), default=math.inf)),
    "Math.max": lambda _, a: js.number(max(map(js.numeric, a), default=-math.inf)),
    "Number": lambda _, a: js.numeric(a[0]) if a else 0,
    "String": lambda _, a: js.string(a[0]) if a else "",
    "Math.floor": partial(_round, math.floor),
    "Math.ceil": partial(_round, math.ceil),
    "Math.round": partial(_round, lambda x: math.floor(x + 0.5)),
    "Math.trunc": partial(_round, math.trunc),
    "parseInt": partial(_round, math.trunc),
}
# The engine state that a function needs.
TRACKED = {"visitedTag": "visited", "visitedTags": "visited"}
TRACKED |= {name: name for name in ("visited", "turns", "previous")}
