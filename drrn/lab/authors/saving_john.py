"""Saving John: its passages are pickled; its simulator remembers which way the player came."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any

from drrn.errors import InputError
from drrn.lab.authors.pickled import Record, read_pickle
from drrn.lab.authors.python2 import (
    class_named,
    dotted,
    function_named,
    number_literal,
    strange,
    string_literal,
)
from drrn.lab.authors.sources import REPOSITORY
from drrn.lab.authors.twee_source import Told, is_label, is_plain, is_text, on_lines
from drrn.stories.twine.story import unescape_html

CLASS = "SavingJohnSimulator"
TEXT = "self.storyNode.text.startswith"


@dataclass(frozen=True, slots=True)
class Ways:
    """One page shows its first link and, of the others, the one that belongs to the way the player came."""

    page: str  # how the page's text begins
    links: dict[str, int]  # way → which link
    leads: dict[str, str]  # passage → the way on which it sets the player

    @classmethod
    def read(cls, tree: ast.Module) -> Ways:
        simulator = class_named(tree, CLASS)
        read = function_named(simulator, "Read")
        act = function_named(simulator, "Act")
        links = {
            way: int(number_literal(link)) for way, link in _cases(read, "self.params_path").items()
        }
        if links != {
            way: number_literal(link) for way, link in _cases(act, "self.params_path").items()
        }:
            raise strange(act, "the links that Read shows")
        leads = {
            passage: string_literal(way) for passage, way in _cases(act, "self.tiddler").items()
        }
        if not links.keys() >= set(leads.values()) or not all(is_plain(way) for way in links):
            raise strange(act, "ways that lead to a link")
        return cls(_page(read), links, leads)


def read_saving_john(data: bytes, tree: ast.Module, source: str) -> Told:
    """The pickled story, with the way kept in $path."""
    ways = Ways.read(tree)
    passages, start = _story(read_pickle(data, source), source)
    bodies = {}
    for name, record in passages.items():
        text, links = _passage(record, passages, f'{source}: passage "{name}"')
        set_way = f'<<set $path = "{ways.leads[name]}">>' if name in ways.leads else ""
        choices = (
            _choices_by_way(links, ways, source) if text.startswith(ways.page) else on_lines(links)
        )
        bodies[name] = f"{set_way}{text}\n{choices}"
    for name in ways.leads.keys() - passages.keys():
        raise InputError(
            f'{source}: the simulator knows a passage "{name}" that is not here: clone {REPOSITORY} again'
        )
    return Told(bodies, start)


def _choices_by_way(links: list[tuple[str, str]], ways: Ways, source: str) -> str:
    if not all(0 < number < len(links) for number in ways.links.values()):
        raise InputError(
            f"{source}: the last page lacks the links of some ways: clone {REPOSITORY} again"
        )
    shown = [
        f'<<if $path is "{way}">>{on_lines([links[i]])}<<endif>>' for way, i in ways.links.items()
    ]
    return on_lines(links[:1]) + "".join(shown)


def _story(found: Any, source: str) -> tuple[dict[str, Record], str]:
    match found:
        case (dict(passages), str(start)) if start in passages:
            if all(
                isinstance(record, Record) and is_plain(name) for name, record in passages.items()
            ):
                return passages, start
    raise InputError(
        f"{source}: not a table of passages and the first one's name: clone {REPOSITORY} again"
    )


def _passage(
    record: Record, passages: dict[str, Record], place: str
) -> tuple[str, list[tuple[str, str]]]:
    """Text and links; a line break in the text is written as a backslash and an n."""
    match record.fields:
        case {"text": str(text), "actions": list(labels), "links": list(targets)} if len(
            labels
        ) == len(targets) and all(isinstance(words, str) for words in (*labels, *targets)):
            told = unescape_html(text.replace("\\n", "\n"))
            links = [
                (unescape_html(label), target)
                for label, target in zip(labels, targets, strict=True)
            ]
            if is_text(told) and all(
                is_label(label) and target in passages for label, target in links
            ):
                return told, links
    raise InputError(
        f"{place}: not a text with actions and links to passages: clone {REPOSITORY} again"
    )


def _page(read: ast.FunctionDef) -> str:
    for statement in read.body:
        match statement:
            case ast.If(ast.Call(called, [words], [])) if dotted(called) == TEXT:
                return string_literal(words)
    raise strange(read, "a page known by how its text begins")


def _cases(method: ast.FunctionDef, name: str) -> dict[str, ast.expr]:
    """Value → what is then assigned, from the first chain of `if name == "value": x = …` and its elifs."""
    found: dict[str, ast.expr] = {}
    for node in ast.walk(method):
        match node:
            case ast.If(ast.Compare(left, [ast.Eq()], [value]), [ast.Assign([_], then)]):
                if dotted(left) == name and string_literal(value) not in found:
                    found[string_literal(value)] = then
    if not found:
        raise strange(method, f"cases of {name}")
    return found
