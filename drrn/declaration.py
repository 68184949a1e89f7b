"""What a setting is: its type, default, explanation and bounds, declared once in a dataclass.

Checking a value, the options of the command line and NAME=VALUE are all made from it.
"""

from __future__ import annotations

import dataclasses
import json
import math
import types
import typing
from typing import Any

from drrn import registry
from drrn.errors import InputError, did_you_mean

KINDS = {str: "a name", int: "a whole number", float: "a number", bool: "true or false"}
TRUTHS = {"yes": True, "true": True, "no": False, "false": False}
NONE = "none"  # in text, what turns an optional setting off


@dataclasses.dataclass(frozen=True)
class Setting:
    """One setting of a dataclass."""

    name: str
    kind: type  # str, int, float or bool
    optional: bool  # whether it may be None
    default: Any
    help: str
    choices: tuple[str, ...] = ()
    own: bool = False  # whether one of the user's can be given beside the choices; the registry knows its name
    registered: str | None = None  # the registry's kind, where it is not the setting's name
    least: float | None = None
    most: float | None = None
    above: float | None = None
    same_results: bool = False  # whether results are the same whatever its value

    @property
    def said(self) -> str:
        """What its value must be, in words."""
        return KINDS[self.kind] + " or none" * self.optional

    def check(self, value: Any) -> None:
        """Refuse a value of another type, an unknown name, or a number out of bounds."""
        if value is None and self.optional:
            return
        accepted: Any = (int, float) if self.kind is float else self.kind
        if not isinstance(value, accepted) or isinstance(value, bool) != (
            self.kind is bool
        ):  # to Python, true is 1
            shown = json.dumps(value, ensure_ascii=False, default=repr)
            raise InputError(f"{self.name} is {shown}; it must be {self.said}")
        if self.own:
            registry.check_name(self.registered or self.name, value, self.choices)
        elif self.choices and value not in self.choices:
            near = did_you_mean(value, self.choices)
            raise InputError(
                f'{self.name} is "{value}"; choose from {", ".join(self.choices)}.{near}'
            )
        if self.kind in (int, float) and not self._within(value):
            endless = " and finite" if self.most is None and value == math.inf else ""
            raise InputError(f"{self.name} is {value}; it must {self._bounds}{endless}")

    def read(self, text: str) -> Any:
        """The value that a text says; its bounds are for `check`."""
        if self.optional and text == NONE:
            return None
        try:
            return TRUTHS[text] if self.kind is bool else self.kind(text)
        except (ValueError, KeyError) as error:
            said = self.said.replace("true or false", "yes or no")
            raise InputError(f'{self.name} is "{text}"; it must be {said}') from error

    def _within(self, value: float) -> bool:  # written so that nan is never within
        return (
            (isinstance(value, int) or math.isfinite(value))
            and (self.least is None or value >= self.least)
            and (self.most is None or value <= self.most)
            and (self.above is None or value > self.above)
        )

    @property
    def _bounds(self) -> str:
        """The same in words; what is without end is never within them."""
        if self.above is not None:
            return f"be above {self.above}" + (
                "" if self.most is None else f" and at most {self.most}"
            )
        return (
            f"be at least {self.least}"
            if self.most is None
            else f"lie between {self.least} and {self.most}"
        )


def setting(default: Any, explanation: str, choices: tuple[str, ...] = (), **more: Any) -> Any:
    """A field of a dataclass that says what `Setting` asks for."""
    return dataclasses.field(
        default=default, metadata={"help": explanation, "choices": choices, **more}
    )


def declared(settings: type) -> dict[str, Setting]:
    """The settings of a dataclass, by name."""
    hints = typing.get_type_hints(settings)
    return {f.name: _described(f, hints[f.name]) for f in dataclasses.fields(settings)}


def _described(f: dataclasses.Field[Any], hint: Any) -> Setting:
    kinds = typing.get_args(hint) or (hint,)
    kind = next(k for k in kinds if k is not types.NoneType)
    return Setting(f.name, kind, types.NoneType in kinds, f.default, **f.metadata)
