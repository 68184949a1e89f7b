"""Home World: four rooms, four needs, forty commands, and quests that depend on word order.

The rules are those of Narasimhan, Kulkarni and Barzilay (2015), listed in docs/textgames/worlds.md.
The sentences are data (`home-world.toml`).
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import permutations
from typing import Any, NamedTuple

from textgames.game.contract import Observation, Outcomes
from textgames.worlds.parser_world import ParserWorld, all_commands

DIRECTIONS = ("north", "south", "east", "west")
MOST_COMMANDS = 20  # then the episode ends
DONE_PAYS = 1.0
HARMLESS = -0.01
JUNK = -0.1
DONE = "quest done"
OUT_OF_TIME = "out of time"


# The fingerprint hashes the repr of HomeRoom and Home: do not rename or reorder their fields.
@dataclass(frozen=True)
class HomeRoom:
    """A room with one object, the verb that works on it, and the need that this satisfies."""

    name: str
    thing: str
    verb: str
    need: str
    exits: dict[str, str]  # direction → room
    descriptions: tuple[str, ...]
    done: str  # text of the ending in which the need is satisfied here


@dataclass(frozen=True)
class Home:
    """The rooms and sentences of a home."""

    title: str
    quest: str  # with {need}, and {other} for the need that is denied
    out_of_time: str
    rooms: tuple[HomeRoom, ...]


# The room that a command leads to (None: the object here is used), and the reward.
Effect = tuple[int | None, float]


class HomeState(NamedTuple):
    """A state of an episode. A need is the number of the room that satisfies it."""

    room: int
    description: int
    need: int
    other: int
    steps: int
    reward: float  # of the last command


class HomeEnd(NamedTuple):
    """The end of an episode: the need that was satisfied, or None."""

    need: int | None
    reward: float


class HomeWorld(ParserWorld):
    """A home whose rooms get a random description at every step."""

    max_steps = MOST_COMMANDS + 5  # never reached

    def __init__(self, name: str, table: Mapping[str, Any], *, shuffle: bool = True) -> None:
        super().__init__(name, table, shuffle=shuffle)
        rows = ({**room, "descriptions": tuple(room["descriptions"])} for room in table["room"])
        rooms = tuple(HomeRoom(**row) for row in rows)
        self.home = home = Home(table["title"], table["quest"], table["out_of_time"], rooms)
        self.number = {room.name: number for number, room in enumerate(rooms)}
        verbs = [*sorted(room.verb for room in rooms), "go"]
        self.commands = all_commands(verbs, [*DIRECTIONS, *(room.thing for room in rooms)])
        self._effects = [
            [self._effect(room, *command.split()) for command in self.commands]
            for room in range(len(rooms))
        ]
        rules = (home, self.commands, MOST_COMMANDS, DONE_PAYS, HARMLESS, JUNK)
        self.fingerprint = hashlib.sha256(repr(rules).encode()).hexdigest()

    def opening(self) -> Outcomes:
        """Every room with every quest."""
        count = len(self.home.rooms)
        quests = list(permutations(range(count), 2))
        for room in range(count):
            for need, other in quests:
                yield from self._descriptions(1 / (count * len(quests)), room, need, other, 0, 0.0)

    def effects(self, state: HomeState) -> list[Effect]:
        return self._effects[state.room]

    def led_to(self, state: HomeState, effect: Effect) -> Outcomes:
        room, reward = effect
        steps = state.steps + 1
        if room is None and state.need == state.room:
            yield 1.0, HomeEnd(state.need, DONE_PAYS)
        elif steps == MOST_COMMANDS:
            yield 1.0, HomeEnd(None, reward)
        else:
            here = state.room if room is None else room
            yield from self._descriptions(1.0, here, state.need, state.other, steps, reward)

    def look(self, state: HomeState | HomeEnd) -> Observation:
        if isinstance(state, HomeEnd):
            text = self.home.out_of_time if state.need is None else self.home.rooms[state.need].done
            return Observation(text, (), state.reward)
        description = self.home.rooms[state.room].descriptions[state.description]
        text = f"{description} {self.quest(state.need, state.other)}"
        return Observation(text, self.commands, state.reward)

    def ending_at(self, state: HomeEnd) -> str:
        return OUT_OF_TIME if state.need is None else DONE

    def quest(self, need: int, other: int) -> str:
        """The sentence of a quest. Swapped needs give the same words in another order."""
        rooms = self.home.rooms
        return self.home.quest.format(need=rooms[need].need, other=rooms[other].need)

    def _descriptions(
        self, probability: float, room: int, need: int, other: int, steps: int, reward: float
    ) -> Outcomes:
        """Yield the room with each of its descriptions."""
        count = len(self.home.rooms[room].descriptions)
        for description in range(count):
            yield probability / count, HomeState(room, description, need, other, steps, reward)

    def _effect(self, room: int, verb: str, thing: str) -> Effect:
        here = self.home.rooms[room]
        leads_out = thing in here.exits
        if verb == "go":
            return (self.number[here.exits[thing]], HARMLESS) if leads_out else (room, JUNK)
        if verb != here.verb:
            return room, JUNK
        if thing == here.thing:
            return None, HARMLESS
        # The original parser takes the direction as an exit, and refuses.
        return room, HARMLESS if leads_out else JUNK
