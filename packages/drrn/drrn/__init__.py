"""Agents that learn text games by reading (DRRN: He et al., ACL 2016)."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import textgames
from textgames.version import __version__ as __version__

if TYPE_CHECKING:
    from drrn.runs.agent import Agent as Agent
    from drrn.runs.run import Run as Run
    from drrn.runs.trainer import Trainer as Trainer
    from drrn.settings import Settings as Settings
    from textgames import Compiled as Compiled
    from textgames import Enumerable as Enumerable
    from textgames import Game as Game
    from textgames import GymnasiumGame as GymnasiumGame
    from textgames import InputError as InputError
    from textgames import Observation as Observation
    from textgames import StoryGame as StoryGame
    from textgames import best as best
    from textgames import check_game as check_game
    from textgames import compile_game as compile_game
    from textgames import make as make
    from textgames import play_episodes as play_episodes
    from textgames import random_policy as random_policy
    from textgames import solve_game as solve_game
    from textgames import trust as trust

# Names by the module that defines them. Each is imported on first use, so that `import drrn` does
# not load PyTorch. The names of `textgames` are also names of `drrn`.
MODULES = {
    "runs.agent": "Agent",
    "runs.run": "Run",
    "runs.trainer": "Trainer",
    "settings": "Settings",
}
__all__ = ["load", "resume", "trainer", *MODULES.values(), *textgames.__all__]  # noqa: PLE0604


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
        InputError: A setting is wrong, or the game cannot be opened.

    Example:
        >>> trainer = drrn.trainer("long-watch", rounds=5)
        >>> for finished in trainer.train():
        ...     print(finished.number)
        >>> trainer.save("runs/demo")
    """
    from drrn.runs.config import settings_for_game
    from drrn.runs.trainer import Trainer
    from drrn.settings import recipe_name
    from textgames.openers import open_game

    opened, spec = open_game(game)
    all_settings = settings_for_game(opened, settings, paper=paper)
    recipe = recipe_name(paper=paper)
    return Trainer(opened, all_settings, device, spec=spec, recipe=recipe, threads=threads)


def load(run: str | Path, *, device: str = "cpu", sentences: str | None = None) -> Agent:
    """Load the trained agent from the folder of a run; with `sentences`, it recalls by them."""
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
    from drrn.runs.trainer import Trainer
    from textgames.openers import open_game

    opened, spec = (None, None) if game is None else open_game(game)
    changes = {} if rounds is None else {"rounds": rounds}
    options = {"device": device, "threads": threads}
    return Trainer.resume(run, opened, spec=spec, changes=changes, **options)


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    if name in textgames.__all__:
        return getattr(textgames, name)
    for module, exported in MODULES.items():
        if name == exported:
            value = getattr(importlib.import_module(f"drrn.{module}"), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
