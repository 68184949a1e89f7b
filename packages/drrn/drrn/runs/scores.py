"""Scores of a run: rows of evaluations.csv, means for each round, reference scores."""

from __future__ import annotations

import itertools
import json
import logging
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from drrn.runs import storage
from drrn.runs.progress import means_by_round
from drrn.settings import POLICIES, Settings
from textgames import notebook
from textgames.errors import InputError
from textgames.game.contract import (
    Game,
    another,
    evaluation_game_of,
    highest_return_of,
    step_limit_of,
)
from textgames.game.episodes import mean_and_sd, play_episodes, random_policy, summarise

if TYPE_CHECKING:
    from drrn.playing.evaluation import Evaluation
    from textgames.compiled.game import Compiled

log = logging.getLogger("textgames")

MEASURES = ("final_reward", "return", "steps", "stopped")
POLICY_COLUMNS = [f"{policy}_{measure}" for policy in POLICIES for measure in MEASURES]
COLUMNS: dict[str, Callable[[str], Any]] = {
    **dict.fromkeys(("replica", "seed", "round", "episodes"), int),
    **dict.fromkeys(POLICY_COLUMNS, float),
    "endings": json.loads,
}

Row = dict[str, Any]  # of evaluations.csv: values by column


@dataclass(frozen=True)
class RoundScores:
    """The scores of one round, as evaluations.csv has them.

    Columns are those of the file, such as "softmax_final_reward" or "best_return".
    """

    number: int  # from 1
    episodes_played: int  # by each replica, since the start of the run
    replicas: list[Row]

    def values(self, column: str) -> list[float]:
        """The value of each replica."""
        return [replica[column] for replica in self.replicas]

    def score(self, policy: str = "softmax", measure: str = "final_reward") -> float:
        """The mean over replicas of a policy's score."""
        column = f"{policy}_{measure}"
        if column not in POLICY_COLUMNS:
            names = f"{', '.join(POLICIES)} and {', '.join(MEASURES)}"
            raise InputError(f'no score "{policy}", "{measure}"; choose from {names}')
        return self.mean(column)

    def mean(self, column: str) -> float:
        """The mean over replicas."""
        return statistics.fmean(self.values(column))

    def sd(self, column: str) -> float:
        """The standard deviation over replicas, 0 for a single one."""
        return mean_and_sd(self.values(column))[1]

    @property
    def pays_on_the_way(self) -> bool:
        """Whether returns differ from final rewards, so that both are worth showing."""
        returns = (self.mean(f"{policy}_return") for policy in POLICIES)
        rewards = (self.mean(f"{policy}_final_reward") for policy in POLICIES)
        return any(abs(a - b) > 1e-6 for a, b in zip(returns, rewards, strict=True))

    def as_json(self) -> dict[str, Any]:
        """The round as JSON: means and deviations, then each replica."""
        entry: dict[str, Any] = {"round": self.number, "episodes_played": self.episodes_played}
        for column in POLICY_COLUMNS:
            entry[column] = round(self.mean(column), 6)
            entry[f"{column}_sd"] = round(self.sd(column), 6)
        replicas = [dict(replica) for replica in self.replicas]
        for replica in replicas:
            del replica["round"]
        return {**entry, "replicas": replicas}


@dataclass(frozen=True)
class Round(RoundScores):
    """A finished round of training."""

    evaluations: list[Evaluation]  # of each replica, by each policy
    transitions: int  # learned from, over all replicas
    learning_seconds: float  # playing and learning, without the evaluation
    so_far: Sequence[RoundScores] = ()  # all rounds of the run up to this one

    def __repr__(self) -> str:
        means = ", ".join(f"{policy} {self.score(policy):.2f}" for policy in POLICIES)
        return f"<Round {self.number}: {means}>"

    def _repr_html_(self) -> str | None:
        return rounds_svg(f"Round {self.number}", self.so_far or [self], None)


def rounds_svg(
    title: str, rounds: Sequence[RoundScores], reference: ReferenceScores | None
) -> str | None:
    """Draw the policies softmax and best: returns if the game pays on the way, or final rewards."""
    measure = "return" if any(each.pays_on_the_way for each in rounds) else "final_reward"
    curves = [(f"policy {p}", rounds, f"{p}_{measure}") for p in ("softmax", "best")]
    return curves_svg(title, curves, reference, measure)


def curves_svg(
    title: str,
    curves: Sequence[tuple[str, Sequence[RoundScores], str]],
    reference: ReferenceScores | None,
    measure: str,
) -> str | None:
    """Draw curves, each a label, rounds and the column of its mean, as SVG."""
    lines = []
    for label, rounds, column in curves:
        means = [each.mean(column) for each in rounds]
        sds = [each.sd(column) for each in rounds]
        episodes = [each.episodes_played for each in rounds]
        lines.append(notebook.Line(label, episodes, means, sds))
    random, best = reference.of_measure(measure) if reference else (None, None)
    return notebook.curve(title, lines, {"random": random, "best": best})


def rounds_of(
    rows: Sequence[Row], settings: Settings, progress: Sequence[Row] = ()
) -> list[RoundScores]:
    """The rows of evaluations.csv by round.

    The episodes of a run that counts interactions are in its `progress`.
    """
    episodes = means_by_round(progress, "episodes") if settings.run.interactions else {}
    per_round = settings.run.episodes_per_round
    groups = itertools.groupby(rows, key=itemgetter("round"))
    return [RoundScores(n, round(episodes.get(n, n * per_round)), list(g)) for n, g in groups]


# --- evaluations.csv


def evaluation_rows(evaluations: Sequence[Evaluation], settings: Settings) -> list[Row]:
    """One row for each replica: every policy's scores, and the share of each ending."""
    rows: list[Row] = [{"replica": r, "seed": seed} for r, seed in enumerate(settings.run.seeds)]
    for each in evaluations:
        row = rows[each.replica]
        row |= {"round": each.round, "episodes": each.summary.episodes}
        for measure, value in each.measures.items():
            row[f"{each.policy}_{measure}"] = round(value, 6)
    for each in evaluations:
        if each.policy == "softmax":
            rows[each.replica]["endings"] = each.summary.shares
    return rows


def csv_bytes(rows: Sequence[Row]) -> bytes:
    """The contents of evaluations.csv."""
    texts = (json.dumps(row["endings"], ensure_ascii=False) for row in rows)
    cells = ({**row, "endings": text} for row, text in zip(rows, texts, strict=True))
    return storage.csv_bytes(COLUMNS, cells)


def read_rows(path: Path) -> list[Row]:
    """The rows of evaluations.csv. An `InputError` names the line of an invalid one."""
    return storage.read_rows(path, COLUMNS)


# --- reference scores


@dataclass(frozen=True)
class ReferenceScores:
    """Scores to compare with: mean final rewards, and mean returns if the game pays on the way.

    `best` is None if it is not known. `random_return` is None if it equals `random`. `best_return`
    is None if it equals `best` or is not known.
    """

    random: float
    best: float | None
    random_return: float | None = None
    best_return: float | None = None

    def of_measure(self, measure: str) -> tuple[float, float | None]:
        """Random play and the best score, by "final_reward" or "return"."""
        if measure == "return" and self.random_return is not None:
            return self.random_return, self.best_return
        return self.random, self.best


def reference_scores(game: Game, compiled: Compiled | None, episodes: int) -> ReferenceScores:
    """Compute the scores of a compiled game. For any other game, random play is sampled."""
    if compiled is None:
        game = evaluation_game_of(game) or game
        summary = summarise(play_episodes(another(game) or game, random_policy(0), episodes, 0))
        random = summary.mean_final_reward
        total = summary.mean_return
        best = highest_return_of(game)
        differs = best is not None or abs(total - random) > 1e-9
        return ReferenceScores(random, None, total if differs else None, best)
    from textgames.compiled.solve import random_play

    random_score = random_play(compiled, step_limit_of(game))
    scores = ReferenceScores(random_score.final_reward, _best(compiled, None))
    if not compiled.reward[~compiled.ended].any():
        return scores
    return replace(scores, random_return=random_score.total, best_return=_best(compiled, 1.0))


def _best(compiled: Compiled, discount: float | None) -> float | None:
    from textgames.compiled.solve import best

    try:
        return best(compiled, discount).score
    except InputError:  # returns are unbounded, or the solver did not converge
        return None


def compiled_or_none(
    game: Game, settings: Settings, progress: Callable[[int], None] | None = None
) -> Compiled | None:
    """Compile the game, or return None if that is impossible or the settings forbid it.

    `progress` is called with the number of states visited so far.
    """
    from textgames.compiled.compile import MOST_STATES, can_be_compiled, compile_game

    if settings.model.rereads or not can_be_compiled(game):
        return None
    try:
        return compile_game(game, limit=MOST_STATES, progress=progress)
    except InputError as error:
        log.warning("%s; playing it step by step, so the vocabulary grows during play", error)
        return None
