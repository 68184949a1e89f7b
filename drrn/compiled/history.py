"""Games whose pages include the history: the last N pages and the actions taken on them.

For players without memory. The oldest page comes first:

    Earlier: You are in the hall.
    > go north
    Now: You are in the attic.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from drrn.compiled.compile import can_be_compiled, compile_game
from drrn.game.contract import (
    THE_END,
    Enumerable,
    Game,
    Observation,
    Outcomes,
    Searchable,
    another,
    close,
)

# Attributes of a game that stay the same with its history.
INHERITED = {"title", "max_steps", "training", "ending", "stopped", "most_copies", "fingerprint"}
INHERITED |= {"sources", "shuffle"}


@dataclass(frozen=True)
class History:
    """The last pages of an episode, and the actions taken on them."""

    length: int
    pages: tuple[tuple[str, str], ...] = ()  # (text, action), the oldest first

    def add(self, text: str, action: str) -> History:
        """Return the history with one more page, without those that are too old."""
        pages = (*self.pages, (text, action))[-self.length :] if self.length else ()
        return History(self.length, pages)

    def prepend_to(self, text: str) -> str:
        """Return a page's text with the history before it."""
        if not self.pages:
            return text
        earlier = [f"Earlier: {page}\n> {action}" for page, action in self.pages]
        return "\n".join([*earlier, f"Now: {text}"])


class GameWithHistory:
    """A game whose pages include the history."""

    def __init__(self, game: Game, length: int) -> None:
        self.game = game
        self.name = game.name
        self.length = length
        self.history = History(length)
        self.page = Observation("")

    def __getattr__(self, name: str) -> Any:
        if name in INHERITED:
            return getattr(self.game, name)
        raise AttributeError(name)

    @property
    def edition(self) -> str:
        """Distinguishes its compiled form from the game's."""
        return f"{getattr(self.game, 'edition', '')}, history {self.length}"

    def reset(self, seed: int | None = None) -> Observation:
        self.history = History(self.length)
        return self._show(self.game.reset(seed))

    def step(self, index: int) -> Observation:
        page = self.game.step(index)
        self.history = self.history.add(self.page.text, self.page.actions[index])
        return self._show(page)

    def another(self) -> Game | None:
        twin = another(self.game)
        return None if twin is None else type(self)(twin, self.length)

    def close(self) -> None:
        close(self.game)

    def _show(self, page: Observation) -> Observation:
        self.page = page
        return replace(page, text=self.history.prepend_to(page.text))


class EnumerableWithHistory(GameWithHistory):
    """The same for a game that can be compiled; a state is the game's state and the history."""

    def opening(self) -> Outcomes:
        return [(chance, (state, History(self.length))) for chance, state in self._inner.opening()]

    def outcomes(self, state: Any, index: int) -> Outcomes:
        inner, history = state
        page = self._inner.look(inner)
        history = history.add(page.text, page.actions[index])
        return [(chance, (after, history)) for chance, after in self._inner.outcomes(inner, index)]

    def look(self, state: Any) -> Observation:
        inner, history = state
        page = self._inner.look(inner)
        return replace(page, text=history.prepend_to(page.text))

    def ending_at(self, state: Any) -> str:
        ending_at = getattr(self._inner, "ending_at", None)
        return str(ending_at(state[0])) if ending_at else THE_END

    @cached_property
    def _inner(self) -> Enumerable:
        """The game, or its compiled form if it searches its states itself."""
        if isinstance(self.game, Enumerable) and not isinstance(self.game, Searchable):
            return self.game
        return GraphOutcomes(self.game)


class GraphOutcomes:
    """The outcomes of a compiled game; a state is a number."""

    def __init__(self, game: Game) -> None:
        self.graph = compile_game(game)

    def opening(self) -> Outcomes:
        return self._row(0)

    def outcomes(self, state: int, index: int) -> Outcomes:
        return self._row(int(self.graph.row[self.graph.first[state] + index]))

    def look(self, state: int) -> Observation:
        first = self.graph.first
        return self.graph.observation(state, range(int(first[state]), int(first[state + 1])))

    def ending_at(self, state: int) -> str:
        return self.graph.endings[int(self.graph.ending_at[state])].passage

    def _row(self, row: int) -> list[tuple[float, Hashable]]:
        span = self.graph.row_outcomes(row)
        probabilities = self.graph.probability[span].tolist()
        return list(zip(probabilities, self.graph.successor[span].tolist(), strict=True))


def with_history(game: Game, length: int) -> Game:
    """Return the game with `length` earlier pages in its texts; with 0, the game itself."""
    if length == 0:
        return game
    kind = EnumerableWithHistory if can_be_compiled(game) else GameWithHistory
    return kind(game, length)
