"""Edits the text of a story's TOML: what endings are worth, and expectations."""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from drrn.writing import visible_json

ENDING = re.compile(r"^[ \t]*\[\[[ \t]*ending[ \t]*\]\].*?(?=^[ \t]*\[|\Z)", re.M | re.S)
REWARD = re.compile(r"^([ \t]*reward[ \t]*=[ \t]*)[^\s#]+", re.M)


def quoted(text: str) -> str:
    """Write a text as a TOML string, which a JSON string is."""
    return visible_json(json.dumps(text, ensure_ascii=False))


def edited(
    text: str, worths: Iterable[tuple[int | None, str, float]], expect: Iterable[Mapping[str, Any]]
) -> str:
    """Return the TOML with other worths of endings, and more expectations; all else stays.

    A worth has the number of its [[ending]], from 1, or None if it has none, and its passage.
    """
    new: list[tuple[str, Mapping[str, Any]]] = []
    tables = [match.span() for match in ENDING.finditer(text)]
    for rule, passage, worth in sorted(worths, key=lambda item: -(item[0] or 0)):  # last one first
        if rule is None:
            new.append(("ending", {"passage": passage, "reward": worth}))
        elif rule <= len(tables):
            start, end = tables[rule - 1]
            text = text[:start] + REWARD.sub(rf"\g<1>{worth:g}", text[start:end]) + text[end:]
    lines = [text.rstrip("\n")]
    for kind, table in (*new, *(("expect", table) for table in expect)):
        lines += ["", f"[[{kind}]]"]
        lines += [f"{key} = {_value(value)}" for key, value in table.items()]
    return "\n".join(lines) + "\n"


def _value(value: Any) -> str:
    return quoted(value) if isinstance(value, str) else f"{value:g}"
