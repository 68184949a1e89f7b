"""From a file to a story: which notation it is in, and which encoding."""

from __future__ import annotations

import codecs
import re
from pathlib import Path

from drrn.errors import InputError
from drrn.games.stories.story import Story
from drrn.games.stories.twee import read_twee
from drrn.games.stories.twine_html import read_twine_html

LARGEST = 64 * 2**20  # bytes
TWEE = (".twee", ".tw", ".twee2", ".txt")
HTML = (".html", ".htm")
MARKS = [(codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16")]
NO_TEXT = frozenset("idna punycode undefined unicode-escape raw-unicode-escape".split())  # codecs, but of no story
DECLARED = re.compile(rb"<meta[^>]{0,200}charset\s*=\s*[\"']?\s*([\w-]+)", re.I)


def read_story(path: Path, encoding: str | None = None) -> Story:
    """The story in a Twee file or a published Twine page."""
    text = decode(_bytes(path), str(path), encoding)
    if path.suffix.lower() in HTML or (path.suffix.lower() not in TWEE and text.lstrip()[:1] == "<"):
        return read_twine_html(text, str(path))
    return read_twee(text, str(path))


def decode(data: bytes, source: str, encoding: str | None = None) -> str:
    """The text, by the encoding asked for, marked, declared in the HTML, or UTF-8; line breaks as `\\n`."""
    encoding = encoding or next((name for mark, name in MARKS if data.startswith(mark)), None)
    if encoding is None:
        declared = DECLARED.search(data[:4096])
        encoding = declared.group(1).decode("ascii") if declared else "utf-8"
    try:
        if codecs.lookup(encoding).name.replace("_", "-") in NO_TEXT:
            raise LookupError
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"{source}, line {line}: byte 0x{data[error.start]:02x} is not {encoding}: "
            "save the file as UTF-8, or name its encoding (for many old stories: cp1252)"
        ) from error
    except (LookupError, ValueError) as error:
        raise InputError(f'{source}: the encoding "{encoding}" is not known: try utf-8 or cp1252') from error
    if "\0" in text:
        raise InputError(f"{source}: it holds NUL characters: this is no text file")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_text(path: Path) -> str:
    """A small text file in UTF-8."""
    return decode(_bytes(path), str(path), "utf-8-sig")


def _bytes(path: Path) -> bytes:
    try:
        if path.stat().st_size > LARGEST:
            raise InputError(f"{path}: {path.stat().st_size:,} bytes; the most is {LARGEST:,}")
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
