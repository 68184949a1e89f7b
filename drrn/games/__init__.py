"""Games: the contract, stories that keep it, and their compiled form."""

from drrn.games.compile import compile_game
from drrn.games.compiled import Compiled
from drrn.games.contract import ContractError, Game, Observation, check_game
from drrn.games.make import BUILT_IN, make
from drrn.games.story_game import StoryGame

__all__ = [
    "BUILT_IN",
    "Compiled",
    "ContractError",
    "Game",
    "Observation",
    "StoryGame",
    "check_game",
    "compile_game",
    "make",
]
