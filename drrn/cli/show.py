"""What several commands share: opening a game from options, tables, progress."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from drrn.game.contract import Game
from drrn.game.make import GameSpec, spec_for
from drrn.stories.authored import EXPLORE_LIMIT as LIMIT
from drrn.stories.authored import Explorable
from drrn.stories.twine.script import grouped
from drrn.writing import counted as counted
from drrn.writing import one_line as one_line
from drrn.writing import visible

T = TypeVar("T")
POLICIES = (
    "softmax",
    "greedy",
    "best",
)  # of an agent; said here too, since PyTorch takes a second to import


def add_game_options(command: argparse.ArgumentParser, *, optional: bool = False) -> None:
    explanation = "a name, the path of a story or its .toml, or module:factory"
    command.add_argument("game", metavar="GAME", nargs="?" if optional else None, help=explanation)
    command.add_argument(
        "--lenient", action="store_true", help="leave out what is not supported, and play on"
    )
    command.add_argument(
        "--engine",
        choices=("native", "hosted"),
        help="what plays a Twine story: native, this program's own interpreter, or hosted, the engine that the "
        "story was published with (default: native where it understands the whole story)",
    )
    command.add_argument(
        "--encoding", help="of the story file, if it is not UTF-8 (old stories: cp1252)"
    )
    command.add_argument(
        "--outside", action="store_true", help="let a TOML name files outside its own folder"
    )


def open_game(options: argparse.Namespace, *, lenient: bool = False, **choices: Any) -> Game:
    """The game that the options name."""
    return open_named(options, lenient=lenient, **choices)[0]


def open_named(
    options: argparse.Namespace, *, lenient: bool = False, **choices: Any
) -> tuple[Game, GameSpec]:
    """The same, with the recipe by which it can be opened again."""
    given = {name: getattr(options, name) for name in ("encoding", "engine", "outside")}
    recipe = spec_for(options.game, lenient=lenient or options.lenient, **given, **choices)
    game = recipe.open()
    if options.lenient and isinstance(game, Explorable):
        for line in grouped(game.problems):
            print(f"left out: {visible(line)}", file=sys.stderr)
    return game, recipe


def table(rows: Sequence[Sequence[object]], *, header: Sequence[str] = ()) -> str:
    """Columns side by side; numbers to the right."""
    cells = [[_cell(cell) for cell in row] for row in ([header] if header else []) + list(rows)]
    if not cells:
        return ""
    widths = [max(len(row[i]) for row in cells) for i in range(len(cells[0]))]
    right = [
        all(isinstance(row[i], (int, float)) or row[i] is None for row in rows)
        for i in range(len(widths))
    ]
    columns = list(zip(widths, right, strict=True))

    def line(row: list[str]) -> str:
        sides = zip(row, columns, strict=True)
        return "  ".join(
            cell.rjust(width) if on else cell.ljust(width) for cell, (width, on) in sides
        ).rstrip()

    return "\n".join(map(line, cells))


def tracked(items: Iterable[T], total: int, label: str) -> Iterator[T]:
    """The items, under a progress bar where a person looks on and rich is installed."""
    if not sys.stderr.isatty():
        yield from items
        return
    try:
        from rich.console import Console
        from rich.progress import track
    except ImportError:
        yield from items
        return
    yield from track(items, label, total, console=Console(stderr=True), transient=True)


def _cell(value: object) -> str:
    if isinstance(value, (int, float)):
        return f"{value:.2f}" if isinstance(value, float) else f"{value:,}"
    return "-" if value is None else visible(str(value))


def add_limit(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--limit",
        type=positive,
        default=LIMIT,
        help="states to visit at most (default: %(default)s)",
    )


def positive(text: str) -> int:
    if not text.isdecimal() or len(text) > 12 or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text[:20]} is not a whole number from 1 up")
    return int(text)


def games_progress(games: int) -> Callable[[int], None] | None:
    """A line that counts games, where a person looks on."""
    if not sys.stderr.isatty():
        return None
    return lambda game: print(
        f"\r{game:,} of {games:,} games \x1b[K\r", end="", file=sys.stderr, flush=True
    )


def states_progress(limit: int) -> Callable[[int], None] | None:
    """A line that counts on, where a person looks on."""
    if not sys.stderr.isatty():
        return None

    shown = time.monotonic()

    def show(states: int) -> None:
        nonlocal shown
        if (
            states % 1000 == 0 or time.monotonic() > shown + 0.5
        ):  # where states are slow, they are counted by the clock
            shown = time.monotonic()
            print(
                f"\r{states:,} states of at most {limit:,} \x1b[K\r",
                end="",
                file=sys.stderr,
                flush=True,
            )

    return show
