"""The declaration of a setting: its type, default, help text, bounds and what it needs.

The checks, the command line, the page's form and NAME=VALUE are derived from the declaration.
"""

import dataclasses
import json
import math
import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from textgames import registry
from textgames.errors import InputError, did_you_mean

KINDS = {str: "a name", int: "a whole number", float: "a number", bool: "true or false"}
TRUTHS = {"yes": True, "true": True, "no": False, "false": False}
NONE = "none"  # text that turns an optional setting off


def without_none(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings of a TOML, which has no null, with None in place of "none"."""
    return {name: None if value == NONE else value for name, value in given.items()}


@dataclasses.dataclass(frozen=True)
class Setting:
    """The declaration of one setting."""

    name: str  # unique among all groups
    kind: type  # str, int, float or bool
    group: str = ""
    field: str = ""  # name of the field in its group
    optional: bool = False  # None is allowed
    default: Any = None
    help: str = ""
    choices: tuple[str, ...] = ()
    own: bool = False  # a user's module:name or a registered name is accepted as well
    registered: str | None = None  # another setting that has the choices, and the registry's kind
    least: float | None = None
    most: float | None = None
    above: float | None = None
    same_results: bool = False  # the value does not change results
    needs: Sequence[Mapping[str, Any]] = ()  # alternatives under which it has an effect

    def check(self, value: Any) -> None:
        """Raise InputError for a wrong type, an unknown name or a number out of bounds."""
        if value is None and self.optional:
            return
        accepted: Any = (int, float) if self.kind is float else self.kind
        is_bool = isinstance(value, bool)  # True is an int in Python
        if not isinstance(value, accepted) or is_bool != (self.kind is bool):
            text = json.dumps(value, ensure_ascii=False, default=repr)
            raise InputError(f"{self.name} is {text}; it must be {self._type}")
        if self.own:
            registry.check_name(self.registered or self.name, value, self.choices)
        elif self.choices and value not in self.choices:
            names = ", ".join(self.choices)
            near = did_you_mean(value, self.choices)
            raise InputError(f'{self.name} is "{value}"; choose from {names}.{near}')
        if self.kind in (int, float) and not self._within(value):
            finite = " and finite" if self.most is None and value == math.inf else ""
            raise InputError(f"{self.name} is {value}; it must {self._bounds}{finite}")

    def read(self, text: str) -> Any:
        """The value of a text. `check` checks its bounds."""
        if self.optional and text == NONE:
            return None
        try:
            return TRUTHS[text] if self.kind is bool else self.kind(text)
        except (ValueError, KeyError) as error:
            words = self._type.replace("true or false", "yes or no")
            raise InputError(f'{self.name} is "{text}"; it must be {words}') from error

    @property
    def _type(self) -> str:
        return KINDS[self.kind] + " or none" * self.optional

    def _within(self, value: float) -> bool:  # nan is never within
        return (
            (isinstance(value, int) or math.isfinite(value))
            and (self.least is None or value >= self.least)
            and (self.most is None or value <= self.most)
            and (self.above is None or value > self.above)
        )

    @property
    def _bounds(self) -> str:
        if self.above is not None:
            upper = "" if self.most is None else f" and at most {self.most}"
            return f"be above {self.above}{upper}"
        if self.most is None:
            return f"be at least {self.least}"
        return f"lie between {self.least} and {self.most}"


def declare(group: str, kind: type, table: Mapping[str, Any]) -> Iterator[Setting]:
    """Yield the settings of a group: a dataclass, and a table of the other fields of `Setting`."""
    hints = typing.get_type_hints(kind)
    for f in dataclasses.fields(kind):
        kinds = typing.get_args(hints[f.name]) or (hints[f.name],)
        values = {"name": f.name, **table[f.name]}
        choices = table[values.get("registered", f.name)].get("choices", ())
        values["choices"] = tuple(choices)
        yield Setting(
            group=group,
            field=f.name,
            kind=next(k for k in kinds if k is not types.NoneType),
            optional=types.NoneType in kinds,
            default=f.default,
            **values,
        )
