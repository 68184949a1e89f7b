"""Games that can be compiled: they list the possible outcomes of an action, with probabilities.

A state is any hashable value that determines the rest of the episode. The reward of `look(state)`
is paid for arriving there. A game may also have `ending_at(state)`, the ending's name.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any, Protocol, runtime_checkable

from drrn.game.contract import Observation

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
        """Return the observation of a state; the order of its actions depends on it alone."""
        ...


@runtime_checkable
class Searchable(Protocol):
    """A game that searches its states itself, for instance to ignore irrelevant variables."""

    def reachable_states(
        self, limit: int, memory: int, progress: Callable[[int], None] | None = None
    ) -> Any:
        """Return `drrn.compiled.search.States`."""
        ...
