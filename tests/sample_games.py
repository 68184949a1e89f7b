"""Small games as users write them: minimal, compilable, and Gymnasium environments."""

from __future__ import annotations

import random
from typing import Any

import gymnasium

from textgames.game.contract import Observation, StoryGame


class Doors:
    """A compilable game: three rooms with two doors each."""

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
        return [(1.0, (0, 0))]  # the room, and the number of good doors opened

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


class Dice(StoryGame, Doors):
    """Doors that stick with probability 0.5; has every optional attribute of a game."""

    name = "dice"
    title = "Doors and Dice"
    max_steps = 40
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
    """A game with name, reset and step alone: three steps to the ending."""

    name = "walk"

    def reset(self, seed=None):
        self.stone = 0
        return self.current_page()

    def step(self, index):
        if self.stone == 3:
            raise RuntimeError("ended")
        if index not in (0, 1):
            raise IndexError(index)
        self.stone += 1
        return self.current_page()

    def current_page(self):
        return Observation(
            f"Stone {self.stone}.",
            () if self.stone == 3 else ("On.", "Further."),
            float(self.stone == 3),
        )


class CommandsEnv(gymnasium.Env[str, Any]):
    """A Gymnasium environment with text commands, as TextWorld has: find the lamp."""

    action_space = gymnasium.spaces.Text(40)
    observation_space = gymnasium.spaces.Text(200)

    def __init__(self, limit: int = 20) -> None:
        self.limit = limit

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        super().reset(seed=seed)
        self.lamp = bool(self.np_random.integers(2))
        self.room = "hall"
        self.steps = 0
        return self._observation()

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        assert action in self._commands(), action
        self.steps += 1
        done = action == "take the lamp"
        self.room = action.removeprefix("go to the ")
        reward = 5.0 if done else -1.0
        truncated = not done and self.steps >= self.limit
        text, info = self._observation()
        if done:
            text = "You have the lamp."
            info = {"admissible_commands": []}
        return text, reward, done, truncated, info

    def _observation(self) -> tuple[str, dict[str, Any]]:
        return f"You are in the {self.room}.", {"admissible_commands": self._commands()}

    def _commands(self) -> list[str]:
        others = [room for room in ("hall", "cellar", "attic") if room != self.room]
        commands = [f"go to the {room}" for room in others]
        if self.room == ("cellar" if self.lamp else "attic"):
            commands.append("take the lamp")
        return commands


class FixedEnv(gymnasium.Env[str, Any]):
    """A Gymnasium environment with a fixed list of actions: count to three."""

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
    """Return an environment (a factory, for `module:factory`)."""
    return FixedEnv()
