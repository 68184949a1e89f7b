"""Compiled Ink, as inklecate and Inky write it: what a rule may speak of, and what decides how it can be played."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from drrn.errors import InputError
from drrn.files import decode, read_bytes
from drrn.stories.twine.story import Passage, Story

INK_SOURCE = (".ink", ".ink2")
OPENING = "(opening)"  # what stands before the first knot
CHANCE = frozenset(("rnd", "lrnd", "seq"))  # RANDOM, LIST_RANDOM, and shuffles
TURNS = frozenset(("turn", "turns", "readc"))
COUNT_VISITS = 1  # the bit of "#f" by which a container's visits are counted
COMPILE = "compile it first: inklecate -o '{out}' '{source}', or in Inky: File, Export to JSON"


@dataclass(frozen=True)
class InkFile:
    """A compiled story; `text` is its JSON, with the visits of every knot counted and its tags in today's form."""

    text: str
    story: Story  # each knot and stitch as a passage, for rules to be checked by
    variables: tuple[str, ...]
    uncounted: frozenset[str]  # knots whose visits the story itself never asks for
    has_chance: bool
    reads_turns: bool  # whether it asks how many choices were made
    links: Mapping[str, frozenset[str]]  # of each knot and stitch, those that it diverts to


def read_ink(path: Path, encoding: str | None = None) -> InkFile:
    """The compiled story in a file, or one sentence that says why it is none."""
    if path.suffix.lower() in INK_SOURCE:
        how = COMPILE.format(out=path.with_suffix(".json").name, source=path.name)
        raise InputError(f"{path}: Ink source, and what is played is compiled Ink: {how}")
    text = decode(read_bytes(path), str(path), encoding)
    try:
        table = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not compiled Ink: it is not valid JSON: {error}") from error
    if not is_ink(table):
        raise InputError(f'{path}: not compiled Ink: there is no "inkVersion" with a "root" in it')
    try:
        return _ink_file(table, str(path))
    except RecursionError as error:
        raise InputError(
            f"{path}: containers in containers without end: this is no Ink that a compiler wrote"
        ) from error


def is_ink(table: Any) -> bool:
    """Whether it is the JSON of a compiled Ink story."""
    return (
        isinstance(table, dict)
        and isinstance(table.get("inkVersion"), int)
        and isinstance(table.get("root"), list)
    )


def _ink_file(table: dict[str, Any], source: str) -> InkFile:
    root = table["root"]
    if any(
        not inner or not isinstance(inner[-1], (dict, type(None))) for inner in _containers(root)
    ):
        raise InputError(f"{source}: damaged Ink: a container has no end: compile it again")
    named = _named(root)
    functions = {part["f()"] for part in _parts(root) if isinstance(part, dict) and "f()" in part}
    knots = {
        name: inside
        for name, inside in named.items()
        if name != "global decl" and name not in functions
    }
    knots |= {
        f"{name}.{inner}": part
        for name, inside in knots.items()
        for inner, part in _named(inside).items()
    }
    told = {OPENING: root[:-1], **knots}
    passages = {name: Passage(name, _text(part), _tags(part)) for name, part in told.items()}
    titles = [tag[6:].strip() for tag in passages[OPENING].tags if tag.lower().startswith("title:")]
    commands = {part for part in _parts(root) if isinstance(part, str)}
    declared = [
        part["VAR="]
        for part in named.get("global decl", [])
        if isinstance(part, dict) and "VAR=" in part
    ]
    uncounted = frozenset(name for name, inside in knots.items() if _count_visits(inside))
    _modernise_tags(root)
    return InkFile(
        text=json.dumps(table),
        story=Story(source, passages, title=titles[0] if titles else "", start=OPENING),
        variables=tuple(declared),
        uncounted=uncounted,
        has_chance=not CHANCE.isdisjoint(commands),
        reads_turns=not TURNS.isdisjoint(commands),
        links=_links(told),
    )


def _links(told: Mapping[str, list[Any]]) -> dict[str, frozenset[str]]:
    """What each knot and stitch diverts to, by the paths that stand in it; a stitch's are its own, not its knot's."""
    inner = {id(part) for part in told.values()}

    def own(container: list[Any]) -> Iterator[Any]:
        for part in (*container, *(_named(container).values() if container else ())):
            if isinstance(part, list):
                yield from own(part) if id(part) not in inner else ()
            else:
                yield part

    found = {}
    for name, container in told.items():
        paths = [path for part in own(container) if isinstance(part, dict) for path in _paths(part)]
        targets = {
            target for path in paths if (target := _passage_of(path, told)) and target != name
        }
        found[name] = frozenset(targets)
    return found


def _paths(part: dict[str, Any]) -> list[str]:
    """The paths that a part diverts to, or keeps for a divert."""
    named = [part[key] for key in ("->", "->t->", "^->") if isinstance(part.get(key), str)]
    return [] if part.get("var") else [path for path in named if not path.startswith(".")]


def _passage_of(path: str, told: Mapping[str, Any]) -> str | None:
    """The stitch or the knot that a path leads into."""
    parts = path.split(".")
    return next((name for name in (".".join(parts[:2]), parts[0]) if name in told), None)


def _named(container: list[Any]) -> dict[str, list[Any]]:
    """The named containers inside one: the knots of the root, the stitches of a knot."""
    last = container[-1]
    return (
        {name: part for name, part in last.items() if isinstance(part, list)}
        if isinstance(last, dict)
        else {}
    )


def _containers(container: list[Any]) -> Iterator[list[Any]]:
    """A container and those inside it, with and without names."""
    yield container
    unnamed = (part for part in container if isinstance(part, list))
    for inner in (*unnamed, *(_named(container).values() if container else ())):
        yield from _containers(inner)


def _parts(node: list[Any]) -> Iterator[Any]:
    """Everything in a container and in those inside it."""
    for container in _containers(node):
        yield from container


def _text(node: list[Any]) -> str:
    return "\n".join(
        part[1:] for part in _parts(node) if isinstance(part, str) and part.startswith("^")
    )


def _tags(node: list[Any]) -> tuple[str, ...]:
    """The tags in both forms: an object, or text between marks."""
    found = [
        str(part["#"]).strip() for part in _parts(node) if isinstance(part, dict) and "#" in part
    ]
    for inner in _containers(node):
        marks = [index for index, part in enumerate(inner) if part == "#"]
        found += [str(inner[index + 1])[1:].strip() for index in marks if index + 1 < len(inner)]
    return tuple(found)


def _count_visits(container: list[Any]) -> bool:
    """Have a container's visits counted; whether they were not before."""
    details = container[-1] if isinstance(container[-1], dict) else {}
    flags = details.get("#f", 0)
    container[-1] = {**details, "#f": flags | COUNT_VISITS}
    return not flags & COUNT_VISITS


def _modernise_tags(root: list[Any]) -> None:
    """Write tags as Ink does since version 21; one part stays one part, since paths count them."""
    for container in list(_containers(root)):
        for index, part in enumerate(container):
            if isinstance(part, dict) and set(part) == {"#"}:
                container[index] = ["#", f"^{part['#']}", "/#", None]
