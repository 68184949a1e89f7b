"""A progress bar on a terminal."""

import importlib.util
import sys
from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def tracked(items: Iterable[T], total: int, label: str, done: int = 0) -> Iterator[T]:
    """Yield the items, with a progress bar if stderr is a terminal and rich is installed.

    Lines that are printed meanwhile appear above the bar.
    """
    if not sys.stderr.isatty() or importlib.util.find_spec("rich") is None:
        yield from items
        return
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    both = sys.stdout.isatty()  # otherwise stdout is a file
    with Progress(console=console, transient=True, redirect_stdout=both) as bar:
        task = bar.add_task(label, total=total, completed=done)
        for item in items:
            yield item
            bar.advance(task)
