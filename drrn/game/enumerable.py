"""Games that can be compiled: they list the possible outcomes of an action, with probabilities.

    opening()               (probability, state) for each possible start of an episode
    outcomes(state, index)  (probability, state) for each outcome of the action at `index`
    look(state)             the Observation of a state; the order of actions depends on it alone

A state is any hashable value that determines the rest of the episode. The reward of `look(state)`
is paid for arriving there. A game may also have `ending_at(state)`, the ending's name, and
`reachable_states(limit, memory, progress)`, its own search of its states.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Hashable, Iterable
from itertools import islice
from typing import Any, Protocol, runtime_checkable

from drrn.game.contract import ContractError, Game, Observation

MAX_OUTCOMES = 10_000  # checked at one step

Outcomes = Iterable[tuple[float, Hashable]]


@runtime_checkable
class Enumerable(Protocol):
    """A game that lists the possible outcomes of each action, so that it can be compiled."""

    def opening(self) -> Outcomes:
        """Return (probability, state) for each possible start of an episode."""
        ...

    def outcomes(self, state: Any, index: int) -> Outcomes:
        """Return (probability, state) for each possible outcome of the action at `index`."""
        ...

    def look(self, state: Any) -> Observation:
        """Return the observation of a state."""
        ...


@runtime_checkable
class Searchable(Protocol):
    """A game that searches its states itself, for instance to ignore irrelevant variables."""

    def reachable_states(
        self, limit: int, memory: int, progress: Callable[[int], None] | None = None
    ) -> Any:
        """Return `drrn.compiled.graph.States`."""
        ...


def check_outcomes(game: Game, *, seed: int = 0, episodes: int = 3, max_steps: int = 100) -> None:
    """Raise a `ContractError` if a random episode takes a step that the game does not list."""
    if not isinstance(game, Enumerable):
        raise ContractError("a compilable game has opening(), outcomes(state, index), look(state)")
    choose = random.Random(seed)
    for episode in range(episodes):
        page = game.reset(seed + episode)
        states = _matching(game, game.opening(), page, first=True)
        for _ in range(max_steps):
            if not states:
                raise ContractError(f"the game does not list the outcome {page.text[:80]!r}")
            if page.ended or len(states) > MAX_OUTCOMES:
                break
            action = page.actions[choose.randrange(len(page.actions))]
            page = game.step(page.actions.index(action))
            successors: set[Hashable] = set()
            for state in states:
                for index, words in enumerate(game.look(state).actions):
                    if words == action:
                        successors |= _matching(game, game.outcomes(state, index), page)
            states = successors


def _matching(
    game: Enumerable, outcomes: Outcomes, page: Observation, first: bool = False
) -> set[Hashable]:
    """Return the states among the outcomes that show the page."""
    total = 0.0
    states = set()
    for chance, state in islice(outcomes, MAX_OUTCOMES):
        total += chance
        other = game.look(state)
        same = other.text == page.text and sorted(other.actions) == sorted(page.actions)
        if chance > 0 and same and (first or other.reward == page.reward):
            states.add(state)
    if total > 1 + 1e-9:
        raise ContractError(
            f"the probabilities of the outcomes at {page.text[:80]!r} sum to {total:g}, not 1"
        )
    return states
