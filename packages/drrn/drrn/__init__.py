"""Reinforcement learning agents for text games (He et al., ACL 2016), and play-tests of stories."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from drrn.errors import require
from drrn.version import __version__ as __version__

if TYPE_CHECKING:
    from drrn.compiled.compile import compile_game as compile_game
    from drrn.compiled.game import Compiled as Compiled
    from drrn.compiled.solve import best as best
    from drrn.errors import InputError as InputError
    from drrn.game.contract import Enumerable as Enumerable
    from drrn.game.contract import Game as Game
    from drrn.game.contract import Observation as Observation
    from drrn.game.contract import check_game as check_game
    from drrn.game.episodes import play_episodes as play_episodes
    from drrn.game.episodes import random_policy as random_policy
    from drrn.game.gymnasium_game import GymnasiumGame as GymnasiumGame
    from drrn.game.make import make as make
    from drrn.registry import trust as trust
    from drrn.runs.agent import Agent as Agent
    from drrn.runs.run import Run as Run
    from drrn.runs.trainer import Trainer as Trainer
    from drrn.settings import Settings as Settings

# The names that each module defines. They are imported on first use, so that `import drrn` is fast
# and does not load PyTorch.
LAZY = {
    "compiled.compile": "compile_game",
    "compiled.game": "Compiled",
    "compiled.solve": "best",
    "errors": "InputError",
    "game.contract": "Enumerable Game Observation check_game",
    "game.episodes": "play_episodes random_policy",
    "game.gymnasium_game": "GymnasiumGame",
    "game.make": "make",
    "registry": "trust",
    "runs.agent": "Agent",
    "runs.run": "Run",
    "runs.trainer": "Trainer",
    "settings": "Settings",
}
__all__ = ["__version__", "load", "resume", "trainer", *" ".join(LAZY.values()).split()]  # noqa: PLE0604


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
    require("torch", "torch")
    from drrn.game.make import open_game
    from drrn.runs.config import settings_for_game
    from drrn.runs.trainer import Trainer
    from drrn.settings import recipe_name

    opened, spec = open_game(game)
    all_settings = settings_for_game(opened, settings, paper=paper)
    recipe = recipe_name(paper=paper)
    return Trainer(opened, all_settings, device, spec=spec, recipe=recipe, threads=threads)


def load(run: str | Path, *, device: str = "cpu", sentences: str | None = None) -> Agent:
    """Load the trained agent from the folder of a run; with `sentences`, it recalls by them."""
    require("torch", "torch")
    from drrn.runs.agent import Agent

    return Agent.load(run, device, sentences=sentences)


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
    require("torch", "torch")
    from drrn.game.make import open_game
    from drrn.runs.trainer import Trainer

    opened, spec = (None, None) if game is None else open_game(game)
    changes = {} if rounds is None else {"rounds": rounds}
    options = {"device": device, "threads": threads}
    return Trainer.resume(run, opened, spec=spec, changes=changes, **options)


def __getattr__(name: str) -> Any:
    module = next((module for module, names in LAZY.items() if name in names.split()), None)
    if name in ("Agent", "Trainer"):
        require("torch", "torch")
    if module is not None:
        value = getattr(importlib.import_module(f"drrn.{module}"), name)
        globals()[name] = value
        return value
    try:
        return importlib.import_module(f"drrn.{name}")
    except ModuleNotFoundError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
