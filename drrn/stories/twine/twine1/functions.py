"""Functions and methods that expressions may call, and the exact odds of `Math.random()`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from drrn.stories.twine import values as js
from drrn.stories.twine.page import Expression, Page
from drrn.stories.twine.script import ExpressionError
from drrn.stories.twine.values import Value

Function = Callable[[Page, Sequence[Value]], Value]
Method = Callable[[Value, Sequence[Value]], Value]


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


ROUNDING: dict[str, Callable[[float], int]] = {
    "Math.floor": math.floor,
    "Math.ceil": math.ceil,
    "Math.round": lambda x: math.floor(x + 0.5),
    "Math.trunc": math.trunc,
    "parseInt": math.trunc,
}
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
    **{name: partial(_round, how) for name, how in ROUNDING.items()},
}
# The engine state that a function needs.
TRACKED = {"visitedTag": "visited", "visitedTags": "visited"}
TRACKED |= {name: name for name in ("visited", "turns", "previous")}


def _index_of(owner: Value, arguments: Sequence[Value]) -> int:
    item = arguments[0] if arguments else None
    if isinstance(owner, tuple):
        return next((at for at, other in enumerate(owner) if js.same(other, item)), -1)
    return js.string(owner).find(js.string(item))


def _join(owner: Value, arguments: Sequence[Value]) -> Value:
    items = owner if isinstance(owner, tuple) else (owner,)
    between = js.string(arguments[0]) if arguments else ","
    if len(items) * len(between) > js.MOST_CHARACTERS:
        raise js.GrowthError(f"a text of more than {js.MOST_CHARACTERS:,} characters")
    return js.check_size(between.join("" if item is None else js.string(item) for item in items))


METHODS: dict[str, Method] = {
    "indexOf": _index_of,
    "includes": lambda owner, arguments: _index_of(owner, arguments) >= 0,
    "toUpperCase": lambda owner, _: js.string(owner).upper(),
    "toLowerCase": lambda owner, _: js.string(owner).lower(),
    "join": _join,
    "push": lambda owner, _: owner,  # the parser handles it, since it writes the variable
}


# --- Math.random(): drawn only where it is rounded or compared, with exact odds

MOST_UNEQUAL = 1_000  # outcomes with different odds
INEXACT = (
    "Math.random() is supported only if it is rounded to a whole number or compared by size, "
    "since only then its odds are exact"
)
MIRRORED = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}


@dataclass(frozen=True)
class Uniform:
    """An expression that is linear in one `Math.random()`, before that is drawn."""

    expression: Expression = lambda page: page.uniform

    def __call__(self, page: Page) -> Value:
        return self.expression(page)

    def ends(self, page: Page) -> tuple[int | float, int | float]:
        """Return the least and the greatest value."""
        page.uniform = 0
        first = js.numeric(self(page))
        page.uniform = 1
        last = js.numeric(self(page))
        return (first, last) if first < last else (last, first)

    def compare(self, page: Page, sign: str, bound: float) -> Value:
        """Draw one of two outcomes; equality has probability 0."""
        low, high = self.ends(page)
        if low == high:
            return js.BINARY[1][sign](low, bound)
        if not all(map(math.isfinite, (low, high))) or bound != bound:
            return False
        below = min(max((bound - low) / (high - low), 0.0), 1.0)
        is_below = below == 1.0 if below in (0.0, 1.0) else page.draw((below, 1.0 - below)) == 0
        return is_below is (sign in ("<", "<="))

    def round(self, name: str) -> Expression:
        """Return a random whole number: each unit of the number's interval is an outcome."""
        is_nearest = name == "Math.round"
        shift = 0.5 if is_nearest else 0
        how = math.floor if is_nearest else ROUNDING[name]

        def draw(page: Page) -> Value:
            low, high = (end + shift for end in self.ends(page))
            if not math.isfinite(high - low):
                return js.NAN
            if low == high:
                return how(low)
            if isinstance(low, int) and isinstance(high, int):
                return how(low + page.draw(high - low) + 0.5)
            if high - low > MOST_UNEQUAL:
                raise js.GrowthError(
                    f"a random draw of more than {MOST_UNEQUAL:,} outcomes with different odds"
                )
            first = math.floor(low)
            parts = [min(k + 1, high) - max(k, low) for k in range(first, math.ceil(high))]
            return how(first + page.draw(tuple(part / (high - low) for part in parts)) + 0.5)

        return draw


def operate(left: Expression, sign: str, operator: js.Binary, right: Expression) -> Expression:
    """Apply an operator with a uniform number on one side: a random draw if it compares."""
    if isinstance(left, Uniform) and isinstance(right, Uniform):
        raise ExpressionError(f"two of them in one sum or comparison: {INEXACT}")
    if sign in MIRRORED and isinstance(left, Uniform):
        return lambda page: left.compare(page, sign, js.numeric(right(page)))
    if sign in MIRRORED and isinstance(right, Uniform):
        return lambda page: right.compare(page, MIRRORED[sign], js.numeric(left(page)))
    if sign in ("+", "-", "*") or (sign == "/" and isinstance(left, Uniform)):
        return Uniform(apply(operator, left, right))
    raise ExpressionError(INEXACT)


def apply(operator: js.Binary, left: Expression, right: Expression) -> Expression:
    return lambda page: operator(left(page), right(page))
