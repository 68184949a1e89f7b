"""A grid of settings: the values that each may take, as people write them, and the combinations in a seeded order."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from drrn.declaration import Setting
from drrn.errors import InputError, did_you_mean
from drrn.settings import all_settings

OWN_OPTION = ("seed", "replicas")  # which a sweep has options of its own for
MOST_VALUES = 10_000  # of one setting
SHUFFLED = 1_000_000  # combinations that are put in order as a whole; of more of them, one after another is drawn
RANGE = re.compile(r"(?P<log>log:)?(?P<low>[^:,]+?)\.\.(?P<high>[^:,]+?)(?::(?P<by>[^:,]*))?")
HOW = "write NAME=VALUE,VALUE… or NAME=LOW..HIGH:STEP or NAME=log:LOW..HIGH:COUNT"

Changes = tuple[
    tuple[str, Any], ...
]  # settings that differ from what they are else, with their values


@dataclass(frozen=True)
class Grid:
    """Every combination of some settings' values."""

    values: dict[str, tuple[Any, ...]]

    @property
    def size(self) -> int:
        return math.prod(len(values) for values in self.values.values())

    def at(self, index: int) -> Changes:
        """The combination with this number; the last setting changes first."""
        found = []
        for name, values in reversed(self.values.items()):
            index, place = divmod(index, len(values))
            found.append((name, values[place]))
        return tuple(reversed(found))

    def in_order(self) -> Iterator[Changes]:
        return (self.at(index) for index in range(self.size))

    def at_random(self, seed: int) -> Iterator[Changes]:
        """Each combination once, in an order that the seed decides: the first of them are a fair choice."""
        chance = random.Random(seed)
        if self.size <= SHUFFLED:
            yield from map(self.at, chance.sample(range(self.size), self.size))
            return
        drawn: set[int] = set()
        while len(drawn) < self.size:
            index = chance.randrange(self.size)
            if index not in drawn:
                drawn.add(index)
                yield self.at(index)


def read_grid(texts: Sequence[str]) -> Grid:
    """The grid that NAME=VALUES say, each of another setting."""
    values: dict[str, tuple[Any, ...]] = {}
    for text in texts:
        name, equals, said = text.partition("=")
        if name in values:
            raise InputError(f'--vary "{text}": {name} is named twice: put all its values into one')
        try:
            values[name] = _values(_setting(name), said) if equals else ()
            if not values[name]:
                raise InputError(HOW)
        except InputError as error:
            raise InputError(f'--vary "{text}": {error}') from error
    return Grid(values)


def _setting(name: str) -> Setting:
    known = all_settings()
    if name not in known:
        raise InputError(
            f'no setting is named "{name}".{did_you_mean(name, known)} See: drrn train --help'
        )
    if name in OWN_OPTION:
        raise InputError(
            f"{name} has options of its own: --seeds, --first-seed, --report-seeds, --first-report-seed"
        )
    if known[name].same_results:
        raise InputError(f"results are the same whatever {name} is")
    return known[name]


def _values(setting: Setting, text: str) -> tuple[Any, ...]:
    """Its values, each once and within its bounds."""
    found: list[Any] = []
    for part in text.split(","):
        ranged = RANGE.fullmatch(part) if setting.kind in (int, float) else None
        found += _range(setting, ranged) if ranged else [setting.read(part)]
    for value in found:
        setting.check(value)
    return tuple(dict.fromkeys(found))


def _range(setting: Setting, parts: re.Match[str]) -> list[Any]:
    low, high = (setting.read(parts[side]) for side in ("low", "high"))
    if low is None or high is None or not (math.isfinite(low) and math.isfinite(high)):
        raise InputError(f"a range goes from one number to another: {HOW}")
    if low > high:
        raise InputError(f"the range from {low} to {high} is empty: the smaller number comes first")
    if parts["log"]:
        return _even_factors(setting, low, high, parts["by"])
    if parts["by"] is None and setting.kind is float:
        raise InputError(f"how far apart are the values between {low} and {high}? {HOW}")
    step = setting.read(parts["by"]) if parts["by"] is not None else 1
    if not step or not 0 < step < math.inf:
        raise InputError(f"the step of a range must be above 0, not {parts['by']}")
    count = (
        int((high - low) / step + 1e-9) + 1
        if (high - low) / step < MOST_VALUES
        else MOST_VALUES + 1
    )
    _refuse_many(count)
    return [setting.kind(round(low + number * step, 12)) for number in range(count)]


def _even_factors(setting: Setting, low: float, high: float, by: str | None) -> list[Any]:
    """So many values from the lowest to the highest, each the same factor above the one before it."""
    if not by or not by.isdecimal() or int(by) < 2 or low <= 0:
        raise InputError("log:LOW..HIGH:COUNT has a LOW above 0 and a COUNT from 2 up")
    _refuse_many(int(by))
    factor = (high / low) ** (1 / (int(by) - 1))
    rounded = [
        float(f"{low * factor**number:.6g}") for number in range(int(by))
    ]  # the same on every machine
    return [round(value) if setting.kind is int else value for value in rounded]


def _refuse_many(count: int) -> None:
    if count > MOST_VALUES:
        raise InputError(f"a setting has {MOST_VALUES:,} values at most: make the step larger")
