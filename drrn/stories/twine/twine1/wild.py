"""Macros that many Twine 1 stories bring along as scripts: going on to a passage, cycling links, sounds."""

from __future__ import annotations

import re

from drrn.stories.twine.cycles import Cycle
from drrn.stories.twine.layout import split_link
from drrn.stories.twine.page import Link, Page
from drrn.stories.twine.twine1.markup import Reader, Words, shortened
from drrn.stories.twine.twine1.scanner import link_at

LONGEST_WAIT = 10.0  # seconds after which a page counts as one that the player can act on
TIME = re.compile(r"\s*\b([0-9]*\.?[0-9]+)\s*(m?s)\s*$", re.I)
QUOTED = re.compile(r"\"([^\"]*)\"|'([^']*)'")

SOUNDS = (
    "playsound loopsound unloopsound stopsound stopallsound pausesound mutesound unmutesound fadeinsound fadeoutsound"
).split()


def ignore(reader: Reader, arguments: str, source: str) -> None:
    """Nothing that a player reads."""


def goto(reader: Reader, arguments: str, source: str) -> None:
    """Another passage takes this page's place once it is told; of several, the last."""
    where = passage_named(reader, TIME.sub("", arguments), source, "goes to")
    if where is not None:
        target = where
        reader.add(lambda page: _go_on(page, target(page)))


def timed_goto(reader: Reader, arguments: str, source: str) -> None:
    """The same after a while: nothing is lost, unless the while is so long that a player would act first."""
    time = TIME.search(arguments)
    if time is None:
        reader.problem(f"{shortened(source)} names no time, such as 2s")
    elif float(time[1]) / (1000 if time[2].lower() == "ms" else 1) > LONGEST_WAIT:
        reader.problem(
            f"{shortened(source)} waits too long to be taken at once: more than {LONGEST_WAIT:.0f} seconds"
        )
    else:
        goto(reader, arguments, source)


def _go_on(page: Page, name: str) -> None:
    """A computed name that is no passage comes here in lenient play only."""
    if name in page.script:
        page.onward = name


def passage_named(reader: Reader, arguments: str, source: str, verb: str) -> Words | None:
    """The passage that a macro names: quoted, bare, as a link, or by an expression."""
    arguments = arguments.strip()
    if arguments.startswith("[[") and (found := link_at(arguments, 0)):
        return reader.where(split_link(found[1])[1], source, verb)
    quoted = QUOTED.fullmatch(arguments)
    name = (quoted[1] or quoted[2] or "") if quoted else arguments
    where = reader.where(name, source, verb) if quoted or name in reader.names else None
    return where if where is not None or quoted else reader.where(f"({arguments})", source, verb)


def cycling_link(reader: Reader, words: list[str], source: str) -> None:
    """`$variable "one" "two" …`: each click shows the next words; a last word `end` or `out` says when that stops."""
    last = words.pop() if words and words[-1] in ("end", "out") else ""
    cell = words.pop(0) if words and words[0].startswith("$") else ""
    if not words or (last == "out" and not cell):
        reader.problem(f"{shortened(source)} needs {'a variable' if words else 'words to show'}")
        return
    reader.script.facts.read.add(cell[1:])
    reader.script.facts.written.add(cell[1:])

    def node(page: Page) -> None:
        value = page.read(cell or "$")  # those without a variable share one, which has no name
        if last == "out" and value == "":
            return
        at = words.index(value) if isinstance(value, str) and value in words else 0
        page.write(cell or "$", words[at])
        piece = Cycle(tuple(words), at, cell, last).piece(page.passage)
        if isinstance(piece, Link):
            page.offer(piece)
        else:
            page.say(piece)

    reader.add(node)
