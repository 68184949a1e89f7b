"""Expectations of a story, from the [[expect]] tables of its TOML: what `drrn test` checks like tests."""

from __future__ import annotations

import operator
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from drrn.errors import InputError, did_you_mean

KEYS = ("ending", "odds", "reachable", "never", "always_ends", "at_most_steps", "best")
COMPARED = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
    "==": operator.eq,
}
BOUND = re.compile(r"(>=|<=|==|>|<)\s*(-?\d+(?:\.\d+)?)\s*(%?)")


@dataclass(frozen=True)
class Bound:
    """A comparison with a number: `>= 20`, `< 2 %`."""

    sign: str
    number: float  # 0.02 for 2 %
    said: str

    def holds(self, value: float) -> bool:
        """Whether a value keeps it; by less than a billionth it does not matter."""
        near = abs(value - self.number) <= 1e-9 * max(1.0, abs(self.number))
        return "=" in self.sign if near else bool(COMPARED[self.sign](value, self.number))

    @property
    def wants_more(self) -> bool:
        """Whether finding more can only help: what was found is then proof."""
        return self.sign in (">=", ">")


@dataclass(frozen=True)
class Expectation:
    """One [[expect]]: what it says, and where it stands."""

    line: int  # of its [[expect]] in the TOML
    ending: str | None = None  # a passage, or words of the last page
    odds: Bound | None = None  # of that ending, in random play
    reachable: str | None = None  # a passage
    never: str | None = None  # a condition in the story's dialect
    always_ends: bool = False
    at_most_steps: int | None = None
    best: Bound | None = None  # the final reward of the best play

    @property
    def said(self) -> str:
        """The expectation in words."""
        if self.ending is not None:
            return f'ending "{self.ending}" ' + (
                f"has odds {self.odds.said}" if self.odds else "can be reached"
            )
        if self.reachable is not None:
            return f'passage "{self.reachable}" can be reached'
        if self.never is not None:
            return f"never {self.never}"
        if self.at_most_steps is not None:
            return f"at most {self.at_most_steps:,} steps"
        return f"best play pays {self.best.said}" if self.best else "the story always ends"


def read_expectations(tables: list[Any], text: str, path: object) -> tuple[Expectation, ...]:
    """The [[expect]] tables of a TOML whose text is given; a mistake is one sentence that names the line."""
    lines = [
        number
        for number, line in enumerate(text.splitlines(), 1)
        if re.match(r"\s*\[\[\s*expect\s*\]\]", line)
    ]
    lines += [1] * (len(tables) - len(lines))  # written in a way that has no line of its own
    return tuple(
        _expectation(table, line, path) for table, line in zip(tables, lines, strict=False)
    )


def _expectation(table: Any, line: int, path: object) -> Expectation:
    place = f"{path}, line {line}: [[expect]]"
    if not isinstance(table, Mapping):
        raise InputError(f'{place}: write it as a table, such as reachable = "Passage"')
    for key in table:
        if key not in KEYS:
            raise InputError(
                f'{place}: unknown key "{key}".{did_you_mean(key, KEYS)} Known: {", ".join(KEYS)}'
            )
    if len(set(table) - {"odds"}) != 1 or ("odds" in table and "ending" not in table):
        known = ", ".join(key for key in KEYS if key != "odds")
        raise InputError(f"{place}: say one thing in each: one of {known}; odds goes with ending")
    found = dict(table)
    for key in {"ending", "reachable", "never"} & found.keys():
        if not isinstance(found[key], str) or not found[key].strip():
            raise InputError(f'{place}: {key} must be text in quotes, such as {key} = "…"')
    if found.get("always_ends", True) is not True:
        raise InputError(
            f"{place}: always_ends can only be true: leave it out where it is not expected"
        )
    steps = found.get("at_most_steps", 1)
    if not isinstance(steps, int) or isinstance(steps, bool) or not 1 <= steps <= 10**6:
        raise InputError(f"{place}: at_most_steps must be a whole number from 1 to a million")
    for key in {"odds", "best"} & found.keys():
        found[key] = _bound(found[key], f"{place}: {key}", share=key == "odds")
    return Expectation(line, **found)


def _bound(said: Any, place: str, *, share: bool) -> Bound:
    match = BOUND.fullmatch(str(said).strip())
    if match is None or (bool(match[3]) and not share):
        example = '">= 2 %"' if share else '">= 20"'
        raise InputError(
            f"{place} = {said!r} cannot be read: write a comparison in quotes, such as {example}"
        )
    number = float(match[2]) / (100 if match[3] else 1)
    if share and not 0 <= number <= 1:
        raise InputError(f"{place} = {said!r}: odds lie between 0 and 1, or between 0 % and 100 %")
    return Bound(match[1], number, str(said).strip())


def check_expected_places(
    expected: tuple[Expectation, ...], pages: Collection[str], source: str, path: object
) -> None:
    """Refuse an expectation of a passage, or of words, that the story does not have; `source` is in lower case."""
    for expectation in expected:
        place = f"{path}, line {expectation.line}: [[expect]]"
        named = expectation.reachable
        if named is not None and named not in pages:
            raise InputError(
                f'{place}: the story has no passage "{named}".{did_you_mean(named, pages)}'
            )
        ending = expectation.ending
        if ending is not None and ending not in pages:
            for word in re.findall(r"[^\W\d_]+", ending):
                if word.casefold() not in source:
                    near = did_you_mean(ending, pages)
                    raise InputError(
                        f'{place}: the story has no passage "{ending}", nor the word "{word}".{near}'
                    )
