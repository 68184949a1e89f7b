"""Games whose pages include the history: the last N pages and the actions taken on them.

For players without memory. The oldest page comes first:

    Earlier: You are in the hall.
    > go north
    Now: You are in the attic.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from textgames.compiled.compile import can_be_compiled, compile_game
from textgames.compiled.game import Compiled
from textgames.game.contract import Game, Observation, Outcomes, another, close, story_of

# Attributes of a game that stay the same with its history.
INHERITED = {"title", "max_steps", "training", "ending", "stopped", "most_copies", "fingerprint"}
INHERITED |= {"sources", "shuffle", "kind", "note", "scripts", "step_reward", "search_seconds"}
INHERITED |= {"paraphrase_sets", "warnings"}


@dataclass(frozen=True)
class History:
    """The last pages of an episode, and the actions taken on them."""

    length: int
    pages: tuple[tuple[str, str], ...] = ()  # (text, action), the oldest first

    def add(self, text: str, action: str) -> "History":
        """The history with one more page, without those that are too old."""
        pages = (*self.pages, (text, action))[-self.length :] if self.length else ()
        return History(self.length, pages)

    def prepend_to(self, text: str) -> str:
        """A page's text with the history before it."""
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
        return f"{story_of(self.game).edition}, history {self.length}"

    def reset(self, seed: int | None = None) -> Observation:
        self.history = History(self.length)
        return self._show(self.game.reset(seed))

    def step(self, index: int) -> Observation:
        page = self.game.step(index)
        self.history = self.history.add(self.page.text, self.page.actions[index])
        return self._show(page)

    def ending_at(self, state: Any) -> str:
        return story_of(self.game).ending_at(state)

    def face_at(self, state: Any) -> None:
        """Its pages are those of `look`."""

    def another(self) -> Game | None:
        twin = another(self.game)
        return None if twin is None else type(self)(twin, self.length)

    def close(self) -> None:
        close(self.game)

    def _show(self, page: Observation) -> Observation:
        self.page = page
        return replace(page, text=self.history.prepend_to(page.text))


class EnumerableWithHistory(GameWithHistory):
    """The same for a game that can be compiled.

    A state is the number of a state of the compiled game, and the history.
    """

    @cached_property
    def graph(self) -> Compiled:
        """The compiled game without history."""
        return compile_game(self.game)

    def opening(self) -> Outcomes:
        return self._row(0, History(self.length))

    def outcomes(self, state: Any, index: int) -> Outcomes:
        number, history = state
        page = self._page(number)
        row = self.graph.row[self.graph.first[number] + index]
        return self._row(int(row), history.add(page.text, page.actions[index]))

    def look(self, state: Any) -> Observation:
        number, history = state
        page = self._page(number)
        return replace(page, text=history.prepend_to(page.text))

    def ending_at(self, state: Any) -> str:
        return self.graph.endings[int(self.graph.ending_at[state[0]])].passage

    def _page(self, number: int) -> Observation:
        first = self.graph.first
        return self.graph.observation(number, range(int(first[number]), int(first[number + 1])))

    def _row(self, row: int, history: History) -> Outcomes:
        span = self.graph.row_outcomes(row)
        successors = [(number, history) for number in self.graph.successor[span].tolist()]
        return zip(self.graph.probability[span].tolist(), successors, strict=True)


def with_history(game: Game, length: int) -> Game:
    """The game with `length` earlier pages in its texts. With 0, it is the game itself."""
    if length == 0:
        return game
    kind = EnumerableWithHistory if can_be_compiled(game) else GameWithHistory
    return kind(game, length)
