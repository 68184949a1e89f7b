"""The functions and methods a story's expressions may call."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from drrn.games import values as js
from drrn.games.page import Page
from drrn.games.values import Value

Function = Callable[[Page, Sequence[Value]], Value]
Method = Callable[[Value, Sequence[Value]], Value]


def random(page: Page, arguments: Sequence[Value]) -> Value:
    """A whole number from a to b, both included; with one argument, from 0 to it."""
    ends = [_integer(argument) for argument in arguments[:2]]
    low, high = (min(ends), max(ends)) if len(ends) == 2 and ends[1] != 0 else (0, max(ends, default=0))
    return low + page.draw(high - low + 1)


def either(page: Page, arguments: Sequence[Value]) -> Value:
    """One of the arguments, or of the one list, by lot."""
    items = arguments[0] if len(arguments) == 1 and isinstance(arguments[0], tuple) else arguments
    return items[page.draw(len(items))] if items else 0


def visited(page: Page, arguments: Sequence[Value]) -> Value:
    """How often the player came to a passage, the present visit included; of several, the least."""
    names = [js.string(argument) for argument in arguments] or [page.passage]
    return min(_count(page, f"visited {name}") for name in names)


def visited_tag(page: Page, arguments: Sequence[Value]) -> Value:
    """How often the player came to passages that carry all the tags."""
    wanted = set(" ".join(js.string(argument) for argument in arguments).split())
    return sum(_count(page, f"visited {name}") for name, tags in page.tags.items() if wanted <= set(tags))


def parameter(page: Page, arguments: Sequence[Value]) -> Value:
    """What the short form of <<display>> passed, by number from 0."""
    index = _integer(arguments[0]) if arguments else 0
    return page.parameters[index] if 0 <= index < len(page.parameters) else 0


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
    "Math.floor": lambda _, a: _rounded(math.floor, a),
    "Math.ceil": lambda _, a: _rounded(math.ceil, a),
    "Math.round": lambda _, a: _rounded(lambda x: math.floor(x + 0.5), a),
    "Math.abs": lambda _, a: js.number(abs(js.numeric(a[0]))) if a else js.NAN,
    "Math.min": lambda _, a: js.number(min(map(js.numeric, a), default=math.inf)),
    "Math.max": lambda _, a: js.number(max(map(js.numeric, a), default=-math.inf)),
    "parseInt": lambda _, a: _rounded(math.trunc, a),
    "Number": lambda _, a: js.numeric(a[0]) if a else 0,
    "String": lambda _, a: js.string(a[0]) if a else "",
}

# What the engine must keep in cells, because a function asks for it.
TRACKED = {
    "visited": ("visited",),
    "visitedTag": ("visited",),
    "visitedTags": ("visited",),
    "turns": ("turns",),
    "previous": ("previous",),
}

METHODS: dict[str, Method] = {
    "indexOf": lambda owner, a: _index_of(owner, a[0] if a else None),
    "includes": lambda owner, a: _index_of(owner, a[0] if a else None) >= 0,
    "toUpperCase": lambda owner, _: js.string(owner).upper(),
    "toLowerCase": lambda owner, _: js.string(owner).lower(),
    "trim": lambda owner, _: js.string(owner).strip(),
    "toString": lambda owner, _: js.string(owner),
    "charAt": lambda owner, a: _slice(js.string(owner), [a[0] if a else 0, _integer(a[0] if a else 0) + 1]),
    "slice": lambda owner, a: _slice(owner, a),
    "substring": lambda owner, a: _slice(js.string(owner), a),
    "concat": lambda owner, a: js.bounded(_items(owner) + tuple(i for item in a for i in _items(item))),
    "join": lambda owner, a: js.bounded((js.string(a[0]) if a else ",").join(js.string(i) for i in _items(owner))),
    "push": lambda owner, _: owner,  # parsed apart: it writes the variable
}


def _count(page: Page, cell: str) -> int:
    return _integer(page.read(cell))


def _integer(value: Value) -> int:
    number = js.numeric(value)
    return int(number) if math.isfinite(number) and abs(number) < 2**53 else 0


def _rounded(how: Callable[[float], int], arguments: Sequence[Value]) -> Value:
    number = js.numeric(arguments[0]) if arguments else js.NAN
    return js.number(how(number)) if math.isfinite(number) else number


def _items(value: Value) -> tuple[Value, ...]:
    return value if isinstance(value, tuple) else (value,)


def _index_of(owner: Value, item: Value) -> int:
    if isinstance(owner, tuple):
        return next((at for at, other in enumerate(owner) if js.same(other, item)), -1)
    return js.string(owner).find(js.string(item))


def _slice(owner: Value, arguments: Sequence[Value]) -> Value:
    start, end = (*(_integer(argument) for argument in arguments[:2]), None, None)[:2]
    return owner[start:end] if isinstance(owner, (str, tuple)) else js.string(owner)[start:end]
