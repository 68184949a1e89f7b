"""Text games: a small contract, episodes, compiled games and exact solutions. Needs NumPy alone."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from textgames.version import __version__ as __version__

if TYPE_CHECKING:
    from textgames.compiled.compile import compile_game as compile_game
    from textgames.compiled.game import Compiled as Compiled
    from textgames.compiled.oracle import solve_game as solve_game
    from textgames.compiled.solve import best as best
    from textgames.errors import InputError as InputError
    from textgames.game.contract import Enumerable as Enumerable
    from textgames.game.contract import Game as Game
    from textgames.game.contract import Observation as Observation
    from textgames.game.contract import StoryGame as StoryGame
    from textgames.game.contract import check_game as check_game
    from textgames.game.episodes import play_episodes as play_episodes
    from textgames.game.episodes import random_policy as random_policy
    from textgames.game.gymnasium_game import GymnasiumGame as GymnasiumGame
    from textgames.openers import make as make
    from textgames.registry import trust as trust

# Names by the module that defines them. Each is imported on first use, so that a game that needs
# the contract alone does not load NumPy.
MODULES = {
    "textgames.compiled.compile": "compile_game",
    "textgames.compiled.game": "Compiled",
    "textgames.compiled.oracle": "solve_game",
    "textgames.compiled.solve": "best",
    "textgames.errors": "InputError",
    "textgames.game.contract": "Enumerable Game Observation StoryGame check_game",
    "textgames.game.episodes": "play_episodes random_policy",
    "textgames.game.gymnasium_game": "GymnasiumGame",
    "textgames.openers": "make",
    "textgames.registry": "trust",
}
__all__ = ["__version__", *" ".join(MODULES.values()).split()]  # noqa: PLE0604


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    for module, names in MODULES.items():
        if name in names.split():
            value = getattr(importlib.import_module(module), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
