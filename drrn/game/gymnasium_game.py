"""A Gymnasium environment of texts as a game: the inverse of `drrn.gym`. Does not import Gymnasium.

Actions are those in `info["admissible_commands"]`, as in TextWorld and TALES, or a fixed list:
passed in, or the environment's attribute `actions`.

A terminated episode has no actions left. A truncated one still has actions, so that a learner
bootstraps from it, and the game is `stopped`: it must be reset. The limit that the environment was
registered with (`env.spec.max_episode_steps`) becomes the game's `max_steps`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from drrn.errors import InputError, require
from drrn.game.contract import Observation

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

    def close(self) -> None:
        """Close the environment."""
        self.env.close()

    @property
    def fingerprint(self) -> str:
        """Hash of the environment's class, arguments, actions, and `fingerprint` if it has one."""
        inner = getattr(self.env, "unwrapped", self.env)
        spec = getattr(self.env, "spec", None)
        arguments = sorted(getattr(spec, "kwargs", {}).items())
        parts = (
            _class_of(inner),
            self.name,
            getattr(spec, "id", None),
            self._fixed,
            [(key, _stable_repr(value)) for key, value in arguments],
            getattr(inner, "fingerprint", None),
        )
        return hashlib.sha256(repr(parts).encode()).hexdigest()

    def another(self) -> GymnasiumGame | None:
        """Return a new copy of the environment; None if Gymnasium cannot make one."""
        if getattr(self.env, "spec", None) is None:
            return None
        gymnasium = require("gymnasium", "gym")
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
        if not self._actions or self.stopped:
            reason = "was truncated" if self.stopped else "has ended or has not started"
            raise RuntimeError(f"the episode {reason}: call reset()")
        if not 0 <= index < len(self._actions):
            count = len(self._actions)
            raise IndexError(f"action {index} of {count}: choose from 0 to {count - 1}")
        answer = self._check_parts(self.env.step(self._action(index)), 5, "step")
        text, reward, terminated, truncated, info = answer
        self.stopped = bool(truncated) and not terminated
        return self._observation(text, info, float(reward), ended=bool(terminated))

    def _check_parts(self, answer: Any, parts: int, method: str) -> Any:
        if isinstance(answer, tuple) and len(answer) == parts:
            return answer
        raise InputError(
            f"{self.name}: {method} must return {parts} values, as in Gymnasium since 0.26"
        )

    def _action(self, index: int) -> int | str:
        if not self._by_number:
            return self._actions[index]
        number = self._numbers[index]
        return number + int(getattr(self.env.action_space, "start", 0))

    def _observation(
        self, text: Any, info: Mapping[str, Any], reward: float, *, ended: bool
    ) -> Observation:
        if not isinstance(text, str):
            raise InputError(
                f"{self.name}: an observation is a {type(text).__name__}, not a str; wrap the "
                "environment in a gymnasium.ObservationWrapper that returns text"
            )
        self._actions = () if ended else self._commands(info)
        self._numbers = range(len(self._actions))
        if self._fixed and self._actions:
            self._numbers = self._of_fixed(info)
            self._actions = tuple(self._fixed[number] for number in self._numbers)
        return Observation(str(text), self._actions, reward)

    def _of_fixed(self, info: Mapping[str, Any]) -> list[int]:
        """Return the fixed actions that `info["action_mask"]` allows, or that are listed."""
        mask = info.get("action_mask")
        if mask is not None and len(mask) == len(self._fixed):
            allowed = [number for number, flag in enumerate(mask) if flag]
            if allowed or not self.stopped:  # a truncated episode has not ended
                return allowed
        if len(self._actions) == len(self._fixed):
            return list(range(len(self._fixed)))
        if odd := set(self._actions) - set(self._fixed):
            raise InputError(
                f'{self.name}: the command "{min(odd)}" is not in its fixed list of actions'
            )
        return [self._fixed.index(words) for words in self._actions]

    def _commands(self, info: Mapping[str, Any]) -> tuple[str, ...]:
        commands = _words(info.get(COMMANDS), self.name)
        if not commands and self.stopped:  # a truncated episode has not ended
            return self._actions
        if commands or COMMANDS in info:
            return commands
        if not self._fixed:
            raise InputError(
                f'{self.name}: the environment has no info["{COMMANDS}"]; pass its actions, '
                'GymnasiumGame(env, actions=["…", "…"])'
            )
        return self._fixed


def _words(actions: Any, name: str) -> tuple[str, ...]:
    """Return actions as a tuple of str."""
    if actions is None:
        return ()
    if isinstance(actions, str) or not all(isinstance(action, str) for action in actions):
        raise InputError(f"{name}: actions must be a list of str, not {actions!r}")
    return tuple(actions)


def _stable_repr(value: Any) -> str:
    """Return a repr that is the same in every process."""
    if isinstance(value, (tuple, list)):
        return repr([_stable_repr(part) for part in value])
    if isinstance(value, dict):
        return repr(sorted((_stable_repr(key), _stable_repr(part)) for key, part in value.items()))
    plain = isinstance(value, (str, int, float, bool, bytes, type(None)))
    return repr(value) if plain else _class_of(value)


def _class_of(thing: object) -> str:
    return f"{type(thing).__module__}.{type(thing).__qualname__}"
