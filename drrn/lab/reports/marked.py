"""Blocks between two markers in a file that is otherwise written by hand."""

from __future__ import annotations

import re
from pathlib import Path

from drrn.errors import InputError


def with_block(path: Path, name: str, block: str) -> tuple[str, str]:
    """The file as it is, and as it should be: with the block between `<!-- name -->` and `<!-- /name -->`."""
    begin = f"<!-- {name} -->"
    end = f"<!-- /{name} -->"
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    if text.count(begin) != 1 or text.count(end) != 1 or text.index(begin) > text.index(end):
        raise InputError(f"{path}: it must have one {begin} and, after it, one {end}")
    whole = f"{begin}\n\n{block}\n\n{end}"
    return text, re.sub(f"{begin}.*{end}", lambda _: whole, text, flags=re.S)
