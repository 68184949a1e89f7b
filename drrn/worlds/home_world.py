"""Home World: four rooms, four needs, forty commands, and quests in which the order of words decides.

The rules are those of Narasimhan, Kulkarni and Barzilay (2015); docs/worlds.md tells them. Sentences are data, so that
the same rules can be told in the authors' own words.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations
from typing import Any, NamedTuple

from drrn.game.contract import Observation
from drrn.worlds.parser_world import ParserWorld, crossed

DIRECTIONS = ("north", "south", "east", "west")
MOST_COMMANDS = 20  # then the day is over, which is an ending
DONE_PAYS = 1.0
HARMLESS = -0.01
JUNK = -0.1
DONE = "quest done"
OUT_OF_TIME = "out of time"
# What suits it under the paper's recipe: near rewards, differences of a hundredth, and few steps of play.
TRAINING: dict[str, Any] = {
    "hidden": 50,
    "lstm_gain": 10.0,
    "discount": 0.5,
    "alpha": 40.0,
    "optimiser": "adam",
    "learning_rate": 0.003,
    "batch_size": 128,
    "keep": True,
    "epochs": 2,
    "rounds": 50,
    "episodes_per_round": 20,  # of 20 steps at most: 20,000 steps of play
}


@dataclass(frozen=True)
class HomeRoom:
    """A room with one thing, the verb that works on it, the need that this satisfies, and two exits."""

    name: str
    thing: str
    verb: str
    need: str
    exits: dict[str, str]  # direction → room
    descriptions: tuple[str, ...]
    done: str  # what is told when the need is satisfied here


@dataclass(frozen=True)
class Home:
    """All that is told of a home: its rooms and sentences."""

    title: str
    quest: str  # with {need}, and {other} for the one that is denied
    out_of_time: str
    rooms: tuple[HomeRoom, ...]

    @classmethod
    def read(cls, table: dict[str, Any]) -> Home:
        """From the table of a TOML file."""
        rooms = (
            HomeRoom(**{**room, "descriptions": tuple(room["descriptions"])})
            for room in table["room"]
        )
        return cls(table["title"], table["quest"], table["out_of_time"], tuple(rooms))


Effect = tuple[
    int | None, float
]  # the room that a command leads to (None: the thing here is used), and what it pays


class HomeState(NamedTuple):
    """A moment of an episode: where one is, what one reads there, and the quest; rooms stand for their needs."""

    room: int
    description: int
    need: int
    other: int
    steps: int  # commands so far: the last one ends the day
    reward: float  # of the command that led here


class HomeEnd(NamedTuple):
    """The end of an episode: the need that was satisfied, or none."""

    need: int | None
    reward: float


class HomeWorld(ParserWorld[HomeState | HomeEnd]):
    """A home whose rooms look different each time one looks."""

    max_steps = MOST_COMMANDS + 5  # never reached: the day ends first

    def __init__(self, name: str, home: Home, *, shuffle: bool = True) -> None:
        super().__init__(shuffle=shuffle)
        self.name = name
        self.title = home.title
        self.home = home
        self.training = TRAINING
        rooms = home.rooms
        self.number = {room.name: number for number, room in enumerate(rooms)}
        by_verb = sorted(rooms, key=lambda room: room.verb)
        self.commands = crossed(
            [*(r.verb for r in by_verb), "go"], [*DIRECTIONS, *(r.thing for r in rooms)]
        )
        self.effects_in = [
            [self._effect(room, *c.split()) for c in self.commands] for room in range(len(rooms))
        ]
        rules = (home, self.commands, MOST_COMMANDS, DONE_PAYS, HARMLESS, JUNK)
        self.fingerprint = hashlib.sha256(repr(rules).encode()).hexdigest()

    def opening(self) -> Iterator[tuple[float, HomeState]]:
        """Any room, any two needs that differ."""
        quests = list(permutations(range(len(self.home.rooms)), 2))
        for room in range(len(self.home.rooms)):
            for need, other in quests:
                yield from self._looked(
                    1 / (len(self.home.rooms) * len(quests)), room, need, other, 0, 0.0
                )

    def effects(self, state: HomeState | HomeEnd) -> list[Effect]:
        assert isinstance(state, HomeState)
        return self.effects_in[state.room]

    def led_to(
        self, state: HomeState | HomeEnd, effect: Effect
    ) -> Iterator[tuple[float, HomeState | HomeEnd]]:
        assert isinstance(state, HomeState)
        room, reward = effect
        if room is None and state.need == state.room:
            yield 1.0, HomeEnd(state.need, DONE_PAYS)
        elif state.steps + 1 == MOST_COMMANDS:
            yield 1.0, HomeEnd(None, reward)
        else:
            here = state.room if room is None else room
            yield from self._looked(1.0, here, state.need, state.other, state.steps + 1, reward)

    def look(self, state: HomeState | HomeEnd) -> Observation:
        if isinstance(state, HomeEnd):
            text = self.home.out_of_time if state.need is None else self.home.rooms[state.need].done
            return Observation(text, (), state.reward)
        description = self.home.rooms[state.room].descriptions[state.description]
        return Observation(
            f"{description} {self.quest(state.need, state.other)}", self.commands, state.reward
        )

    def ending_at(self, state: HomeState | HomeEnd) -> str:
        assert isinstance(state, HomeEnd)
        return OUT_OF_TIME if state.need is None else DONE

    def quest(self, need: int, other: int) -> str:
        """What one is and what one is not: the two swapped are the same words in another order."""
        return self.home.quest.format(
            need=self.home.rooms[need].need, other=self.home.rooms[other].need
        )

    def _looked(
        self, chance: float, room: int, need: int, other: int, steps: int, reward: float
    ) -> Iterator[tuple[float, HomeState]]:
        """The room in each of its descriptions: they are drawn anew at every step."""
        count = len(self.home.rooms[room].descriptions)
        for description in range(count):
            yield chance / count, HomeState(room, description, need, other, steps, reward)

    def _effect(self, room: int, verb: str, thing: str) -> Effect:
        """What a command does in a room."""
        here = self.home.rooms[room]
        leads_out = thing in here.exits
        if verb == "go":
            return (self.number[here.exits[thing]], HARMLESS) if leads_out else (room, JUNK)
        if verb != here.verb:
            return room, JUNK
        if thing == here.thing:
            return None, HARMLESS
        return (
            room,
            HARMLESS if leads_out else JUNK,
        )  # the parser finds the exit of that name, and says no
