"""A world of rooms and errands: one wish after another, light that the wind blows out, 222 commands on every page.

What it holds is data (`comet-house.toml`); docs/worlds.md tells the rules.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from drrn.game.contract import Observation
from drrn.worlds.parser_world import ParserWorld, crossed

ERRAND_PAYS = 0.5
LAST_PAYS = 6.0
IN_VAIN = -0.01
SENSELESS = -0.1
WRONG_PAYS = (
    -0.5
)  # the later of two errands first; the last errand done wrongly ends the episode and pays nothing
WIND = 0.25  # how likely a flame goes out at a step in the open
LONGEST = 100  # steps of an episode
LIGHT = "LIGHT"  # in what one holds: the lantern, lit or not
# the endings
SEEN = "seen"
MISSED = "missed"
# What suits it under the paper's recipe.
ERRAND_TRAINING: dict[str, Any] = {
    "hidden": 50,
    "lstm_gain": 10.0,
    "discount": 0.9,
    "alpha": 100.0,
    "alpha_start": 40.0,
    "optimiser": "adam",
    "learning_rate": 0.001,
    "n_steps": 3,
    "batch_size": 128,
    "keep": True,
    "capacity": 6000,
    "epochs": 1,
    "rounds": 60,
    "episodes_per_round": 20,
}


@dataclass(frozen=True)
class Deed:
    """A command that means something in a room."""

    room: str
    command: str


@dataclass(frozen=True)
class Errand:
    """What is wanted now: the deed that does it, how likely that succeeds, and what is wanted next, drawn by lot."""

    room: str
    command: str
    said: str
    holds: tuple[str, ...]
    next: tuple[str, ...] = ()  # none: this is the last
    chance: float = 1.0
    wrong: Deed | None = None  # what must not be done now

    @classmethod
    def read(cls, table: Mapping[str, Any]) -> Errand:
        lists = {name: tuple(table.get(name, ())) for name in ("holds", "next")}
        wrong = Deed(**table["wrong"]) if "wrong" in table else None
        return cls(**{**table, **lists, "wrong": wrong})


@dataclass(frozen=True)
class ErrandRoom:
    """A room: its ways out, the commands that are in vain but not senseless, and how it looks."""

    name: str
    ways: str
    exits: Mapping[str, str]
    harmless: tuple[str, ...]
    descriptions: tuple[str, ...]
    unlit: tuple[str, ...] = ()  # how a dark room looks without a light
    outdoor: bool = False
    dark: bool = False
    barred: Mapping[str, str] | None = None  # a way that cannot be gone until after an errand
    barred_ways: str = ""

    @classmethod
    def read(cls, table: Mapping[str, Any]) -> ErrandRoom:
        lists = {name: tuple(table.get(name, ())) for name in ("harmless", "descriptions", "unlit")}
        return cls(**{**table, **lists})


class ErrandState(NamedTuple):
    """A moment of an episode."""

    room: str
    description: int
    errand: str
    lit: bool
    reward: float  # of the command that led here


class ErrandEnd(NamedTuple):
    """The end of an episode: which one, and what it pays."""

    ending: str
    reward: float


Effect = tuple[
    str, str | float
]  # go to a room, stay for a cost, do what is wanted or what is wrong, light the lantern


class ErrandWorld(ParserWorld[ErrandState | ErrandEnd]):
    """Rooms, and somebody who wants one thing after another."""

    max_steps = LONGEST
    training = ERRAND_TRAINING

    def __init__(self, name: str, table: Mapping[str, Any], *, shuffle: bool = True) -> None:
        super().__init__(shuffle=shuffle)
        self.name = name
        self.title = table["title"]
        self.told = table
        self.rooms = {room["name"]: ErrandRoom.read(room) for room in table["room"]}
        self.errands = {name: Errand.read(errand) for name, errand in table["errand"].items()}
        self.commands = crossed(table["verbs"], table["objects"])
        self.fire = Deed(**table["fire"])
        self._effects = cache(self._effects_in)
        rules = (table, ERRAND_PAYS, LAST_PAYS, IN_VAIN, SENSELESS, WRONG_PAYS, WIND, LONGEST)
        self.fingerprint = hashlib.sha256(repr(rules).encode()).hexdigest()

    def opening(self) -> Iterator[tuple[float, ErrandState]]:
        for room in self.told["start"]:
            yield from self._looked(
                1 / len(self.told["start"]), room, self.told["first"], False, 0.0
            )

    def effects(self, state: ErrandState | ErrandEnd) -> list[Effect]:
        assert isinstance(state, ErrandState)
        return self._effects(state.room, state.errand, state.lit)

    def led_to(
        self, state: ErrandState | ErrandEnd, effect: Effect
    ) -> Iterator[tuple[float, ErrandState | ErrandEnd]]:
        assert isinstance(state, ErrandState)
        room, _, errand, lit, _ = state
        match effect:
            case ("go", str(there)):
                yield from self._looked(1.0, there, errand, lit, IN_VAIN)
            case ("stay", float(cost)):
                yield from self._looked(1.0, room, errand, lit, cost)
            case ("light", _):
                yield from self._looked(1.0, room, errand, True, IN_VAIN)
            case ("wrong", _) if not self.errands[errand].next:
                yield 1.0, ErrandEnd(MISSED, 0.0)
            case ("wrong", _):
                yield from self._looked(1.0, room, errand, lit, WRONG_PAYS)
            case _:
                yield from self._done(state)

    def look(self, state: ErrandState | ErrandEnd) -> Observation:
        if isinstance(state, ErrandEnd):
            return Observation(self.told["ending"][state.ending]["text"].strip(), (), state.reward)
        room = self.rooms[state.room]
        ways = room.barred_ways if self._is_barred(room, state.errand) else room.ways
        said = f"The Professor says: “{self.errands[state.errand].said}”"
        parts = (self._looks(room, state.lit)[state.description], ways, said, self._held(state))
        return Observation("\n\n".join(parts), self.commands, state.reward)

    def ending_at(self, state: ErrandState | ErrandEnd) -> str:
        assert isinstance(state, ErrandEnd)
        return str(self.told["ending"][state.ending]["name"])

    # --- rules

    def _effects_in(self, room: str, errand: str, lit: bool) -> list[Effect]:
        """What each command does."""
        found: dict[str, Effect] = {}
        here = self.rooms[room]
        wanted = self.errands[errand]
        seen = lit or not self.rooms[room].dark
        found |= dict.fromkeys(here.harmless, ("stay", IN_VAIN))
        for way, there in here.exits.items():
            shut = (
                self._is_barred(here, errand)
                and here.barred is not None
                and way == here.barred["way"]
            )
            found[f"go {way}"] = ("stay", IN_VAIN) if shut else ("go", there)
        if room == self.fire.room and LIGHT in wanted.holds:
            found[self.fire.command] = ("light", 0.0)
        for (
            other
        ) in self.errands.values():  # what is wanted at another time is in vain, but makes sense
            if other.room == room:
                found.setdefault(other.command, ("stay", IN_VAIN))
        if wanted.room == room and seen:
            found[wanted.command] = ("do", 0.0)
        if wanted.wrong and wanted.wrong.room == room:
            found[wanted.wrong.command] = ("wrong", 0.0)
        return [found.get(command, ("stay", SENSELESS)) for command in self.commands]

    def _done(self, state: ErrandState) -> Iterator[tuple[float, ErrandState | ErrandEnd]]:
        """What is wanted is done, or slips; the next wish is drawn by lot."""
        room, _, errand, lit, _ = state
        done = self.errands[errand]
        if done.chance < 1:
            yield from self._looked(1 - done.chance, room, errand, lit, IN_VAIN)
        if not done.next:
            yield done.chance, ErrandEnd(SEEN, LAST_PAYS)
        lit = lit or Deed(done.room, done.command) == self.fire
        for wish in done.next:
            yield from self._looked(done.chance / len(done.next), room, wish, lit, ERRAND_PAYS)

    def _looked(
        self, chance: float, room: str, errand: str, lit: bool, reward: float
    ) -> Iterator[tuple[float, ErrandState]]:
        """The room in each of its descriptions; in the open, a flame may go out."""
        flames = (
            [(WIND, False), (1 - WIND, True)] if lit and self.rooms[room].outdoor else [(1.0, lit)]
        )
        for share, burning in flames:
            count = len(self._looks(self.rooms[room], burning))
            for description in range(count):
                yield (
                    chance * share / count,
                    ErrandState(room, description, errand, burning, reward),
                )

    def _looks(self, room: ErrandRoom, lit: bool) -> tuple[str, ...]:
        return room.unlit if room.dark and not lit else room.descriptions

    def _is_barred(self, room: ErrandRoom, errand: str) -> bool:
        """Whether a way is barred: errands stand in the order in which they come."""
        order = list(self.errands)
        return room.barred is not None and order.index(errand) <= order.index(
            room.barred["until_after"]
        )

    def _held(self, state: ErrandState) -> str:
        lantern = self.told["lit"] if state.lit else self.told["blown_out"]
        held = [lantern if thing == LIGHT else thing for thing in self.errands[state.errand].holds]
        return f"You hold {' and '.join(held)}." if held else "Your hands are empty."
