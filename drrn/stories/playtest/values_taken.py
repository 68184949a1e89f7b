"""The values that each variable of a story was seen to take."""

from __future__ import annotations

from dataclasses import dataclass

from drrn.stories.playtest.sightings import MOST_VALUES, Sightings
from drrn.stories.twine.values import Value

MOST_LISTED = 8
LONGEST = 30  # characters of one value


@dataclass(frozen=True)
class ValuesTaken:
    """A variable, how many values it took, and which: a range of numbers, or the first few of a list."""

    variable: str
    count: int  # the most that is counted is MOST_VALUES
    values: str


def values_taken(sightings: Sightings) -> list[ValuesTaken]:
    """Every variable that was seen, by name."""
    return [
        ValuesTaken(name, len(values), _said(list(values.values())))
        for name, values in sorted(sightings.variables.items())
    ]


def _said(values: list[Value]) -> str:
    numbers = [
        value for value in values if isinstance(value, (int, float)) and not isinstance(value, bool)
    ]
    if len(values) > MOST_LISTED and len(numbers) == len(values):
        return f"{min(numbers):g} to {max(numbers):g}"
    listed = sorted(values, key=_order)
    said = [_value(value) for value in listed[:MOST_LISTED]]
    more = f" and {len(values) - MOST_LISTED:,} more" if len(values) > MOST_LISTED else ""
    return ", ".join(said) + (more if len(values) < MOST_VALUES else " and many more")


def _order(value: Value) -> tuple[bool, float, str]:
    number = isinstance(value, (int, float))
    return not number, float(value) if isinstance(value, (int, float)) else 0.0, repr(value)


def _value(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "(an object)"
    said = (
        f'"{value}"'
        if isinstance(value, str)
        else f"{value:g}"
        if isinstance(value, (int, float))
        else str(value)
    )
    said = " ".join(said.split())
    return said if len(said) <= LONGEST else said[: LONGEST - 1] + "…"
