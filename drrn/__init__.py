"""Reinforcement learning agents for text games (He et al., ACL 2016), and tests of stories."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from drrn.version import __version__

if TYPE_CHECKING:
    from drrn.compiled.compile import compile_game
    from drrn.compiled.game import Compiled
    from drrn.compiled.solve import best
    from drrn.errors import InputError
    from drrn.game.contract import Game, Observation, check_game
    from drrn.game.enumerable import Enumerable
    from drrn.game.episodes import play_episodes, random_policy
    from drrn.game.gymnasium_game import GymnasiumGame
    from drrn.game.make import make
    from drrn.runs.agent import Agent
    from drrn.runs.run import Run
    from drrn.runs.trainer import Trainer
    from drrn.settings import Settings

__all__ = [
    "Agent",
    "Compiled",
    "Enumerable",
    "Game",
    "GymnasiumGame",
    "InputError",
    "Observation",
    "Run",
    "Settings",
    "Trainer",
    "__version__",
    "best",
    "check_game",
    "compile_game",
    "load",
    "make",
    "play_episodes",
    "random_policy",
    "resume",
    "trainer",
]
# Where each name is defined. They are imported on first use, so that `import drrn` is fast and does
# not load PyTorch.
LAZY = {
    "InputError": "errors",
    "best": "compiled.solve",
    "Compiled": "compiled.game",
    "compile_game": "compiled.compile",
    **dict.fromkeys(("Game", "Observation", "check_game"), "game.contract"),
    "Enumerable": "game.enumerable",
    "GymnasiumGame": "game.gymnasium_game",
    "make": "game.make",
    **dict.fromkeys(("play_episodes", "random_policy"), "game.episodes"),
    "Settings": "settings",
    "Run": "runs.run",
    "Agent": "runs.agent",
    "Trainer": "runs.trainer",
}
NEED_TORCH = ("Agent", "Trainer")


def trainer(
    game: Any, *, paper: bool = False, device: str = "cpu", threads: int = 1, **settings: Any
) -> Trainer:
    """Return a trainer for a game.

    Args:
        game: A name, a path, an object with the methods of `Game`, or a Gymnasium environment whose
            observations are texts.
        paper: Use the paper's settings instead of the strong recipe (`drrn.settings.STRONG`) where
            neither you nor the game set them.
        device: The PyTorch device.
        threads: Threads that PyTorch uses while training; more than one rarely helps.
        **settings: The settings of `drrn train`.

    Raises:
        InputError: A setting is wrong, the game cannot be opened, or PyTorch is not installed.

    Example:
        >>> trainer = drrn.trainer("long-watch", rounds=5)
        >>> for finished in trainer.train():
        ...     print(finished.number)
        >>> trainer.save("runs/demo")
    """
    _require_torch()
    from drrn.game.make import open_game
    from drrn.runs.config import settings_for_game
    from drrn.runs.trainer import Trainer
    from drrn.settings import recipe_name

    opened, spec = open_game(game)
    all_settings = settings_for_game(opened, settings, paper=paper)
    recipe = recipe_name(paper=paper)
    return Trainer(opened, all_settings, device, spec=spec, recipe=recipe, threads=threads)


def load(run: str | Path, *, device: str = "cpu") -> Agent:
    """Load the trained agent from the folder of a run."""
    _require_torch()
    from drrn.runs.agent import Agent

    return Agent.load(run, device)


def resume(
    run: str | Path,
    game: Any = None,
    *,
    device: str = "cpu",
    threads: int = 1,
    rounds: int | None = None,
) -> Trainer:
    """Return a trainer that continues the run in a folder.

    Args:
        run: The folder.
        game: The game, if the run was started with an object instead of a name or a path.
        device: The PyTorch device.
        threads: Threads that PyTorch uses while training.
        rounds: The total number of rounds, to extend the run.
    """
    _require_torch()
    from drrn.game.make import open_game
    from drrn.runs.trainer import Trainer

    opened, spec = (None, None) if game is None else open_game(game)
    changes = {} if rounds is None else {"rounds": rounds}
    options = {"device": device, "threads": threads}
    return Trainer.resume(run, opened, spec=spec, changes=changes, **options)


def _require_torch() -> None:
    from drrn.errors import require

    require("torch", "torch")


def __getattr__(name: str) -> Any:
    if name in LAZY:
        if name in NEED_TORCH:
            _require_torch()
        value = getattr(importlib.import_module(f"drrn.{LAZY[name]}"), name)
        globals()[name] = value
        return value
    try:
        return importlib.import_module(f"drrn.{name}")
    except ModuleNotFoundError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
