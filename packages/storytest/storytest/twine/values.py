"""Values with JavaScript's semantics: numbers, strings, booleans, and lists of an engine.

All are immutable, so that a state can be a dictionary key.
"""

import math
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Union

from textgames.errors import InputError

Value = Union[int, float, str, bool, None, "tuple[Value, ...]"]

NAN = math.nan
NUMBER = re.compile(r"[+-]?(?:Infinity|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)", re.A)


class GrowthError(InputError):
    """A string exceeds the limit, or there are too many random draws."""


def number(x: float) -> int | float:
    """The number in its one form: whole numbers are int, so that 2.0 prints as 2."""
    if isinstance(x, int):
        return x if -(2**53) < x < 2**53 else float(x)
    if x != x:
        return NAN
    return int(x) if x.is_integer() and abs(x) < 2**53 else x


def truth(value: Value) -> bool:
    """False, 0, NaN, the empty string and null are false. Every list is true."""
    if isinstance(value, tuple):
        return True
    return bool(value) and value == value


def string(value: Value) -> str:
    """The value as a page prints it."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "null"
    if isinstance(value, tuple):
        return ",".join("" if item is None else string(item) for item in value)
    return _digits(value) if isinstance(value, float) else str(value)


def numeric(value: Value) -> int | float:
    """The value as a number, or NaN."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, (int, float)):
        return value
    if value is None:
        return 0
    text = string(value).strip()
    if not text:
        return 0
    return number(float(text)) if NUMBER.fullmatch(text) else NAN


def equal(left: Value, right: Value) -> bool:
    """`==`: compares values of different types as numbers. Null equals only null."""
    if left is None or right is None:
        return left is right
    if isinstance(left, str) and isinstance(right, str):
        return left == right
    if isinstance(left, tuple) and isinstance(right, tuple):
        return left == right
    if isinstance(left, tuple):
        return equal(string(left), right)
    if isinstance(right, tuple):
        return equal(left, string(right))
    return numeric(left) == numeric(right)


def same(left: Value, right: Value) -> bool:
    """`===`: equal and of one type."""
    return _type(left) == _type(right) and equal(left, right)


def less(left: Value, right: Value) -> bool:
    """`<`: compares two strings by their characters, anything else as numbers."""
    if isinstance(left, str) and isinstance(right, str):
        return left < right
    return numeric(left) < numeric(right)


def at_most(left: Value, right: Value) -> bool:
    if isinstance(left, str) and isinstance(right, str):
        return left <= right
    return numeric(left) <= numeric(right)


def add(left: Value, right: Value) -> Value:
    """`+`: concatenates if one side is a string or a list, else adds."""
    if isinstance(left, (str, tuple)) or isinstance(right, (str, tuple)):
        return check_size(string(left) + string(right))
    return number(numeric(left) + numeric(right))


def divide(left: Value, right: Value) -> Value:
    x = numeric(left)
    y = numeric(right)
    if y == 0:
        return NAN if x == 0 or x != x else math.copysign(math.inf, x)
    return number(x / y)


def remainder(left: Value, right: Value) -> Value:
    x = numeric(left)
    y = numeric(right)
    if y == 0 or not math.isfinite(x) or y != y:
        return NAN
    return number(math.fmod(x, y))


def check_size(text: str, most: int = 100_000) -> str:
    """The text, or raise `GrowthError` if it is too long."""
    if len(text) > most:
        raise GrowthError(f"a text of more than {most:,} characters")
    return text


def _digits(value: float) -> str:
    """Format like JavaScript: powers of ten only from 1e21 up and below 1e-6."""
    if value != value:
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if 1e-6 <= abs(value) < 1e21:
        return format(Decimal(repr(value)), "f").removesuffix(".0")
    return re.sub(r"e([+-])0", r"e\1", repr(value))


def _type(value: Value) -> type:
    return float if type(value) is int else type(value)


Binary = Callable[[Value, Value], Value]
SUMS: dict[str, Binary] = {"+": add, "-": lambda a, b: number(numeric(a) - numeric(b))}
PRODUCTS: dict[str, Binary] = {
    "*": lambda a, b: number(numeric(a) * numeric(b)),
    "/": divide,
    "%": remainder,
}
# From the loosest binding to the tightest; || and && are separate, since they may stop early.
BINARY: list[dict[str, Binary]] = [
    {
        "==": equal,
        "===": same,
        "!=": lambda a, b: not equal(a, b),
        "!==": lambda a, b: not same(a, b),
    },
    {"<": less, ">": lambda a, b: less(b, a), "<=": at_most, ">=": lambda a, b: at_most(b, a)},
    SUMS,
    PRODUCTS,
]
ASSIGNMENTS = {"=", *(f"{sign}=" for sign in (*SUMS, *PRODUCTS))}
