"""How texts are written: the words of a text, and the characters that must not reach a terminal."""

from __future__ import annotations

import re

# C0 but for tabs and line ends, C1, and what turns the direction of writing: they steer a terminal, or deceive a reader
STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def visible(text: str) -> str:
    """Text that others wrote, without the characters that steer a terminal."""
    return STEERING.sub("", text)


def visible_json(text: str) -> str:
    """JSON with those characters escaped, so that it says the same."""
    return STEERING.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
