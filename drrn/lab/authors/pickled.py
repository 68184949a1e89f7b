"""A reader of pickles that supports plain data only, for the authors' Python 2 files of protocol 0.

A pickle is a program for a stack machine. The standard library's `pickletools` knows its opcodes
and reads their arguments. The steps here are those of plain data; none of them looks up or calls
anything. An instance of the one class that the story file names becomes a `Record` of its fields;
any other name is refused.
"""

import ast
import io
import re
import warnings
from dataclasses import dataclass, field
from pickletools import opcodes
from typing import Any, NoReturn

from drrn.errors import InputError

STORY_NODE = "__main__ StoryNode"  # module and class
STRING = re.compile(rb"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"")
MAX_INTEGER = 10**18
OPCODES = {opcode.code.encode("latin-1"): opcode for opcode in opcodes}


@dataclass
class Record:
    """The fields of an instance of the story's class."""

    fields: dict[str, Any] = field(default_factory=dict)


def read_pickle(data: bytes, source: str) -> Any:
    """Return strings, numbers, lists, tuples, dicts and records.

    Raises:
        InputError: The pickle has anything else, or is damaged.
    """
    machine = _Machine(data, source)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about escapes in altered names and strings
            return machine.run()
    except (LookupError, TypeError, ValueError, SyntaxError) as error:
        machine.refuse("truncated or altered", error)


class _Machine:
    """A stack machine with the steps of plain data."""

    def __init__(self, data: bytes, source: str) -> None:
        self.stream = io.BytesIO(data)
        self.source = source
        self.position = 0
        self.stack: list[Any] = []
        self.marks: list[int] = []
        self.memo: dict[int, Any] = {}

    def run(self) -> Any:
        while (code := self.stream.read(1)) != b".":
            if not code:
                self.refuse("truncated")
            name = OPCODES[code].name.lower() if code in OPCODES else ""
            step = getattr(self, f"do_{name}", None)
            if step is None:
                self.refuse(f"{code!r} is not an opcode of plain data in protocol 0")
            step(self._argument(code))
            self.position = self.stream.tell()
        (value,) = self.stack
        if self.marks or self.stream.read().strip():
            self.refuse("it continues after its end")
        return value

    def _argument(self, code: bytes) -> Any:
        opcode = OPCODES[code]
        if opcode.arg is None:
            return None
        if opcode.name == "STRING":  # pickletools reads ASCII only, the authors' strings are UTF-8
            return self.stream.readline()
        return opcode.arg.reader(self.stream)

    def refuse(self, why: str, error: Exception | None = None) -> NoReturn:
        where = f"{self.source}, byte {self.position}"
        remedy = "the file was not used; clone the repository again"
        raise InputError(f"{where}: {why}; {remedy}") from error

    def _pop_mark(self) -> list[Any]:
        mark = self.marks.pop()
        items = self.stack[mark:]
        del self.stack[mark:]
        return items

    # --- Steps, by the name of their opcode

    def do_mark(self, _: None) -> None:
        self.marks.append(len(self.stack))

    def do_string(self, literal: bytes) -> None:
        """Push a Python 2 string literal, which has the form of a bytes literal; in UTF-8."""
        if not literal.endswith(b"\n") or not STRING.fullmatch(literal[:-1]):
            raise ValueError("not a string")
        self.stack.append(ast.literal_eval("b" + literal[:-1].decode("ascii")).decode("utf-8"))

    def do_int(self, value: int) -> None:
        if isinstance(value, bool) or abs(value) >= MAX_INTEGER:
            raise ValueError("not an integer of a story")
        self.stack.append(value)

    def do_list(self, _: None) -> None:
        self.stack.append(self._pop_mark())

    def do_tuple(self, _: None) -> None:
        self.stack.append(tuple(self._pop_mark()))

    def do_dict(self, _: None) -> None:
        if self._pop_mark():
            raise ValueError("in protocol 0, the items of a dict follow it")
        self.stack.append({})

    def do_append(self, _: None) -> None:
        value = self.stack.pop()
        if not isinstance(self.stack[-1], list):
            raise TypeError("not a list")
        self.stack[-1].append(value)

    def do_setitem(self, _: None) -> None:
        value = self.stack.pop()
        key = self.stack.pop()
        if not isinstance(key, str) or not isinstance(self.stack[-1], dict):
            raise TypeError("not a dict with strings as keys")
        self.stack[-1][key] = value

    def do_put(self, number: int) -> None:
        self.memo[number] = self.stack[-1]

    def do_get(self, number: int) -> None:
        self.stack.append(self.memo[number])

    def do_global(self, name: str) -> None:
        """Refuse a class or function; its name is reported, never looked up."""
        self.refuse(f'it names "{name.replace(" ", ".")[:80]}", which is not part of a story')

    def do_inst(self, name: str) -> None:
        """Push an instance of a class, whose name is compared, never looked up."""
        if name != STORY_NODE:
            self.do_global(name)
        if self._pop_mark():
            raise ValueError("the story's class takes no arguments")
        self.stack.append(Record())

    def do_build(self, _: None) -> None:
        fields = self.stack.pop()
        if not isinstance(fields, dict) or not isinstance(self.stack[-1], Record):
            raise TypeError("not a record")
        self.stack[-1].fields.update(fields)
