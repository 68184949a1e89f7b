"""Functions and methods that expressions may call, and the exact odds of `Math.random()`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from drrn.stories.twine import values as js
from drrn.stories.twine.page import Expression, Page, unit_shares
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
    "Math.floor": lambda _, a: _round(math.floor, a),
    "Math.ceil": lambda _, a: _round(math.ceil, a),
    "Math.round": lambda _, a: _round(lambda x: math.floor(x + 0.5), a),
    "Math.trunc": lambda _, a: _round(math.trunc, a),
    "Math.abs": lambda _, a: js.number(abs(js.numeric(a[0]))) if a else js.NAN,
    "Math.min": lambda _, a: js.number(min(map(js.numeric, a), default=math.inf)),
    "Math.max": lambda _, a: js.number(max(map(js.numeric, a), default=-math.inf)),
    "parseInt": lambda _, a: _round(math.trunc, a),
    "Number": lambda _, a: js.numeric(a[0]) if a else 0,
    "String": lambda _, a: js.string(a[0]) if a else "",
}

# The engine state that a function needs.
TRACKED = {
    "visited": "visited",
    "visitedTag": "visited",
    "visitedTags": "visited",
    "turns": "turns",
    "previous": "previous",
}

METHODS: dict[str, Method] = {
    "indexOf": lambda owner, a: _index_of(owner, a[0] if a else None),
    "includes": lambda owner, a: _index_of(owner, a[0] if a else None) >= 0,
    "toUpperCase": lambda owner, _: js.string(owner).upper(),
    "toLowerCase": lambda owner, _: js.string(owner).lower(),
    "trim": lambda owner, _: js.string(owner).strip(),
    "toString": lambda owner, _: js.string(owner),
    "charAt": lambda owner, a: js.string(owner)[max(_integer(a[0] if a else 0), 0) :][:1],
    "slice": lambda owner, a: _slice(owner, a),
    "substring": lambda owner, a: _slice(js.string(owner), [max(_integer(i), 0) for i in a[:2]]),
    "concat": lambda owner, a: _concat(owner, a),
    "join": lambda owner, a: _join(_items(owner), js.string(a[0]) if a else ","),
    "push": lambda owner, _: owner,  # the parser handles it, since it writes the variable
}


def _integer(value: Value) -> int:
    number = js.numeric(value)
    return int(number) if math.isfinite(number) and abs(number) < 2**53 else 0


def _round(how: Callable[[float], int], arguments: Sequence[Value]) -> Value:
    number = js.numeric(arguments[0]) if arguments else js.NAN
    return js.number(how(number)) if math.isfinite(number) else number


def _items(value: Value) -> tuple[Value, ...]:
    return value if isinstance(value, tuple) else (value,)


def _concat(owner: Value, others: Sequence[Value]) -> Value:
    if isinstance(owner, tuple):
        return js.check_size(owner + tuple(item for other in others for item in _items(other)))
    return js.check_size("".join(map(js.string, (owner, *others))))


def _join(items: tuple[Value, ...], between: str) -> Value:
    if len(items) * len(between) > js.MOST_CHARACTERS:
        raise js.GrowthError(f"a text of more than {js.MOST_CHARACTERS:,} characters")
    return js.check_size(between.join("" if item is None else js.string(item) for item in items))


def _index_of(owner: Value, item: Value) -> int:
    if isinstance(owner, tuple):
        return next((at for at, other in enumerate(owner) if js.same(other, item)), -1)
    return js.string(owner).find(js.string(item))


def _slice(owner: Value, arguments: Sequence[Value]) -> Value:
    indices = [_integer(argument) for argument in arguments[:2]]
    part = slice(*(*indices, None, None)[:2])
    return owner[part] if isinstance(owner, (str, tuple)) else js.string(owner)[part]


# --- Math.random(): drawn only where it is rounded or compared, with exact odds

MOST_OPERATORS = 10  # on one of them: each nests a closure
MOST_UNEQUAL = 1_000  # outcomes with different odds
INEXACT = (
    "Math.random() is supported only if it is rounded to a whole number or compared by size, "
    "since only then its odds are exact"
)
MIRRORED = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
ARITHMETIC: dict[str, js.Binary] = {
    "+": lambda a, b: js.number(js.numeric(a) + js.numeric(b)),
    "-": js.subtract,
    "*": js.multiply,
    "/": js.divide,
}
# The rounded value of a number between `unit` and `unit + 1`; `whole` if it equals the unit.
ROUNDED: dict[str, Callable[[int, bool], int]] = {
    "Math.floor": lambda unit, whole: unit,
    "Math.round": lambda unit, whole: unit,
    "Math.ceil": lambda unit, whole: unit + (not whole),
    "Math.trunc": lambda unit, whole: unit + (not whole and unit < 0),
    "parseInt": lambda unit, whole: unit + (not whole and unit < 0),
}


@dataclass(frozen=True)
class Uniform:
    """`scale * Math.random() + offset`, before it is drawn."""

    scale: Expression = lambda page: 1
    offset: Expression = lambda page: 0
    operators: int = 0

    def __post_init__(self) -> None:
        if self.operators > MOST_OPERATORS:
            raise ExpressionError(f"more than {MOST_OPERATORS} operators on one Math.random()")

    def __call__(self, page: Page) -> Value:
        raise AssertionError("the parser refuses expressions that contain it")

    def negative(self) -> Uniform:
        return self._scaled(js.multiply, lambda page: -1)

    def _scaled(self, operator: js.Binary, factor: Expression) -> Uniform:
        scale = apply(operator, self.scale, factor)
        return Uniform(scale, apply(operator, self.offset, factor), self.operators + 1)

    def operate(self, sign: str, right: Expression) -> Expression:
        """Return another uniform number, or a random draw if the operator compares."""
        if sign in ("+", "-"):
            offset = apply(ARITHMETIC[sign], self.offset, right)
            return Uniform(self.scale, offset, self.operators + 1)
        if sign in ("*", "/"):
            return self._scaled(ARITHMETIC[sign], right)
        if sign in MIRRORED:
            return lambda page: self._compare(page, sign, js.numeric(right(page)))
        raise ExpressionError(INEXACT)

    def _compare(self, page: Page, sign: str, bound: float) -> Value:
        """Draw one of two outcomes; equality has probability 0."""
        low, high = self._ends(page)
        if low == high:
            return js.BINARY[1][sign](low, bound)
        if not all(map(math.isfinite, (low, high))) or bound != bound:
            return False
        below = min(max((bound - low) / (high - low), 0.0), 1.0)
        is_below = below == 1.0 if below in (0.0, 1.0) else page.draw((below, 1.0 - below)) == 0
        return is_below is (sign in ("<", "<="))

    def round(self, name: str) -> Expression:
        """Return a random whole number: each unit of the number's interval is an outcome."""
        value_of = ROUNDED[name]
        shift = 0.5 if name == "Math.round" else 0

        def draw(page: Page) -> Value:
            low, high = (end + shift for end in self._ends(page))
            if not math.isfinite(high - low):
                return js.NAN
            if low == high:
                return value_of(math.floor(low), float(low).is_integer())
            if isinstance(low, int) and isinstance(high, int):
                return value_of(low + page.draw(high - low), False)
            if high - low > MOST_UNEQUAL:
                raise js.GrowthError(
                    f"a random draw of more than {MOST_UNEQUAL:,} outcomes with different odds"
                )
            first, probabilities = unit_shares(low, high)
            return value_of(first + page.draw(probabilities), False)

        return draw

    def _ends(self, page: Page) -> tuple[int | float, int | float]:
        scale = js.numeric(self.scale(page))
        offset = js.numeric(self.offset(page))
        ends = (js.number(offset), js.number(offset + scale))
        return (ends[1], ends[0]) if scale < 0 else ends


def apply(operator: js.Binary, left: Expression, right: Expression) -> Expression:
    return lambda page: operator(left(page), right(page))


def operate(left: Expression, sign: str, right: Expression) -> Expression:
    """Apply an operator with a uniform number on one side."""
    if isinstance(left, Uniform) and isinstance(right, Uniform):
        raise ExpressionError(f"two of them in one sum or comparison: {INEXACT}")
    if isinstance(left, Uniform):
        return left.operate(sign, right)
    if isinstance(right, Uniform):
        if sign == "-":
            return right.negative().operate("+", left)
        if sign in ("+", "*", *MIRRORED):
            return right.operate(MIRRORED.get(sign, sign), left)
    raise ExpressionError(INEXACT)
