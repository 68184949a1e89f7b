"""A page that a hosted story shows: its text and links, and what its engine tells about itself."""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from drrn.stories.twine.layout import lay_out
from drrn.stories.twine.page import Link

HALF = re.compile(
    "[\ud800-\udfff]"
)  # of a character: scripts that cut texts leave one behind, and no file can hold it


class UnreadableError(Exception):
    """The driver's answer is not what it hands out: a story's script has been at it."""


@dataclass(frozen=True)
class Shown:
    """A page as the player sees it; link i is what `press(i)` takes."""

    passage: str
    pieces: tuple[str | Link, ...]
    variables: Mapping[str, Any]
    errors: tuple[
        str, ...
    ] = ()  # "passage: message" of what the story's scripts threw since the last page
    beyond: str = ""  # what the story keeps outside its variables: globals of its scripts, settings
    history: tuple[
        str, ...
    ] = ()  # passages shown so far, as the engine remembers them; the last is this one
    entered: bool = (
        True  # whether the passage was entered by the last click; False: clicks were made within it
    )
    draws: int = 0  # random numbers drawn since the last page that are no lots
    lots: tuple[
        tuple[int, int], ...
    ] = ()  # outcomes and outcome of each lot drawn since the last page
    restarted: bool = False  # the story asked to be begun again

    @property
    def links(self) -> tuple[Link, ...]:
        return tuple(piece for piece in self.pieces if isinstance(piece, Link))

    @property
    def seen(self) -> tuple[str | tuple[str, str], ...]:
        """The pieces as plain values, to compare and to look up by."""
        return tuple(
            piece if isinstance(piece, str) else (piece.label, piece.target)
            for piece in self.pieces
        )

    @property
    def page(self) -> tuple[str, tuple[str, ...]]:
        """The text and the actions, as a player reads them."""
        text, actions, _ = lay_out(self.pieces)
        return text, tuple(label for label, _ in actions)


def read_shown(page: str) -> Shown:
    """The page of the driver's JSON; `UnreadableError` where that is none."""
    try:
        return _shown(json.loads(page))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UnreadableError(str(error)) from error


def _shown(told: Any) -> Shown:
    return Shown(
        passage=_text(told["passage"]),
        pieces=tuple(
            _text(piece)
            if isinstance(piece, str)
            else Link(_text(piece["label"]), _text(piece["target"]))
            for piece in told["pieces"]
        ),
        variables=dict(told["variables"].items()),
        errors=tuple(map(_text, told["errors"])),
        beyond=_text(told["beyond"]),
        history=tuple(map(_text, told["history"])),
        entered=bool(told["entered"]),
        draws=operator.index(told["draws"]),
        lots=tuple(
            (operator.index(outcomes), operator.index(outcome))
            for outcomes, outcome in told["lots"]
        ),
        restarted=bool(told["restarted"]),
    )


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{type(value).__name__} where a text must be")
    return HALF.sub("\ufffd", value)
