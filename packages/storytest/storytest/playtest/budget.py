"""The budget of a play-test: how much it may spend, and which part of that is spent."""

import math
from dataclasses import dataclass, replace

from storytest.search import clock


@dataclass(frozen=True)
class Budget:
    """Limits of a play-test, which ends at the first one that it reaches.

    Seconds suit an author who waits for the report. Clicks make a test repeatable.
    """

    seconds: float = 30.0  # CPU seconds of each process
    clicks: float = math.inf  # pages visited by each process
    games: int = 20_000  # random games of each process
    states: int = 100_000  # states visited by the search
    least_states: int = 60  # states of a story that is small enough to be searched at any speed
    megabytes: int = 1_000  # memory of the compiled game


class Meter:
    """Measures which part of a budget is spent: 0 at the start, 1 at the end, then more."""

    def __init__(self, budget: Budget, start: float | None = None) -> None:
        self.budget = budget
        self.start = clock() if start is None else start
        self.clicks = 0

    @property
    def spent(self) -> float:
        """The spent part of the seconds or of the clicks, whichever is larger."""
        seconds = (clock() - self.start) / self.budget.seconds
        return max(seconds, self.clicks / self.budget.clicks)

    def rest(self, until: float) -> Budget:
        """The budget that is left until a part of all is spent."""
        part = max(1e-9, until - self.spent)
        budget = self.budget
        return replace(budget, seconds=part * budget.seconds, clicks=part * budget.clicks)
