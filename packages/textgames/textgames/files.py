"""Files: the home folder, reading with one-sentence errors, TOML and CSV, atomic writes, names."""

import codecs
import contextlib
import csv
import io
import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from textgames.errors import InputError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

UTF8 = "utf-8-sig"  # with or without a byte order mark
MARKS = [(codecs.BOM_UTF8, UTF8)]
MARKS += [(mark, "utf-16") for mark in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)]
# Codecs in which no story is written.
NO_TEXT = frozenset("idna punycode undefined unicode-escape raw-unicode-escape".split())
DECLARED = re.compile(rb"<meta[^>]{0,200}charset\s*=\s*[\"']?\s*([\w-]+)", re.I)


def home() -> Path:
    """The folder of caches, scores and added games: TEXTGAMES_HOME, or ~/.textgames."""
    return Path(os.environ.get("TEXTGAMES_HOME") or Path.home() / ".textgames")


def make_folder(folder: Path) -> None:
    """Make a folder and its parents."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: cannot be created: {error.strerror}") from error


def json_bytes(value: Any, **layout: Any) -> bytes:
    """The contents of a JSON file. `layout` is that of `json.dumps`.

    Raises:
        InputError: There is a number that JSON does not have, such as infinity.
    """
    try:
        return json.dumps(value, allow_nan=False, **{"ensure_ascii": False, **layout}).encode()
    except ValueError as error:
        raise InputError(f"a result cannot be written as JSON: {error}") from error


def write_atomically(path: Path, data: bytes) -> None:
    """Write a whole file or nothing. If the disk fills, the old file stays.

    JSON is read back first, so that a file that can be read is never replaced by one that cannot.
    """
    if path.suffix == ".json":
        try:
            json.dumps(json.loads(data), allow_nan=False)
        except ValueError as error:
            raise InputError(f"{path}: {error}; the old file is unchanged") from error
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.unlink(missing_ok=True)  # a killed process may have left it
        with temporary.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        _replace(temporary, path)
    except OSError as error:
        with contextlib.suppress(OSError):  # on a read-only disk
            temporary.unlink()
        cause = f"cannot be written: {error.strerror}"
        raise InputError(f"{path}: {cause}; the old file is unchanged") from error


def _replace(temporary: Path, path: Path, tries: int = 40) -> None:
    """Rename a file. On Windows, this fails while another process reads the old one."""
    for _ in range(tries if sys.platform == "win32" else 0):
        try:
            temporary.replace(path)
            return
        except PermissionError:
            time.sleep(0.05)
    temporary.replace(path)


def write(path: Path, content: str | bytes) -> None:
    """Write a whole file or nothing, in a folder that is created if it does not exist."""
    make_folder(path.parent)
    write_atomically(path, content.encode() if isinstance(content, str) else content)


def append_line(path: Path, line: str) -> None:
    """Append a line to a file, which may not exist. A last line that was cut short is ended."""
    make_folder(path.parent)
    try:
        with path.open("ab+") as file:
            file.seek(max(0, file.tell() - 1))
            is_cut = file.read() not in (b"", b"\n")
            start = "\n" if is_cut else ""
            file.write(f"{start}{line}\n".encode())
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from error


def remove_leftovers(folder: Path, names: Iterable[str]) -> None:
    """Remove temporary files of `write_atomically` that killed processes left."""
    for name in names:
        for path in folder.glob(f".{name}.*"):
            if path.suffix[1:].isdecimal():
                path.unlink(missing_ok=True)


def slug(name: str, *, plain: bool = False) -> str:
    """A name that is safe as a file name. If `plain`, it has only a-z, digits, dots, hyphens."""
    if plain:
        name = re.sub(r"[^a-z0-9.]+", "-", name.lower())
    return re.sub(r"[^\w.-]+", "-", name).strip("-.") or "game"


def decode(data: bytes, source: str, encoding: str | None = None) -> str:
    r"""Decode a text by the given encoding, its byte order mark, its HTML, or as UTF-8.

    Line breaks become `\n`.
    """
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
        cause = f"byte 0x{data[error.start]:02x} is not {encoding.removesuffix('-sig')}"
        cure = "save the file as UTF-8"
        if encoding != UTF8:  # of a story
            cure += ", or name its encoding with --encoding (cp1252 for many old stories)"
        raise InputError(f"{source}, line {line}: {cause}; {cure}") from error
    except (LookupError, ValueError) as error:
        cause = f'unknown encoding "{encoding}"'
        raise InputError(f"{source}: {cause}; try utf-8 or cp1252") from error
    if "\0" in text:
        raise InputError(f"{source}: contains NUL characters, so it is not a text file")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_text(path: Path) -> str:
    """The text of a UTF-8 file."""
    return decode(read_bytes(path), str(path), UTF8)


def read_lines(path: Path) -> list[str]:
    """The lines of a UTF-8 file with their line feeds. No other character ends a line."""
    return list(io.StringIO(read_text(path)))


def read_bytes(path: Path, largest: float = 64 * 2**20) -> bytes:
    """The bytes of a file that is not too large."""
    try:
        if path.stat().st_size > largest:
            raise InputError(f"{path}: {path.stat().st_size:,} bytes; the limit is {largest:,}")
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error


def read_toml(path: Path) -> dict[str, Any]:
    """The table of a TOML file."""
    text = read_text(path)
    try:
        table: dict[str, Any] = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not valid TOML: {error}") from error
    return table


def json_or_none(path: Path) -> Any:
    """The contents of a JSON file, or None if it does not exist or is damaged."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None


def read_csv(
    text: str, columns: Mapping[str, Callable[[str], Any]], source: object
) -> list[dict[str, Any]]:
    """The rows of a CSV file. An `InputError` names the line that is not a row.

    Args:
        text: The contents of the file.
        columns: The names in the header, each with the function that reads a cell. It raises a
            ValueError with what the cell must be.
        source: The file's name in errors.
    """
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    rows = []
    try:
        if next(reader, None) != list(columns):
            raise InputError(f"{source}, line 1: the header must be {','.join(columns)}")
        for cells in reader:
            if len(cells) != len(columns):
                raise ValueError(f"{len(cells)} cells, but the header has {len(columns)}")
            pairs = zip(columns.items(), cells, strict=True)
            rows.append({name: read(cell) for (name, read), cell in pairs})
    except (ValueError, csv.Error) as error:
        raise InputError(f"{source}, line {reader.line_num}: not a row: {error}") from error
    return rows
