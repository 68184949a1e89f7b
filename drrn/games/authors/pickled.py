"""The authors' old data files: Python 2 pickles of protocol 0, read by a small machine that knows plain data only.

A pickle is a program for a stack machine. This machine has no instruction that looks up or calls anything: an instance
of the one class that the story file names becomes a `Record` of its fields; any other name is refused.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NoReturn

from drrn.errors import InputError

STORY_NODE = "__main__.StoryNode"

STRING = re.compile(rb"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"")
INTEGER = re.compile(rb"-?\d{1,18}")


@dataclass
class Record:
    """What was an instance of the story's class."""

    fields: dict[str, Any] = field(default_factory=dict)


def read_pickle(data: bytes, source: str) -> Any:
    """Strings, numbers, lists, tuples, dicts and records; anything else is one sentence that names it."""
    machine = _Machine(data, source)
    try:
        return machine.run()
    except (LookupError, TypeError, ValueError, SyntaxError) as error:
        machine.refuse("it was cut short or altered", error)


class _Machine:
    def __init__(self, data: bytes, source: str) -> None:
        self.data, self.source, self.place = data, source, 0
        self.stack: list[Any] = []
        self.marks: list[int] = []
        self.memo: dict[bytes, Any] = {}

    def run(self) -> Any:
        while (sign := self.data[self.place : self.place + 1]) != b".":
            step = STEPS.get(sign)
            if step is None:
                self.refuse(f"{sign!r} is no sign of plain data in protocol 0" if sign else "it was cut short")
            self.place += 1
            step(self)
        (value,) = self.stack
        if self.marks or self.data[self.place + 1 :].strip():
            self.refuse("more follows where it should end")
        return value

    def refuse(self, why: str, error: Exception | None = None) -> NoReturn:
        raise InputError(
            f"{self.source}, byte {self.place}: {why}: nothing of it was used; clone the repository again"
        ) from error

    def line(self) -> bytes:
        end = self.data.index(b"\n", self.place)
        found = self.data[self.place : end]
        self.place = end + 1
        return found

    def since_mark(self) -> list[Any]:
        mark = self.marks.pop()
        items, self.stack[mark:] = self.stack[mark:], []
        return items

    # --- steps

    def mark(self) -> None:
        self.marks.append(len(self.stack))

    def string(self) -> None:
        """A Python 2 string in its written form, which is that of bytes today; they are UTF-8."""
        written = self.line()
        if not STRING.fullmatch(written):
            raise ValueError("no string")
        self.stack.append(ast.literal_eval("b" + written.decode("ascii")).decode("utf-8"))

    def integer(self) -> None:
        written = self.line()
        if not INTEGER.fullmatch(written):
            raise ValueError("no whole number")
        self.stack.append(int(written))

    def listing(self) -> None:
        self.stack.append(self.since_mark())

    def pair(self) -> None:
        self.stack.append(tuple(self.since_mark()))

    def table(self) -> None:
        items = self.since_mark()
        self.stack.append({})
        for key, value in zip(items[::2], items[1::2], strict=True):
            self.stack += [key, value]
            self.put()

    def append(self) -> None:
        value = self.stack.pop()
        if not isinstance(self.stack[-1], list):
            raise TypeError("no list")
        self.stack[-1].append(value)

    def put(self) -> None:
        value, key = self.stack.pop(), self.stack.pop()
        if not isinstance(key, str) or not isinstance(self.stack[-1], dict):
            raise TypeError("no table with words as keys")
        self.stack[-1][key] = value

    def keep(self) -> None:
        self.memo[self.line()] = self.stack[-1]

    def again(self) -> None:
        self.stack.append(self.memo[self.line()])

    def named(self) -> None:
        """A class by its name, which is compared and never looked up."""
        start = self.place - 1
        name = b".".join((self.line(), self.line())).decode("ascii", "replace")
        if name != STORY_NODE or self.data[start : start + 1] != b"i":
            self.place = start
            self.refuse(f'it names "{name[:80]}", which no story has')

    def instance(self) -> None:
        self.named()
        if self.since_mark():
            raise ValueError("the story's class takes no arguments")
        self.stack.append(Record())

    def build(self) -> None:
        fields = self.stack.pop()
        if not isinstance(fields, dict) or not isinstance(self.stack[-1], Record):
            raise TypeError("no record")
        self.stack[-1].fields.update(fields)


STEPS: dict[bytes, Callable[[_Machine], None]] = {
    b"(": _Machine.mark,
    b"S": _Machine.string,
    b"I": _Machine.integer,
    b"l": _Machine.listing,
    b"t": _Machine.pair,
    b"d": _Machine.table,
    b"a": _Machine.append,
    b"s": _Machine.put,
    b"p": _Machine.keep,
    b"g": _Machine.again,
    b"i": _Machine.instance,
    b"c": _Machine.named,
    b"b": _Machine.build,
}
