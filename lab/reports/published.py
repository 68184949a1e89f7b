"""Our budgets on the tasks of papers: our scores next to theirs, and what differs."""

from collections.abc import Sequence
from statistics import fmean, pstdev
from typing import Any

from lab.experiments.plan import PUBLISHED, Variant
from lab.reports.beyond import minutes
from lab.reports.paper import Cells, panels_of
from lab.reports.result_set import ResultSet, decimal, percent
from textgames.document import MISSING, Block, Cell, Table
from textgames.intervals import interval_of_mean
from textsuites.protocols import Protocol, protocols

TRAINING = "last episodes"  # the measure of episodes in which the memory plays, too
MEASURED = {
    "test": "the mean over {episodes} unseen games of the test fold",
    "last tenth": "the mean of the last tenth of the evaluations",
    TRAINING: "the mean of the last 100 training episodes; of the network alone, the mean of "
    "{episodes} episodes after training",
}
JOBS = {job.games[0]: job for job in PUBLISHED}


def published_blocks(results: ResultSet) -> list[Block]:
    """A table and learning curves for each paper whose tasks have rows."""
    papers: dict[str, list[Protocol]] = {}
    for protocol in protocols():
        if results.jobs_of(protocol.slug, [JOBS[protocol.slug]]):
            papers.setdefault(protocol.paper, []).append(protocol)
    blocks: list[Block] = []
    for each in papers.values():
        blocks.append(_table(results, each))
        if each[0].measure != "test":  # else training is scored on another fold than the paper's
            blocks += _curves(results, each)
    return blocks


def _table(results: ResultSet, papers: Sequence[Protocol]) -> Table:
    """Our scores by who chose the actions, and the published scores."""
    first = papers[0]
    names = list(dict.fromkeys(name for each in papers for name in each.published))
    header = ["", "who chooses", "ours", "95 % interval", "random play"]
    header += [f"{name}, published" for name in names]
    header += ["steps", "steps, published DRRN", "at the step limit"]
    header += ["interactions, ours", "interactions, published", "seeds", "minutes"]
    rows = []
    for each in papers:
        rows.append(_row(results, each, names))
        if each.measure == TRAINING:
            alone = results.scores(each.slug, JOBS[each.slug], "return", policy=each.policy)
            cells = ["", *_who_and_score(each, "network alone", alone)]
            rows.append(cells + [""] * (len(header) - len(cells)))
    columns = [i for i in range(len(header)) if any(row[i] not in ("", MISSING) for row in rows)]
    columns = sorted({0, *columns})
    rows = [[row[i] for i in columns] for row in rows]
    played = results.final_rows(first.slug, JOBS[first.slug], first.policy)
    measure = MEASURED[first.measure].format(episodes=played[0]["episodes"])
    chance = results.fact_text(first.slug, "random_episodes", 0)
    checked = first.checked or "as quoted by others; the paper's table could not be opened"
    notes = [f"A score is {measure}. Random play is the mean of {chance} episodes."]
    notes += [first.source, f"Published scores: {checked}.", first.differs]
    caption = f"Our budgets on their tasks: {first.title}"
    return Table(caption, [header[i] for i in columns], rows, notes)


def _row(results: ResultSet, each: Protocol, names: Sequence[str]) -> Cells:
    job = JOBS[each.slug]
    chance = results.fact(each.slug, "random_return")
    steps = results.final(each.slug, job, "steps", policy=each.policy)
    stops = results.final(each.slug, job, "stopped", policy=each.policy)
    on_test = each.measure == "test"
    progress = results.rows(each.slug, job, ".progress")
    last = [row for row in progress if row["round"] == max(row["round"] for row in progress)]
    who = "memory, network on new pages" if each.measure == TRAINING else "network"
    cells = [each.game, *_who_and_score(each, who, published_scores(results, each, job))]
    cells.append(decimal(chance / each.scale if chance is not None else None, 2))
    cells += [decimal(each.published.get(name), 2) for name in names]
    cells.append(decimal(steps.mean if steps and on_test else None, 0))
    cells.append(decimal(each.steps.get("DRRN"), 0))
    cells.append(percent(stops.mean if stops and on_test else None, 0))
    cells.append(f"{round(fmean(row['interactions'] for row in last)):,}")
    cells.append(each.published_interactions or MISSING)
    return [*cells, str(len(last)), minutes(results, each.slug, job)]


def _who_and_score(each: Protocol, who: str, scores: Sequence[float]) -> Cells:
    """The player, its mean score and the interval of this.

    A mark says that the variations were scored before, with other settings.
    """
    interval = interval_of_mean(scores)
    policy = "" if who.startswith("memory") else f", `{each.policy}`"
    score = Cell(decimal(fmean(scores), 2), mark="‡" if each.scored_before else "")
    ends = " to ".join(decimal(end, 2) for end in interval) if interval else MISSING
    return [f"{who}{policy}", score, ends]


def _curves(results: ResultSet, papers: Sequence[Protocol]) -> list[Block]:
    """The scores after each round against the interactions of a seed."""
    panels = []
    for each in papers:
        job = JOBS[each.slug]
        progress = results.rows(each.slug, job, ".progress")
        points = []
        for number, scores in _scores_by_round(results, each, job).items():
            steps = fmean(row["interactions"] for row in progress if row["round"] == number)
            points.append((round(steps), round(fmean(scores), 4), round(pstdev(scores), 4)))
        chance = results.fact(each.slug, "random_return")
        panel: dict[str, Any] = {
            "title": each.game,
            "lines": [{"label": "our agent", "style": "drrn-2x100", "points": points}],
            "rest": None,
            "measure": "score",
            "random": chance / each.scale if chance is not None else None,
            "published": each.published.get("DRRN"),
            "progress": "interactions",
            "digits": "g",
        }
        panels.append(panel)
    first = papers[0]
    caption = f"{first.title}: our scores while training, against interactions of a seed"
    return panels_of(first.paper, caption, panels)


def _scores_by_round(
    results: ResultSet, protocol: Protocol, job: Variant
) -> dict[int, list[float]]:
    """The scores of the seeds after each round, of training or of evaluations."""
    if protocol.measure == TRAINING:
        column = "last_return"
        rows = results.rows(protocol.slug, job, ".progress")
    else:
        column = "return"
        rows = results.rows(protocol.slug, job)
        rows = [r for r in rows if not r["final"] and r["policy"] == protocol.policy]
    scores: dict[int, list[float]] = {}
    for row in sorted(rows, key=lambda row: (row["round"], row["seed"])):
        scores.setdefault(row["round"], []).append(row[column] / protocol.scale)
    return scores


def published_scores(results: ResultSet, protocol: Protocol, job: Variant) -> list[float]:
    """The score of each seed by the measure of the protocol."""
    if protocol.measure == "test":
        scores = results.scores(protocol.slug, job, "return", policy=protocol.policy)
        return [score / protocol.scale for score in scores]
    rounds = list(_scores_by_round(results, protocol, job).values())
    last = max(1, len(rounds) // 10) if protocol.measure == "last tenth" else 1
    return [fmean(scores) for scores in zip(*rounds[-last:], strict=True)]
