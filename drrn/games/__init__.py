"""Games: the contract, stories that keep it, games of one's own, and their compiled form."""

from drrn.games.compiled.compile import can_be_compiled, compile_game
from drrn.games.compiled.game import Compiled
from drrn.games.contract import ContractError, Game, Observation, check_game
from drrn.games.enumerable import Enumerable, check_outcomes
from drrn.games.gymnasium_game import GymnasiumGame
from drrn.games.make import BUILT_IN, Recipe, as_game, make, opened_game, recipe_for, recipe_of
from drrn.games.stories.story_game import StoryGame

__all__ = [
    "BUILT_IN",
    "Compiled",
    "ContractError",
    "Enumerable",
    "Game",
    "GymnasiumGame",
    "Observation",
    "Recipe",
    "StoryGame",
    "as_game",
    "can_be_compiled",
    "check_game",
    "check_outcomes",
    "compile_game",
    "make",
    "opened_game",
    "recipe_for",
    "recipe_of",
]
