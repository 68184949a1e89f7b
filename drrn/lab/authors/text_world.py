"""Home World in its authors' words, from a clone of mrkulk/text-world; nothing of it is run.

Its batch file contains commands for Evennia, a server of text worlds. Rooms, exits, things and
descriptions are read from it; a command that builds anything else is refused.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from drrn.errors import InputError
from drrn.files import write_atomically
from drrn.game.make import GameSpec
from drrn.lab.authors.clone import altered_error, read_file
from drrn.stories.added import games_folder
from drrn.worlds.home_world import DIRECTIONS, Home, HomeWorld

ORIGINAL = "home-world-original"
WORLD_REPOSITORY = "mrkulk/text-world"
WORLD_COMMIT = "d4683f08"
WORLD_HOW = f"git clone https://github.com/{WORLD_REPOSITORY}, then drrn games add text-world"
BUILD = "evennia/contrib/text_sims/build.ev"
BUILD_SHA256 = "346cabd76460609dfab1e5bc2be12e00c773d1ac7cb059d4ffec02f572305f9e"
MAX_BYTES = 2**20  # the published file has 3,000

# The verb of each kind of thing, and the need that it satisfies.
KINDS = {
    "Watchable": ("watch", "bored"),
    "Exercisable": ("exercise", "getting fat"),
    "Consumable": ("eat", "hungry"),
    "Sleepable": ("sleep", "sleepy"),
}
QUEST = "You are not {other} now but you are {need} now."  # the text that their agents read
DONE_TEXT = "The quest is done."
OUT_OF_TIME_TEXT = "Twenty commands are over."

DIG = re.compile(
    r"@dig(?P<moves>/teleport)? (?P<name>[^;:=]+);(?P<alias>[^\s:=]+)\s*(?::\s*[\w.]+\s*)?"
    r"(?:=\s*(?P<there>\w+)[^,]*,\s*(?P<back>\w+).*)?"
)
OPEN = re.compile(r"@open (?P<exit>\w+)[^=]*=\s*(?P<alias>\S+)")
DETAIL = re.compile(r"@detail desc\d+\s*=\s*(?P<text>.+)")
CREATE = re.compile(r"@create/drop (?P<thing>\w+)\s*:\s*[\w.]*?(?P<kind>\w+)")


def is_text_world(clone: Path) -> bool:
    """Return whether a folder is a clone of this repository."""
    return (clone / BUILD).is_file()


def add_home_world(clone: Path, *, altered: bool = False) -> tuple[str, bool]:
    """Install the world from a clone; return its file's hash, and whether a file was written."""
    data = read_file(clone, BUILD, MAX_BYTES, WORLD_COMMIT)
    sha256 = hashlib.sha256(data).hexdigest()
    if sha256 != BUILD_SHA256 and not altered:
        raise altered_error(clone, BUILD, WORLD_COMMIT)
    source = str(clone / BUILD)
    try:
        home = read_build(data.decode("utf-8"), source)
    except UnicodeDecodeError as error:
        raise InputError(f"{source}: not in UTF-8: clone {WORLD_REPOSITORY} again") from error
    record = {"sha256": sha256, "altered": sha256 != BUILD_SHA256, "home": home}
    text = json.dumps(record, indent=2, ensure_ascii=False) + "\n"
    path = _record_path()
    try:
        if path.exists() and path.read_bytes() == text.encode():
            return sha256, False
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from error
    write_atomically(path, [text.encode()])
    return sha256, True


def added_home_world() -> dict[str, Any] | None:
    """Return the installed world: its hash, whether its file was altered, the home; or None."""
    path = _record_path()
    try:
        if not path.exists():
            return None
        record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        Home.read(record["home"])
        return record
    except (OSError, ValueError, LookupError, TypeError) as error:
        remedy = f"delete it and add the world again: {WORLD_HOW}"
        raise InputError(f"{path}: cannot be read: {remedy}") from error


def open_original_of(spec: GameSpec) -> HomeWorld:
    """Open Home World in its authors' words; called by `make`."""
    return open_original(shuffle=spec.shuffle)


def open_original(*, shuffle: bool = True) -> HomeWorld:
    """Open Home World in its authors' words.

    Raises:
        InputError: It is not installed.
    """
    record = added_home_world()
    if record is None:
        raise InputError(f"{ORIGINAL} has its authors' texts and is not installed: {WORLD_HOW}")
    return HomeWorld(ORIGINAL, Home.read(record["home"]), shuffle=shuffle)


def _record_path() -> Path:
    return games_folder() / f"{ORIGINAL}.json"


# --- The batch file


def read_build(text: str, source: str) -> dict[str, Any]:
    """Return the home that a batch file builds, as `Home.read` takes it."""
    building = _Building(source)
    for line, command in _commands(text):
        building.run(line, command)
    rooms = [_room_table(room, building) for alias, room in building.rooms.items() if alias]
    if sorted(room["verb"] for room in rooms) != sorted(verb for verb, _ in KINDS.values()):
        kinds = ", ".join(KINDS)
        raise InputError(f"{source}: it builds {len(rooms)} rooms, not one for each of {kinds}")
    title = "Home World (original)"
    return {"title": title, "quest": QUEST, "out_of_time": OUT_OF_TIME_TEXT, "room": rooms}


@dataclass
class _Room:
    """A room; the first, without a name, is where building starts."""

    name: str = ""
    thing: str = ""
    kind: str = ""
    exits: dict[str, str] = field(default_factory=dict)  # exit → alias of a room
    descriptions: list[str] = field(default_factory=list)


class _Building:
    """The rooms during building, and the builder's position."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.here = ""
        self.rooms = {"": _Room()}

    def run(self, line: int, command: str) -> None:
        room = self.rooms[self.here]
        if match := DIG.fullmatch(command):
            self._dig(match)
        elif match := OPEN.fullmatch(command):
            room.exits[match["exit"]] = match["alias"]
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
            raise InputError(f"{self.source}, line {line}: unknown command {command[:60]!r}")

    def _dig(self, match: re.Match[str]) -> None:
        alias = match["alias"]
        self.rooms[alias] = _Room(match["name"].strip().lower())
        if match["there"]:
            self.rooms[self.here].exits[match["there"]] = alias
            self.rooms[alias].exits[match["back"]] = self.here
        if match["moves"]:
            self.here = alias


def _commands(text: str) -> Iterator[tuple[int, str]]:
    """Yield commands with the number of their first line; a comment ends a command."""
    start = 0
    parts = list[str]()
    for number, line in enumerate([*text.splitlines(), "#"], 1):
        if line.startswith("#"):
            if command := " ".join(parts).strip():
                yield start, " ".join(command.split())
            parts = []
        else:
            start = start if parts else number
            parts.append(line.strip())


def _room_table(room: _Room, building: _Building) -> dict[str, Any]:
    """Return a room as `Home.read` takes it."""
    where = f"{building.source}: the {room.name}"
    if room.kind not in KINDS:
        kinds = ", ".join(KINDS)
        raise InputError(f"{where} has {room.kind or 'no thing'}, not one of {kinds}")
    if not room.descriptions:
        raise InputError(f"{where} has no description")
    verb, need = KINDS[room.kind]
    names = {alias: each.name for alias, each in building.rooms.items()}
    exits = {side: names.get(alias, "") for side, alias in room.exits.items() if side in DIRECTIONS}
    if not exits or not all(exits.values()):
        raise InputError(f"{where} has no exit, or one that leads nowhere")
    table = {"name": room.name, "thing": room.thing, "verb": verb, "need": need, "exits": exits}
    return {**table, "descriptions": room.descriptions, "done": DONE_TEXT}
