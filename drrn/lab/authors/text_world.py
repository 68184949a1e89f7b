"""Home World in its authors' own words, out of a clone of mrkulk/text-world: its batch file is read, never run.

The file tells Evennia, a server of worlds, command by command what to build. Rooms, ways, things and descriptions are
taken from it; a command that builds anything else is refused.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from drrn.errors import InputError
from drrn.game.make import GameSpec
from drrn.stories.added import games_folder
from drrn.worlds.home_world import DIRECTIONS, Home, HomeWorld

ORIGINAL = "home-world-original"
WORLD_REPOSITORY = "mrkulk/text-world"
WORLD_COMMIT = "d4683f08"
WORLD_HOW = f"git clone https://github.com/{WORLD_REPOSITORY}, then drrn games add text-world"
BUILD = "evennia/contrib/text_sims/build.ev"
BUILD_SHA256 = "346cabd76460609dfab1e5bc2be12e00c773d1ac7cb059d4ffec02f572305f9e"
LARGEST_BUILD = 2**20  # bytes; the published file has 3,000

# The verb that works on each kind of thing, and the need that it satisfies.
KINDS = {
    "Watchable": ("watch", "bored"),
    "Exercisable": ("exercise", "getting fat"),
    "Consumable": ("eat", "hungry"),
    "Sleepable": ("sleep", "sleepy"),
}
QUEST = "You are not {other} now but you are {need} now."  # the words that their agents read
DONE_TEXT = "The quest is done."
OUT_OF_TIME_TEXT = "Twenty commands are over."

DIG = re.compile(
    r"@dig(?P<moves>/teleport)? (?P<name>[^;:=]+);(?P<alias>[^\s:=]+)\s*(?::\s*[\w.]+\s*)?"
    r"(?:=\s*(?P<there>\w+)[^,]*,\s*(?P<back>\w+).*)?"
)
OPEN = re.compile(r"@open (?P<way>\w+)[^=]*=\s*(?P<alias>\S+)")
DETAIL = re.compile(r"@detail desc\d+\s*=\s*(?P<text>.+)")
CREATE = re.compile(r"@create/drop (?P<thing>\w+)\s*:\s*[\w.]*?(?P<kind>\w+)")


@dataclass
class _Room:
    """A room as it is built; the first, without a name, is where building begins."""

    name: str = ""
    thing: str = ""
    kind: str = ""
    exits: dict[str, str] = field(default_factory=dict)  # way → alias of a room
    descriptions: list[str] = field(default_factory=list)


def is_text_world(clone: Path) -> bool:
    """Whether a folder is a clone of this repository."""
    return (clone / BUILD).is_file()


def add_home_world(clone: Path, *, altered: bool = False) -> tuple[str, bool]:
    """Install the world from a clone: the hash of what it was made from, and whether anything had to be written."""
    path = clone / BUILD
    data = _bytes(path)
    sha256 = hashlib.sha256(data).hexdigest()
    if sha256 != BUILD_SHA256 and not altered:
        raise InputError(
            f"{path}: not the file that was published at commit {WORLD_COMMIT}: get it back with "
            f"`git -C {clone} checkout {WORLD_COMMIT} -- {BUILD}`, or take it as it is with --altered"
        )
    try:
        table = read_build(data.decode("utf-8"), str(path))
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not in UTF-8: clone {WORLD_REPOSITORY} again") from error
    return sha256, _put({"sha256": sha256, "altered": sha256 != BUILD_SHA256, "home": table})


def added_home_world() -> dict[str, Any] | None:
    """What is installed: its hash, whether its file was altered, and the home; None: nothing."""
    path = _place()
    try:
        if not path.exists():
            return None
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        Home.read(found["home"])
        return found
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise InputError(
            f"{path}: cannot be read: delete it and add the world again: {WORLD_HOW}"
        ) from error


def open_original_of(spec: GameSpec) -> HomeWorld:
    """Open Home World in its authors' words; called by `make`."""
    return open_original(shuffle=spec.shuffle)


def open_original(*, shuffle: bool = True) -> HomeWorld:
    """Home World in its authors' words, or a sentence that tells how to get it."""
    found = added_home_world()
    if found is None:
        raise InputError(f"{ORIGINAL} is not installed: {WORLD_HOW}")
    return HomeWorld(ORIGINAL, Home.read(found["home"]), shuffle=shuffle)


def read_build(text: str, source: str) -> dict[str, Any]:
    """The home that a batch file builds, as a table of `Home.read`; `source` is what a complaint names."""
    building = _Building(source)
    for line, command in _commands(text):
        building.take(line, command)
    rooms = [room for alias, room in building.rooms.items() if alias]
    names = {alias: room.name for alias, room in building.rooms.items()}
    told = [_told(room, names, source) for room in rooms]
    if sorted(room["verb"] for room in told) != sorted(verb for verb, _ in KINDS.values()):
        raise InputError(
            f"{source}: it builds {len(told)} rooms, not one for each of {', '.join(KINDS)}"
        )
    return {
        "title": "Home World (original)",
        "quest": QUEST,
        "out_of_time": OUT_OF_TIME_TEXT,
        "room": told,
    }


class _Building:
    """Rooms while they are built, and the one that the builder stands in."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.here = ""
        self.rooms = {"": _Room()}

    def take(self, line: int, command: str) -> None:
        """Follow a command of the file."""
        room = self.rooms[self.here]
        if match := DIG.fullmatch(command):
            self._dig(match)
        elif match := OPEN.fullmatch(command):
            room.exits[match["way"]] = match["alias"]
        elif match := DETAIL.fullmatch(command):
            room.descriptions.append(match["text"].strip())
        elif match := CREATE.fullmatch(command):
            room.thing = match["thing"]
            room.kind = match["kind"]
        elif command.startswith("@tel"):
            self.here = ""
        elif room.exits.get(command) in self.rooms:
            self.here = room.exits[command]
        elif not command.startswith("@desc "):
            raise InputError(
                f"{self.source}, line {line}: {command[:60]!r} builds nothing that is known here"
            )

    def _dig(self, match: re.Match[str]) -> None:
        alias = match["alias"]
        self.rooms[alias] = _Room(match["name"].strip().lower())
        if match["there"]:
            self.rooms[self.here].exits[match["there"]] = alias
            self.rooms[alias].exits[match["back"]] = self.here
        if match["moves"]:
            self.here = alias


def _commands(text: str) -> Iterator[tuple[int, str]]:
    """The commands with the lines on which they begin: a line of comment ends one, others go on with it."""
    begun = 0
    parts = list[str]()
    for number, line in enumerate([*text.splitlines(), "#"], 1):
        if line.startswith("#"):
            if command := " ".join(parts).strip():
                yield begun, " ".join(command.split())
            parts = []
        else:
            begun = begun if parts else number
            parts.append(line.strip())


def _told(room: _Room, names: dict[str, str], source: str) -> dict[str, Any]:
    """A room as `Home.read` takes it."""
    if room.kind not in KINDS:
        raise InputError(
            f"{source}: the {room.name} has {room.kind or 'no thing'}, not one of {', '.join(KINDS)}"
        )
    if not room.descriptions:
        raise InputError(f"{source}: the {room.name} has no description")
    verb, need = KINDS[room.kind]
    exits = {way: names.get(alias, "") for way, alias in room.exits.items() if way in DIRECTIONS}
    if not exits or not all(exits.values()):
        raise InputError(f"{source}: the {room.name} has no way out, or one that leads nowhere")
    told = {"name": room.name, "thing": room.thing, "verb": verb, "need": need, "exits": exits}
    return {**told, "descriptions": room.descriptions, "done": DONE_TEXT}


def _place() -> Path:
    return games_folder() / f"{ORIGINAL}.json"


def _put(found: dict[str, Any]) -> bool:
    """Write the file whole, unless it is there already."""
    path = _place()
    text = json.dumps(found, indent=2, ensure_ascii=False) + "\n"
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        if path.exists() and path.read_bytes() == text.encode():
            return False
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished.write_text(text, encoding="utf-8", newline="\n")
        unfinished.replace(path)
    except OSError as error:
        raise InputError(
            f"{path}: cannot be written: {error.strerror}; what was there before stays"
        ) from error
    return True


def _bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST_BUILD + 1)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    if len(data) > LARGEST_BUILD:
        raise InputError(
            f"{path}: more than {LARGEST_BUILD:,} bytes: clone {WORLD_REPOSITORY} again"
        )
    return data.replace(b"\r\n", b"\n")  # a clone on Windows has them
