"""What happened before as part of a page's text: the last N pages and the actions taken on them, for players without
memory of their own.

The text reads in the order of time, the page itself last:

    Earlier: You are in the hall.
    > go north
    Now: You are in the attic.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from drrn.compiled.compile import can_be_compiled, compile_game
from drrn.game.contract import Game, Observation
from drrn.game.enumerable import Enumerable, Outcomes
from drrn.game.optional import another, close

Past = tuple[tuple[str, str], ...]  # texts, and the actions taken there, the oldest first

# What a game may say of itself that is as true with its history.
SAID = {
    "title",
    "max_steps",
    "training",
    "ending",
    "stopped",
    "most_copies",
    "fingerprint",
    "sources",
    "shuffle",
}


class PageHistory:
    """The last pages of an episode, as a player keeps them."""

    def __init__(self, length: int) -> None:
        self.length = length
        self.begin()

    def begin(self) -> None:
        """A new episode."""
        self.past: Past = ()

    def took(self, text: str, action: str) -> None:
        """An action was taken on a page."""
        self.past = longer(self.past, text, action, self.length)

    def told(self, text: str) -> str:
        """A page's text after what happened before it."""
        return with_past(self.past, text)


class GameWithHistory:
    """A game whose pages tell what happened before them; all else is the game's own."""

    def __init__(self, game: Game, length: int) -> None:
        self.game = game
        self.name = game.name
        self.length = length
        self.history = PageHistory(length)
        self.page = Observation("")

    def __getattr__(self, name: str) -> Any:
        if name in SAID:
            return getattr(self.game, name)
        raise AttributeError(name)

    @property
    def edition(self) -> str:
        """What a compiled form differs by."""
        return f"{getattr(self.game, 'edition', '')}, history {self.length}"

    def reset(self, seed: int | None = None) -> Observation:
        self.history.begin()
        return self._shown(self.game.reset(seed))

    def step(self, index: int) -> Observation:
        arrived = self.game.step(index)
        self.history.took(self.page.text, self.page.actions[index])
        return self._shown(arrived)

    def another(self) -> Game | None:
        copied = another(self.game)
        return None if copied is None else type(self)(copied, self.length)

    def close(self) -> None:
        close(self.game)

    def _shown(self, page: Observation) -> Observation:
        self.page = page
        return Observation(self.history.told(page.text), page.actions, page.reward)


class EnumerableWithHistory(GameWithHistory):
    """The same for a game that can be compiled: a state is the game's own, and its past."""

    def opening(self) -> Outcomes:
        return [(chance, (state, ())) for chance, state in self._listed.opening()]

    def outcomes(self, state: Any, index: int) -> Outcomes:
        inner, past = state
        page = self._listed.look(inner)
        past = longer(past, page.text, page.actions[index], self.length)
        return [
            (chance, (following, past)) for chance, following in self._listed.outcomes(inner, index)
        ]

    def look(self, state: Any) -> Observation:
        inner, past = state
        page = self._listed.look(inner)
        return Observation(with_past(past, page.text), page.actions, page.reward)

    def ending_at(self, state: Any) -> str:
        named = getattr(self._listed, "ending_at", None)
        return str(named(state[0])) if named else "the end"

    @property
    def _listed(self) -> Enumerable:
        """The game by its outcomes: its own, or those of its compiled form, where it searches its states itself."""
        if not hasattr(self, "_outcomes"):
            own = isinstance(self.game, Enumerable) and not hasattr(self.game, "reachable_states")
            self._outcomes: Any = self.game if own else GraphOutcomes(self.game)
        found: Enumerable = self._outcomes
        return found


class GraphOutcomes:
    """A compiled game by its outcomes: a state is a number."""

    def __init__(self, game: Game) -> None:
        self.graph = compile_game(game)

    def opening(self) -> Outcomes:
        return self._row(0)

    def outcomes(self, state: int, index: int) -> Outcomes:
        return self._row(int(self.graph.row[self.graph.first[state] + index]))

    def look(self, state: int) -> Observation:
        graph = self.graph
        slots = range(int(graph.first[state]), int(graph.first[state + 1]))
        actions = tuple(graph.actions[graph.action[slot]] for slot in slots)
        return Observation(graph.texts[graph.text[state]], actions, float(graph.reward[state]))

    def ending_at(self, state: int) -> str:
        return self.graph.endings[int(self.graph.ending_at[state])].passage

    def _row(self, row: int) -> list[tuple[float, Hashable]]:
        span = slice(int(self.graph.row_first[row]), int(self.graph.row_first[row + 1]))
        return list(
            zip(
                self.graph.probability[span].tolist(),
                self.graph.successor[span].tolist(),
                strict=True,
            )
        )


def with_history(game: Game, length: int) -> Game:
    """The game, with so many pages of history in its texts; 0: the game itself."""
    if length == 0:
        return game
    return (EnumerableWithHistory if can_be_compiled(game) else GameWithHistory)(game, length)


def longer(past: Past, text: str, action: str, length: int) -> Past:
    """The past after one more page and the action taken there."""
    return (*past, (text, action))[-length:] if length else ()


def with_past(past: Past, text: str) -> str:
    """A page's text after what happened before it; without a past, the text itself."""
    if not past:
        return text
    return "\n".join(
        [*(f"Earlier: {before}\n> {action}" for before, action in past), f"Now: {text}"]
    )
