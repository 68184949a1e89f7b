"""Machine of Death: its passages are methods of a class; a table gives each its name."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from drrn.errors import InputError
from drrn.lab.authors.passages import SimulatorPassage
from drrn.lab.authors.python2 import class_named, dotted, function_named, strange, string_literal
from drrn.lab.authors.sources import REPOSITORY
from drrn.lab.authors.twee_source import Told, is_plain
from drrn.stories.twine.story import unescape_html

CLASS = "MachineOfDeathSimulator"


@dataclass(frozen=True)
class MachineOfDeath:
    """The game as the simulator tells it."""

    told: Told
    end_mark: str  # a page that holds it ends the game, though links remain
    labels: tuple[str, ...]  # of all links, in the order of the file

    @classmethod
    def read(cls, tree: ast.Module) -> MachineOfDeath:
        simulator = class_named(tree, CLASS)
        methods = _methods(simulator)
        passages = {
            name: SimulatorPassage(function_named(simulator, method))
            for name, method in methods.items()
        }
        shown = {name for passage in passages.values() for name in passage.shown}
        for name in sorted(
            shown.union(*(passage.targets for passage in passages.values())) - passages.keys()
        ):
            raise strange(simulator, f'a passage "{name}", which others lead to')
        start = _start(function_named(simulator, "Restart"))
        if start not in passages:
            raise strange(simulator, f'a passage "{start}", with which the story begins')
        told = Told({name: passage.source for name, passage in passages.items()}, start, shown)
        labels = tuple(
            dict.fromkeys(label for passage in passages.values() for label in passage.labels)
        )
        return cls(told, _end_mark(function_named(simulator, "Read")), labels)


def _methods(simulator: ast.ClassDef) -> dict[str, str]:
    """SimulatorPassage → method, from `self.methodDict["Name"] = self.method`."""
    found: dict[str, str] = {}
    for statement in function_named(simulator, "__init__").body:
        match statement:
            case ast.Assign([ast.Subscript(table, key)], value) if (
                dotted(table) == "self.methodDict"
            ):
                name = string_literal(key)
                method = dotted(value).removeprefix("self.")
                if not is_plain(name) or name in found or not method.isidentifier():
                    raise strange(
                        statement, "a plain name of a passage, given once, and its method"
                    )
                found[name] = method
    return found


def _start(restart: ast.FunctionDef) -> str:
    for statement in restart.body:
        match statement:
            case ast.Assign([target], value) if dotted(target) == "self.current_tiddler":
                return string_literal(value)
    raise strange(restart, "self.current_tiddler set to the first passage")


def _end_mark(read: ast.FunctionDef) -> str:
    for statement in read.body:
        match statement:
            case ast.If(ast.Compare(mark, [ast.In()], [text])) if dotted(text) == "self.text":
                return string_literal(mark)
    raise strange(read, "a mark in self.text that ends the story")


def paraphrases(
    originals: bytes, others: bytes, labels: tuple[str, ...], place: str
) -> dict[str, str]:
    """Action → paraphrase, in the order of the file. The published lists have no quotation marks around an action."""
    lines = [_lines(side, place) for side in (originals, others)]
    if len(lines[0]) != len(lines[1]):
        raise InputError(
            f"{place}: {len(lines[0])} actions, but {len(lines[1])} paraphrases beside it: clone {REPOSITORY} again"
        )
    shown: dict[str, list[str]] = {}
    for label in labels:
        shown.setdefault(_bare(label), []).append(" ".join(unescape_html(label).split()))
    pairs = zip(*lines, strict=True)
    return {
        label: unescape_html(other)
        for original, other in pairs
        for label in shown.get(_bare(original), [])
    }


def _bare(label: str) -> str:
    """An action without quotation marks: the lists have none, the game's own are straight or curly."""
    return " ".join(re.sub(r"&quot;|[\"“”]", " ", label).split())


def _lines(data: bytes, place: str) -> list[str]:
    try:
        lines = [line.strip() for line in data.decode("utf-8").split("\n")]
    except UnicodeDecodeError as error:
        raise InputError(f"{place}: not in UTF-8: clone {REPOSITORY} again") from error
    while lines and not lines[-1]:
        lines.pop()
    if not all(lines):
        raise InputError(
            f"{place}, line {lines.index('') + 1}: an empty line: clone {REPOSITORY} again"
        )
    return lines
