"""Games: the contract, optional attributes, and `make`, which imports engines when needed."""

from drrn.game.contract import ContractError, Game, Observation, check_game
from drrn.game.enumerable import Enumerable, check_outcomes
from drrn.game.gymnasium_game import GymnasiumGame
from drrn.game.make import BUILT_IN, GameSpec, as_game, make, open_game, spec_for, spec_of

__all__ = [
    "BUILT_IN",
    "ContractError",
    "Enumerable",
    "Game",
    "GameSpec",
    "GymnasiumGame",
    "Observation",
    "as_game",
    "check_game",
    "check_outcomes",
    "make",
    "open_game",
    "spec_for",
    "spec_of",
]
