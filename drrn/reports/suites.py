"""Games of the suites that people use: returns of each agent beside random play, and what it took."""

from __future__ import annotations

from collections.abc import Sequence

from drrn.experiments.added import SUITE_BAG, SUITE_JOBS
from drrn.experiments.variants import Added
from drrn.reports.document import MISSING, Block, Cell, Table, shown_number, spread
from drrn.reports.encoders import minutes_of
from drrn.reports.parser import quest_scores
from drrn.reports.result_set import ResultSet, measured

UNPUBLISHED = (
    "No published numbers could be found for these games with these limits and so few steps: none stands beside these."
)
SCORES = (
    "A return is the score, less what an episode begins with: up to 1 in TextWorldExpress and TextWorld, 100 in "
    "ScienceWorld, and the game's own in Jericho. Won: the share of episodes that end so. Random play is sampled."
)
GAMES_SAID = "so many episodes as the settings say"


def suite_blocks(results: ResultSet, games: Sequence[str]) -> list[Block]:
    """The table and what makes each line; nothing where there are no rows yet."""
    played = [game for game in games if any((game, job.name) in results.jobs for job in SUITE_JOBS)]
    if not played:
        return []
    return [UNPUBLISHED, suite_table(results, played), _commands(results, played)]


def suite_table(results: ResultSet, games: Sequence[str]) -> Table:
    """A line for each game: random play, and each agent by softmax and by greedy play."""
    header = ["", "random play", "won"]
    for job in SUITE_JOBS:
        header += [job.says, "greedy", "won", "minutes"]
    rows = []
    for game in games:
        chance, won = results.fact(game, "random_return"), results.fact(game, "random_done")
        row: list[Cell | str] = [results.title(game), shown_number(chance, 2), _percent(won)]
        for job in SUITE_JOBS:
            row += _cells(results, game, job)
        rows.append([*row, _steps(results, game)])
    return Table("Returns in games of suites", [*header, "steps played"], rows, [SCORES])


def _cells(results: ResultSet, game: str, job: Added) -> list[Cell | str]:
    softmax, greedy = (measured(quest_scores(results, game, job, "return", policy)) for policy in ("softmax", "greedy"))
    won = measured(quest_scores(results, game, job, "done", "greedy"))
    return [spread(softmax, 2), spread(greedy, 2), _percent(won.mean if won else None), minutes_of(results, game, job)]


def _steps(results: ResultSet, game: str) -> str:
    """Steps that a seed played to learn, of the bag: mean over seeds."""
    rows = results.rows(game, SUITE_BAG, ".quests")
    final = [row["played"] for row in rows if row["final"] and row["policy"] == "softmax" and row["played"] is not None]
    return f"{round(sum(final) / len(final)):,}" if final else MISSING


def _commands(results: ResultSet, games: Sequence[str]) -> Table:
    rows = [
        [results.title(game), f"`drrn reproduce --only suites --games '{results.facts[game].get('source')}'`"]
        for game in games
    ]
    return Table("What makes each line", ["", "command"], rows)


def _percent(share: float | None) -> str:
    return MISSING if share is None else f"{shown_number(100 * share, 0)} %"
