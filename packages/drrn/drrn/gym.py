"""Gymnasium environments: `import drrn.gym`, then `gymnasium.make("drrn/LongWatch-v0")`.

The diagnostics have ids such as `drrn/Diagnostic-Memory-v0`, with `level` and `held_out`.

An observation is the text of the page. `info["admissible_commands"]` lists the actions, as in
TextWorld and TALES, and `info["action_mask"]` has a 1 for each. An action is an index or a text.

With `regret=True` the game is solved: `info["q_star"]` has Q* of each action, `info["regret"]` what
the last action cost. With `rewards="advantage"`, the reward is minus that, A*(s, a).
"""

import string
import sys
from pathlib import Path
from typing import Any

import numpy as np

from textgames.compiled.oracle import SolvedGame, check_rewards, solve_game
from textgames.diagnostics import DIAGNOSTICS
from textgames.errors import InputError, require
from textgames.game.contract import (
    Game,
    Observation,
    checked,
    fingerprint_of,
    is_stopped,
    step_limit_of,
    story_of,
)
from textgames.openers import BUILT_IN, as_game, make

require("gymnasium")
import gymnasium  # noqa: E402
from gymnasium.vector.utils import create_shared_memory  # noqa: E402

Action = int | np.integer[Any] | str
Info = dict[str, Any]
MOST_ACTIONS = {"long-watch": 4, "night-market": 9}


class PageText(gymnasium.spaces.Text):
    """Any text. Shared memory is refused, since Gymnasium would return zeros."""

    def __init__(self) -> None:
        super().__init__(sys.maxsize, min_length=0, charset=string.printable)

    def contains(self, x: Any) -> bool:
        return isinstance(x, str)


@create_shared_memory.register(PageText)
def _no_shared_memory(space: PageText, n: int = 1, ctx: Any = None) -> Any:
    message = "text spaces cannot use shared memory; pass vector_kwargs={'shared_memory': False}"
    raise gymnasium.error.CustomSpaceError(message)


class StoryEnv(gymnasium.Env[str, Any]):
    """A game as a Gymnasium environment. An unavailable action costs a step and nothing else."""

    metadata = {"render_modes": ["ansi"], "render_fps": 4}  # noqa: RUF012

    def __init__(
        self,
        game: str | Path | Game,
        *,
        most_actions: int = 20,
        render_mode: str | None = None,
        regret: bool = False,
        rewards: str = "game",
        **options: Any,
    ) -> None:
        self.game = make(game, **options) if isinstance(game, (str, Path)) else as_game(game)
        self.render_mode = render_mode
        self.observation_space = PageText()
        self._refused = story_of(self.game).step_reward  # reward of an unavailable action
        self._limit = step_limit_of(self.game)
        self._is_advantage = check_rewards(rewards) == "advantage"
        self._solved: SolvedGame | None = None
        self._regret = 0.0
        if regret or self._is_advantage:
            self.game = self._solved = solve_game(self.game)
        self.action_space = gymnasium.spaces.Discrete(most_actions)
        self._most_actions = most_actions
        self._page = Observation("")
        self._steps = 0

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the game, so that results belong to it."""
        return fingerprint_of(self.game)

    def reset(self, *, seed: int | None = None, options: Info | None = None) -> tuple[str, Info]:
        super().reset(seed=seed)
        self._steps = 0
        self._regret = 0.0
        self._show(checked(self.game, self.game.reset(seed)))
        return self._page.text, self._info()

    def step(self, action: Action) -> tuple[str, float, bool, bool, Info]:
        index = self._index(action)
        q = self._solved.q_star() if self._solved else ()
        if index is None:
            reward = self._refused
            if self._solved:
                self._solved.steps += 1
                self._regret = max(q) - reward - self._solved.value()
        else:
            self._show(checked(self.game, self.game.step(index)))
            reward = self._page.reward
            self._regret = max(q) - q[index] if q else 0.0
        if self._is_advantage:
            reward = -self._regret
        self._steps += 1
        terminated = self._page.ended
        truncated = not terminated and (self._steps >= self._limit or is_stopped(self.game))
        return self._page.text, float(reward), terminated, truncated, self._info()

    def render(self) -> str | None:
        actions = (f"{i}. {action}" for i, action in enumerate(self._page.actions))
        lines = [self._page.text, "", *actions]
        return "\n".join(lines) if self.render_mode == "ansi" else None

    def _show(self, observation: Observation) -> None:
        count = len(observation.actions)
        if count > self._most_actions:
            cure = f"make the environment with most_actions={count}"
            raise InputError(f"a page has {count} actions; {cure}")
        self._page = observation

    def _index(self, action: Action) -> int | None:
        """Return the index of an action; None if it is not available."""
        actions = self._page.actions
        if not actions:
            raise RuntimeError("the episode has ended or has not started; call reset()")
        if isinstance(action, str):
            return actions.index(action) if action in actions else None
        return int(action) if 0 <= int(action) < len(actions) else None

    def _info(self) -> Info:
        mask = np.zeros(self._most_actions, dtype=np.int8)
        mask[: len(self._page.actions)] = 1
        info: Info = {"admissible_commands": list(self._page.actions), "action_mask": mask}
        if self._solved:
            info["q_star"] = list(self._solved.q_star())
            info["regret"] = self._regret
        return info


def diagnostic_env(name: str, level: int = 2, held_out: bool = False, **options: Any) -> StoryEnv:
    """Return a diagnostic as an environment whose action space has room for its menus."""
    game = make(f"diagnostic:{name}/{level}{'/held-out' if held_out else ''}")
    most_actions = max(6, len(game.reset().actions))  # only constant menus have more than 6
    return StoryEnv(game, most_actions=most_actions, **options)


def register() -> None:
    """Register the built-in games and diagnostics, and `drrn/Story-v0` for `game=PATH`."""
    gymnasium.register("drrn/Story-v0", entry_point="drrn.gym:StoryEnv")
    for name in BUILT_IN:
        title = name.title().replace("-", "")
        kwargs = {"game": name, "most_actions": MOST_ACTIONS[name]}
        gymnasium.register(f"drrn/{title}-v0", entry_point="drrn.gym:StoryEnv", kwargs=kwargs)
    for name, kind in DIAGNOSTICS.items():
        env_id = f"drrn/Diagnostic-{kind.__name__}-v0"
        gymnasium.register(env_id, "drrn.gym:diagnostic_env", kwargs={"name": name})


register()
