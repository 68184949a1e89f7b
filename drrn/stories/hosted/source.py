"""From the text of a published story to a page whose scripts have run, in an isolate with a light browser."""

from __future__ import annotations

import html.entities
import json
import re
import time
from functools import cache
from importlib import resources
from typing import Any

from drrn.errors import InputError
from drrn.stories.hosted.drawn_lots import with_lots
from drrn.stories.hosted.isolate import (
    SECONDS,
    Isolate,
    IsolateError,
    OutOfMemoryError,
    TimedOutError,
)

BROWSER = (
    "start buffers sizes events nodes texts collections elements tokens parser parser_body serialiser selectors "
    "pseudo_classes styles style_sheets computed_styles html_elements forms activation document observers "
    "addresses window absent transitions loading markup_cache"
).split()
DRIVER = "clock chance dialogs box_names reading actions formats beyond driver rewind".split()

JQUERY_DRAW = re.compile(
    r"Math\.random\(\)\s*\|\|\s*0?\.1"
)  # the mark by which Sizzle knows one search from the next
JQUERY_NAME = re.compile(r'("jQuery"\s*\+\s*\(\s*\w+\s*\+\s*)Math\.random\(\)')
HARLOWE_START = re.compile(
    r"(Engine\.showPassage\(State\.passage\)\s*:\s*(?:void )?)Engine\.goToPassage\("
)
HARLOWE_ONLY_START = re.compile(r"Engine\.goToPassage\(()(?=[\w.]+\)[\s;})]*[,;]\s*define\()")
HANDED_OUT = (
    r'\1(window.__drrn&&(window.__drrn.harlowe={State:typeof State==="undefined"?void 0:State,Engine:Engine,'
    r'Section:typeof Section==="undefined"?void 0:Section}),Engine).goToPassage('
)
# What an engine writes down at each move, in case the page is loaded again: most of the time of a click in a long game.
HARLOWE_SESSION = re.compile(r"(\.hasSessionStorage)(?=\)\s*\{\s*var \w+\s*=\s*\w+\.serialise\(\))")
# SugarCube packs its whole history into the browser's session at every turn, in case the page is loaded again.
SUGARCUBE_SESSION = re.compile(r',\s*session\.set\("state",')
SUGARCUBE_PACKING = re.compile(
    r"([=(,{;:&|?\s])LZString\.(?:compressToUTF16|decompressFromUTF16)\("
)
HARLOWE_LEXER = re.compile(r'return (\w+)\((?=new \w+\(\{type:\s*"root",)')
KEPT_LEXED = r"return (window.__drrn&&window.__drrn.lexed||function(lex,token,whole){return lex(token,whole)})(\1,"
LONGEST_MESSAGE = 500  # characters of what a script threw
# Pictures, sounds and fonts within the page, which nobody sees or hears here: they can be most of a large file.
EMBEDDED = re.compile(
    r"(data:(?:image|audio|video|font|application/(?:x-|vnd\.ms-)?font)[\w.+/-]*(?:;[\w=.-]+)*;base64,)[\w+/=-]{1000,}",
    re.ASCII,
)
# A tag has so many characters at most: without a bound, a page of nothing but "<script" would take for ever.
OUTSIDE_SCRIPT = re.compile(
    r"<script\b[^<>]{0,1000}\ssrc\s*=[^<>]{0,1000}>\s*</script\s*>", re.IGNORECASE
)
SCRIPT_NAME = re.compile(r"\ssrc\s*=\s*[\"']?([^\s\"'<>]+)", re.IGNORECASE)
OUTSIDE_SHEET = re.compile(
    r"<link\b[^<>]{0,1000}\brel\s*=\s*[\"']?stylesheet\b[^<>]{0,1000}>", re.IGNORECASE
)
MOST_CHARACTERS = 16 * 2**20  # of a page, its pictures, sounds and fonts not counted


def lightened(text: str) -> str:
    """The page without the pictures, sounds and fonts that it holds."""
    return EMBEDDED.sub(r"\1", text)


def check_size(text: str, source: str) -> None:
    """Refuse a page that takes minutes to read; `text` is lightened."""
    if len(text) > MOST_CHARACTERS:
        raise InputError(
            f"{source}: {len(text) / 2**20:.0f} MB of text and scripts, its pictures not counted: "
            f"the most that is played here is {MOST_CHARACTERS // 2**20} MB"
        )


def scripts_elsewhere(text: str) -> list[str]:
    """The names of scripts that a page would load from other files."""
    tags = (tag.group() for tag in OUTSIDE_SCRIPT.finditer(text))
    return [found.group(1) for tag in tags if (found := SCRIPT_NAME.search(tag))]


def prepared(text: str) -> str:
    """A story without pictures and anything from elsewhere, that draws by lots and hands out Harlowe's engine."""
    text = OUTSIDE_SHEET.sub("", OUTSIDE_SCRIPT.sub("", lightened(text)))
    text = with_lots(JQUERY_NAME.sub(r"\g<1>0.1", JQUERY_DRAW.sub("0.1", text)))
    text = HARLOWE_SESSION.sub(r"\1&&!1", text)
    text = SUGARCUBE_PACKING.sub(r"\1(", SUGARCUBE_SESSION.sub(',0&&session.set("state",', text))
    text = HARLOWE_LEXER.sub(KEPT_LEXED, text)
    text, found = HARLOWE_START.subn(HANDED_OUT, text, count=1)
    return text if found else HARLOWE_ONLY_START.sub(HANDED_OUT, text, count=1)


@cache
def scripts(names: tuple[str, ...]) -> str:
    """The text of our JavaScript files, one after the other."""
    folder = resources.files("drrn.stories.hosted") / "js"
    return "\n".join((folder / f"{name}.js").read_text(encoding="utf-8") for name in names)


@cache
def entities() -> str:
    """HTML's named characters, as JavaScript that makes them known."""
    return (
        f"__drrn.entities = Object.assign(Object.create(null), {json.dumps(html.entities.html5)});"
    )


def add_browser(isolate: Isolate, *, driver: bool = True) -> None:
    """Put the light browser into an isolate, and, unless told otherwise, the driver of stories."""
    isolate.evaluate(scripts(tuple(BROWSER)))
    isolate.evaluate(entities())
    if driver:
        isolate.evaluate(scripts(tuple(DRIVER)))


def load(isolate: Isolate, text: str, *, seconds: float = SECONDS) -> None:
    """Read a page and run its scripts in order; one that throws is reported to the page, as in a browser.

    Each script has so many seconds, and all together twice as many.
    """
    deadline = time.monotonic() + 2 * seconds

    def run(script: str) -> Any:
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimedOutError(f"the scripts did not end within {2 * seconds:g} seconds")
        return isolate.evaluate(script, seconds=min(left, seconds))

    run(f"__drrn.loadPage({json.dumps(text)})")
    while isinstance(script := run("__drrn.nextScript()"), str):
        try:
            run(script)
        except (TimedOutError, OutOfMemoryError):
            raise
        except IsolateError as error:
            run(f"__drrn.scriptThrew({json.dumps(str(error)[:LONGEST_MESSAGE])})")
    run("__drrn.arrive()")
