"""Small games that reward exploration: a distant prize, pages that never repeat, hidden state."""

from __future__ import annotations

import random
from typing import Any

from textgames.game.contract import Observation

ROOMS = 9
DOORS = ("Walk on along the corridor.", "Leave by the window.", "Leave by the stairs.")
FURNITURE = (
    "a long quiet corridor with carpets lamps pictures old chairs dark wood tall mirrors grey"
    " curtains small tables dusty books brass clocks cold stoves wide rugs and pale flowers before door"
)


class Enumerated:
    """A game without chance that lists its outcomes."""

    start: Any
    look: Any  # of a subclass
    outcomes: Any

    def reset(self, seed=None):
        self.state = self.start
        return self.look(self.state)

    def step(self, index):
        ((_, self.state),) = self.outcomes(self.state, index)
        return self.look(self.state)

    def opening(self):
        return [(1.0, self.start)]


class Corridor(Enumerated):
    """Rooms in a row: leaving pays 5, the last one 20. Random play reaches it once in 3⁹ episodes."""

    name = "corridor"
    start = 0
    max_steps = 40

    def outcomes(self, state, index):
        return [(1.0, state + 1 if index == 0 else -1)]

    def look(self, state):
        if state == -1:
            return Observation("You are out in the rain.", (), 5.0)
        if state == ROOMS:
            return Observation("The treasure is yours.", (), 20.0)
        return Observation(f"Room {state} of the corridor.", DOORS)


class Unrepeated:
    """A corridor that cannot be compiled: on every page one of thirty words is new."""

    name = "unrepeated"
    max_steps = 40
    rooms = 6

    def __init__(self) -> None:
        self.random = random.Random()
        self.room = 0

    def another(self):
        return Unrepeated()

    def reset(self, seed=None):
        self.random.seed(seed)
        self.room = 0
        return self._look()

    def step(self, index):
        self.room = self.room + 1 if index == 0 else -1
        return self._look()

    def _look(self):
        if self.room == -1:
            return Observation("You are out in the rain.", (), 5.0)
        if self.room == self.rooms:
            return Observation("The treasure is yours.", (), 20.0)
        number = f"room{self.room} " * 6  # several words distinguish the rooms
        return Observation(f"{number} {FURNITURE} {self.random.getrandbits(60):x}", DOORS)


class Key(Enumerated):
    """The first action decides the ending, 10 or 0, and no later page shows it."""

    name = "key"
    start = (0, False)
    max_steps = 10

    def outcomes(self, state, index):
        room, has_key = state
        return [(1.0, (room + 1, index == 1 if room == 0 else has_key))]

    def look(self, state):
        room, has_key = state
        if room == 0:
            return Observation("A table.", ("Leave the key.", "Take the key.", "Look at the key."))
        if room == 3:
            return Observation(
                "The gate opens." if has_key else "The gate is locked.", (), 10.0 * has_key
            )
        return Observation(f"Hall {room}.", ("Go on.", "Go slowly."))


class Treadmill(Enumerated):
    """Staying pays 1 at every step, leaving pays 6 and ends; the step limit is 1."""

    name = "treadmill"
    start = "new"
    max_steps = 1

    def outcomes(self, state, index):
        return [(1.0, "on" if index == 0 else "off")]

    def look(self, state):
        if state == "off":
            return Observation("You are off.", (), 6.0)
        return Observation("The belt runs.", ("Stay.", "Leave."), 1.0 if state == "on" else 0.0)


class ManyDoors(Enumerated):
    """More doors than an agent can try: all lead to a bad ending, and going home costs little."""

    name = "many-doors"
    start = "hall"
    max_steps = 5
    doors = ("Go home.", *(f"Open door {number}." for number in range(300)))

    def outcomes(self, state, index):
        return [(1.0, "trap" if index else "home")]

    def look(self, state):
        if state == "hall":
            return Observation("A hall of doors.", self.doors)
        return Observation(f"You are in the {state}.", (), -1.0 if state == "home" else -10.0)
