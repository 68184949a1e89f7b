"""Solved games: they are played like any other, and know Q* of every action that they show.

Q*(s, a) is the expected undiscounted return of an action and best play after it, within the step
limit. So it depends on the state and on the number of steps that remain, a loop that postpones a
bad ending gains nothing, and it exists even where a loop pays. The regret of a decision is
max Q* - Q*(s, a). Over an episode,

    return = expected return of best play - sum of regrets + luck

where luck is what chance added: rewards and values minus their expectations. Its mean is 0.
"""

import copy
from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from textgames.compiled.compile import can_be_compiled, compile_game
from textgames.compiled.game import Compiled, Floats
from textgames.compiled.search import first_words
from textgames.compiled.solve import random_play, slot_values
from textgames.errors import InputError
from textgames.game.contract import Game, Observation, Solved, another, step_limit_of, title_of

REWARDS = ("game", "advantage")  # the game's own, or A*(s, a), which is minus the regret


class SolvedGame:
    """A game with Q* of the current page, made by `solve_game`."""

    best: float  # expected return of best play
    random: float  # of random play

    def __init__(self, game: Any) -> None:
        self.game = game
        self.name: str = game.name
        self.title = title_of(game)
        self.max_steps = step_limit_of(game)
        self.steps = 0
        self.page = Observation("")

    def reset(self, seed: int | None = None) -> Observation:
        self.steps = 0
        self.page = self.game.reset(seed)
        return self.page

    def step(self, index: int) -> Observation:
        self.page = self.game.step(index)
        self.steps += 1
        return self.page

    def q_star(self) -> Sequence[float]:
        """Q* of each action of the current page, empty where the episode is over."""
        raise NotImplementedError

    def value(self) -> float:
        """The expected return of best play from the current page on."""
        return max(self.q_star(), default=0.0)

    @property
    def label(self) -> str:
        """A short name of the current page."""
        return first_words(self.page.text)

    def another(self) -> "SolvedGame":
        """A copy with its own episode. What is computed is shared."""
        twin = copy.copy(self)
        twin.game = another(self.game) or copy.deepcopy(self.game)
        return twin


class SolvedCompiled(SolvedGame):
    """A compiled game and its exact solution."""

    game: Compiled

    def __init__(self, game: Compiled, max_steps: int, most_cached: int = 100_000) -> None:
        super().__init__(game)
        self.max_steps = max_steps
        self._values = values_within(game, max_steps)
        self._q = lru_cache(most_cached)(self._q_of)
        self.best = float(game.start @ self._values[-1])

    def q_star(self) -> Sequence[float]:
        state = self.game.state
        steps_left = min(self.max_steps - self.steps, len(self._values) - 1)
        if steps_left <= 0 or not self.game.slots:
            return ()
        q = self._q(state, steps_left)
        first = int(self.game.first[state])
        return [q[slot - first] for slot in self.game.slots]

    @property
    def label(self) -> str:
        return self.game.label(self.game.state)

    @cached_property
    def random(self) -> float:  # type: ignore[override]
        return random_play(self.game, self.max_steps).total

    def _q_of(self, state: int, steps_left: int) -> list[float]:
        """Q* of a state's slots with a number of steps left."""
        graph = self.game
        later = self._values[steps_left - 1]
        rows = graph.row[graph.first[state] : graph.first[state + 1]].tolist()
        q = {}
        for row in set(rows):
            outcomes = graph.row_outcomes(row)
            successor = graph.successor[outcomes]
            worth = graph.reward[successor] + later[successor]
            q[row] = float(graph.probability[outcomes] @ worth)
        return [q[row] for row in rows]


class SolvedByItself(SolvedGame):
    """A game that computes Q* itself, such as a diagnostic with random texts."""

    def __init__(self, game: Any) -> None:
        super().__init__(game)
        self.best = game.optimum
        self.random = game.random_score

    def q_star(self) -> Sequence[float]:
        return () if self.page.ended else list(self.game.q_star())


def check_rewards(rewards: str) -> str:
    """Check the kind of rewards, and return it."""
    if rewards not in REWARDS:
        raise InputError(f'rewards "{rewards}": choose {" or ".join(REWARDS)}')
    return rewards


def solve_game(game: Game) -> SolvedGame:
    """A game with Q* of every page. It is compiled, unless it knows Q* itself.

    Raises:
        InputError: The game cannot be compiled, or has too many states.
    """
    if isinstance(game, SolvedGame):
        return game
    if can_be_compiled(game):
        return SolvedCompiled(compile_game(game).another(), step_limit_of(game))
    if isinstance(game, Solved):
        return SolvedByItself(game)
    cure = "use a story, a parser game, a diagnostic or your own game that lists its outcomes"
    raise InputError(f"{game.name}: cannot be solved exactly; {cure} (see docs/textgames/games.md)")


def values_within(graph: Compiled, max_steps: int, precision: float = 1e-12) -> list[Floats]:
    """The value of each state with 0, 1, 2 … steps left. More steps have the last value."""
    values = [np.zeros(len(graph))]
    starts = graph.first[:-1][~graph.ended]
    for _ in range(max_steps if len(starts) else 0):
        value = np.zeros(len(graph))
        q = slot_values(graph, graph.reward + values[-1])
        value[~graph.ended] = np.maximum.reduceat(q, starts)
        values.append(value)
        scale = max(1.0, float(np.abs(value).max()))
        if float(np.abs(value - values[-2]).max()) <= precision * scale:
            break
    return values
