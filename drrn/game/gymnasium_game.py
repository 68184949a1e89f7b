"""A Gymnasium environment of texts as a game: the opposite of `drrn.gym`, and Gymnasium itself is not imported.

Its observations are texts. Its actions are those in `info["admissible_commands"]`, as TextWorld and TALES list them,
or a fixed list of words: given here, or the environment's own attribute `actions`.

Terminated is not truncated. A terminated episode has ended: no actions are left. A truncated one still has actions, so
that a learner bootstraps from it, and the game says that it is `stopped`: it must be reset. A limit that the
environment was registered with (`env.spec.max_episode_steps`) is the game's `max_steps`, so that a loop stops there by
itself; any other limit is told by `stopped` alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from drrn.errors import InputError, require
from drrn.game.contract import Observation

COMMANDS = "admissible_commands"


def is_environment(thing: object) -> bool:
    """Whether it has Gymnasium's interface."""
    return not isinstance(thing, type) and all(
        hasattr(thing, name) for name in ("reset", "step", "action_space", "observation_space")
    )


class GymnasiumGame:
    """A Gymnasium environment of texts as a game.

    Its actions are those of `info["admissible_commands"]`, or the fixed list `actions` (by default the environment's
    own attribute `actions`). Where the action space is discrete, the environment is given the index of an action in
    that list; otherwise its words.
    """

    most_copies = 16  # an environment may be large

    def __init__(
        self, env: Any, actions: Sequence[str] | None = None, name: str | None = None
    ) -> None:
        self.env = env
        spec = getattr(env, "spec", None)
        inner = getattr(env, "unwrapped", env)
        self.name = name or (spec.id.split("/")[-1] if spec is not None else type(inner).__name__)
        self.max_steps: int | None = getattr(spec, "max_episode_steps", None)  # None: as any game
        self.stopped = False
        own = getattr(inner, "actions", None)
        self._fixed = _words(
            own if actions is None and isinstance(own, (list, tuple)) else actions, self.name
        )
        self._by_number = hasattr(env.action_space, "n")
        self._shown: tuple[str, ...] = ()
        self._numbers: Sequence[int] = ()  # of the shown actions, as the environment counts them

    def close(self) -> None:
        """Close the environment."""
        self.env.close()

    @property
    def fingerprint(self) -> str:
        """A hash of the environment's class, what it was made with, its actions, and its own `fingerprint` if any."""
        inner = getattr(self.env, "unwrapped", self.env)
        spec = getattr(self.env, "spec", None)
        made_with = [
            (key, _lasting(value)) for key, value in sorted(getattr(spec, "kwargs", {}).items())
        ]
        told = (_class_of(inner), self.name, getattr(spec, "id", None), self._fixed, made_with)
        return hashlib.sha256(
            repr((*told, getattr(inner, "fingerprint", None))).encode()
        ).hexdigest()

    def another(self) -> GymnasiumGame | None:
        """The environment made once more; None where Gymnasium does not know how it was made."""
        if getattr(self.env, "spec", None) is None:
            return None
        gymnasium = require("gymnasium", "gym")
        try:
            made = gymnasium.make(self.env.spec)
        except (
            gymnasium.error.Error,
            ValueError,
            TypeError,
        ):  # a wrapper, say, that does not tell what it was given
            return None
        return GymnasiumGame(made, self._fixed or None, self.name)

    def reset(self, seed: int | None = None) -> Observation:
        self.stopped = False
        text, info = self._told(self.env.reset(seed=seed), 2, "reset")
        shown = self._see(text, info, 0.0, ended=False)
        if not shown.actions:
            raise InputError(
                f"{self.name}: the environment lists no actions at the beginning of an episode"
            )
        return shown

    def step(self, index: int) -> Observation:
        if not self._shown or self.stopped:
            what = (
                "was stopped by its environment" if self.stopped else "has ended, or has not begun"
            )
            raise RuntimeError(f"the episode {what}: call reset()")
        if not 0 <= index < len(self._shown):
            raise IndexError(
                f"action {index} of {len(self._shown)}: choose one from 0 to {len(self._shown) - 1}"
            )
        text, reward, terminated, truncated, info = self._told(
            self.env.step(self._action(index)), 5, "step"
        )
        self.stopped = bool(truncated) and not terminated
        return self._see(text, info, float(reward), ended=bool(terminated))

    def _told(self, answer: Any, parts: int, method: str) -> Any:
        if isinstance(answer, tuple) and len(answer) == parts:
            return answer
        raise InputError(
            f"{self.name}: {method} must return {parts} values, as Gymnasium's environments do since 0.26"
        )

    def _action(self, index: int) -> int | str:
        if not self._by_number:
            return self._shown[index]
        number = self._numbers[index]
        return number + int(getattr(self.env.action_space, "start", 0))

    def _see(
        self, text: Any, info: Mapping[str, Any], reward: float, *, ended: bool
    ) -> Observation:
        if not isinstance(text, str):
            raise InputError(
                f"{self.name}: an observation is a {type(text).__name__}, not a text: wrap the environment in a "
                "gymnasium.ObservationWrapper that tells it in words"
            )
        self._shown = () if ended else self._commands(info)
        self._numbers = range(len(self._shown))
        if self._fixed and self._shown:
            self._numbers = self._of_fixed(info)
            self._shown = tuple(self._fixed[number] for number in self._numbers)
        return Observation(str(text), self._shown, reward)

    def _of_fixed(self, info: Mapping[str, Any]) -> list[int]:
        """Which actions of the fixed list are shown: those that `info["action_mask"]` allows, or that are listed."""
        mask = info.get("action_mask")
        if mask is not None and len(mask) == len(self._fixed):
            allowed = [number for number, shown in enumerate(mask) if shown]
            if (
                allowed or not self.stopped
            ):  # some allow nothing any more; the episode has not ended for that
                return allowed
        if len(self._shown) == len(self._fixed):
            return list(range(len(self._fixed)))
        if odd := set(self._shown) - set(self._fixed):
            raise InputError(
                f'{self.name}: it lists the command "{min(odd)}", which is not in its fixed list of actions'
            )
        return [self._fixed.index(words) for words in self._shown]

    def _commands(self, info: Mapping[str, Any]) -> tuple[str, ...]:
        given = _words(info.get(COMMANDS), self.name)
        if (
            not given and self.stopped
        ):  # some list no commands any more; the episode has not ended for that
            return self._shown
        if given or COMMANDS in info:
            return given
        if not self._fixed:
            raise InputError(
                f'{self.name}: the environment lists no info["{COMMANDS}"]: give its actions, '
                'GymnasiumGame(env, actions=["…", "…"])'
            )
        return self._fixed


def _words(actions: Any, name: str) -> tuple[str, ...]:
    """Actions as words; what is no list of words is refused."""
    if actions is None:
        return ()
    if isinstance(actions, str) or not all(isinstance(action, str) for action in actions):
        raise InputError(f"{name}: its actions must be a list of words, not {actions!r}")
    return tuple(actions)


def _lasting(value: Any) -> str:
    """What an environment was made with, told alike in every process."""
    if isinstance(value, (tuple, list)):
        return repr([_lasting(part) for part in value])
    if isinstance(value, dict):
        return repr(sorted((_lasting(key), _lasting(part)) for key, part in value.items()))
    plain = isinstance(value, (str, int, float, bool, bytes, type(None)))
    return repr(value) if plain else _class_of(value)


def _class_of(thing: object) -> str:
    return f"{type(thing).__module__}.{type(thing).__qualname__}"
