"""Reads a story format of Twine 2: `window.storyFormat({"name": …, "version": …, "source": …})`.

The object is scanned, never run: some formats contain JavaScript functions next to the strings.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from drrn.errors import InputError
from drrn.files import decode, read_bytes

LARGEST_FORMAT = 32 * 2**20  # bytes; the largest known format has one million
MAX_TOKENS = 400_000  # of one file
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
WORDS_BEFORE_REGEX = frozenset("return typeof case in of void delete".split())
ESCAPE = re.compile(r"\\(u\{[\da-fA-F]{1,6}\}|u[\da-fA-F]{4}|x[\da-fA-F]{2}|\r\n|.)", re.S)
ESCAPES = dict(zip("ntrbfv0", "\n\t\r\b\f\v\0", strict=True)) | {"\n": "", "\r\n": ""}
STORY_DATA = "{{STORY_DATA}}"


@dataclass(frozen=True)
class StoryFormat:
    """A story format; `source` is a page with {{STORY_NAME}} and {{STORY_DATA}} to replace."""

    name: str
    version: str
    source: str

    def __str__(self) -> str:
        return f"{self.name} {self.version}"

    @property
    def key(self) -> str:
        """The name in stories and file names: lower case, joined by hyphens."""
        return format_key(self.name)


@dataclass(frozen=True, slots=True)
class Token:
    """A token of JavaScript source: a string, a word, a bracket or a sign."""

    kind: str
    text: str


def format_key(name: str) -> str:
    return re.sub(r"[^a-z0-9.]+", "-", name.lower()).strip("-.")


def read_format(path: Path) -> StoryFormat:
    """Read the format in a file; raise InputError if there is none."""
    return format_in(decode(read_bytes(path, LARGEST_FORMAT), str(path), "utf-8-sig"), str(path))


def format_in(text: str, source: str) -> StoryFormat:
    """Return the format in the text of a `format.js`; `source` names the file in errors."""
    opening = OPENING.search(text)
    if opening is None:
        cause = "not a story format of Twine 2: it never calls window.storyFormat({…})"
        raise InputError(f"{source}: {cause}")
    members: dict[str, str] = {}
    try:
        for key, value in _members(_tokens(text, opening.end())):
            members.setdefault(key, value)
    except _MalformedError as error:
        # Code may follow these members; it need not be understood.
        if not {"name", "version", "source"} <= members.keys():
            cause = f"a damaged story format: {error}"
            raise InputError(f"{source}: {cause}; copy the file again from Twine") from error
    story_format = StoryFormat(
        members.get("name") or "Untitled", members.get("version", ""), members.get("source", "")
    )
    if fault := _fault(story_format, members):
        raise InputError(f"{source}: {fault}")
    return story_format


def _fault(story_format: StoryFormat, members: dict[str, str]) -> str:
    name = story_format.name
    version = story_format.version
    if not NAME.fullmatch(name) or not story_format.key:
        return f"the name of the story format is {name[:60]!r}; it must be a few plain words"
    if not VERSION.fullmatch(version):
        return f'{name} has the version {version[:40]!r}; it must look like "3.3.9"'
    if members.get("proofing") == "true":
        return f"{story_format} is a proofing format, which prints stories and cannot play them"
    if STORY_DATA not in story_format.source:
        return f"{story_format} cannot contain a story: its source lacks {STORY_DATA}"
    return ""


class _MalformedError(Exception):
    """The scan cannot continue."""


def _tokens(text: str, position: int) -> Iterator[Token]:
    """Yield the tokens of JavaScript source; a slash after a value is a division."""
    after_value = False
    for _ in range(MAX_TOKENS):
        if position >= len(text):
            raise _MalformedError("the file is truncated")
        is_comment = text.startswith(("//", "/*"), position)
        if text[position] == "/" and not after_value and not is_comment:
            literal = REGEX.match(text, position)
            if literal is None:
                raise _MalformedError("a slash is misplaced")
            position = literal.end()
            after_value = True
            yield Token("regex", "")
            continue
        match = TOKEN.match(text, position)
        assert match is not None and match.lastgroup is not None  # every character is a sign
        position = match.end()
        if match.lastgroup == "blank":
            continue
        token = Token(match.lastgroup, match.group())
        if token.text in ('"', "'", "`"):
            raise _MalformedError("the file is truncated")
        is_operand = token.kind == "word" and token.text not in WORDS_BEFORE_REGEX
        after_value = is_operand or token.kind in ("string", "close")
        yield token
    raise _MalformedError(f"it has more than {MAX_TOKENS:,} tokens")


def _members(tokens: Iterator[Token]) -> Iterator[tuple[str, str]]:
    """Yield the keys and values of an open object; only strings are read whole."""
    for token in tokens:
        if token.text == "}" and token.kind == "close":
            return
        if token.kind not in ("string", "word"):
            raise _MalformedError(f"{token.text[:20]!r} is not the name of a member")
        key = _text_of(token)
        after = next(tokens)
        if after.text not in (":", "("):  # a method has a bracket
            raise _MalformedError(f"{after.text[:20]!r} follows {key[:20]!r}")
        first = next(tokens) if after.text == ":" else after
        last = first
        depth = 0
        while depth or last.text not in (",", "}") or last.kind not in ("sign", "close"):
            depth += (last.kind == "open") - (last.kind == "close")
            last = next(tokens)
        yield key, _text_of(first)
        if last.kind == "close":
            return


def _text_of(token: Token) -> str:
    """Return the text of a token, decoded if it is a string."""
    literal = token.text
    if token.kind != "string":
        return literal
    if literal[0] == '"':
        try:
            return str(json.loads(literal, strict=False))
        except ValueError:
            pass  # an escape that JSON does not have
    text = ESCAPE.sub(_character, literal[1:-1])
    # Two surrogates become one character.
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _character(match: re.Match[str]) -> str:
    escape = match[1]
    if escape[0] in "ux" and len(escape) > 1:
        number = int(escape[1:].strip("{}"), 16)
        return chr(number) if number < 0x110000 else "\ufffd"
    return ESCAPES.get(escape, escape)
