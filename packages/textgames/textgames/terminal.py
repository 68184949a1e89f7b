"""What the commands share: opening the game, tables, JSON, progress on a terminal."""

import argparse
import json
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from textgames.document import MISSING, Document, Table, literal, to_text
from textgames.game.contract import Game, story_of
from textgames.openers import GameSpec, spec_for
from textgames.wording import one_line, visible, visible_json


def game_spec(options: argparse.Namespace, *, lenient: bool = False, **choices: Any) -> GameSpec:
    """The spec that opens the game which the options name."""
    values = {name: getattr(options, name) for name in ("encoding", "engine", "outside")}
    return spec_for(options.game, lenient=lenient or options.lenient, **values, **choices)


def open_game(options: argparse.Namespace, **choices: Any) -> Game:
    """Open the game that the options name; report what --lenient skips."""
    game = game_spec(options, **choices).open()
    if options.lenient:
        for line in story_of(game).warnings:
            warn(f"skipped: {line}")
    return game


def warn_about_skipped(messages: Sequence[str], most: int = 10) -> None:
    """Print what is left out, up to a number of lines."""
    for message in messages[:most]:
        warn(f"skipped: {message}")
    if len(messages) > most:
        warn(f"… and {len(messages) - most:,} more")


def warn(message: str) -> None:
    """Print a message to stderr, without control characters."""
    print(visible(message), file=sys.stderr)


def print_json(value: Any, indent: int | None = None) -> None:
    """Print a value as JSON, by default on one line."""
    print(visible_json(json.dumps(value, indent=indent, ensure_ascii=False)), flush=True)


def table(rows: Sequence[Sequence[object]], *, header: Sequence[str] = ()) -> str:
    """A table with aligned columns. Numbers and percentages are aligned to the right."""
    return to_text(Document("", [grid(rows, header)]), width=sys.maxsize).rstrip("\n")


def grid(rows: Sequence[Sequence[object]], header: Sequence[str] = ()) -> Table:
    """The table as a block of a document."""
    columns = zip(*rows, strict=True)
    sides = ["r" if all(map(_is_number, column)) else "l" for column in columns]
    cells = [[literal(_cell(cell)) for cell in row] for row in rows]
    names = header or [""] * max(map(len, cells), default=0)
    return Table("", names, cells, align="".join(sides))


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float, type(None))) or str(value).endswith(" %")


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.2f}" if abs(value) < 1e9 else f"{value:.3g}"
    if isinstance(value, int):
        return f"{value:,}"
    return MISSING if value is None else one_line(str(value))


def terminal_width(most: int = 120) -> int:
    """The width of the terminal, within limits."""
    return max(40, min(shutil.get_terminal_size((100, 24)).columns, most))


def status_line(
    hint: str = "", after: float = 1.0, every: float = 0.3
) -> Callable[[str], None] | None:
    """A function that displays a status on one line, or None if stderr is not a terminal.

    Args:
        hint: A text in parentheses after the status.
        after: The seconds before the first display.
        every: The seconds between two displays.
    """
    if not sys.stderr.isatty():
        return None
    start = time.monotonic()
    last = start
    suffix = f" ({hint})" if hint else ""

    def show(status: str) -> None:
        nonlocal last
        now = time.monotonic()
        if now > start + after and now > last + every:
            last = now
            text = f"\r{now - start:.0f} s: {status}{suffix}\x1b[K"
            print(text, end="", file=sys.stderr, flush=True)

    return show


def counter(unit: str, total: int) -> Callable[[int], None] | None:
    """A function that displays a count as the status, or None if stderr is not a terminal."""
    show = status_line()
    return show and (lambda count: show(f"{count:,} of at most {total:,} {unit}"))


def clear_status() -> None:
    """Erase the status line."""
    if sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)
