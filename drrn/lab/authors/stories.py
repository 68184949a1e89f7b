"""The paper's two stories, converted to Twee from the authors' simulator and its data.

Saving John is a pickle of passages; its simulator remembers which path the player took. The
passages of Machine of Death are methods of a class. A method adds to `self.text`,
`self.current_links` and `self.actions`, sets `self.params`, draws random numbers, and shows other
passages by calling them from `self.methodDict`: in Twee these are text, links, <<set>>, random()
and <<display>>. Any other code is refused.

The simulator is Python 2: its source is parsed to a syntax tree, which is read and never executed.
From a pickle, plain data and passages are read; a name of anything else is refused. (The hash of
each file is checked before, in `install`.)
"""

from __future__ import annotations

import ast
import io
import json
import pickle
import re
import warnings
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

from drrn.errors import InputError
from drrn.stories.twine.story import unescape_html

SIMULATOR = "simulators/MySimulator.py"
Links = list[tuple[str, str]]  # label, target

# --- Python 2: a character of the source is a byte, and the bytes of a string are UTF-8

# Strings and comments first, so that nothing inside them is read as code.
TOKEN = re.compile(
    r"""
      (?P<string>"{3}(?:[^\\]|\\.)*?"{3} | '{3}(?:[^\\]|\\.)*?'{3}
                |"(?:[^"\\\n]|\\.)*" | '(?:[^'\\\n]|\\.)*')
    | (?P<comment>\#[^\n]*)
    | (?P<unequal><>)
    | (?P<print>(?<![\w.])print(?=[ \t]+[\w"'`]))
    """,
    re.X | re.S,
)
Code = ast.ClassDef | ast.FunctionDef
PYTHON3 = {"unequal": "!=", "print": "print,"}


def parse_python2(data: bytes) -> ast.Module:
    """Return the syntax tree; `<>` becomes `!=`, and `print x` the pair `print, x`."""
    source = TOKEN.sub(lambda t: PYTHON3.get(t.lastgroup or "", t.group()), data.decode("latin-1"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about escapes that Python 2 accepted
        return ast.parse(source)


def form_error(node: ast.AST) -> InputError:
    """Return the error for code that the converter does not know."""
    return InputError(f"{SIMULATOR}, line {getattr(node, 'lineno', 1)}: cannot be converted")


def member(parent: ast.Module | Code, name: str) -> Code:
    """Return a class or function by its name."""
    for node in parent.body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and node.name == name:
            return node
    raise form_error(parent)


def literal(node: ast.AST) -> Any:
    """Return a number, a string or a list of strings."""
    return _decoded(ast.literal_eval(node))


def _decoded(value: Any) -> Any:
    if isinstance(value, list):
        return [_decoded(each) for each in value]
    return value.encode("latin-1").decode("utf-8") if isinstance(value, str) else value


def dotted_name(node: ast.AST) -> str:
    """Return `self.tiddler` as it is written; empty for other code."""
    match node:
        case ast.Name(name):
            return name
        case ast.Attribute(value, name) if inner := dotted_name(value):
            return f"{inner}.{name}"
    return ""


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


# --- Pickles of Python 2


class StoryNode:
    """A pickled passage."""

    text: str
    actions: list[str]
    links: list[str]


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        """Return the class of passages; any other class or function is never looked up."""
        if (module, name) != ("__main__", "StoryNode"):
            raise InputError(f"a pickle names {module}.{name}, which is not part of a story")
        return StoryNode


def read_pickle(data: bytes) -> Any:
    """Return strings, numbers, lists, tuples, dicts and passages.

    Raises:
        InputError: The pickle names another class, or a function.
    """
    return _Unpickler(io.BytesIO(data), encoding="utf-8").load()


# --- Saving John


def read_saving_john(data: bytes, tree: ast.Module) -> Story:
    """Convert the pickled story; the player's path is the variable $path.

    One page shows its first link and, of the others, the one of the player's path.
    """
    simulator = member(tree, "SavingJohnSimulator")
    read = member(simulator, "Read")
    paths = {path: literal(link) for path, link in _cases(read, "self.params_path")}
    leads = dict(_cases(member(simulator, "Act"), "self.tiddler"))  # passage → path that it sets
    page = _page_start(read)
    passages, start = read_pickle(data)
    bodies = {}
    for name, node in passages.items():
        text, links = _pickled_passage(node)
        set_path = f'<<set $path = "{literal(leads[name])}">>' if name in leads else ""
        choices = links_on_lines(links)
        if text.startswith(page):
            choices = links_on_lines(links[:1])
            for path, number in paths.items():
                choices += f'<<if $path is "{path}">>{links_on_lines([links[number]])}<<endif>>'
        bodies[name] = f"{set_path}{text}\n{choices}"
    return Story(bodies, start)


def _pickled_passage(node: StoryNode) -> tuple[str, Links]:
    """Return text and links; a line break in the text is a backslash and an n."""
    labels = [unescape_html(label) for label in node.actions]
    text = unescape_html(node.text.replace("\\n", "\n"))
    return text, list(zip(labels, node.links, strict=True))


def _page_start(read: Code) -> str:
    """Return how the text of the page starts that `Read` treats in another way."""
    for statement in read.body:
        match statement:
            case ast.If(ast.Call(_, [words], [])):
                return str(literal(words))
    raise form_error(read)


def _cases(method: Code, name: str) -> list[tuple[str, ast.expr]]:
    """Return value and assigned expression, from `if name == "value": x = …` and its elifs."""
    cases = []
    for node in ast.walk(method):
        match node:
            case ast.If(ast.Compare(left, [ast.Eq()], [value]), [ast.Assign([_], then)]):
                if dotted_name(left) == name:
                    cases.append((literal(value), then))
    return cases


# --- Machine of Death


def read_machine_of_death(tree: ast.Module) -> tuple[Story, list[str]]:
    """Convert the simulator's class; return the story and the labels of all its links."""
    simulator = member(tree, "MachineOfDeathSimulator")
    passages: dict[str, _Passage] = {}
    for statement in member(simulator, "__init__").body:
        match statement:
            case ast.Assign([ast.Subscript(table, name)], method):  # self.methodDict["Name"] = …
                if dotted_name(table) == "self.methodDict":
                    method_name = dotted_name(method).removeprefix("self.")
                    passages[literal(name)] = _Passage(member(simulator, method_name))
    displayed = {name for passage in passages.values() for name in passage.displayed}
    sources = {name: passage.source for name, passage in passages.items()}
    labels = [label for passage in passages.values() for label in passage.labels]
    start = _start(member(simulator, "Restart"))
    return Story(sources, start, displayed), list(dict.fromkeys(labels))


def _start(restart: Code) -> str:
    for statement in restart.body:
        match statement:
            case ast.Assign([target], value) if dotted_name(target) == "self.current_tiddler":
                return str(literal(value))
    raise form_error(restart)


def paraphrases(originals: bytes, others: bytes, labels: Sequence[str]) -> dict[str, str]:
    """Return action → paraphrase, in the order of the file.

    The published lists have no quotation marks around an action, the story has some.
    """
    spellings: dict[str, list[str]] = {}
    for label in labels:
        spellings.setdefault(_bare(label), []).append(" ".join(unescape_html(label).split()))
    pairs = {}
    for original, paraphrase in zip(_lines(originals), _lines(others), strict=True):
        for label in spellings.get(_bare(original), []):
            pairs[label] = unescape_html(paraphrase)
    return pairs


def _bare(label: str) -> str:
    return " ".join(re.sub(r"&quot;|[\"“”]", " ", label).split())


def _lines(data: bytes) -> list[str]:
    return [line.strip() for line in data.decode("utf-8").rstrip().split("\n")]


# --- Methods to Twee

OPERATORS: dict[type[ast.cmpop], str] = {ast.Eq: "is", ast.NotEq: "neq", ast.Lt: "lt"}
OPERATORS |= {ast.LtE: "lte", ast.Gt: "gt", ast.GtE: "gte"}


class _Passage:
    """The Twee of one method, the passages that it includes, and the labels of its links."""

    def __init__(self, method: Code) -> None:
        self.displayed: set[str] = set()
        self.labels: list[str] = []
        self.source = self._block(method.body[:-1])  # the last statement is a return

    def _block(self, statements: Sequence[ast.stmt]) -> str:
        """Convert statements. A link whose words are in the texts before it is inserted there."""
        pieces: list[str] = []
        texts: list[int] = []  # indices of pieces that are plain text
        targets: list[str] = []  # of links whose labels follow
        for statement in statements:
            match statement:
                case ast.AugAssign(target, ast.Add(), value) if dotted_name(target) == "self.text":
                    texts.append(len(pieces))
                    pieces.append(_text(value))
                case ast.AugAssign(target, ast.Add(), value):
                    words = literal(value)
                    if dotted_name(target) == "self.current_links":
                        targets = words
                    else:
                        self._add_links(words, targets, pieces, texts)
                case ast.If(test, body, otherwise):
                    then = f"<<if {_condition(test)}>>{self._block(body)}"
                    then += f"<<else>>{self._block(otherwise)}" if otherwise else ""
                    pieces.append(f"{then}<<endif>>")
                case ast.Assign([target], value):
                    pieces.append(f"<<set {_variable(target)} = {_value(value)}>>")
                case ast.Expr(ast.Call(ast.Subscript(_, name), [], [])):
                    pieces.append(self._display(literal(name)))
                case _:
                    raise form_error(statement)
        return "".join(pieces)

    def _add_links(
        self, labels: list[str], targets: list[str], pieces: list[str], texts: list[int]
    ) -> None:
        self.labels += labels
        links = list(zip(map(unescape_html, labels), targets, strict=True))
        with_links = links_in_text([pieces[index] for index in texts], links)
        if not with_links:
            pieces.append(links_on_lines(links))
            return
        for index, text in zip(texts, with_links, strict=True):
            pieces[index] = text
        texts.clear()

    def _display(self, name: str) -> str:
        self.displayed.add(name)
        return f"<<display '{name}'>>" if '"' in name else f'<<display "{name}">>'


def _text(node: ast.expr) -> str:
    """Convert a sum of strings and `str(self.params[…])`."""
    match node:
        case ast.BinOp(left, ast.Add(), right):
            return _text(left) + _text(right)
        case ast.Call(ast.Name("str"), [variable], []):
            return f"<<print {_variable(variable)}>>"
    # The conversion of the published text from the story's source left an <<endif>>.
    return unescape_html(literal(node)).replace("<<endif>>", "")


def _condition(node: ast.expr) -> str:
    match node:
        case ast.BoolOp(operator, parts):
            word = " and " if isinstance(operator, ast.And) else " or "
            texts = [_condition(part) for part in parts]
            nested = [isinstance(part, ast.BoolOp) for part in parts]
            return word.join(f"({t})" if n else t for t, n in zip(texts, nested, strict=True))
        case ast.Compare(variable, [sign], [value]):
            return f"{_variable(variable)} {OPERATORS[type(sign)]} {literal(value)}"
    raise form_error(node)


def _variable(node: ast.expr) -> str:
    match node:
        case ast.Subscript(table, key) if dotted_name(table) == "self.params":
            return f"${literal(key)}"
    raise form_error(node)


def _value(node: ast.expr) -> str:
    """Convert a number, a variable, a sum or difference of two of them, or a random number."""
    match node:
        case ast.Constant() | ast.UnaryOp():
            return str(literal(node))
        case ast.BinOp(left, ast.Add() | ast.Sub() as sign, right):
            return f"{_value(left)} {'+' if isinstance(sign, ast.Add) else '-'} {_value(right)}"
        # int(np.floor(np.random.random() * 3 + 1)) is random(1, 3)
        case ast.Call(
            ast.Name("int"),
            [ast.Call(_, [ast.BinOp(ast.BinOp(_, ast.Mult(), factor), ast.Add(), least)], [])],
            [],
        ):
            low = literal(least)
            return f"random({low}, {low + literal(factor) - 1})"
    return _variable(node)
