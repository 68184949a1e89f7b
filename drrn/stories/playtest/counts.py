"""Counts of random games: choices, and of those that reach an ending, words and numbers."""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from statistics import fmean, median
from typing import Any

from drrn.game.contract import Game, Observation
from drrn.stories.authored import AuthoredGame, Position
from drrn.writing import words


@dataclass(frozen=True)
class Spread:
    """The words of a game or a variable at its end; `ending` is "" for all endings."""

    name: str
    ending: str
    games: int
    least: float
    median: float
    mean: float
    most: float


@dataclass(frozen=True)
class Choice:
    """A choice of a passage: how often it was offered, and which passages it led to how often."""

    passage: str
    choice: str
    offered: int
    leads_to: dict[str, int]


@dataclass
class VariableUse:
    """The passages that set and read a variable, as the source shows them."""

    set_in: list[str] = field(default_factory=list)
    read_in: list[str] = field(default_factory=list)


@dataclass
class GameCounts:
    """Counts of games, while they are played."""

    words: list[float] = field(default_factory=list)
    offered: Counter[tuple[str, str]] = field(default_factory=Counter)
    next_passages: defaultdict[tuple[str, str], Counter[str]] = field(
        default_factory=lambda: defaultdict(Counter)
    )
    numbers: defaultdict[tuple[str, str], list[float]] = field(
        default_factory=lambda: defaultdict(list)
    )

    def add(
        self,
        game: Game | None,
        pages: Sequence[tuple[Observation, Position]],
        indices: Sequence[int],
        ending: str | None,
    ) -> None:
        """Add a game: its pages, the indices of its actions, and its ending, if it reached one.

        `game` knows which variables belong to this game alone; None: all of them.
        """
        for ((page, position), (_, after)), index in zip(pairwise(pages), indices, strict=False):
            self.offered.update((position.passage, action) for action in page.actions)
            self.next_passages[position.passage, page.actions[index]][after.passage] += 1
        if ending is None:
            return
        self.words.append(sum(_count_words(page.text) for page, _ in pages))
        passages = {position.passage for _, position in pages[:-1]}
        for name, value in pages[-1][1].variables.items():
            is_tracked = not isinstance(game, AuthoredGame) or game.tracks(name, passages)
            if isinstance(value, (int, float)) and not isinstance(value, bool) and is_tracked:
                self.numbers[name, ""].append(value)
                self.numbers[name, ending].append(value)

    def fields(self, name_of: Callable[[str], str]) -> dict[str, Any]:
        """Return the counts, by the fields of the findings; `name_of` names a variable."""
        led = self.next_passages
        numbers = sorted(self.numbers.items())
        return {
            "words": _spread(self.words) if self.words else None,
            "numbers": [_spread(values, name_of(name), end) for (name, end), values in numbers],
            "choices": [Choice(*key, n, dict(led[key])) for key, n in self.offered.items()],
        }


def _spread(values: Sequence[float], name: str = "", ending: str = "") -> Spread:
    middle = (median(values), fmean(values))
    return Spread(name, ending, len(values), min(values), *middle, max(values))


@lru_cache(maxsize=4096)
def _count_words(text: str) -> int:
    return len(words(text))
