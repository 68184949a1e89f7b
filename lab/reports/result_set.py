"""All rows of a results folder, with the statistics that tables and figures need."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from drrn.experiments.results import TRIALS_FILE, Row, read_trials
from lab.experiments.plan import ADDED, PAPER, REWORDED, SIZES, VARIANTS, Variant, game_order
from lab.experiments.results import ARENA, GAME, Results, Stored
from textgames.document import MISSING
from textgames.errors import InputError
from textgames.files import read_toml
from textgames.wording import visible
from textgames_arena.report import Report
from textgames_arena.tournament import read_all

SEPARATE_KINDS = ("parser", "suite")  # games that the paper's experiments run on only on request
PUBLISHED = read_toml(Path(__file__).with_name("published.toml"))  # the paper's numbers


def published(table: str, game: str) -> dict[str, Any]:
    """The paper's numbers of a game, if it has some."""
    numbers: dict[str, Any] = PUBLISHED[table].get(game, {})
    return numbers


@dataclass(frozen=True)
class Summary:
    """A mean over n seeds, and the standard deviation (n - 1) if there are several."""

    mean: float
    sd: float | None
    n: int

    @property
    def half_width(self) -> float | None:
        """Half of the 95 % confidence interval of the mean, by Student's t."""
        if self.sd is None:
            return None
        return t_quantile(0.05, self.n - 1) * self.sd / math.sqrt(self.n)


def summary(values: Sequence[float]) -> Summary | None:
    """The mean and the standard deviation, or None without values."""
    if not values:
        return None
    deviation = statistics.stdev(values) if len(values) > 1 else None
    return Summary(statistics.fmean(values), deviation, len(values))


def welch(first: Summary | None, other: Summary | None) -> float | None:
    """The two-sided p of Welch's test that two means are equal. None if a deviation is unknown."""
    if first is None or other is None or first.sd is None or other.sd is None:
        return None
    a, b = (each.sd**2 / each.n for each in (first, other) if each.sd is not None)
    if a + b == 0:
        return float(first.mean == other.mean)
    freedom = (a + b) ** 2 / (a**2 / (first.n - 1) + b**2 / (other.n - 1))
    return t_test(abs(first.mean - other.mean) / math.sqrt(a + b), freedom)


def holm(p: Sequence[float | None]) -> list[float | None]:
    """The values of p adjusted for their number, by Holm's method."""
    known = sorted((value, index) for index, value in enumerate(p) if value is not None)
    adjusted: list[float | None] = [None] * len(p)
    least = 0.0
    for rank, (value, index) in enumerate(known):
        least = max(least, min(1.0, value * (len(known) - rank)))
        adjusted[index] = least
    return adjusted


def t_test(t: float, freedom: float) -> float:
    """P(|T| > t) for Student's T. With tan θ = T / √ν, θ has the density c · cos(θ)^(ν - 1)."""

    def area(start: float) -> float:
        width = np.pi / 2 - start
        angles = start + width * (np.arange(4_000) + 0.5) / 4_000
        return float(np.mean(np.cos(angles) ** (freedom - 1)) * width)

    return area(math.atan(t / math.sqrt(freedom))) / area(0.0)


@cache
def t_quantile(p: float, freedom: float) -> float:
    """The t with P(|T| > t) = p, by bisection."""
    low, high = 0.0, 1_000.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if t_test(middle, freedom) > p else (low, middle)
    return low


def clearly_best(scores: Sequence[Summary | None]) -> int | None:
    """The index of the score that is higher than each other one by Welch's test, if there is one.

    The p of these tests are adjusted for their number.
    """
    known = [index for index, score in enumerate(scores) if score is not None]
    if len(known) < 2:
        return None
    best = max(known, key=lambda index: scores[index].mean)  # type: ignore[union-attr]
    p = holm([welch(scores[best], scores[index]) for index in known if index != best])
    return best if all(each is not None and each < 0.05 for each in p) else None


def published_score(game: str, variant: Variant, wording: str = "") -> Summary | None:
    """The paper's final reward over five runs, or None if it has none."""
    scores = {} if wording == REWORDED else published(wording or "scores", game)
    model, _, size = variant.name.rpartition("x")
    if not model:  # without a size, such as linear
        mean, sd = scores[size][0] if size in scores else (None, None)
        return None if mean is None else Summary(mean, sd, 5)
    by_size = dict(zip(map(str, SIZES), scores.get(model, ()), strict=False))
    mean, sd = by_size.get(size, (None, None))
    return None if mean is None else Summary(mean, sd, 5)


class ResultSet:
    """The rows of a results folder by game and job, and statistics over them.

    Scores of a variant on a game are those of a policy after the last round. Their `wording` is
    empty, or the name of a set of paraphrases.
    """

    def __init__(self, folder: Results) -> None:
        self.jobs: dict[tuple[str, str], Stored] = {}
        self.facts: dict[str, dict[str, str | None]] = {}
        for game, name in folder.jobs():
            if name not in (GAME, *VARIANTS):
                path = folder.path(game, f"{name}.json")
                raise InputError(f"{path}: no job has this name; remove it and its rows")
            stored = folder.load(game, name)
            if stored is not None and name == GAME:
                self.facts[game] = {row["measure"]: row["value"] for row in stored.rows[""]}
            elif stored is not None:
                self.jobs[game, name] = stored
        self.games = game_order({*self.facts, *(game for game, _ in self.jobs)})
        self.diagnostics = read_trials(folder.root / TRIALS_FILE)
        matches = read_all(folder.root / ARENA)
        self.arena = Report(matches) if matches else None

    @property
    def stories(self) -> list[str]:
        """The games of the paper's experiments.

        Parser games and suites are left out unless these experiments were run on them.
        """
        run = {game for game, name in self.jobs if VARIANTS[name].group not in ADDED}
        kinds = {game: facts.get("kind") for game, facts in self.facts.items()}
        stories = [game for game, kind in kinds.items() if kind not in SEPARATE_KINDS]
        return [game for game in self.games if game in run or game in stories]

    def title(self, game: str) -> str:
        """A game's title on one line, without control characters."""
        title = PAPER.get(game) or self.facts.get(game, {}).get("title") or game
        return " ".join(visible(str(title)).split())

    def jobs_of(self, game: str, jobs: Iterable[Variant]) -> list[Variant]:
        """The jobs that have rows for a game."""
        return [job for job in jobs if (game, job.name) in self.jobs]

    def fact(self, game: str, name: str) -> float | None:
        value = self.facts.get(game, {}).get(name)
        return None if value is None else float(value)

    def fact_text(self, game: str, name: str, digits: int = 1) -> str:
        return decimal(self.fact(game, name), digits)

    def has_paraphrases(self, game: str) -> bool:
        return self.fact(game, "paraphrases") is not None

    def record(self, game: str, variant: Variant) -> dict[str, Any] | None:
        stored = self.jobs.get((game, variant.name))
        return stored.record if stored else None

    def wanted(self, game: str, variant: Variant, setting: str) -> Any:
        """A setting of a job, or None if it has no rows."""
        record = self.record(game, variant)
        return record["wanted"][setting] if record else None

    def rows(self, game: str, variant: Variant, kind: str = "") -> list[Row]:
        stored = self.jobs.get((game, variant.name))
        return stored.rows.get(kind, []) if stored else []

    def final_rows(self, game: str, variant: Variant, policy: str, kind: str = "") -> list[Row]:
        """The rows of a policy after the last round, from the file of some `kind`."""
        rows = self.rows(game, variant, kind)
        return [row for row in rows if row["final"] and row["policy"] == policy]

    def scores(
        self,
        game: str,
        variant: Variant,
        column: str | None = None,
        *,
        policy: str = "softmax",
        wording: str = "",
    ) -> list[float]:
        """A column of each seed, by default the final reward, exact if all rows have it."""
        rows = self.final_rows(game, variant, policy, f".{REWORDED}" * (wording == REWORDED))
        rows = [row for row in rows if row["paraphrased"] == bool(wording)]
        if column is None:
            is_exact = bool(rows) and all(row["exact"] is not None for row in rows)
            column = "exact" if is_exact else "final_reward"
        return [row[column] for row in rows if row[column] is not None]

    def final(self, *arguments: Any, **options: Any) -> Summary | None:
        """Summarise `scores`, which has the same arguments, over the seeds."""
        return summary(self.scores(*arguments, **options))

    def finished(self, game: str, variant: Variant, **options: Any) -> Summary | None:
        """As `final`, without the episodes that the step limit stopped, which count as 0 there."""
        scores = self.scores(game, variant, **options)
        stopped = self.scores(game, variant, "stopped", **options)
        pairs = zip(scores, stopped, strict=True)
        return summary([score / (1 - share) for score, share in pairs if share < 1])

    def text(self, game: str, variant: Variant, digits: int = 1, **options: Any) -> str:
        """Format the mean and the standard deviation of `scores`."""
        return spread(self.final(game, variant, **options), digits)

    def curve(
        self, game: str, variant: Variant, policy: str = "softmax", *, column: str = "final_reward"
    ) -> list[tuple[int, float, float]]:
        """Episodes played, mean of a column over seeds and its deviation, for each round."""
        rounds: dict[int, list[float]] = {}
        for row in self.rows(game, variant):
            if not row["final"] and row["policy"] == policy:
                rounds.setdefault(row["round"], []).append(row[column])
        episodes = self.wanted(game, variant, "episodes_per_round")
        means = {number: summary(values) for number, values in sorted(rounds.items())}
        return [(number * episodes, s.mean, s.sd or 0.0) for number, s in means.items() if s]

    def interactions(self, game: str, variant: Variant) -> float | None:
        """The steps that a seed has played to learn, as a mean over seeds."""
        rows = self.rows(game, variant, ".progress")
        last = max((row["round"] for row in rows), default=0)
        steps = [row["interactions"] for row in rows if row["round"] == last]
        return statistics.fmean(steps) if steps else None

    def pairs(self, game: str, variant: Variant) -> list[list[tuple[float, float]]]:
        """The Q-values of actions and of their paraphrases, for each seed."""
        rows = self.rows(game, variant, ".pairs")
        by_row = [list(zip(row["q"], row["q_paraphrased"], strict=True)) for row in rows]
        return [list(seed) for seed in zip(*by_row, strict=True)]

    def predictive_r2(self, game: str, variant: Variant) -> tuple[Summary | None, Summary | None]:
        """Summarise predictive R² and the squared correlation of Q(original) and Q(paraphrase)."""
        seeds = self.pairs(game, variant)
        squared = summary([squared_correlation(pairs) for pairs in seeds])
        return summary([predictive_r2(pairs) for pairs in seeds]), squared


def predictive_r2(pairs: Sequence[tuple[float, float]]) -> float:
    """1 - Σ (q - q')² / Σ (q - mean q)²: how well q' of a paraphrase predicts q of the original.

    A slope or a shift counts as an error. The result is 0 if q is constant.
    """
    mean = statistics.fmean(q for q, _ in pairs)
    total = sum((q - mean) ** 2 for q, _ in pairs)
    return 1 - sum((q - p) ** 2 for q, p in pairs) / total if total else 0.0


def squared_correlation(pairs: Sequence[tuple[float, float]]) -> float:
    """Pearson's r², which ignores a slope and a shift.

    The result is 0 if one side is constant.
    """
    try:
        return statistics.correlation(*zip(*pairs, strict=True)) ** 2
    except statistics.StatisticsError:
        return 0.0


def decimal(value: float | None, digits: int = 1) -> str:
    """Format a number without a minus before 0, and None as a dash."""
    return MISSING if value is None else f"{round(value, digits) + 0.0:,.{digits}f}"


def percent(share: float | None, digits: int = 1) -> str:
    """Format a share as a percentage, and None as a dash."""
    return MISSING if share is None else f"{decimal(100 * share, digits)} %"


def interval(value: Summary | None, digits: int = 1) -> str:
    """Format a mean with half of its 95 % confidence interval."""
    if value is None:
        return MISSING
    half = value.half_width
    return decimal(value.mean, digits) + ("" if half is None else f" ± {decimal(half, digits)}")


def spread(value: Summary | None, digits: int = 1) -> str:
    """Format a mean and its standard deviation as the paper does: mean (sd)."""
    if value is None:
        return MISSING
    deviation = "" if value.sd is None else f" ({decimal(value.sd, digits)})"
    return decimal(value.mean, digits) + deviation
