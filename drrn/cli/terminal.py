"""What the commands share: options of games, tables, JSON, progress."""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from drrn.game.contract import Game
from drrn.game.make import GameSpec, spec_for
from drrn.settings import POLICIES as POLICIES
from drrn.writing import counted as counted
from drrn.writing import one_line as one_line
from drrn.writing import visible, visible_json

T = TypeVar("T")


def add_game_options(command: argparse.ArgumentParser, *, optional: bool = False) -> None:
    """Add GAME and the options that say how to open it."""
    command.add_argument(
        "game",
        metavar="GAME",
        nargs="?" if optional else None,
        help="a name, the path of a story or its .toml, or module:factory",
    )
    command.add_argument("--lenient", action="store_true", help="skip unsupported code")
    command.add_argument(
        "--engine",
        choices=("native", "hosted"),
        help="what runs a Twine story: our interpreter (native), or the story's own engine "
        "(hosted); default: native if it supports the whole story",
    )
    command.add_argument(
        "--encoding", help="encoding of the story file, if not UTF-8 (old stories: cp1252)"
    )
    command.add_argument(
        "--outside", action="store_true", help="let a TOML name files outside its own folder"
    )


def open_game(options: argparse.Namespace, *, lenient: bool = False, **choices: Any) -> Game:
    """Open the game that the options name."""
    return open_named(options, lenient=lenient, **choices)[0]


def open_named(
    options: argparse.Namespace, *, lenient: bool = False, **choices: Any
) -> tuple[Game, GameSpec]:
    """Open the game that the options name, and return the spec that opens it again."""
    from drrn.stories.authored import Explorable
    from drrn.stories.twine.script import summarise

    given = {name: getattr(options, name) for name in ("encoding", "engine", "outside")}
    spec = spec_for(options.game, lenient=lenient or options.lenient, **given, **choices)
    game = spec.open()
    if options.lenient and isinstance(game, Explorable):
        for line in summarise(game.problems):
            print(f"skipped: {visible(line)}", file=sys.stderr)
    return game, spec


def add_limit(command: argparse.ArgumentParser) -> None:
    """Add --limit."""
    from drrn.stories.authored import EXPLORE_LIMIT

    command.add_argument(
        "--limit",
        type=positive,
        default=EXPLORE_LIMIT,
        help="largest number of states to visit (default: %(default)s)",
    )


def positive(text: str) -> int:
    """Parse a whole number from 1."""
    if not text.isdecimal() or len(text) > 12 or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text[:20]} is not a whole number from 1")
    return int(text)


def table(rows: Sequence[Sequence[object]], *, header: Sequence[str] = ()) -> str:
    """Return a table with aligned columns; columns of numbers are aligned to the right."""
    cells = [[_cell(cell) for cell in row] for row in rows]
    if header:
        cells.insert(0, list(header))
    columns = []
    for index in range(len(cells[0]) if cells else 0):
        width = max(len(row[index]) for row in cells)
        numbers = all(isinstance(row[index], (int, float, type(None))) for row in rows)
        side = str.rjust if numbers else str.ljust
        columns.append([side(row[index], width) for row in cells])
    return "\n".join("  ".join(line).rstrip() for line in zip(*columns, strict=True))


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.2f}"
    if isinstance(value, int):
        return f"{value:,}"
    return "-" if value is None else visible(str(value))


def print_json(value: Any) -> None:
    """Print a value as one line of JSON."""
    print(visible_json(json.dumps(value, ensure_ascii=False)), flush=True)


def tracked(items: Iterable[T], total: int, label: str) -> Iterator[T]:
    """Yield the items, with a progress bar if stderr is a terminal and rich is installed."""
    if sys.stderr.isatty():
        with contextlib.suppress(ImportError):
            from rich.console import Console
            from rich.progress import track

            items = track(items, label, total, console=Console(stderr=True), transient=True)
    yield from items


def counter(unit: str, total: int) -> Callable[[int], None] | None:
    """Return a function that displays a count on one line; None if stderr is not a terminal."""
    if not sys.stderr.isatty():
        return None
    last = 0.0

    def show(count: int) -> None:
        nonlocal last
        if time.monotonic() > last + 0.2:
            last = time.monotonic()
            text = f"\r{count:,} of at most {total:,} {unit} \x1b[K\r"
            print(text, end="", file=sys.stderr, flush=True)

    return show
