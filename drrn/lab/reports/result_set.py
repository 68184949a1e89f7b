"""All rows of a results folder, and the questions that tables and figures ask of them."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from drrn.document import MISSING
from drrn.errors import InputError
from drrn.lab.experiments.plan import PAPER, VARIANTS, Variant, game_order
from drrn.lab.experiments.results import GAME, Results, Row, Stored
from drrn.writing import visible


@dataclass(frozen=True)
class Measured:
    """A mean over seeds, and the standard deviation (n - 1); None: there is but one seed."""

    mean: float
    sd: float | None

    def differs(self, other: Measured) -> bool:
        """Whether they differ by more than twice the joint standard deviation, √(sd² + sd²), where it is known."""
        if self.sd is None or other.sd is None:
            return False
        return abs(self.mean - other.mean) > 2 * math.hypot(self.sd, other.sd)


def measured(values: Sequence[float]) -> Measured | None:
    if not values:
        return None
    return Measured(statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else None)


class ResultSet:
    """The rows of a results folder by game and job, and statistics over them."""

    def __init__(self, folder: Results) -> None:
        self.jobs: dict[tuple[str, str], Stored] = {}
        self.facts: dict[str, dict[str, str | None]] = {}
        self.told: dict[str, dict[str, Any]] = {}  # how the facts were made
        for game in folder.games():
            for name in folder.names(game):
                if name not in (GAME, *VARIANTS):
                    raise InputError(
                        f"{folder.path(game, f'{name}.json')}: no job is named so: remove it and its rows"
                    )
                stored = folder.load(game, name)
                if stored is None:
                    continue
                if name == GAME:
                    self.facts[game] = {row["measure"]: row["value"] for row in stored.rows[""]}
                    self.told[game] = stored.record
                else:
                    self.jobs[game, name] = stored
        self.games = game_order({*self.facts, *(game for game, _ in self.jobs)})

    def title(self, game: str) -> str:
        """What the game is called; a story's own title in one line, without what steers a terminal."""
        found = PAPER.get(game) or self.facts.get(game, {}).get("title") or game
        return " ".join(visible(str(found)).split())

    def fact(self, game: str, name: str) -> float | None:
        value = self.facts.get(game, {}).get(name)
        return None if value is None else float(value)

    def record(self, game: str, variant: Variant) -> dict[str, Any] | None:
        stored = self.jobs.get((game, variant.name))
        return stored.record if stored else None

    def rows(self, game: str, variant: Variant, kind: str = "") -> list[Row]:
        stored = self.jobs.get((game, variant.name))
        return stored.rows.get(kind, []) if stored else []

    def final(
        self,
        game: str,
        variant: Variant,
        column: str | None = None,
        *,
        policy: str = "softmax",
        paraphrased: bool = False,
    ) -> Measured | None:
        """A column's mean over seeds after the last round; by default the final reward, exact where it was computed."""
        return measured(self.scores(game, variant, column, policy=policy, paraphrased=paraphrased))

    def scores(
        self,
        game: str,
        variant: Variant,
        column: str | None = None,
        *,
        policy: str = "softmax",
        paraphrased: bool = False,
        kind: str = "",
    ) -> list[float]:
        """The same of each seed; `kind` is the file of rows."""
        rows = [
            row
            for row in self.rows(game, variant, kind)
            if row["final"] and row["policy"] == policy and row["paraphrased"] == paraphrased
        ]
        if column is None:
            column = (
                "exact"
                if rows and all(row["exact"] is not None for row in rows)
                else "final_reward"
            )
        return [row[column] for row in rows if row[column] is not None]

    def curve(
        self, game: str, variant: Variant, policy: str = "softmax", *, column: str = "final_reward"
    ) -> list[tuple[int, float, float]]:
        """After each round: episodes played so far, the mean over seeds of a column by a policy, its deviation."""
        record = self.record(game, variant)
        rounds: dict[int, list[float]] = {}
        for row in self.rows(game, variant):
            if not row["final"] and row["policy"] == policy:
                rounds.setdefault(row["round"], []).append(row[column])
        found = []
        for number, values in sorted(rounds.items()):
            one = measured(values)
            assert one is not None and record is not None
            found.append((number * record["wanted"]["episodes_per_round"], one.mean, one.sd or 0.0))
        return found

    def pairs(self, game: str, variant: Variant) -> list[list[tuple[float, float]]]:
        """For each seed: Q of each action that has a paraphrase, and Q of the paraphrase."""
        rows = self.rows(game, variant, ".pairs")
        by_row = [list(zip(row["q"], row["q_paraphrased"], strict=True)) for row in rows]
        return [list(seed) for seed in zip(*by_row, strict=True)]

    def predictive_r2(self, game: str, variant: Variant) -> tuple[Measured, Measured] | None:
        """Means over seeds: predictive R² of Q(original) by Q(paraphrase), and their squared correlation."""
        seeds = self.pairs(game, variant)
        both = [(predictive_r2(pairs), squared_correlation(pairs)) for pairs in seeds]
        predictive = measured([p for p, _ in both])
        squared = measured([s for _, s in both])
        return (predictive, squared) if predictive and squared else None


def predictive_r2(pairs: Sequence[tuple[float, float]]) -> float:
    """1 - Σ (q - q')² / Σ (q - mean q)²: how well Q of a paraphrase (q') tells Q of the original (q), as it stands."""
    mean = statistics.fmean(q for q, _ in pairs)
    total = sum((q - mean) ** 2 for q, _ in pairs)
    return 1 - sum((q - p) ** 2 for q, p in pairs) / total if total else 0.0


def squared_correlation(pairs: Sequence[tuple[float, float]]) -> float:
    """Pearson's r², which forgives a slope and a shift; 0 where one side never changes."""
    q_mean, p_mean = (statistics.fmean(side) for side in zip(*pairs, strict=True))
    together = sum((q - q_mean) * (p - p_mean) for q, p in pairs)
    apart = sum((q - q_mean) ** 2 for q, _ in pairs) * sum((p - p_mean) ** 2 for _, p in pairs)
    return together**2 / apart if apart else 0.0


def decimal(value: float | None, digits: int = 1) -> str:
    """Format a number, without a minus before 0; a dash for None."""
    return MISSING if value is None else f"{round(value, digits) + 0.0:,.{digits}f}"


def spread(value: Measured | None, digits: int = 1) -> str:
    """Format a mean and its standard deviation as the paper does: mean (sd)."""
    if value is None:
        return MISSING
    deviation = "" if value.sd is None else f" ({decimal(value.sd, digits)})"
    return decimal(value.mean, digits) + deviation


def comma_list(items: Sequence[str]) -> str:
    """Join items as in a sentence: a, b and c."""
    return " and ".join(filter(None, [", ".join(items[:-1]), *items[-1:]]))
