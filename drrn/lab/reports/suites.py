"""Games of the suites that people use: returns of each agent beside random play, and what it took."""

from __future__ import annotations

from collections.abc import Sequence

from drrn.document import MISSING, Block, Cell, Table
from drrn.lab.experiments.plan import SUITE_JOBS, Added
from drrn.lab.reports.encoders import minutes_of
from drrn.lab.reports.parser import quest_scores
from drrn.lab.reports.result_set import ResultSet, decimal, measured, spread

PUBLISHED = (
    "Published of these games: DRRN with a GRU scores 32.6 in Zork I (Hausknecht et al. 2020, arXiv:1909.05398), after "
    "far longer training and episodes. For the others no number could be found with these limits and so few steps."
)
SCORES = (
    "A return is the score, less what an episode begins with: up to 1 in TextWorldExpress and TextWorld, 100 in "
    "ScienceWorld, and the game's own in Jericho. Greedy play without memory can walk in circles; best does not: it "
    "is greedy on a page that is new in the episode and softmax on one that was shown before. Won: the share of "
    "episodes by best that end so. Steps: those that a seed played to learn. Minutes: of all seeds, evaluations "
    "included. Random play is sampled."
)
SHOWN = ("softmax", "greedy", "best")  # policies


def suite_blocks(results: ResultSet, games: Sequence[str]) -> list[Block]:
    """The table and what makes each line; nothing where there are no rows yet."""
    played = [game for game in games if any((game, job.name) in results.jobs for job in SUITE_JOBS)]
    if not played:
        return []
    return [PUBLISHED, suite_table(results, played), _commands(results, played)]


def suite_table(results: ResultSet, games: Sequence[str]) -> Table:
    """Of each game a line for random play, and one for each agent by each policy."""
    rows: list[list[Cell | str]] = []
    for game in games:
        chance = results.fact(game, "random_return")
        won = results.fact(game, "random_done")
        rows.append(
            [results.title(game), "random play", decimal(chance, 2), "", "", _percent(won), "", ""]
        )
        rows += [
            _agent(results, game, job) for job in SUITE_JOBS if (game, job.name) in results.jobs
        ]
    header = ["", "", *SHOWN, "won", "steps", "minutes"]
    return Table("Returns in games of suites", header, rows, [SCORES])


def _agent(results: ResultSet, game: str, job: Added) -> list[Cell | str]:
    returns = [
        spread(measured(quest_scores(results, game, job, "return", policy)), 2) for policy in SHOWN
    ]
    won = measured(quest_scores(results, game, job, "done", "best"))
    minutes = minutes_of(results, game, job)
    return [
        "",
        job.label,
        *returns,
        _percent(won.mean if won else None),
        _steps(results, game, job),
        minutes,
    ]


def _steps(results: ResultSet, game: str, job: Added) -> str:
    """Steps that a seed played to learn: mean over seeds."""
    rows = results.rows(game, job, ".quests")
    final = [
        row["played"]
        for row in rows
        if row["final"] and row["policy"] == "softmax" and row["played"] is not None
    ]
    return f"{round(sum(final) / len(final)):,}" if final else MISSING


def _commands(results: ResultSet, games: Sequence[str]) -> Table:
    rows = [
        [
            results.title(game),
            f"`drrn reproduce --only suites --games '{results.facts[game].get('source')}'`",
        ]
        for game in games
    ]
    return Table("What makes each line", ["", "command"], rows)


def _percent(share: float | None) -> str:
    return MISSING if share is None else f"{decimal(100 * share, 0)} %"
