"""Deep reinforcement learning with a natural language action space (He et al., ACL 2016)."""

from drrn.errors import InputError
from drrn.games import Compiled, Game, Observation, check_game, compile_game, make

__version__ = "0.1.0"

__all__ = ["Compiled", "Game", "InputError", "Observation", "__version__", "check_game", "compile_game", "make"]
