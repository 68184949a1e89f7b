"""Deep reinforcement learning with a natural language action space (He et al., ACL 2016)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from drrn.errors import InputError
from drrn.games import Compiled, Game, Observation, StoryGame, check_game, compile_game, make

if TYPE_CHECKING:
    from drrn.training.agent import Agent
    from drrn.training.train import Trainer

__version__ = "0.1.0"

__all__ = [
    "Compiled",
    "Game",
    "InputError",
    "Observation",
    "__version__",
    "check_game",
    "compile_game",
    "load",
    "make",
    "trainer",
]


def trainer(game: StoryGame, *, device: str = "cpu", threads: int = 1, **settings: Any) -> Trainer:
    """Something that learns the game: `for finished in trainer.train(): …`, then `trainer.agent`.

    The settings are those of `drrn train`; what is not given is what suits the game, or the paper's. PyTorch is told to
    use so many `threads`: the products are small, and more than one mostly wait for each other.
    """
    import torch

    from drrn.training.agent import torch_device  # PyTorch takes a second to import, and games do not need it
    from drrn.training.settings import settings_for
    from drrn.training.train import Trainer

    if threads < 1:
        raise InputError(f"threads is {threads}; it must be at least 1")
    torch.set_num_threads(threads)
    return Trainer(game, settings_for(game.title, game.rules.training, settings), torch_device(device))


def load(run: str | Path, *, device: str = "cpu") -> Agent:
    """The trained agent in a run's folder."""
    from drrn.training.agent import load_agent

    return load_agent(Path(run), device)
