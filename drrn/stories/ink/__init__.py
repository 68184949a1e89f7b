"""Compiled Ink stories as games."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from drrn.stories.ink.ink_file import read_ink
from drrn.stories.ink.ink_game import InkGame
from drrn.stories.ink.ink_states import EnumerableInkGame
from drrn.stories.twine.dialects import DEFAULT
from drrn.stories.twine.rules import Rules, check_rules
from drrn.stories.twine.script import Facts, Script


def open_ink(
    path: Path,
    rules: Rules | None = None,
    toml: Path | None = None,
    *,
    shuffle: bool = True,
    paraphrases: Mapping[str, str] | None = None,
    encoding: str | None = None,
) -> InkGame:
    """The game of a compiled story, under the rules of the TOML beside it."""
    ink = read_ink(path, encoding)
    rules = rules or Rules()
    if toml is not None:
        check_rules(
            rules, Script(ink.story, DEFAULT, {}, facts=Facts(written=set(ink.variables))), toml
        )
    kind = InkGame if ink.has_chance else EnumerableInkGame
    return kind(
        path.stem.removesuffix(".ink"), ink, rules, shuffle=shuffle, paraphrases=paraphrases
    )
