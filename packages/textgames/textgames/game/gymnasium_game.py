"""A Gymnasium environment of texts as a game: the inverse of `drrn.gym`. Does not import Gymnasium.

A terminated episode has no actions left. A truncated one still has actions, so that a learner
bootstraps from it, and the game is `stopped`: it must be reset. The limit that the environment was
registered with (`env.spec.max_episode_steps`) becomes the game's `max_steps`.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from textgames.errors import InputError, require
from textgames.game.contract import Game, Observation, check_index, looks_like_a_game

COMMANDS = "admissible_commands"


def is_environment(thing: object) -> bool:
    """Whether it has the interface of a Gymnasium environment."""
    return not isinstance(thing, type) and all(
        hasattr(thing, name) for name in ("reset", "step", "action_space", "observation_space")
    )


class GymnasiumGame:
    """A Gymnasium environment of texts as a game.

    Actions are those of `info["admissible_commands"]`, or the fixed list `actions` (default: the
    environment's attribute `actions`). An environment with a discrete action space receives the
    index of an action in that list, any other environment its words.
    """

    most_copies = 16  # an environment may be large

    def __init__(
        self, env: Any, actions: Sequence[str] | None = None, name: str | None = None
    ) -> None:
        self.env = env
        spec = getattr(env, "spec", None)
        inner = getattr(env, "unwrapped", env)
        self.name = name or (spec.id.split("/")[-1] if spec is not None else type(inner).__name__)
        self.max_steps: int | None = getattr(spec, "max_episode_steps", None)
        self.stopped = False
        inner_actions = getattr(inner, "actions", None)
        if actions is None and isinstance(inner_actions, (list, tuple)):
            actions = inner_actions
        self._fixed = _words(actions, self.name)
        self._by_number = hasattr(env.action_space, "n")
        self._actions: tuple[str, ...] = ()
        self._numbers: Sequence[int] = ()  # of these actions in the environment

    def __repr__(self) -> str:
        return f"<GymnasiumGame {self.name!r}>"

    def close(self) -> None:
        """Close the environment."""
        self.env.close()

    @property
    def fingerprint(self) -> str:
        """Hash of the environment's class, arguments, actions, and `fingerprint` if it has one."""
        inner = getattr(self.env, "unwrapped", self.env)
        spec = getattr(self.env, "spec", None)
        arguments = json.dumps(getattr(spec, "kwargs", {}), sort_keys=True, default=_class_of)
        own = getattr(inner, "fingerprint", None)
        environment = (_class_of(inner), getattr(spec, "id", None), arguments, own)
        return hashlib.sha256(repr((environment, self.name, self._fixed)).encode()).hexdigest()

    def another(self) -> "GymnasiumGame | None":
        """Return a new copy of the environment; None if Gymnasium cannot make one."""
        if getattr(self.env, "spec", None) is None:
            return None
        gymnasium = require("gymnasium")
        try:
            env = gymnasium.make(self.env.spec)
        except (gymnasium.error.Error, ValueError, TypeError):  # such as a wrapper without a spec
            return None
        return GymnasiumGame(env, self._fixed or None, self.name)

    def reset(self, seed: int | None = None) -> Observation:
        self.stopped = False
        text, info = self._check_parts(self.env.reset(seed=seed), 2, "reset")
        page = self._observation(text, info, 0.0, ended=False)
        if not page.actions:
            raise InputError(f"{self.name}: the environment has no actions at the start")
        return page

    def step(self, index: int) -> Observation:
        check_index(index, len(self._actions), stopped=self.stopped)
        action: int | str = self._actions[index]
        if self._by_number:
            action = self._numbers[index] + int(getattr(self.env.action_space, "start", 0))
        answer = self._check_parts(self.env.step(action), 5, "step")
        text, reward, terminated, truncated, info = answer
        self.stopped = bool(truncated) and not terminated
        return self._observation(text, info, float(reward), ended=bool(terminated))

    def _check_parts(self, answer: Any, parts: int, method: str) -> Any:
        if isinstance(answer, tuple) and len(answer) == parts:
            return answer
        rule = f"{method} must return {parts} values, as in Gymnasium since 0.26"
        raise InputError(f"{self.name}: {rule}")

    def _observation(
        self, text: Any, info: Mapping[str, Any], reward: float, *, ended: bool
    ) -> Observation:
        if not isinstance(text, str):
            cause = f"an observation is a {type(text).__name__}, not a str"
            cure = "wrap the environment in a gymnasium.ObservationWrapper that returns text"
            raise InputError(f"{self.name}: {cause}; {cure}")
        actions, numbers = ((), ()) if ended else self._available(info)
        if actions or not self.stopped:  # a truncated episode has not ended: it keeps its actions
            self._actions = actions
            self._numbers = numbers
        return Observation(str(text), self._actions, reward)

    def _available(self, info: Mapping[str, Any]) -> tuple[tuple[str, ...], Sequence[int]]:
        """Return the actions that `info` allows, and their numbers in the environment."""
        commands = _words(info.get(COMMANDS), self.name)
        fixed = self._fixed or commands
        if not self._fixed and COMMANDS not in info and not self.stopped:
            cure = 'pass its actions, GymnasiumGame(env, actions=["…", "…"])'
            raise InputError(f'{self.name}: the environment has no info["{COMMANDS}"]; {cure}')
        mask = info.get("action_mask")
        numbers: Sequence[int] = range(len(fixed))
        if mask is not None and len(mask) == len(fixed):
            numbers = [number for number, flag in enumerate(mask) if flag]
        elif COMMANDS in info and len(commands) != len(fixed):
            if odd := set(commands) - set(fixed):
                cause = f'the command "{min(odd)}" is not in its fixed list of actions'
                raise InputError(f"{self.name}: {cause}")
            numbers = [fixed.index(words) for words in commands]
        return tuple(fixed[number] for number in numbers), numbers


def _words(actions: Any, name: str) -> tuple[str, ...]:
    """Return actions as a tuple of str."""
    if actions is None:
        return ()
    if isinstance(actions, str) or not all(isinstance(action, str) for action in actions):
        raise InputError(f"{name}: actions must be a list of str, not {actions!r}")
    return tuple(actions)


def _class_of(thing: object) -> str:
    return f"{type(thing).__module__}.{type(thing).__qualname__}"


def game_of(thing: Any) -> Game:
    """The game itself, or the game of a Gymnasium environment of texts."""
    if isinstance(thing, type):
        raise InputError(f"{thing.__name__} is a class; pass an instance, {thing.__name__}()")
    return checked_game(thing, type(thing).__name__)


def checked_game(thing: Any, source: str) -> Game:
    """The game of an object, whose origin is named in errors."""
    if is_environment(thing):
        return GymnasiumGame(thing)
    if not looks_like_a_game(thing):
        cause = f"a value of type {type(thing).__name__} is not a game"
        raise InputError(f"{source}: {cause}; a game has a name, reset(seed) and step(index)")
    name = thing.name
    if not isinstance(name, str) or not name or name != name.encode(errors="replace").decode():
        cause = "it must be a non-empty str, without halves of characters"
        raise InputError(f"{source}: the game's name is {name!r}; {cause}")
    game: Game = thing
    return game
