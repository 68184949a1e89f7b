"""An unpickler that allows plain data and refuses everything else, for the authors' Python 2 files of protocol 0.

A pickle is a program for a stack machine. The standard library's `pickletools` knows its opcodes and reads their
arguments; the steps here are those of plain data, and none of them looks up or calls anything: an instance of the one
class that the story file names becomes a `Record` of its fields; any other name is refused.
"""

from __future__ import annotations

import ast
import io
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pickletools import opcodes
from typing import Any, NoReturn

from drrn.errors import InputError

STORY_NODE = "__main__ StoryNode"  # module and class
STRING = re.compile(rb"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"")
LARGEST_INTEGER = 10**18

OPCODES = {opcode.code.encode("latin-1"): opcode for opcode in opcodes}


@dataclass
class Record:
    """What was an instance of the story's class."""

    fields: dict[str, Any] = field(default_factory=dict)


def read_pickle(data: bytes, source: str) -> Any:
    """Strings, numbers, lists, tuples, dicts and records; anything else is one sentence that names it."""
    machine = _Machine(data, source)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about escapes in altered names and strings
            return machine.run()
    except (LookupError, TypeError, ValueError, SyntaxError) as error:
        machine.refuse("it was cut short or altered", error)


class _Machine:
    """A stack machine whose only steps are those of plain data."""

    def __init__(self, data: bytes, source: str) -> None:
        self.stream = io.BytesIO(data)
        self.source = source
        self.place = 0
        self.stack: list[Any] = []
        self.marks: list[int] = []
        self.memo: dict[int, Any] = {}

    def run(self) -> Any:
        while (sign := self.stream.read(1)) != b".":
            step = STEPS.get(OPCODES[sign].name) if sign in OPCODES else None
            if step is None:
                self.refuse(
                    f"{sign!r} is no sign of plain data in protocol 0"
                    if sign
                    else "it was cut short"
                )
            step(self, self.argument(sign))
            self.place = self.stream.tell()
        (value,) = self.stack
        if self.marks or self.stream.read().strip():
            self.refuse("more follows where it should end")
        return value

    def argument(self, sign: bytes) -> Any:
        """What follows an opcode. Of strings `pickletools` reads ASCII alone, and those of the authors are UTF-8."""
        opcode = OPCODES[sign]
        if opcode.arg is None:
            return None
        return self.stream.readline() if opcode.name == "STRING" else opcode.arg.reader(self.stream)

    def refuse(self, why: str, error: Exception | None = None) -> NoReturn:
        raise InputError(
            f"{self.source}, byte {self.place}: {why}: nothing of it was used; clone the repository again"
        ) from error

    def since_mark(self) -> list[Any]:
        mark = self.marks.pop()
        items, self.stack[mark:] = self.stack[mark:], []
        return items

    # --- steps

    def mark(self, _: None) -> None:
        self.marks.append(len(self.stack))

    def string(self, written: bytes) -> None:
        """A Python 2 string in its written form, which is that of bytes today; they are UTF-8."""
        if not written.endswith(b"\n") or not STRING.fullmatch(written[:-1]):
            raise ValueError("no string")
        self.stack.append(ast.literal_eval("b" + written[:-1].decode("ascii")).decode("utf-8"))

    def integer(self, value: int) -> None:
        if isinstance(value, bool) or abs(value) >= LARGEST_INTEGER:
            raise ValueError("no whole number of a story")
        self.stack.append(value)

    def listing(self, _: None) -> None:
        self.stack.append(self.since_mark())

    def pair(self, _: None) -> None:
        self.stack.append(tuple(self.since_mark()))

    def table(self, _: None) -> None:
        items = self.since_mark()
        self.stack.append({})
        for key, value in zip(items[::2], items[1::2], strict=True):
            self.stack += [key, value]
            self.put()

    def append(self, _: None) -> None:
        value = self.stack.pop()
        if not isinstance(self.stack[-1], list):
            raise TypeError("no list")
        self.stack[-1].append(value)

    def put(self, _: None = None) -> None:
        value = self.stack.pop()
        key = self.stack.pop()
        if not isinstance(key, str) or not isinstance(self.stack[-1], dict):
            raise TypeError("no table with words as keys")
        self.stack[-1][key] = value

    def keep(self, number: int) -> None:
        self.memo[number] = self.stack[-1]

    def again(self, number: int) -> None:
        self.stack.append(self.memo[number])

    def named(self, name: str) -> None:
        """A class or a function by its name, which is told and never looked up."""
        self.refuse(f'it names "{name.replace(" ", ".")[:80]}", which no story has')

    def instance(self, name: str) -> None:
        """An instance of a class, whose name is compared and never looked up."""
        if name != STORY_NODE:
            self.named(name)
        if self.since_mark():
            raise ValueError("the story's class takes no arguments")
        self.stack.append(Record())

    def build(self, _: None) -> None:
        fields = self.stack.pop()
        if not isinstance(fields, dict) or not isinstance(self.stack[-1], Record):
            raise TypeError("no record")
        self.stack[-1].fields.update(fields)


STEPS: dict[str, Callable[[_Machine, Any], None]] = {
    "MARK": _Machine.mark,
    "STRING": _Machine.string,
    "INT": _Machine.integer,
    "LIST": _Machine.listing,
    "TUPLE": _Machine.pair,
    "DICT": _Machine.table,
    "APPEND": _Machine.append,
    "SETITEM": _Machine.put,
    "PUT": _Machine.keep,
    "GET": _Machine.again,
    "INST": _Machine.instance,
    "GLOBAL": _Machine.named,
    "BUILD": _Machine.build,
}
