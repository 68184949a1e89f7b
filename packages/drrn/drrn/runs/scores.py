"""Scores of a run: rows of evaluations.csv and progress.csv, means, reference scores."""

from __future__ import annotations

import itertools
import json
import logging
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from drrn.runs import storage
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
    from drrn.learning.experience import Steps
    from drrn.playing.evaluation import Evaluation
    from drrn.text import State
    from textgames.compiled.game import Compiled

log = logging.getLogger("textgames")

MEASURES = ("final_reward", "return", "steps", "stopped")
POLICY_COLUMNS = [f"{policy}_{measure}" for policy in POLICIES for measure in MEASURES]
COLUMNS: dict[str, Callable[[str], Any]] = {
    **dict.fromkeys(("replica", "seed", "round", "episodes"), int),
    **dict.fromkeys(POLICY_COLUMNS, float),
    "endings": json.loads,
}
PROGRESS_COLUMNS: dict[str, Callable[[str], Any]] = {
    "replica": int,
    "seed": int,
    "round": int,
    "interactions": int,  # steps played to learn, since the start
    "episodes": int,
    "last_return": float,  # mean of the last 100 training episodes
    "seconds": float,  # since the start of the run, with evaluations
}

Row = dict[str, Any]  # values by column


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
    episodes: dict[int, list[int]] = {}
    for row in progress if settings.run.interactions else ():
        episodes.setdefault(row["round"], []).append(row["episodes"])
    scores = []
    for number, group in itertools.groupby(rows, key=itemgetter("round")):
        played = episodes.get(number, [number * settings.run.episodes_per_round])
        scores.append(RoundScores(number, round(statistics.fmean(played)), list(group)))
    return scores


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


# --- progress.csv


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
            self.rows.append(dict(zip(PROGRESS_COLUMNS, numbers, strict=True)))

    def state(self) -> State:
        """What a resumed run needs, besides the rows."""
        return {"counts": [self.interactions, self.episodes], "returns": self.returns}

    def restore(self, state: State) -> None:
        """Continue from a saved state."""
        self.interactions, self.episodes = state["counts"]
        self.returns = [list(returns) for returns in state["returns"]]


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
