"""Reads compiled Ink, the JSON that inklecate and Inky write."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from drrn.errors import InputError
from drrn.files import decode, read_bytes
from drrn.stories.twine.story import Passage, Story

SOURCE_SUFFIXES = (".ink", ".ink2")
OPENING = "(opening)"  # the name of the content before the first knot
RANDOM_COMMANDS = frozenset(("rnd", "lrnd", "seq"))  # RANDOM, LIST_RANDOM, shuffles
TURN_COMMANDS = frozenset(("turn", "turns", "readc"))
COUNT_VISITS = 1  # the bit of "#f" that makes the runtime count a container's visits
COMPILE = "compile it first: inklecate -o '{out}' '{source}', or in Inky: File, Export to JSON"


@dataclass(frozen=True)
class InkFile:
    """A compiled story."""

    text: str  # its JSON, changed so that visits of all knots are counted and tags are modern
    story: Story  # each knot and stitch as a passage
    variables: tuple[str, ...]
    uncounted: frozenset[str]  # knots whose visits the story itself never reads
    has_chance: bool
    reads_turns: bool  # whether the story reads the number of turns
    links: Mapping[str, frozenset[str]]  # knots and stitches that each one diverts to


def read_ink(path: Path, encoding: str | None = None) -> InkFile:
    """Read a compiled story.

    Raises:
        InputError: The file is Ink source, not compiled Ink, or damaged.
    """
    if path.suffix.lower() in SOURCE_SUFFIXES:
        cure = COMPILE.format(out=path.with_suffix(".json").name, source=path.name)
        raise InputError(f"{path}: this is Ink source; {cure}")
    text = decode(read_bytes(path), str(path), encoding)
    try:
        table = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not compiled Ink: it is not valid JSON: {error}") from error
    is_ink = (
        isinstance(table, dict)
        and isinstance(table.get("inkVersion"), int)
        and isinstance(table.get("root"), list)
    )
    if not is_ink:
        raise InputError(f'{path}: not compiled Ink: it has no "inkVersion" with a "root"')
    try:
        return _ink_file(table, str(path))
    except RecursionError as error:
        cause = "damaged Ink: its containers are nested without end"
        raise InputError(f"{path}: {cause}; compile it again") from error


def _ink_file(table: dict[str, Any], source: str) -> InkFile:
    root = table["root"]
    for container in _containers(root):
        if not container or not isinstance(container[-1], (dict, type(None))):
            raise InputError(f"{source}: damaged Ink: a container has no end; compile it again")
    sections_of_root = _named(root)
    functions = {part["f()"] for part in _parts(root) if isinstance(part, dict) and "f()" in part}
    knots = {}
    for name, knot in sections_of_root.items():
        if name != "global decl" and name not in functions:
            knots[name] = knot
    for name, knot in tuple(knots.items()):
        knots |= {f"{name}.{inner}": stitch for inner, stitch in _named(knot).items()}
    sections = {OPENING: root[:-1], **knots}
    passages = {name: Passage(name, _text(part), _tags(part)) for name, part in sections.items()}
    titles = [tag[6:].strip() for tag in passages[OPENING].tags if tag.lower().startswith("title:")]
    commands = {part for part in _parts(root) if isinstance(part, str)}
    declarations = (
        part for part in sections_of_root.get("global decl", []) if isinstance(part, dict)
    )
    variables = tuple(part["VAR="] for part in declarations if "VAR=" in part)
    uncounted = frozenset(name for name, knot in knots.items() if _count_visits(knot))
    _modernise_tags(root)
    return InkFile(
        text=json.dumps(table),
        story=Story(source, passages, title=titles[0] if titles else "", start=OPENING),
        variables=variables,
        uncounted=uncounted,
        has_chance=not RANDOM_COMMANDS.isdisjoint(commands),
        reads_turns=not TURN_COMMANDS.isdisjoint(commands),
        links=_links(sections),
    )


def _links(sections: Mapping[str, list[Any]]) -> dict[str, frozenset[str]]:
    """Return what each knot and stitch diverts to; the links of a stitch are not its knot's."""
    ids = {id(part) for part in sections.values()}

    def own_parts(container: list[Any]) -> Iterator[Any]:
        for part in (*container, *(_named(container).values() if container else ())):
            if not isinstance(part, list):
                yield part
            elif id(part) not in ids:
                yield from own_parts(part)

    links = {}
    for name, container in sections.items():
        parts = (part for part in own_parts(container) if isinstance(part, dict))
        targets = {_section_of(path, sections) for part in parts for path in _paths(part)}
        links[name] = frozenset(target for target in targets if target and target != name)
    return links


def _paths(part: dict[str, Any]) -> list[str]:
    """Return the absolute paths that a part diverts to, or stores for a divert."""
    paths = [part[key] for key in ("->", "->t->", "^->") if isinstance(part.get(key), str)]
    return [] if part.get("var") else [path for path in paths if not path.startswith(".")]


def _section_of(path: str, sections: Mapping[str, Any]) -> str | None:
    parts = path.split(".")
    return next((name for name in (".".join(parts[:2]), parts[0]) if name in sections), None)


def _named(container: list[Any]) -> dict[str, list[Any]]:
    """Return the named containers inside one: knots of the root, stitches of a knot."""
    last = container[-1]
    items = last.items() if isinstance(last, dict) else ()
    return {name: part for name, part in items if isinstance(part, list)}


def _containers(container: list[Any]) -> Iterator[list[Any]]:
    """Yield a container and all containers inside it."""
    yield container
    unnamed = (part for part in container if isinstance(part, list))
    for inner in (*unnamed, *(_named(container).values() if container else ())):
        yield from _containers(inner)


def _parts(node: list[Any]) -> Iterator[Any]:
    for container in _containers(node):
        yield from container


def _text(node: list[Any]) -> str:
    strings = (part for part in _parts(node) if isinstance(part, str))
    return "\n".join(part[1:] for part in strings if part.startswith("^"))


def _tags(node: list[Any]) -> tuple[str, ...]:
    """Return the tags in both notations: an object, or text between two marks."""
    objects = (part for part in _parts(node) if isinstance(part, dict))
    tags = [str(part["#"]).strip() for part in objects if "#" in part]
    for inner in _containers(node):
        marks = [index for index, part in enumerate(inner) if part == "#"]
        tags += [str(inner[index + 1])[1:].strip() for index in marks if index + 1 < len(inner)]
    return tuple(tags)


def _count_visits(container: list[Any]) -> bool:
    """Make the runtime count a container's visits; return whether it did not before."""
    details = container[-1] if isinstance(container[-1], dict) else {}
    flags = details.get("#f", 0)
    container[-1] = {**details, "#f": flags | COUNT_VISITS}
    return not flags & COUNT_VISITS


def _modernise_tags(root: list[Any]) -> None:
    """Rewrite tags as Ink 21 does; one part stays one part, because paths count parts."""
    for container in list(_containers(root)):
        for index, part in enumerate(container):
            if isinstance(part, dict) and set(part) == {"#"}:
                container[index] = ["#", f"^{part['#']}", "/#", None]
