"""Published protocols: our scores next to those of papers, and what differs."""

from collections.abc import Mapping, Sequence
from statistics import fmean, pstdev
from typing import Any

from drrn.document import MISSING, Block, Table
from drrn.lab.experiments import plan
from drrn.lab.experiments.plan import Variant
from drrn.lab.experiments.results import Row
from drrn.lab.reports.beyond import Cells, minutes
from drrn.lab.reports.figures import Plot, plot
from drrn.lab.reports.result_set import ResultSet, decimal, percent
from drrn.lab.reports.texts import PROSE
from drrn.runs.intervals import interval_of_mean
from drrn.suites.protocols import Protocol, protocols

MEASURED = {
    "test": "the mean over {episodes} unseen games of the test fold",
    "last tenth": "the mean of the last tenth of the evaluations",
    "last episodes": "the mean of the last 100 training episodes",
}
IN_TABLE = {  # of the points of a curve
    "last tenth": "the mean of the last tenth of the points, or the last one of fewer than 20",
    "last episodes": "the last point",
}


def published_section(results: ResultSet) -> list[Block]:
    """Return a table and learning curves for each paper; nothing without rows."""
    papers: dict[str, list[Protocol]] = {}
    jobs = {job.games[0]: job for job in plan.PUBLISHED}
    for protocol in protocols():
        if results.jobs_of(protocol.slug, [jobs[protocol.slug]]):
            papers.setdefault(protocol.paper, []).append(protocol)
    blocks: list[Block] = []
    for each in papers.values():
        blocks.append(_published_table(results, each, jobs))
        if each[0].measure != "test":  # else training is scored on another fold than the paper's
            blocks.append(_curves(results, each, jobs))
    return blocks


def _published_table(
    results: ResultSet, papers: Sequence[Protocol], jobs: Mapping[str, Variant]
) -> Table:
    first = papers[0]
    names = list(dict.fromkeys(name for each in papers for name in each.published))
    rows: list[Cells] = []
    for each in papers:
        job = jobs[each.slug]
        last = _last_progress(results, each.slug, job)
        scores = published_scores(results, each, job)
        interval = interval_of_mean(scores)
        policy = "training" if each.measure == "last episodes" else f"`{each.policy}`"
        cells: Cells = [each.game, policy, decimal(fmean(scores), 2)]
        cells.append(" to ".join(decimal(end, 2) for end in interval) if interval else MISSING)
        chance = results.fact(each.slug, "random_return")
        cells.append(decimal(chance / each.scale if chance is not None else None, 2))
        cells += [decimal(each.published.get(name), 2) for name in names]
        steps = results.final(each.slug, job, "steps", policy=each.policy)
        cells.append(decimal(steps.mean if steps and each.measure == "test" else None, 0))
        cells.append(decimal(each.steps.get("DRRN"), 0))
        stops = results.final(each.slug, job, "stopped", policy=each.policy)
        cells.append(percent(stops.mean if stops and each.measure == "test" else None, 0))
        interactions = fmean(row["interactions"] for row in last)
        cells += [f"{round(interactions):,}", str(len(last))]
        rows.append([*cells, minutes(results, each.slug, job)])
    header = ["", "policy", "ours", "95 % interval", "random play"]
    header += [f"{name}, published" for name in names]
    header += ["steps", "steps, published DRRN", "at the step limit"]
    header += ["interactions", "seeds", "minutes"]
    columns = [i for i in range(len(header)) if any(row[i] != MISSING for row in rows)]
    header = [header[i] for i in columns]
    rows = [[row[i] for i in columns] for row in rows]
    rows_of_seeds = results.final_rows(first.slug, jobs[first.slug], first.policy)
    measure = MEASURED[first.measure].format(episodes=rows_of_seeds[0]["episodes"])
    episodes = results.fact_text(first.slug, "random_episodes", 0)  # of random play
    notes = [PROSE["published_table"].format(measure=measure, chance=episodes), first.source]
    verified = f"Published scores: {first.checked}." if first.checked else PROSE["unchecked"]
    notes += [verified, first.differs]
    return Table(f"{first.title}: ours and published", header, rows, notes)


def _last_progress(results: ResultSet, game: str, job: Variant) -> list[Row]:
    rows = results.rows(game, job, ".progress")
    last = max(row["round"] for row in rows)
    return [row for row in rows if row["round"] == last]


def _curves(results: ResultSet, papers: Sequence[Protocol], jobs: Mapping[str, Variant]) -> Plot:
    """Draw the scores after each round against the interactions of a seed."""
    panels = []
    for each in papers:
        job = jobs[each.slug]
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
    caption = PROSE["published_figure"].format(title=first.title, end=IN_TABLE[first.measure])
    return plot(first.paper, caption, "panels", {"panels": panels})


def _scores_by_round(
    results: ResultSet, protocol: Protocol, job: Variant
) -> dict[int, list[float]]:
    """Return the scores of the seeds after each round: of training, or of evaluations."""
    if protocol.measure == "last episodes":
        rows, column = results.rows(protocol.slug, job, ".progress"), "last_return"
    else:
        rows, column = results.rows(protocol.slug, job), "return"
        rows = [r for r in rows if not r["final"] and r["policy"] == protocol.policy]
    scores: dict[int, list[float]] = {}
    for row in sorted(rows, key=lambda row: (row["round"], row["seed"])):
        scores.setdefault(row["round"], []).append(row[column] / protocol.scale)
    return scores


def published_scores(results: ResultSet, protocol: Protocol, job: Variant) -> list[float]:
    """Return the score of each seed by the measure of the protocol."""
    if protocol.measure == "test":
        scores = results.scores(protocol.slug, job, "return", policy=protocol.policy)
        return [score / protocol.scale for score in scores]
    rounds = list(_scores_by_round(results, protocol, job).values())
    last = max(1, len(rounds) // 10) if protocol.measure == "last tenth" else 1
    return [fmean(scores) for scores in zip(*rounds[-last:], strict=True)]
