"""Tables and figures of experiments that are not in the paper."""

from collections.abc import Iterator, Sequence
from typing import Any

from drrn.experiments.shares import label_of
from drrn.settings import POLICIES
from lab.experiments import plan
from lab.experiments.plan import BEST, LONG, REWORDED, STRONG_JOB, Variant
from lab.experiments.results import Row
from lab.reports.diagnostics import published_rows
from lab.reports.paper import Cells, Points, curves_of, final_rewards, panels_of, table_of_jobs
from lab.reports.result_set import (
    ResultSet,
    Summary,
    decimal,
    percent,
    published_score,
    spread,
    summary,
)
from textgames.document import MISSING, Block, Cell, Table, literal

# --- The strong agent

WORDINGS = {"": "", "paraphrased": "paraphrased", REWORDED: "reworded entirely"}  # of actions


def strong_blocks(results: ResultSet) -> list[Block]:
    """The scores and the curves of the strong agent, and of the agent without each part."""
    tables = part_tables(results)
    return [*tables[:1], *_strong_figure(results), *tables[1:]]


def part_tables(results: ResultSet) -> list[Block]:
    """The scores of the strong agent, and of the agent without each part."""
    games = [game for game in results.stories if results.jobs_of(game, plan.BEYOND)]
    ablated = [game for game in games if results.jobs_of(game, plan.ABLATIONS)]
    tables: list[Block] = [strong_table(results)] if games else []
    return tables + [ablation_table(results, game) for game in ablated]


def strong_table(results: ResultSet) -> Table:
    """Random play, the paper, its recipe, the strong agent and the best possible score."""
    header = ["", "random play", "the paper", "paper's recipe, ours", "softmax", "… lowest"]
    header += ["`best`", "… lowest", "greedy", "best possible"]
    rows = [row for game in results.stories for row in _strong_rows(results, game)]
    return Table("The strong agent: final reward", header, rows)


def _strong_rows(results: ResultSet, game: str) -> Iterator[Cells]:
    for job in (STRONG_JOB, LONG, plan.VECTORS):
        for wording, name in WORDINGS.items():
            if not results.scores(game, job, wording=wording):
                continue
            kinds = [name] * bool(wording) + [_job_name(results, game, job)] * (job != STRONG_JOB)
            row: Cells = [f"… {', '.join(kinds)}" if kinds else results.title(game)]
            row.append(results.fact_text(game, "random_final_reward"))
            row += _paper_scores(results, game, wording) if job == STRONG_JOB else ["", ""]
            row += _mean_and_lowest(results.scores(game, job, wording=wording), bold=True)
            row += _mean_and_lowest(results.scores(game, job, policy="best", wording=wording))
            greedy = results.text(game, job, 2, policy="greedy", wording=wording)
            yield [*row, greedy, results.fact_text(game, "best_final_reward", 2)]


def _job_name(results: ResultSet, game: str, job: Variant) -> str:
    if job != LONG:
        return job.label
    rounds = results.wanted(game, job, "rounds")
    return f"{rounds * results.wanted(game, job, 'episodes_per_round'):,} episodes"


def _paper_scores(results: ResultSet, game: str, wording: str) -> Cells:
    """The score of the paper's DRRN, as published and in our rows."""
    if wording == REWORDED:
        return ["", ""]
    theirs = published_score(game, BEST, wording)
    return [spread(theirs) if theirs else "", results.text(game, BEST, wording=wording)]


def _mean_and_lowest(scores: list[float], *, bold: bool = False) -> Cells:
    mean = Cell(spread(summary(scores), 2), bold=bold)
    return [mean, decimal(min(scores, default=None), 2)]


def ablation_table(results: ResultSet, game: str) -> Table:
    """The strong agent with each part removed, and the paper's recipe in the last row."""
    wordings = [w for w in WORDINGS if w and results.scores(game, STRONG_JOB, wording=w)]
    header = ["", "softmax", "… lowest", "`best`", "… lowest"]
    header += [f"softmax, {WORDINGS[wording]}" for wording in wordings]
    rows: list[Cells] = []
    for job in (STRONG_JOB, *plan.ABLATIONS):
        if not job.suits(game, vectors=True):
            continue
        row: Cells = [job.label]
        for policy in ("softmax", "best"):
            row += _mean_and_lowest(results.scores(game, job, policy=policy))
        rows.append([*row, *(results.text(game, job, 2, wording=w) for w in wordings)])
    last: Cells = ["the paper's recipe", *_mean_and_lowest(results.scores(game, BEST)), "", ""]
    paraphrased = results.text(game, BEST, 2, wording="paraphrased")
    last += ["" if wording == REWORDED else paraphrased for wording in wordings]
    return Table(f"Contribution of each part, {results.title(game)}", header, [*rows, last])


def _strong_figure(results: ResultSet) -> list[Block]:
    panels = []
    for game in results.stories:
        for job in (STRONG_JOB, LONG):
            if not results.curve(game, job):
                continue
            lines = [
                ("strong agent, softmax", "strong, softmax", results.curve(game, job)),
                ("strong agent, best", "strong, best", results.curve(game, job, "best")),
                ("the paper's recipe, softmax", BEST.name, results.curve(game, BEST)),
            ]
            panel = curves_of(results, game, [(a, b, _thin(points)) for a, b, points in lines])
            panel["title"] += f", {_job_name(results, game, job)}" * (job == LONG)
            panels.append(panel)
    caption = (
        "Learning curves of the strong agent, by softmax and by `best`, and of the paper's recipe, "
        "by softmax"
    )
    return panels_of("beyond", caption, panels)


def _thin(points: Points, at_most: int = 20) -> Points:
    """Keep every n-th round, counted from the last one, so that error bars stay legible."""
    return points[::-1][:: max(1, len(points) // at_most)][::-1]


# --- Encoders on the paper's games

BAG = "bag of words, the paper's"


def encoders_blocks(results: ResultSet) -> list[Block]:
    """The table and the figure of encoders, on each game with rows of them."""
    games = [game for game in results.stories if results.jobs_of(game, plan.ENCODERS)]
    panels = []
    for game in games:
        jobs = results.jobs_of(game, (BEST, *plan.ENCODERS))
        lines = [(job.label or BAG, job.name, results.curve(game, job)) for job in jobs]
        panels.append(curves_of(results, game, lines))
    tables = [_encoder_table(results, game) for game in games]
    caption = "Learning curves of DRRN with each encoder, by softmax"
    return [*tables, *panels_of("encoders", caption, panels)]


def _encoder_table(results: ResultSet, game: str) -> Table:
    """Final rewards of each encoder, also with paraphrased actions, and computing time."""
    jobs = results.jobs_of(game, (BEST, *plan.ENCODERS))

    def column(**condition: Any) -> Any:
        return lambda job: results.text(game, job, **condition)

    columns: list[Any] = [*final_rewards(results, game, jobs)]
    columns.append(("by greedy choice", column(policy="greedy")))
    if results.has_paraphrases(game):
        columns.append(("paraphrased", column(wording="paraphrased")))
        both = column(policy="greedy", wording="paraphrased")
        columns.append(("greedy, paraphrased", both))
    columns.append(("minutes", lambda job: minutes(results, game, job)))
    names = [(job.label or BAG, job) for job in jobs]
    return table_of_jobs(f"Encoders on {results.title(game)}", "Encoder", names, columns)


def minutes(results: ResultSet, game: str, job: Variant) -> str:
    """The computing time of all seeds, with the device if it is not the CPU."""
    record = results.record(game, job)
    if not record:
        return MISSING
    device = str(record.get("device", "cpu"))
    time = decimal(record["seconds"]["whole"] / 60)
    return time if device == "cpu" else f"{time} ({device})"


# --- Parser games

# Share of quests completed
PUBLISHED = {"home-world": {"LSTM-DQN": "100 %", "BOW-DQN": "about 46 %, inferred"}}
# The best that an agent reading bags of words can do with one command for each page, exactly
# (docs/textgames/worlds.md): share of quests, return.
BAG_REACHES = {"home-world": (0.979, 0.935), "comet-house": (0.49, 5.95)}


def parser_blocks(results: ResultSet) -> list[Block]:
    """The table of each parser game, and the figure."""
    games = [game for game in results.games if results.jobs_of(game, plan.PARSERS)]
    panels = []
    for game in games:
        jobs = results.jobs_of(game, plan.PARSERS)
        lines = [(job.label, job.name, results.curve(game, job, column="return")) for job in jobs]
        panels.append({**curves_of(results, game, lines, "return"), "measure": "mean return"})
    tables = [_parser_table(results, game) for game in games]
    caption = "Learning curves of the agents in each world: the return by softmax"
    return [*tables, *panels_of("parser", caption, panels)]


def _parser_table(results: ResultSet, game: str) -> Table:
    """Random play, the agents, the bound for bags of words and the best possible play."""
    published = PUBLISHED.get(game, {})
    extra = ["published"] if published else []
    header = ["", "quests done", *extra, "return", "greedy, quests done", "greedy, return"]
    header += ["steps played", "minutes"]
    lines = {"random play": _exact_scores(results, game, "random")}
    for job in results.jobs_of(game, plan.PARSERS):
        lines[job.label] = _agent_scores(results, game, job)
    if game in BAG_REACHES:
        share, reward = BAG_REACHES[game]
        lines["most that a bag of words can reach"] = [percent(share), decimal(reward, 2)]
    lines["best possible"] = _exact_scores(results, game, "best")
    rows = []
    for name, (done, *rest) in lines.items():
        theirs = [published.get(name, "")] if published else []
        cells: Cells = [name, done, *theirs, *rest]
        rows.append(cells + [""] * (len(header) - len(cells)))
    return Table(f"Agents in {results.title(game)}", header, rows)


def _agent_scores(results: ResultSet, game: str, job: Variant) -> list[str]:
    cells = []
    for policy in ("softmax", "greedy"):
        cells.append(_percent_spread(quests(results, game, job, "done", policy)))
        cells.append(spread(quests(results, game, job, "return", policy), 2))
    rows = [row for row in results.rows(game, job, ".quests") if row["final"]]
    return [*cells, _mean_steps(rows), minutes(results, game, job)]


def _mean_steps(rows: Sequence[Row]) -> str:
    """The steps that a seed played to learn, as a mean over seeds."""
    steps = [row["played"] for row in rows if row["played"] is not None]
    return f"{round(sum(steps) / len(steps)):,}" if steps else MISSING


def _exact_scores(results: ResultSet, game: str, player: str) -> list[str]:
    done = results.fact(game, f"{player}_done")
    return [percent(done), results.fact_text(game, f"{player}_return", 2)]


def _percent_spread(value: Summary | None) -> str:
    if value is None:
        return MISSING
    return percent(value.mean) + ("" if value.sd is None else f" ({decimal(100 * value.sd)})")


def quests(
    results: ResultSet, game: str, job: Variant, column: str, policy: str = "softmax"
) -> Summary | None:
    """The column `done` or `return` after the last round, exact if known."""
    rows = results.final_rows(game, job, policy, ".quests")
    exact = [row[f"exact_{column}"] for row in rows if row[f"exact_{column}"] is not None]
    if column == "return":
        return summary(exact or results.scores(game, job, "return", policy=policy))
    return summary(exact or [row["done"] for row in rows])


# --- Games of suites


def suites_table(results: ResultSet) -> list[Block]:
    """Random play and each agent in games of suites, by each policy."""
    rows: list[Cells] = []
    for game in results.games:
        jobs = results.jobs_of(game, plan.SUITE_JOBS)
        if not jobs:
            continue
        chance = results.fact_text(game, "random_return", 2)
        won = percent(results.fact(game, "random_done"), 0)
        rows.append([results.title(game), "random play", chance, "", "", won, "", ""])
        for job in jobs:
            row: Cells = ["", job.label]
            row += [spread(quests(results, game, job, "return", each), 2) for each in POLICIES]
            done = quests(results, game, job, "done", "best")
            row.append(percent(done.mean if done else None, 0))
            row.append(_mean_steps(results.final_rows(game, job, "softmax", ".quests")))
            rows.append([*row, minutes(results, game, job)])
    header = ["", "", *POLICIES, "won", "steps", "minutes"]
    return [Table("Returns in games of suites", header, rows)] if rows else []


# --- Reading: one agent with several readers, in a game's own and in other words

READERS = {name: job for name, job in plan.READERS.items() if job != plan.BAGS[1]}


def reading_tables(results: ResultSet) -> list[Block]:
    """The tables of readers and of recall."""
    if not any(plan.VARIANTS[name].group == "reading" for _, name in results.jobs):
        return []
    header = ["", "random play", *READERS, "bag, recall", "best possible"]
    rows = [*_story_rows(results), *_diagnostic_rows(results)]
    readers = Table("Readers", header, rows, align="l" + "r" * (len(header) - 1))
    header = ["", "own words", "without recall", *map(literal, plan.RECALLED)]
    recall = Table("Recall", header, list(_recall_rows(results)))
    return [readers, recall] if recall.rows else [readers]


def _score(results: ResultSet, game: str, job: Variant, wording: str = "", recall: str = "") -> str:
    rows = results.rows(game, job, ".wordings")
    column = "return" if game in plan.PARSED else "final_reward"
    if game in plan.PARSED and job in plan.BAGS and not recall:  # a job of the experiment parser
        rows = results.final_rows(game, plan.DRRN_BAG, "softmax", ".quests")
        rows = [{"wording": None, "recall": None, column: row["exact_return"]} for row in rows]
    key = (wording or None, recall or None)
    scores = [row[column] for row in rows if (row["wording"], row["recall"]) == key]
    return spread(summary(scores), 2) if scores else ""


def _story_rows(results: ResultSet) -> Iterator[Cells]:
    for game in plan.READ:
        column = "return" if game in plan.PARSED else "final_reward"
        low, best = (results.fact_text(game, f"{name}_{column}", 2) for name in ("random", "best"))
        for wording in ("", *plan.WORDINGS):
            scores = [_score(results, game, job, wording) for job in READERS.values()]
            if any(scores):
                name = f"… {wording}" if wording else results.title(game)
                recall = _score(results, game, plan.BAGS[0], wording, plan.RECALLED[-1])
                yield [name, low, *_marked(f"{game} {wording}", scores), recall, best]


def _diagnostic_rows(results: ResultSet) -> Iterator[Cells]:
    """The rows of diagnostics, in the order of the plan."""
    scores: dict[tuple[str, int, str], dict[str, list[float]]] = {}
    ends = {}
    for row in published_rows(results.diagnostics, READERS):
        game = (row["game"], row["level"], row["variant"])
        ends[game] = [decimal(row[name], 2) for name in ("random_score", "optimum")]
        scores.setdefault(game, {}).setdefault(row["agent"], []).append(row["score"])
    order = plan.PLAN["read_diagnostics"]
    for game in sorted(scores, key=lambda game: (order.index(game[0]), game[2] != "train")):
        own = [scores[game].get(name) for name in READERS]
        cells = _marked(f"{game[0]} {game[2]}", [spread(summary(x), 2) if x else "" for x in own])
        yield [label_of(game).capitalize(), ends[game][0], *cells, "", ends[game][1]]


def _marked(name: str, scores: list[str]) -> Cells:
    """A cell for each reader, with a mark if it cannot exceed random play."""
    limited = plan.PLAN["at_most_random"]
    pairs = zip(READERS, scores, strict=True)
    return [Cell(text, mark="‡" * (f"{reader} {name}" in limited)) for reader, text in pairs]


def _recall_rows(results: ResultSet) -> Iterator[Cells]:
    models = ("", *plan.RECALLED)
    for game in results.stories:
        for job, extra in zip(plan.BAGS, ("", ", 12,000 episodes"), strict=True):
            for wording in plan.WORDINGS:
                cells = [_score(results, game, job, wording, model) for model in models]
                if any(cells):
                    name = f"{results.title(game)}, {wording}{extra}"
                    yield [name, _score(results, game, job), *cells]
