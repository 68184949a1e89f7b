"""A light browser in a V8 isolate: runs the scripts of a story without files or network.

`prepare` rewrites the text of a page before it is loaded. It removes pictures, outside files and
the session storage of engines. `floor(random() * n)` becomes a call that reports its number of
outcomes, so that chance can be listed with exact probabilities.
"""

from __future__ import annotations

import html.entities
import json
import time
from functools import cache
from importlib import resources
from typing import Any

from storytest.hosted import patterns
from storytest.hosted.engine import (
    CALL_SECONDS,
    Isolate,
    IsolateError,
    OutOfMemoryError,
    TimedOutError,
)
from textgames.errors import InputError

# Files under js/, in the order of loading.
BROWSER = (
    "start buffers sizes events nodes texts collections elements tokens parser parser_body "
    "serialiser selectors pseudo_classes styles style_sheets computed_styles html_elements forms "
    "activation document observers addresses window absent transitions loading markup_cache"
).split()
DRIVER = "clock chance dialogs box_names reading actions formats beyond driver rewind".split()

SPREAD = "__drrn.chance.spread("


def without_media(text: str) -> str:
    """The page without the pictures, sounds and fonts inside it."""
    return patterns.EMBEDDED.sub(r"\1", text)


def check_size(text: str, source: str, most: int = 16 * 2**20) -> None:
    """Refuse a page, already without media, that would take minutes to read."""
    if len(text) > most:
        size = f"{len(text) / 2**20:.0f} MB of text and scripts, not counting pictures"
        raise InputError(f"{source}: {size}; the limit is {most // 2**20} MB")


def outside_scripts(text: str) -> list[str]:
    """The names of scripts that a page would load from other files."""
    tags = (tag.group() for tag in patterns.OUTSIDE_SCRIPT.finditer(text))
    names = (patterns.SCRIPT_NAME.search(tag) for tag in tags)
    return [name.group(1) for name in names if name]


def prepare(text: str) -> str:
    """A story's page as it is loaded: see the top of this module."""
    has_seed = patterns.CHAPBOOK_SEED.search(text) is not None
    for name, replacement in patterns.REWRITES.items():
        if not (has_seed and name.startswith("CHAPBOOK")):
            text = patterns.ALL[name].sub(replacement, text)
    return with_listed_draws(text)


def with_listed_draws(text: str) -> str:
    """Replace every random product that is rounded down by a call that reports its outcomes."""
    pieces = []
    done = 0
    for draw in patterns.RANDOM_PRODUCT.finditer(text):
        if draw.start() < done:
            continue
        end = _operand_end(text, draw.end())
        before = max(done, draw.start() - 40)  # of the rounding call
        in_call = (
            patterns.ROUNDED_BY_CALL.search(text, before, draw.start())
            and text[end : end + 1] == ")"
        )
        if end > draw.end() and (in_call or patterns.ROUNDED_BY_OR.match(text, end)):
            pieces += [text[done : draw.start()], SPREAD, text[draw.end() : end], ")"]
            done = end
    return "".join([*pieces, text[done:]])


def _operand_end(text: str, start: int) -> int:
    """The end of a factor: an expression in brackets, or a name with members and calls."""
    if text[start : start + 1] != "(":
        operand = patterns.OPERAND.match(text, start)
        return operand.end() if operand else start
    depth = 0
    for index in range(start, min(len(text), start + 500)):
        depth += {"(": 1, ")": -1}.get(text[index], 0)
        if depth == 0:
            return index + 1
    return start


@cache
def scripts(names: tuple[str, ...]) -> str:
    """The text of our JavaScript files, concatenated."""
    folder = resources.files("storytest.hosted") / "js"
    return "\n".join((folder / f"{name}.js").read_text(encoding="utf-8") for name in names)


def add_browser(isolate: Isolate) -> None:
    """Load the light browser into an isolate, with the driver that plays stories."""
    isolate.evaluate(scripts(tuple(BROWSER)))
    names = json.dumps(html.entities.html5)
    isolate.evaluate(f"__drrn.entities = Object.assign(Object.create(null), {names});")
    isolate.evaluate(scripts(tuple(DRIVER)))


def load(isolate: Isolate, text: str, *, seconds: float = CALL_SECONDS) -> None:
    """Load a page and run its scripts in order.

    Errors are reported to the page, as in a browser. Each script has `seconds`, and all together
    have twice as much.
    """
    deadline = time.monotonic() + 2 * seconds

    def run(script: str) -> Any:
        remaining = deadline - time.monotonic()
        if remaining <= 0:
            raise TimedOutError(f"the scripts did not finish in {2 * seconds:g} seconds")
        return isolate.evaluate(script, seconds=min(remaining, seconds))

    run(f"__drrn.loadPage({json.dumps(text)})")
    while isinstance(script := run("__drrn.nextScript()"), str):
        try:
            run(script)
        except (TimedOutError, OutOfMemoryError):
            raise
        except IsolateError as error:
            run(f"__drrn.scriptThrew({json.dumps(str(error)[:500])})")
    run("__drrn.arrive()")
