"""The patterns of `patterns.toml`, each as an attribute of this module."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from textgames.files import read_toml

if TYPE_CHECKING:

    def __getattr__(name: str) -> re.Pattern[str]: ...


_TABLE = read_toml(Path(__file__).with_name("patterns.toml"))
_PARTS: dict[str, str] = _TABLE.pop("parts")
REWRITES: dict[str, str] = _TABLE.pop("rewrites")  # name of a pattern → what replaces it
ALL: dict[str, re.Pattern[str]] = {}
for _section in _TABLE.values():
    for _name, _pattern in _section.items():
        for _part, _text in _PARTS.items():
            _pattern = _pattern.replace(f"{{{_part}}}", _text)
        ALL[_name] = re.compile(_pattern, re.VERBOSE)
globals().update(ALL)
