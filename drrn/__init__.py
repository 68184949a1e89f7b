"""Deep reinforcement learning with a natural language action space (He et al., ACL 2016)."""

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
    from drrn.runs.train import Trainer
    from drrn.settings import Settings

__all__ = [
    "Agent",
    "Compiled",
    "Enumerable",
    "Game",
    "GymnasiumGame",
    "InputError",
    "Observation",
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

# Where each name is: it is fetched when it is first asked for, so that `import drrn` takes a moment, and a command that
# does not learn does without PyTorch.
LAZY = {
    "InputError": "errors",
    "best": "compiled.solve",
    "Compiled": "compiled.game",
    "compile_game": "compiled.compile",
    **dict.fromkeys(
        ("Enumerable", "Game", "GymnasiumGame", "Observation", "check_game", "make"), "game"
    ),
    **dict.fromkeys(("play_episodes", "random_policy"), "game.episodes"),
    "Settings": "settings",
    "Agent": "runs.agent",
    "Trainer": "runs.train",
}


def trainer(
    game: Any, *, paper: bool = False, device: str = "cpu", threads: int = 1, **settings: Any
) -> Trainer:
    """A trainer for a game: `for finished in trainer.train(): …`, then `trainer.agent` and `trainer.save(folder)`.

    `game` is a name, a path, any object with the methods of `Game`, or a Gymnasium environment whose observations are
    texts. The settings are those of `drrn train`. Settings that are not given are the strong recipe's
    (`drrn.settings.STRONG`) and, where that has none, those that the game recommends; with `paper=True`, those that the
    game recommends and otherwise the paper's. `threads` is how many threads PyTorch uses while training (more than one
    rarely helps, since the matrices are small); afterwards its own number is restored.
    """
    from drrn.game.make import open_game
    from drrn.lab.experiments.tuned import suiting
    from drrn.runs.agent import torch_device
    from drrn.runs.train import Trainer
    from drrn.settings import recipe, recipe_name, settings_for

    opened, opened_by = open_game(game)
    base = recipe(paper=paper, recommended=suiting(opened), given=settings)
    made = Trainer(
        opened,
        settings_for(base, settings),
        torch_device(device),
        recipe=opened_by,
        threads=threads,
    )
    made.settings_from = recipe_name(paper=paper)
    return made


def load(run: str | Path, *, device: str = "cpu") -> Agent:
    """Load the trained agent from a run's folder."""
    from drrn.runs.loading import load_agent

    return load_agent(Path(run), device)


def resume(
    run: str | Path,
    game: Any = None,
    *,
    device: str = "cpu",
    threads: int = 1,
    rounds: int | None = None,
) -> Trainer:
    """A trainer that continues the run in a folder.

    `game` must be given if the run's game was an object and not a name or path. `rounds` is the total number of rounds,
    if it should be more than the run was started with.
    """
    from drrn.game.make import open_game
    from drrn.runs.loading import resumed

    opened = (None, None) if game is None else open_game(game)
    changes = {} if rounds is None else {"rounds": rounds}
    return resumed(Path(run), *opened, device=device, threads=threads, changes=changes)


def __getattr__(name: str) -> Any:
    if name in LAZY:
        globals()[name] = found = getattr(importlib.import_module(f"drrn.{LAZY[name]}"), name)
        return found
    try:
        return importlib.import_module(f"drrn.{name}")  # a room
    except ModuleNotFoundError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
