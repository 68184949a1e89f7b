"""Hashes of texts, by which results speak of other people's stories without holding a sentence of them."""

from __future__ import annotations

import hashlib

from drrn.text import words


def mark(text: str) -> str:
    """The first 12 hexadecimal digits of the SHA-256 of the text's words, joined by spaces."""
    return hashlib.sha256(" ".join(words(text)).encode()).hexdigest()[:12]
