"""Random changes of texts and files, and commands that must survive them."""

from __future__ import annotations

import contextlib
import io
import logging
from collections.abc import Iterable, Iterator, Sequence
from random import Random

from tests.commands import main

Cut = tuple[float, int, str]  # position as a fraction, length, replacement


def mutate(text: str, cuts: Iterable[Cut]) -> str:
    """Return the text with parts replaced by snippets."""
    for fraction, length, snippet in cuts:
        start = int(fraction * len(text))
        text = text[:start] + snippet + text[start + length :]
    return text


def flip_bytes(data: bytes, flips: Iterable[tuple[float, int]]) -> bytes:
    """Return the data with some bytes replaced; positions are fractions."""
    result = bytearray(data)
    for fraction, byte in flips:
        result[int(fraction * (len(result) - 1))] = byte
    return bytes(result)


def random_cuts(generator: Random, snippets: Sequence[str], limit: int = 5) -> list[Cut]:
    """Return one to `limit` random cuts."""
    cuts = []
    for _ in range(generator.randint(1, limit)):
        snippet = "".join(generator.choices(snippets, k=generator.randint(0, 3)))
        cuts.append((generator.random(), generator.choice((0, 0, 1, 3, 30)), snippet))
    return cuts


def random_flips(generator: Random) -> list[tuple[float, int]]:
    """Return one to five random replacements of bytes."""
    count = generator.randint(1, 5)
    return [(generator.random(), generator.randrange(256)) for _ in range(count)]


@contextlib.contextmanager
def collect_errors() -> Iterator[io.StringIO]:
    """Collect what is printed to stderr, and the warnings, which pytest would take."""
    errors = io.StringIO()
    warnings = logging.StreamHandler(errors)
    log = logging.getLogger("textgames")
    log.addHandler(warnings)
    try:
        with contextlib.redirect_stderr(errors):
            yield errors
    finally:
        log.removeHandler(warnings)


def check_command(arguments: list[str]) -> tuple[int, str, str]:
    """Run a command, which must exit with 0, 1 or 2, and if 2, with one line of error.

    Returns the exit code, the output and the errors.
    """
    output = io.StringIO()
    with collect_errors() as errors, contextlib.redirect_stdout(output):
        code = main(arguments)
    assert code in (0, 1, 2), f"{arguments[0]}: exit code {code}"
    lines = [line for line in errors.getvalue().splitlines() if line.startswith("drrn: ")]
    assert code != 2 or len(lines) == 1, f"{arguments[0]}: {errors.getvalue()}"
    assert "--help)" not in errors.getvalue(), f"a command that drrn does not have: {lines}"
    return code, output.getvalue(), errors.getvalue()
