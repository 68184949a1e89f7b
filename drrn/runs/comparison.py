"""Runs of one game side by side: their scores, and how far two differ, with an interval by bootstrap over seeds."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drrn.errors import InputError
from drrn.runs.loading import game_of, read_config
from drrn.runs.record import Run
from drrn.runs.reference_scores import ReferenceScores

RESAMPLES = 10_000
LEVEL = 0.95
FEWEST_SEEDS = 2  # of which a spread can be told


@dataclass(frozen=True)
class ComparedRun:
    """A run's rows, and what to call it."""

    run: str
    config: dict[str, Any]
    rows: list[dict[str, str]]

    @property
    def label(self) -> str:
        settings = self.config["settings"]
        return f"{Path(self.run).name} ({settings['model']}, {settings['replicas']} seeds)"

    @property
    def episodes_per_round(self) -> int:
        return int(self.config["settings"]["episodes_per_round"])

    @property
    def rounds(self) -> int:
        """Those that are finished."""
        return max(int(row["round"]) for row in self.rows)

    def scores(self, measure: str, number: int) -> list[float]:
        """Of each seed after a round."""
        found = [row.get(measure) for row in self.rows if int(row["round"]) == number]
        if not found or not all(found):
            raise InputError(
                f"{self.run}: round {number} has no {measure.replace('_', ' ')}: compare by another policy"
            )
        return [float(cell) for cell in found if cell]


@dataclass(frozen=True)
class Difference:
    """How much higher a run's mean over seeds is than the first run's, with an interval; none where a run has one seed
    alone."""

    mean: float
    low: float | None = None
    high: float | None = None

    @property
    def clear(self) -> bool | None:
        """Whether the interval leaves out 0; None where there is none."""
        return None if self.low is None or self.high is None else not self.low <= 0 <= self.high


def open_runs(folders: Sequence[Path]) -> list[ComparedRun]:
    """The runs, which must be of one game and have finished a round."""
    found = []
    for folder in folders:
        config = read_config(folder)
        run = Run(folder)
        rows = run.rows()
        run.check("config.json", "evaluations.csv")
        if not rows:
            raise InputError(f"{folder}: the run has not finished a round yet")
        found.append(ComparedRun(str(folder), config, rows))
    first = found[0]
    for other in found[1:]:
        one = first.config["game"]
        two = other.config["game"]
        if one["sha256"] != two["sha256"]:
            what = "another version of it" if one["title"] == two["title"] else f'"{two["title"]}"'
            raise InputError(f'{first.run} learned "{one["title"]}", {other.run} {what}: compare runs of one game')
    return found


def references_of(folders: Sequence[Path]) -> ReferenceScores | None:
    """Random play and the best possible: as a run has kept them, else computed anew, if its game is here."""
    from drrn.settings import Settings
    from drrn.runs.agent import compiled_or_none
    from drrn.runs.reference_scores import reference_scores

    for folder in folders:
        if (kept := Run(folder).reference()) is not None:
            return kept
    settings = Settings.from_flat(read_config(folders[0])["settings"])
    try:
        game = game_of(folders[0])
        return reference_scores(game, compiled_or_none(game, settings), settings.run.evaluation_episodes)
    except InputError:  # its game lies elsewhere
        return None


def difference_of(first: Sequence[float], other: Sequence[float], seed: int = 0) -> Difference:
    """Of two means over seeds: the percentile interval of `RESAMPLES` bootstrap resamples, each run's seeds drawn for
    themselves. Deviations are widened by √(n / (n - 1)), since so few resampled seeds show too small a spread."""
    mean = statistics.fmean(other) - statistics.fmean(first)
    if min(len(first), len(other)) < FEWEST_SEEDS:
        return Difference(mean)
    generator = np.random.default_rng(seed)
    drawn = _resampled_means(other, generator) - _resampled_means(first, generator)
    low, high = np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Difference(mean, float(low), float(high))


def _resampled_means(values: Sequence[float], generator: np.random.Generator) -> NDArray[np.float64]:
    found = np.array(values)
    count = len(values)
    widened = found.mean() + (found - found.mean()) * math.sqrt(count / (count - 1))
    means: NDArray[np.float64] = widened[generator.integers(count, size=(RESAMPLES, count))].mean(axis=1)
    return means
