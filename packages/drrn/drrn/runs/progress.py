"""progress.csv of a run: what each replica has played after each round, and the seconds it took."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from drrn.runs.storage import csv_bytes, read_rows
from drrn.settings import Settings
from textgames.errors import InputError

if TYPE_CHECKING:
    from drrn.learning.experience import Steps
    from drrn.text import State

COLUMNS = {
    "replica": int,
    "seed": int,
    "round": int,
    "interactions": int,  # steps played to learn, since the start
    "episodes": int,
    "last_return": float,  # mean of the last 100 training episodes
    "seconds": float,  # since the start of the run, with evaluations
}
Row = dict[str, Any]


class Progress:
    """Counts what each replica plays to learn, without evaluations."""

    def __init__(self, settings: Settings, limit: int, last: int = 100) -> None:
        """Check that a round's share of the interactions allows an episode of `limit` steps.

        `last` is the number of training episodes whose mean return is recorded. It is 100 in papers
        on Jericho.
        """
        self.settings = settings
        self.last = last
        total, rounds = settings.run.interactions, settings.run.rounds
        if total and total // rounds < limit:
            what = f"interactions is {total}, which gives {total // rounds} to each round"
            cure = f"give at least {limit * rounds}, or fewer rounds"
            raise InputError(f"{what}, and an episode may have {limit} steps; {cure}")
        count = settings.run.replicas
        self.interactions = [0] * count
        self.episodes = [0] * count
        self.returns: list[list[float]] = [[] for _ in range(count)]  # of the last episodes
        self.rows: list[Row] = []

    def budgets(self, number: int, played: Sequence[Sequence[Steps]]) -> list[int]:
        """The steps that each replica may still play in a round.

        A round has its share of the interactions, and what earlier ones left. `played` are the
        parts of the round so far.
        """
        run = self.settings.run
        total = run.interactions or 0
        budgets = [total * number // run.rounds - count for count in self.interactions]
        for part in played:
            budgets = [left - len(steps) for left, steps in zip(budgets, part, strict=True)]
        return budgets

    def add(self, number: int, played: Sequence[Sequence[Steps]], seconds: float) -> None:
        """Add the rows of a finished round: its episodes, by part and replica, and its duration."""
        seconds += self.rows[-1]["seconds"] if self.rows else 0.0
        for replica, seed in enumerate(self.settings.run.seeds):
            own = [part[replica] for part in played if len(part[replica])]
            returns = [total for steps in own for total in steps.returns]
            self.interactions[replica] += sum(map(len, own))
            self.episodes[replica] += len(returns)
            self.returns[replica] = (self.returns[replica] + returns)[-self.last :]
            mean = round(statistics.fmean(self.returns[replica] or [0.0]), 6)
            counts = (self.interactions[replica], self.episodes[replica])
            numbers = (replica, seed, number, *counts, mean, round(seconds, 1))
            self.rows.append(dict(zip(COLUMNS, numbers, strict=True)))

    def state(self) -> State:
        """What a resumed run needs, besides the rows."""
        return {"counts": [self.interactions, self.episodes], "returns": self.returns}

    def restore(self, state: State) -> None:
        """Continue from a saved state."""
        self.interactions, self.episodes = state["counts"]
        self.returns = [list(returns) for returns in state["returns"]]

    def csv_bytes(self) -> bytes:
        """The contents of progress.csv."""
        return csv_bytes(COLUMNS, self.rows)


def read_progress(path: Path) -> list[Row]:
    """The rows of a progress.csv. Runs of older versions have none."""
    return read_rows(path, COLUMNS) if path.exists() else []


def means_by_round(rows: Sequence[Row], column: str) -> dict[int, float]:
    """The mean of a column over replicas, by round."""
    numbers = sorted({row["round"] for row in rows})
    return {n: statistics.fmean(row[column] for row in rows if row["round"] == n) for n in numbers}
