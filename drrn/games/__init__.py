"""Games: the contract, and stories that keep it."""

from drrn.games.contract import ContractError, Game, Observation, check_game
from drrn.games.make import BUILT_IN, make
from drrn.games.story_game import StoryGame

__all__ = ["BUILT_IN", "ContractError", "Game", "Observation", "StoryGame", "check_game", "make"]
