"""Counts of random games that reach an ending: words read, choices, and numbers at the end."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from statistics import fmean, median

from drrn.game.contract import Game, Observation
from drrn.stories.authored import AuthoredGame, Position
from drrn.writing import words


@dataclass(frozen=True)
class Spread:
    """Least, middle, mean and largest of some numbers."""

    games: int
    least: float
    median: float
    mean: float
    most: float


@dataclass(frozen=True)
class NumberAtEnd:
    """A variable at the end of games; `ending` is "" for all endings."""

    variable: str
    ending: str
    values: Spread


@dataclass(frozen=True)
class Choice:
    """A choice of a passage: on how many pages, how often it was clicked, and what came next."""

    passage: str
    choice: str
    offered: int
    clicked: int
    leads_to: dict[str, int]


@dataclass(frozen=True)
class VariableUse:
    """The passages that set and read a variable, as the source shows them."""

    variable: str
    set_in: tuple[str, ...]
    read_in: tuple[str, ...]


@dataclass
class GameCounts:
    """Counts of finished games, while they are played."""

    words: list[int] = field(default_factory=list)
    offered: Counter[tuple[str, str]] = field(default_factory=Counter)
    next_passages: defaultdict[tuple[str, str], Counter[str]] = field(
        default_factory=lambda: defaultdict(Counter)
    )
    numbers: defaultdict[tuple[str, str], list[float]] = field(
        default_factory=lambda: defaultdict(list)
    )

    def add(
        self,
        game: Game,
        pages: Sequence[tuple[Observation, Position]],
        indices: Sequence[int],
        ending: str,
    ) -> None:
        """Add a game that reached an ending: its pages, and the indices of its actions."""
        self.words.append(sum(_count_words(page.text) for page, _ in pages))
        for number, index in enumerate(indices):
            page, position = pages[number]
            self.offered.update((position.passage, action) for action in page.actions)
            key = (position.passage, page.actions[index])
            self.next_passages[key][pages[number + 1][1].passage] += 1
        passages = {position.passage for _, position in pages[:-1]}
        for name, value in pages[-1][1].variables.items():
            is_tracked = isinstance(game, AuthoredGame) and game.tracks(name, passages)
            if isinstance(value, (int, float)) and not isinstance(value, bool) and is_tracked:
                self.numbers[name, ""].append(value)
                self.numbers[name, ending].append(value)

    def choices(self) -> list[Choice]:
        """List the choices of all passages."""
        rows = []
        for key, offered in self.offered.items():
            after = self.next_passages[key]
            rows.append(Choice(*key, offered, after.total(), dict(after.most_common())))
        return rows

    def numbers_at_end(self) -> list[NumberAtEnd]:
        """List the numbers at the end, of all games and of each ending."""
        return [
            NumberAtEnd(*key, spread_of(values)) for key, values in sorted(self.numbers.items())
        ]


def spread_of(values: Sequence[float]) -> Spread:
    return Spread(len(values), min(values), median(values), fmean(values), max(values))


@lru_cache(maxsize=4096)
def _count_words(text: str) -> int:
    return len(words(text))
