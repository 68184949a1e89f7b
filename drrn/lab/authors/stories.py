"""The paper's two stories, converted to Twee from the authors' simulator and its data.

Saving John is a pickle of passages; its simulator remembers which path the player took. The
passages of Machine of Death are methods of a class. A method adds to `self.text`,
`self.current_links` and `self.actions`, sets `self.params`, draws random numbers, and shows other
passages by calling them from `self.methodDict`: in Twee these are text, links, <<set>>, random()
and <<display>>. Any other code is refused.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any

from drrn.errors import InputError
from drrn.lab.authors.clone import AGAIN
from drrn.lab.authors.pickled import Record, read_pickle
from drrn.lab.authors.python2 import (
    class_named,
    dotted_name,
    form_error,
    function_named,
    number_literal,
    string_literal,
    string_literals,
)
from drrn.stories.twine.story import unescape_html

Links = list[tuple[str, str]]  # label, target

# --- Twee

EDGE = "/%%/"  # an empty comment: preserves a line break at the edge of a passage
MARKUP = re.compile(r"\[\[([^|\]]*)\|[^\]]*\]\]|<<.*?>>")


@dataclass(frozen=True)
class Story:
    """A story in Twee."""

    passages: Mapping[str, str]  # by name
    start: str
    displayed: Set[str] = frozenset()  # passages that others include, with breaks at their edges

    @property
    def twee(self) -> str:
        parts = [f":: StoryData\n{json.dumps({'start': self.start}, ensure_ascii=False)}"]
        for name, text in self.passages.items():
            header = re.sub(r"([\\{}])", r"\\\1", name)
            if name in self.displayed:
                text = EDGE * text.startswith("\n") + text + EDGE * (text != text.rstrip())
            body = re.sub(r"^::", r"\\::", text.strip("\n"), flags=re.M)
            parts.append(f":: {header}\n{body}")
        return "\n\n\n".join(parts) + "\n"

    def passages_with(self, words: str) -> list[tuple[str, str]]:
        """Return the passages that contain words, and the words with the passage's apostrophes."""
        matches = []
        for name, text in self.passages.items():
            plain = MARKUP.sub(r"\1", text)
            start = plain.replace("’", "'").find(words.replace("’", "'"))
            if start >= 0:
                matches.append((name, plain[start : start + len(words)]))
        return matches


def links_in_text(texts: Sequence[str], links: Links) -> list[str] | None:
    """Insert each link at its words, in order; return None if the words of a link are missing."""
    rest = "\0".join(texts)
    result = ""
    for label, target in links:
        match = re.search(rf"(?<!\w){re.escape(label)}(?!\w)", rest)
        if match is None:
            return None
        result += f"{rest[: match.start()]}[[{label}|{target}]]"
        rest = rest[match.end() :]
    return (result + rest).split("\0") if links else None


def links_on_lines(links: Links) -> str:
    """Write each link on a separate line, as a choice."""
    return "".join(f"\n[[{label}|{target}]]" for label, target in links) + ("\n" if links else "")


def is_passage_name(name: str) -> bool:
    """Return whether a header, a link and a macro can contain the name."""
    return is_label(name) and name == name.strip(": ") and not {'"', "'"} <= {*name}


def is_label(words: str) -> bool:
    return bool(words.strip()) and not re.search(r"[\n\[\]|<>]", words)


def is_text(words: str) -> bool:
    """Return whether words have no macros and no links."""
    return not re.search(r"<<|>>|\[\[|\]\]", words)


# --- Saving John


@dataclass(frozen=True, slots=True)
class _Paths:
    """A page that shows its first link and, of the others, the one of the player's path."""

    page: str  # the start of the page's text
    links: dict[str, int]  # path → index of the link
    leads: dict[str, str]  # passage → the path that it sets

    @classmethod
    def read(cls, tree: ast.Module) -> _Paths:
        simulator = class_named(tree, "SavingJohnSimulator")
        read = function_named(simulator, "Read")
        act = function_named(simulator, "Act")
        links = _cases(read, "self.params_path")
        numbers = {path: int(number_literal(link)) for path, link in links.items()}
        acted = _cases(act, "self.params_path")
        if numbers != {path: number_literal(link) for path, link in acted.items()}:
            raise form_error(act, "the links that Read shows")
        cases = _cases(act, "self.tiddler").items()
        leads = {passage: string_literal(path) for passage, path in cases}
        if not numbers.keys() >= set(leads.values()) or not all(map(is_passage_name, numbers)):
            raise form_error(act, "paths that lead to a link")
        return cls(_page_start(read), numbers, leads)


def read_saving_john(data: bytes, tree: ast.Module, source: str) -> Story:
    """Convert the pickled story; the player's path is the variable $path."""
    paths = _Paths.read(tree)
    passages, start = _pickled_story(read_pickle(data, source), source)
    bodies = {}
    for name, record in passages.items():
        text, links = _pickled_passage(record, passages, f'{source}: passage "{name}"')
        set_path = f'<<set $path = "{paths.leads[name]}">>' if name in paths.leads else ""
        choices = links_on_lines(links)
        if text.startswith(paths.page):
            choices = _choices_by_path(links, paths, source)
        bodies[name] = f"{set_path}{text}\n{choices}"
    for name in paths.leads.keys() - passages.keys():
        raise InputError(f'{source}: the simulator\'s passage "{name}" is missing: {AGAIN}')
    return Story(bodies, start)


def _choices_by_path(links: Links, paths: _Paths, source: str) -> str:
    if not all(0 < number < len(links) for number in paths.links.values()):
        raise InputError(f"{source}: the last page lacks the links of some paths: {AGAIN}")
    choices = [
        f'<<if $path is "{path}">>{links_on_lines([links[number]])}<<endif>>'
        for path, number in paths.links.items()
    ]
    return links_on_lines(links[:1]) + "".join(choices)


def _pickled_story(value: Any, source: str) -> tuple[dict[str, Record], str]:
    match value:
        case (dict(passages), str(start)) if start in passages:
            pairs = passages.items()
            if all(isinstance(each, Record) and is_passage_name(name) for name, each in pairs):
                return passages, start
    raise InputError(f"{source}: not a dict of passages and the name of the first: {AGAIN}")


def _pickled_passage(record: Record, passages: dict[str, Record], source: str) -> tuple[str, Links]:
    """Return text and links; a line break in the text is a backslash and an n."""
    match record.fields:
        case {"text": str(text), "actions": list(labels), "links": list(targets)}:
            strings = all(isinstance(words, str) for words in (*labels, *targets))
            if strings and len(labels) == len(targets):
                plain = unescape_html(text.replace("\\n", "\n"))
                links = list(zip(map(unescape_html, labels), targets, strict=True))
                valid = all(is_label(label) and target in passages for label, target in links)
                if valid and is_text(plain):
                    return plain, links
    raise InputError(f"{source}: not a text with actions and links to passages: {AGAIN}")


def _page_start(read: ast.FunctionDef) -> str:
    for statement in read.body:
        match statement:
            case ast.If(ast.Call(function, [words], [])):
                if dotted_name(function) == "self.storyNode.text.startswith":
                    return string_literal(words)
    raise form_error(read, "a page known by how its text starts")


def _cases(method: ast.FunctionDef, name: str) -> dict[str, ast.expr]:
    """Return value → assigned expression, from `if name == "value": x = …` and its elifs."""
    cases: dict[str, ast.expr] = {}
    for node in ast.walk(method):
        match node:
            case ast.If(ast.Compare(left, [ast.Eq()], [value]), [ast.Assign([_], then)]):
                if dotted_name(left) == name:
                    cases.setdefault(string_literal(value), then)
    if not cases:
        raise form_error(method, f"cases of {name}")
    return cases


# --- Machine of Death


@dataclass(frozen=True)
class MachineOfDeath:
    """The story, converted from the simulator's class."""

    story: Story
    end_mark: str  # a page that contains it ends the game, even with links
    labels: tuple[str, ...]  # of all links, in the order of the file

    @classmethod
    def read(cls, tree: ast.Module) -> MachineOfDeath:
        simulator = class_named(tree, "MachineOfDeathSimulator")
        methods = _methods(simulator).items()
        passages = {name: _Passage(function_named(simulator, method)) for name, method in methods}
        displayed = {name for passage in passages.values() for name in passage.displayed}
        targets = {name for passage in passages.values() for name in passage.targets}
        for name in sorted((displayed | targets) - passages.keys()):
            raise form_error(simulator, f'a passage "{name}", which others lead to')
        start = _assigned_string(function_named(simulator, "Restart"), "self.current_tiddler")
        if start not in passages:
            raise form_error(simulator, f'a passage "{start}", the first of the story')
        sources = {name: passage.source for name, passage in passages.items()}
        labels = [label for passage in passages.values() for label in passage.labels]
        end_mark = _end_mark(function_named(simulator, "Read"))
        return cls(Story(sources, start, displayed), end_mark, tuple(dict.fromkeys(labels)))


def _methods(simulator: ast.ClassDef) -> dict[str, str]:
    """Return passage → method, from `self.methodDict["Name"] = self.method`."""
    methods: dict[str, str] = {}
    for statement in function_named(simulator, "__init__").body:
        match statement:
            case ast.Assign([ast.Subscript(table, key)], value):
                if dotted_name(table) != "self.methodDict":
                    continue
                name = string_literal(key)
                method = dotted_name(value).removeprefix("self.")
                if not is_passage_name(name) or name in methods or not method.isidentifier():
                    raise form_error(statement, "a plain name of a passage, given once")
                methods[name] = method
    return methods


def _assigned_string(function: ast.FunctionDef, variable: str) -> str:
    for statement in function.body:
        match statement:
            case ast.Assign([target], value) if dotted_name(target) == variable:
                return string_literal(value)
    raise form_error(function, f"{variable} set to the first passage")


def _end_mark(read: ast.FunctionDef) -> str:
    for statement in read.body:
        match statement:
            case ast.If(ast.Compare(mark, [ast.In()], [text])):
                if dotted_name(text) == "self.text":
                    return string_literal(mark)
    raise form_error(read, "a mark in self.text that ends the story")


def paraphrases(
    originals: bytes, others: bytes, labels: tuple[str, ...], source: str
) -> dict[str, str]:
    """Return action → paraphrase, in the order of the file.

    The published lists have no quotation marks around an action, the story has some.
    """
    first = _lines(originals, source)
    second = _lines(others, source)
    if len(first) != len(second):
        raise InputError(f"{source}: {len(first)} actions, but {len(second)} paraphrases: {AGAIN}")
    spellings: dict[str, list[str]] = {}
    for label in labels:
        spellings.setdefault(_bare(label), []).append(" ".join(unescape_html(label).split()))
    return {
        label: unescape_html(paraphrase)
        for original, paraphrase in zip(first, second, strict=True)
        for label in spellings.get(_bare(original), [])
    }


def _bare(label: str) -> str:
    return " ".join(re.sub(r"&quot;|[\"“”]", " ", label).split())


def _lines(data: bytes, source: str) -> list[str]:
    try:
        lines = [line.strip() for line in data.decode("utf-8").rstrip().split("\n")]
    except UnicodeDecodeError as error:
        raise InputError(f"{source}: not in UTF-8: {AGAIN}") from error
    if not all(lines):
        raise InputError(f"{source}, line {lines.index('') + 1}: an empty line: {AGAIN}")
    return lines


# --- Methods to Twee

MAX_DEPTH = 20  # of nested conditions
OPERATORS: dict[type[ast.cmpop], str] = {ast.Eq: "is", ast.NotEq: "neq", ast.Lt: "lt"}
OPERATORS |= {ast.LtE: "lte", ast.Gt: "gt", ast.GtE: "gte"}


class _Passage:
    """The Twee of one method, the passages that it includes or links to, and its labels."""

    def __init__(self, method: ast.FunctionDef) -> None:
        self.displayed: set[str] = set()
        self.targets: set[str] = set()
        self.labels: list[str] = []
        *body, last = method.body
        if not isinstance(last, ast.Return) or last.value is not None:
            raise form_error(last, "a bare return at the end")
        self.source = self._block(body, 0)

    def _block(self, statements: Sequence[ast.stmt], depth: int) -> str:
        """Convert statements. A link whose words are in the texts before it is inserted there."""
        if depth > MAX_DEPTH:
            raise form_error(statements[0], f"no more than {MAX_DEPTH} nested conditions")
        block = _Block()
        for statement in statements:
            match statement:
                case ast.AugAssign(target, ast.Add(), value):
                    self._add(block, dotted_name(target), value, statement)
                case ast.If(test, body, otherwise):
                    then = f"<<if {_condition(test)}>>{self._block(body, depth + 1)}"
                    if otherwise:
                        then += f"<<else>>{self._block(otherwise, depth + 1)}"
                    block.pieces.append(f"{then}<<endif>>")
                case ast.Assign([target], value):
                    block.pieces.append(f"<<set {_variable(target)} = {_value(value)}>>")
                case ast.Expr(ast.Call(ast.Subscript(table, name), [], [])) if (
                    dotted_name(table) == "self.methodDict"
                ):
                    block.pieces.append(self._display(name))
                case _:
                    raise _statement_error(statement)
        if block.targets:
            raise form_error(statements[-1], "as many actions as links")
        return "".join(block.pieces)

    def _add(self, block: _Block, target: str, value: ast.expr, statement: ast.stmt) -> None:
        if target == "self.text":
            block.add_text(_text(value))
        elif target == "self.current_links":
            block.targets += string_literals(value)
        elif target == "self.actions":
            block.add_links(self._links(string_literals(value), block.targets, statement))
        else:
            raise _statement_error(statement)

    def _links(self, labels: list[str], targets: list[str], statement: ast.stmt) -> Links:
        if len(labels) != len(targets):
            raise form_error(statement, "as many actions as links")
        self.labels += labels
        self.targets.update(targets)
        links = [
            (unescape_html(label), target) for label, target in zip(labels, targets, strict=True)
        ]
        if not all(is_label(label) and is_passage_name(target) for label, target in links):
            raise form_error(statement, "links without brackets, bars and line breaks")
        return links

    def _display(self, node: ast.expr) -> str:
        name = string_literal(node)
        if not is_passage_name(name):
            raise form_error(node, "a plain name of a passage")
        self.displayed.add(name)
        return f"<<display '{name}'>>" if '"' in name else f'<<display "{name}">>'


@dataclass
class _Block:
    """The Twee of consecutive statements."""

    pieces: list[str] = field(default_factory=list)
    texts: list[int] = field(default_factory=list)  # indices of pieces that are plain text
    targets: list[str] = field(default_factory=list)  # of links whose labels follow

    def add_text(self, text: str) -> None:
        self.texts.append(len(self.pieces))
        self.pieces.append(text)

    def add_links(self, links: Links) -> None:
        self.targets = []
        texts = links_in_text([self.pieces[index] for index in self.texts], links)
        if not texts:
            self.pieces.append(links_on_lines(links))
            return
        for index, text in zip(self.texts, texts, strict=True):
            self.pieces[index] = text
        self.texts = []


def _statement_error(statement: ast.stmt) -> InputError:
    return form_error(statement, "a text, links, a condition, a variable or another passage")


def _text(node: ast.expr) -> str:
    """Convert a sum of strings and `str(self.params[…])`."""
    parts = []
    while isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        parts.append(node.right)
        node = node.left
    return "".join(_text_part(part) for part in (node, *reversed(parts)))


def _text_part(node: ast.expr) -> str:
    match node:
        case ast.Call(ast.Name("str"), [variable], []):
            return f"<<print {_variable(variable)}>>"
    # The conversion of the published text from the story's source left an <<endif>>.
    text = unescape_html(string_literal(node)).replace("<<endif>>", "")
    if not is_text(text):
        raise form_error(node, "a text without macros and links")
    return text


def _condition(node: ast.expr) -> str:
    match node:
        case ast.BoolOp(operator, parts):
            word = " and " if isinstance(operator, ast.And) else " or "
            texts = [_condition(part) for part in parts]
            nested = [isinstance(part, ast.BoolOp) for part in parts]
            return word.join(f"({t})" if n else t for t, n in zip(texts, nested, strict=True))
        case ast.Compare(variable, [sign], [value]) if type(sign) in OPERATORS:
            return f"{_variable(variable)} {OPERATORS[type(sign)]} {number_literal(value)}"
    raise form_error(node, "a variable compared with a number")


def _variable(node: ast.expr) -> str:
    match node:
        case ast.Subscript(table, key) if dotted_name(table) == "self.params":
            if re.fullmatch(r"[A-Za-z_]\w*", name := string_literal(key), re.A):
                return f"${name}"
    raise form_error(node, "a variable from self.params")


def _value(node: ast.expr) -> str:
    """Convert a number, a variable, a sum or difference of two of them, or a random number."""
    match node:
        case ast.Constant() | ast.UnaryOp():
            return str(number_literal(node))
        case ast.BinOp(left, ast.Add() | ast.Sub() as sign, right):
            return f"{_term(left)} {'+' if isinstance(sign, ast.Add) else '-'} {_term(right)}"
        case ast.Call(
            ast.Name("int"), [ast.Call(floor, [ast.BinOp(product, ast.Add(), least)], [])], []
        ):
            return _random(node, floor, product, least)
    return _variable(node)


def _term(node: ast.expr) -> str:
    return str(number_literal(node)) if isinstance(node, ast.Constant) else _variable(node)


def _random(node: ast.expr, floor: ast.expr, product: ast.expr, least: ast.expr) -> str:
    """Convert `int(np.floor(np.random.random() * 3 + 1))` to random(1, 3)."""
    match product, least:
        case (
            ast.BinOp(ast.Call(draw, [], []), ast.Mult(), ast.Constant(int(count))),
            ast.Constant(int(low)),
        ):
            names = (dotted_name(floor), dotted_name(draw))
            if names == ("np.floor", "np.random.random") and count >= 1:
                return f"random({low}, {low + count - 1})"
    raise form_error(node, "a random integer")
