"""`Math.random()` in expressions: drawn only where it is rounded or compared, by a lot whose odds are exact."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from drrn.stories.twine import values as js
from drrn.stories.twine.lots import shares
from drrn.stories.twine.page import Expression, Page
from drrn.stories.twine.script import ExpressionError
from drrn.stories.twine.twine1.functions import chain, constant, signed
from drrn.stories.twine.values import Value

MOST_OPERATORS = 10  # on one of them: each is a closure in another
MOST_UNEQUAL = 1_000  # outcomes of a lot whose odds differ
INEXACT = (
    "Math.random() is supported only where it is rounded to a whole number or compared by size, "
    "since its odds are exact only there"
)


@dataclass(frozen=True)
class Uniform:
    """`scale * Math.random() + offset`, not drawn yet."""

    scale: Expression
    offset: Expression
    operators: int = 0

    def __post_init__(self) -> None:
        if self.operators > MOST_OPERATORS:
            raise ExpressionError(f"more than {MOST_OPERATORS} operators on one Math.random()")

    def __call__(self, page: Page) -> Value:
        raise AssertionError("an expression that holds this is refused when it is parsed")


def math_random() -> Uniform:
    return Uniform(constant(1), constant(0))


def negated(found: Uniform) -> Uniform:
    return Uniform(signed("-", found.scale), signed("-", found.offset), found.operators + 1)


def operated(left: Expression, sign: str, right: Expression) -> Expression:
    """An operator with an undrawn number on one side: another such number, or a lot."""
    if isinstance(left, Uniform) and isinstance(right, Uniform):
        raise ExpressionError(f"two of them in one sum or comparison: {INEXACT}")
    if isinstance(left, Uniform):
        return _on_the_left(left, sign, right)
    if isinstance(right, Uniform):
        if sign == "-":
            return _on_the_left(negated(right), "+", left)
        if sign in ("+", "*", *MIRRORED):
            return _on_the_left(right, MIRRORED.get(sign, sign), left)
    raise ExpressionError(INEXACT)


MIRRORED = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
ARITHMETIC: dict[str, js.Binary] = {
    "+": lambda a, b: js.number(js.numeric(a) + js.numeric(b)), "-": js.subtract, "*": js.multiply, "/": js.divide,
}  # fmt: skip


def _on_the_left(left: Uniform, sign: str, right: Expression) -> Expression:
    if sign in ("+", "-"):
        return Uniform(
            left.scale, chain(left.offset, [(ARITHMETIC[sign], right)]), left.operators + 1
        )
    if sign in ("*", "/"):
        factor = [(ARITHMETIC[sign], right)]
        return Uniform(
            chain(left.scale, list(factor)), chain(left.offset, factor), left.operators + 1
        )
    if sign in MIRRORED:
        return _compared(left, sign, right)
    raise ExpressionError(INEXACT)


def _compared(left: Uniform, sign: str, right: Expression) -> Expression:
    """A lot of two outcomes; that both sides are equal has no probability."""

    def holds(page: Page) -> Value:
        low, high = _ends(left, page)
        bound = js.numeric(right(page))
        if low == high:
            return js.BINARY[1][sign](low, bound)
        if not all(map(math.isfinite, (low, high))) or bound != bound:
            return False
        below = min(max((bound - low) / (high - low), 0.0), 1.0)
        is_below = below == 1.0 if below in (0.0, 1.0) else page.draw_by((below, 1.0 - below)) == 0
        return is_below is (sign in ("<", "<="))

    return holds


def rounded(name: str, found: Uniform) -> Expression:
    """A whole number by lot: each unit of the stretch that the number is drawn from is an outcome."""
    value_of = ROUNDED[name]
    shift = 0.5 if name == "Math.round" else 0

    def draw(page: Page) -> Value:
        low, high = (end + shift for end in _ends(found, page))
        if not math.isfinite(high - low):
            return js.NAN
        if low == high:
            return value_of(math.floor(low), low.is_integer() if isinstance(low, float) else True)
        return value_of(_unit(page, low, high), False)

    return draw


# Of a number that lies between `unit` and the next, or is the unit itself.
ROUNDED: dict[str, Callable[[int, bool], int]] = {
    "Math.floor": lambda unit, whole: unit,
    "Math.round": lambda unit, whole: unit,
    "Math.ceil": lambda unit, whole: unit + (not whole),
    "Math.trunc": lambda unit, whole: unit + (not whole and unit < 0),
    "parseInt": lambda unit, whole: unit + (not whole and unit < 0),
}


def _unit(page: Page, low: float, high: float) -> int:
    """Which unit the number lies in."""
    if isinstance(low, int) and isinstance(high, int):
        return low + page.draw(high - low)
    if high - low > MOST_UNEQUAL:
        raise js.GrowthError(f"a lot of more than {MOST_UNEQUAL:,} outcomes whose odds differ")
    first, probabilities = shares(low, high)
    return first + page.draw_by(probabilities)


def _ends(found: Uniform, page: Page) -> tuple[int | float, int | float]:
    """Between what the number lies, the lower end first."""
    scale = js.numeric(found.scale(page))
    offset = js.numeric(found.offset(page))
    ends = js.number(offset), js.number(offset + scale)
    return (ends[1], ends[0]) if scale < 0 else ends
