"""Tables and figures of experiments that are not in the paper: our agents, and other games."""

import itertools
from collections.abc import Collection, Iterable, Iterator, Sequence
from statistics import fmean

from drrn.experiments.agents import AGENTS
from drrn.experiments.results import Row
from drrn.experiments.shares import label_of, share_table, shares_of
from lab.experiments import plan
from lab.experiments.plan import BEST, LONG, REWORDED, STRONG_JOB, Variant
from lab.reports.figures import plot
from lab.reports.paper import Cells, Points, curves_of, panels_of
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
from textgames.intervals import interval_of_mean
from textsuites.protocols import Protocol, protocols

# --- The strong agent

WORDINGS = {"": "", "paraphrased": "paraphrased", REWORDED: "reworded entirely"}  # of actions


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


def strong_figure(results: ResultSet) -> list[Block]:
    """The learning curves of the strong agent."""
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
    blocks: list[Block] = []
    panels = []
    for game in results.stories:
        if not results.jobs_of(game, plan.ENCODERS):
            continue
        jobs = [(job.label or BAG, job) for job in results.jobs_of(game, (BEST, *plan.ENCODERS))]
        lines = [(name, job.name, results.curve(game, job)) for name, job in jobs]
        panels.append(curves_of(results, game, lines))
        wordings = ["", "paraphrased"] if results.has_paraphrases(game) else [""]
        rows: list[Cells] = []
        for name, job in jobs:
            pairs = itertools.product(wordings, ("softmax", "greedy"))
            scores = [results.text(game, job, wording=w, policy=policy) for w, policy in pairs]
            rows.append([name, *scores, minutes(results, game, job)])
        header = ["Encoder", "final reward", "by greedy choice"]
        header += ["paraphrased", "greedy, paraphrased"] if len(wordings) > 1 else []
        caption = f"Encoders on {results.title(game)}"
        blocks.append(Table(caption, [*header, "minutes"], rows))
    caption = "Learning curves of DRRN with each encoder, by softmax"
    return [*blocks, *panels_of("encoders", caption, panels)]


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
        rows = results.final_rows(game, plan.VARIANTS["parser-drrn-bag"], "softmax", ".quests")
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


# --- Diagnostics


def published_rows(rows: Iterable[Row], agents: Collection[str]) -> list[Row]:
    """The last row of each game, agent and seed, at the published level."""
    keys = ("game", "variant", "agent", "seed")
    rows = [row for row in rows if row["level"] == plan.LEVEL and row["agent"] in agents]
    return list({tuple(row[key] for key in keys): row for row in rows}.values())


def diagnostics_blocks(results: ResultSet) -> list[Block]:
    """The figure and the table of games by published agents, with means over seeds."""
    rows = published_rows(results.diagnostics, AGENTS)
    if not rows:
        return []
    agents, shares = shares_of(rows)
    columns = zip(*shares.values(), strict=True)
    lines = [{"label": agent, "points": next(columns)} for agent in agents]
    caption = (
        "Diagnostics: normalised score of each agent, from random play (inner circle) to the "
        "optimum (outer circle)."
    )
    data = {"labels": [*map(label_of, shares)], "lines": lines}
    return [plot("diagnostics", caption, "radar", data), share_table(agents, shares)]


# --- Our budgets on the tasks of papers

TRAINING = "last episodes"  # the measure of episodes in which the memory plays, too
MEASURED = {
    "test": "the mean over {episodes} unseen games of the test fold",
    "last tenth": "the mean of the last tenth of the evaluations",
    TRAINING: "the mean of the last 100 training episodes; of the network alone, the mean of "
    "{episodes} episodes after training",
}
JOBS = {job.games[0]: job for job in plan.PUBLISHED}


def published_blocks(results: ResultSet) -> list[Block]:
    """A table for each paper whose tasks have rows."""
    papers: dict[str, list[Protocol]] = {}
    for protocol in protocols():
        if results.jobs_of(protocol.slug, [JOBS[protocol.slug]]):
            papers.setdefault(protocol.paper, []).append(protocol)
    return [_table(results, each) for each in papers.values()]


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
