"""Games: the contract, stories that keep it, and their compiled form."""

from drrn.games.compiled.compile import compile_game
from drrn.games.compiled.game import Compiled
from drrn.games.contract import ContractError, Game, Observation, check_game
from drrn.games.make import BUILT_IN, make
from drrn.games.stories.story_game import StoryGame

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
