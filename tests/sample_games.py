"""Small games that are no stories: what a user would write, for the tests of all rooms."""

from __future__ import annotations

import random
from typing import Any

import gymnasium

from drrn.game.contract import Observation


class Doors:
    """A game of a few lines that lists its outcomes, so that it can be compiled: three rooms, two doors in each."""

    name = "doors"

    def reset(self, seed=None):
        ((_, self.state),) = self.opening()
        return self.look(self.state)

    def step(self, index):
        if index not in range(len(self.look(self.state).actions)):
            raise IndexError(index)
        ((_, self.state),) = self.outcomes(self.state, index)
        return self.look(self.state)

    def opening(self):
        return [(1.0, (0, 0))]  # the room, and how many good doors were taken

    def outcomes(self, state, index):
        room, good = state
        return [(1.0, (room + 1, good + (index == room % 2)))]

    def look(self, state):
        room, good = state
        if room == 3:
            return Observation(f"You are out, with {good} coins.", (), 10.0 * (good - 1))
        return Observation(
            f"Room {room}: two doors.",
            ("Open the red door.", "Open the blue door."),
            -0.1 * (room > 0),
        )


class Dice(Doors):
    """Doors by chance: a door sticks half of the time; it names its endings and says what a game may say."""

    name, title, max_steps = "dice", "Doors and Dice", 40
    fingerprint = "dice, first edition"
    training = {"hidden": 8}  # noqa: RUF012

    def __init__(self) -> None:
        self.random = random.Random()
        self.state = (0, 0)

    def reset(self, seed=None):
        if seed is not None:
            self.random.seed(seed)
        return super().reset()

    def step(self, index):
        if index not in range(len(self.look(self.state).actions)):
            raise IndexError(index)
        chances, states = zip(*self.outcomes(self.state, index), strict=True)
        (self.state,) = self.random.choices(states, chances)
        return self.look(self.state)

    def another(self):
        return Dice()

    def outcomes(self, state, index):
        return [(0.5, state), (0.5, super().outcomes(state, index)[0][1])]

    def ending_at(self, state):
        return "rich" if state[1] > 1 else "poor"

    @property
    def ending(self):
        return self.ending_at(self.state) if self.state[0] == 3 else None


class Walk:
    """A game that owes name, reset and step, and says nothing else: three steps to the end."""

    name = "walk"

    def reset(self, seed=None):
        self.place = 0
        return self.look_around()

    def step(self, index):
        if self.place == 3:
            raise RuntimeError("ended")
        if index not in (0, 1):
            raise IndexError(index)
        self.place += 1
        return self.look_around()

    def look_around(self):
        return Observation(
            f"Stone {self.place}.",
            () if self.place == 3 else ("On.", "Further."),
            float(self.place == 3),
        )


class CommandsEnv(gymnasium.Env[str, Any]):
    """A Gymnasium environment that lists its commands and takes their words, as TextWorld does: find the lamp."""

    action_space = gymnasium.spaces.Text(40)
    observation_space = gymnasium.spaces.Text(200)

    def __init__(self, limit: int = 20) -> None:
        self.limit = limit

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        super().reset(seed=seed)
        self.lamp = bool(self.np_random.integers(2))
        self.place, self.steps = "hall", 0
        return self._told()

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        assert action in self._commands(), action
        self.steps += 1
        found = action == "take the lamp"
        self.place = action.removeprefix("go to the ")
        reward = 5.0 if found else -1.0
        text, info = (
            self._told() if not found else ("You have the lamp.", {"admissible_commands": []})
        )
        return text, reward, found, not found and self.steps >= self.limit, info

    def _told(self) -> tuple[str, dict[str, Any]]:
        return f"You are in the {self.place}.", {"admissible_commands": self._commands()}

    def _commands(self) -> list[str]:
        here = ["take the lamp"] if self.place == ("cellar" if self.lamp else "attic") else []
        return [
            *(f"go to the {place}" for place in ("hall", "cellar", "attic") if place != self.place),
            *here,
        ]


class FixedEnv(gymnasium.Env[str, Any]):
    """A Gymnasium environment with a fixed list of actions, taken by number: count to three."""

    action_space = gymnasium.spaces.Discrete(2)
    observation_space = gymnasium.spaces.Text(200)
    actions = ("count on", "begin again")

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        super().reset(seed=seed)
        self.count = 0
        return "Zero.", {}

    def step(self, action: int) -> tuple[str, float, bool, bool, dict[str, Any]]:
        self.count = 0 if action else self.count + 1
        done = self.count == 3
        return ("Zero.", "One.", "Two.", "Three.")[self.count], float(done), done, False, {}


def fixed_env() -> FixedEnv:
    """A factory that returns an environment."""
    return FixedEnv()
