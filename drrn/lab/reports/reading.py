"""The report on reading: one agent with several readers, in a game's own and in other words."""

from collections.abc import Iterator

from drrn.document import Block, Cell, Table, literal, markdown_block
from drrn.lab.experiments import plan
from drrn.lab.experiments.plan import BAG, DRRN_BAG, LONG_BAG, PARSED, RECALLED, WORDINGS, Variant
from drrn.lab.reports.beyond import BAG_REACHES
from drrn.lab.reports.diagnostics import label_of, published_rows
from drrn.lab.reports.result_set import ResultSet, decimal, spread, summary
from drrn.lab.reports.texts import PROSE

Cells = list[Cell | str]

READERS = [job for job in plan.READING if job != LONG_BAG]
LABELS = [job.label for job in READERS]


def reading_section(results: ResultSet) -> list[Block]:
    """Return the tables of readers and of recall; nothing without rows."""
    if not any(plan.VARIANTS[name] in plan.READING for _, name in results.jobs):
        return []
    rows = [*_story_rows(results), *_diagnostic_rows(results)]
    header = ["", "random play", *LABELS, "bag, recall", "best possible"]
    note = PROSE["readers"].format(bag=decimal(BAG_REACHES["home-world"][1], 2))
    readers = Table("Readers", header, rows, [note], "l" + "r" * (len(header) - 1))
    header = ["", "own words", "without recall", *map(literal, RECALLED)]
    recall = Table("Recall", header, list(_recall_rows(results)), [PROSE["recall"]])
    return [PROSE["reading"], readers, recall]


def reading_block(results: ResultSet) -> str:
    """Return the tables as Markdown, for docs/beyond.md."""
    return "\n\n".join(map(markdown_block, reading_section(results) or [PROSE["no_reading"]]))


def _scores(
    results: ResultSet, game: str, job: Variant, wording: str = "", recall: str = ""
) -> list[float]:
    """Return the score of each seed; the bag in Home World is a job of the experiment parser."""
    if game in PARSED and job == BAG:
        rows = results.final_rows(game, DRRN_BAG, "softmax", ".quests")
        return [] if wording or recall else [row["exact_return"] for row in rows]
    column = "return" if game in PARSED else "final_reward"
    rows = results.rows(game, job, ".wordings")
    key = (wording or None, recall or None)
    return [row[column] for row in rows if (row["wording"], row["recall"]) == key]


def _story_rows(results: ResultSet) -> Iterator[Cells]:
    for game in plan.READ:
        for wording in ("", *WORDINGS):
            scores = [_scores(results, game, job, wording) for job in READERS]
            if not any(scores):
                continue
            column = "return" if game in PARSED else "final_reward"
            recall = _scores(results, game, BAG, wording, RECALLED[-1])
            yield [
                f"… {wording}" if wording else results.title(game),
                results.fact_text(game, f"random_{column}", 2),
                *_cells(f"{game} {wording}", scores),
                spread(summary(recall), 2),
                results.fact_text(game, f"best_{column}", 2),
            ]


def _diagnostic_rows(results: ResultSet) -> Iterator[Cells]:
    rows = published_rows(results, LABELS)
    games = {(row["game"], row["level"], row["variant"]): row for row in rows}
    for game, some in games.items():
        own = [row for row in rows if (row["game"], row["level"], row["variant"]) == game]
        scores = [[row["score"] for row in own if row["agent"] == label] for label in LABELS]
        cells = _cells(f"{game[0]} {game[2]}", scores)
        best = decimal(some["optimum"], 2)
        yield [label_of(game).capitalize(), decimal(some["random_score"], 2), *cells, "", best]


def _cells(name: str, scores: list[list[float]]) -> Cells:
    """Return a cell for each reader; a mark says that random play is the most it can reach."""
    limited = plan.PLAN["at_most_random"]
    return [
        Cell(spread(summary(own), 2), mark="‡" * (f"{label} {name}" in limited)) if own else ""
        for label, own in zip(LABELS, scores, strict=True)
    ]


def _recall_rows(results: ResultSet) -> Iterator[Cells]:
    for game in results.stories:
        for job in results.jobs_of(game, (BAG, LONG_BAG)):
            for wording in WORDINGS:
                scores = [_scores(results, game, job, wording, model) for model in ("", *RECALLED)]
                if any(scores):
                    name = f"{results.title(game)}, {wording}{job.label.removeprefix(BAG.label)}"
                    every = [_scores(results, game, job), *scores]
                    yield [name, *(spread(summary(own), 2) for own in every)]
