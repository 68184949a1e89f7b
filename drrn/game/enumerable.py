"""Games that can be compiled: those that list the possible outcomes of an action, with their probabilities.

    opening()               (probability, state) for each way an episode can begin
    outcomes(state, index)  (probability, state) for each possible outcome of the action at `index`
    look(state)             the Observation of a state; the order of its actions must depend on the state alone

A state is any hashable value that holds all that the rest of the episode depends on; the reward of `look(state)` is
paid for arriving there. `ending_at(state)`, if a game has it, names the ending. A game that has a better way to search
its states provides `reachable_states(limit, memory, progress)`, which is then used instead.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Hashable, Iterable
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from drrn.game.contract import ContractError, Game, Observation

if TYPE_CHECKING:
    from drrn.compiled.graph import States

MOST_OUTCOMES = 10_000  # that a check goes through at one step

Outcomes = Iterable[tuple[float, Hashable]]


@runtime_checkable
class Enumerable(Protocol):
    """A game that can be compiled, because it lists the possible outcomes of each action."""

    def opening(self) -> Outcomes:
        """(probability, state) for each way an episode can begin; a state is any hashable value."""
        ...

    def outcomes(self, state: Any, index: int) -> Outcomes:
        """(probability, state) for each possible outcome of the action at `index`."""
        ...

    def look(self, state: Any) -> Observation:
        """The observation of a state; the order of its actions must depend on the state alone."""
        ...


@runtime_checkable
class Searchable(Protocol):
    """A game with its own search of its states, for games that can leave out variables that no longer matter."""

    def reachable_states(
        self, limit: int, memory: int, progress: Callable[[int], None] | None = None
    ) -> States: ...


def check_outcomes(game: Game, *, seed: int = 0, episodes: int = 3, max_steps: int = 100) -> None:
    """Raise `ContractError` unless every step of some random episodes is among the outcomes that the game lists."""
    if not isinstance(game, Enumerable):
        raise ContractError(
            "a game that can be compiled has opening(), outcomes(state, index) and look(state)"
        )
    choose = random.Random(seed)
    for episode in range(episodes):
        shown = game.reset(seed + episode)
        states = _those_seen(game, game.opening(), shown, first=True)
        for _ in range(max_steps):
            if not states:
                raise ContractError(
                    f"stepping showed {shown.text[:80]!r}, which is no outcome that the game lists"
                )
            if shown.ended or len(states) > MOST_OUTCOMES:
                break
            action = shown.actions[choose.randrange(len(shown.actions))]
            shown = game.step(shown.actions.index(action))
            found: set[Hashable] = set()
            for state in states:
                for index in (
                    i for i, words in enumerate(game.look(state).actions) if words == action
                ):
                    found |= _those_seen(game, game.outcomes(state, index), shown)
            states = found


def _those_seen(
    game: Enumerable, outcomes: Outcomes, shown: Observation, first: bool = False
) -> set[Hashable]:
    """The states among the outcomes that look like what was shown."""
    total = 0.0
    found = set()
    for chance, state in islice(outcomes, MOST_OUTCOMES):
        total += chance
        seen = game.look(state)
        alike = seen.text == shown.text and sorted(seen.actions) == sorted(shown.actions)
        if chance > 0 and alike and (first or seen.reward == shown.reward):
            found.add(state)
    if total > 1 + 1e-9:
        raise ContractError(
            f"the chances of the ways to {shown.text[:80]!r} sum to {total:g}, not 1"
        )
    return found
