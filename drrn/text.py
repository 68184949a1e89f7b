"""Words: lower-cased runs of letters and digits; an apostrophe inside a word stays with it."""

from __future__ import annotations

import re

WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")


def words(text: str) -> list[str]:
    return WORD.findall(text.lower().replace("’", "'"))
