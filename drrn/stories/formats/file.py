"""A story format as Twine keeps it: `window.storyFormat({"name": …, "version": …, "source": "<html …>", …})`.

The object is scanned, never run: some formats hold JavaScript functions beside the strings that are wanted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from drrn.errors import InputError
from drrn.files import decode, read_bytes

LARGEST_FORMAT = 32 * 2**20  # bytes; the largest known has one million
MOST_TOKENS = 400_000  # read in one file
OPENING = re.compile(r"\bstoryFormat\s*\(\s*\{")
VERSION = re.compile(r"\d{1,9}(?:\.\d{1,9}){0,3}(?:[-+][\w.+-]{1,40})?")
NAME = re.compile(r"[^\W_](?:[\w .+'-]{0,60}\w)?")
TOKEN = re.compile(
    r"""(?P<blank>\s+|//[^\n]*|/\*.*?(?:\*/|\Z))
    | (?P<string>"[^"\\]*(?:\\.[^"\\]*)*"|'[^'\\]*(?:\\.[^'\\]*)*'|`[^`\\]*(?:\\.[^`\\]*)*`)
    | (?P<open>[\[{(]) | (?P<close>[\]})])
    | (?P<word>[\w$]+)
    | (?P<sign>.)""",
    re.X | re.S,
)
REGEX = re.compile(r"/(?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.){0,2000}\]){1,2000}/[a-z]*")
BEFORE_A_REGEX = frozenset("return typeof case in of void delete".split())
JAVASCRIPT_ESCAPE = re.compile(
    r"\\(u\{[\da-fA-F]{1,6}\}|u[\da-fA-F]{4}|x[\da-fA-F]{2}|\r\n|.)", re.S
)
ONE_CHARACTER = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "b": "\b",
    "f": "\f",
    "v": "\v",
    "0": "\0",
    "\n": "",
    "\r\n": "",
}
STORY_DATA = "{{STORY_DATA}}"


@dataclass(frozen=True)
class StoryFormat:
    """A story format: `source` is the page in which {{STORY_NAME}} and {{STORY_DATA}} are replaced."""

    name: str
    version: str
    source: str

    def __str__(self) -> str:
        return f"{self.name} {self.version}"

    @property
    def key(self) -> str:
        """The name by which stories and files speak of it: lower case, joined by hyphens."""
        return format_key(self.name)


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of JavaScript source: a string, a word, a bracket or a sign."""

    kind: str
    text: str


def format_key(name: str) -> str:
    return re.sub(r"[^a-z0-9.]+", "-", name.lower()).strip("-.")


def read_format(path: Path) -> StoryFormat:
    """The format in a file, or one sentence that says why it is none."""
    return format_in(decode(read_bytes(path, LARGEST_FORMAT), str(path), "utf-8-sig"), str(path))


def format_in(text: str, place: str) -> StoryFormat:
    """The format in the text of a `format.js`; `place` names the file in messages."""
    opening = OPENING.search(text)
    if opening is None:
        raise InputError(
            f"{place}: not a story format of Twine 2: it never calls window.storyFormat({{…}})"
        )
    found: dict[str, str] = {}
    try:
        for key, value in _members(_tokens(text, opening.end())):
            found.setdefault(key, value)
    except _MalformedError as error:
        if (
            not {"name", "version", "source"} <= found.keys()
        ):  # beyond them stands code, which need not be understood
            raise InputError(
                f"{place}: a damaged story format: {error}: copy it again from where Twine has it"
            ) from error
    return _checked_format(found, place)


def _checked_format(found: dict[str, str], place: str) -> StoryFormat:
    made = StoryFormat(
        found.get("name") or "Untitled", found.get("version", ""), found.get("source", "")
    )
    if not NAME.fullmatch(made.name) or not made.key:
        raise InputError(
            f"{place}: a story format with the name {made.name[:60]!r}: it must be a few plain words"
        )
    if not VERSION.fullmatch(made.version):
        raise InputError(
            f'{place}: {made.name} has the version {made.version[:40]!r}: it must be like "3.3.9"'
        )
    if found.get("proofing") == "true":
        raise InputError(
            f"{place}: {made} is a proofing format: it prints stories and cannot play them"
        )
    if STORY_DATA not in made.source:
        raise InputError(f"{place}: {made} has no place for a story: its source lacks {STORY_DATA}")
    return made


class _MalformedError(Exception):
    """Where the scan cannot go on, and why."""


def _tokens(text: str, position: int) -> Iterator[Token]:
    """The tokens of JavaScript source; a slash after a value divides, any other begins a regular expression."""
    divides = False
    for _ in range(MOST_TOKENS):
        if position >= len(text):
            raise _MalformedError("it is cut short")
        if (
            text[position] == "/"
            and not divides
            and text[position + 1 : position + 2] not in ("/", "*")
        ):
            literal = REGEX.match(text, position)
            if literal is None:
                raise _MalformedError("a slash stands where none can")
            position = literal.end()
            divides = True
            yield Token("regex", "")
            continue
        match = TOKEN.match(text, position)
        assert match is not None and match.lastgroup is not None  # any character is a sign at least
        position = match.end()
        if match.lastgroup == "blank":
            continue
        token = Token(match.lastgroup, match.group())
        if token.text in ('"', "'", "`"):
            raise _MalformedError("it is cut short")
        divides = token.kind in ("string", "close") or (
            token.kind == "word" and token.text not in BEFORE_A_REGEX
        )
        yield token
    raise _MalformedError("there is no end to it")


def _members(tokens: Iterator[Token]) -> Iterator[tuple[str, str]]:
    """Keys and values of an object whose brace is open: strings decoded, other values as the word they begin with."""
    for token in tokens:
        if token.text == "}" and token.kind == "close":
            return
        if token.kind not in ("string", "word"):
            raise _MalformedError(f"{token.text[:20]!r} stands where a name should")
        key = _decoded_string(token.text) if token.kind == "string" else token.text
        after = next(tokens)
        if (
            after.text != ":" and after.text != "("
        ):  # a method has brackets where a value has a colon
            raise _MalformedError(f"{after.text[:20]!r} follows {key[:20]!r}")
        value, last = _value(next(tokens) if after.text == ":" else after, tokens)
        yield key, value
        if last.kind == "close":
            return


def _value(first: Token, tokens: Iterator[Token]) -> tuple[str, Token]:
    """A value, and the comma or brace that ends it."""
    depth = 0
    token = first
    while depth or token.text not in (",", "}") or token.kind not in ("sign", "close"):
        depth += (token.kind == "open") - (token.kind == "close")
        token = next(tokens)
    return (_decoded_string(first.text) if first.kind == "string" else first.text), token


def _decoded_string(literal: str) -> str:
    """The text that a JavaScript string literal stands for."""
    if literal[0] == '"':
        try:
            return str(json.loads(literal, strict=False))
        except ValueError:
            pass  # an escape that JSON does not have
    text = JAVASCRIPT_ESCAPE.sub(_character, literal[1:-1])
    return text.encode("utf-16", "surrogatepass").decode(
        "utf-16", "replace"
    )  # two halves become one character


def _character(match: re.Match[str]) -> str:
    escape = match[1]
    if escape[0] in "ux" and len(escape) > 1:
        number = int(escape[1:].strip("{}"), 16)
        return chr(number) if number < 0x110000 else "\ufffd"
    return ONE_CHARACTER.get(escape, escape)
