"""Experiments that are not in the paper, from the strong agent to the diagnostics."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any

from drrn.diagnostics import DIAGNOSTICS
from drrn.document import MISSING, Block, Cell, Table, literal, markdown_block
from drrn.lab.experiments import plan
from drrn.lab.experiments.plan import BEST, DRRN_BAG, LONG, REWORDED, STRONG_JOB, Variant
from drrn.lab.experiments.results import Row
from drrn.lab.reports import result_set
from drrn.lab.reports.figures import Plot, Points, curves_of, plot
from drrn.lab.reports.paper import best_cell
from drrn.lab.reports.result_set import ResultSet, Summary, decimal, percent, spread, summary
from drrn.lab.reports.texts import PROSE
from drrn.settings import POLICIES

Cells = list[Cell | str]

# --- The strong agent

MAX_POINTS = 20  # of a learning curve, approximately
WORDINGS = {"": "", "paraphrased": "paraphrased", REWORDED: "reworded entirely"}  # of actions


def beyond_section(results: ResultSet) -> list[Block]:
    """Return the tables and the figure of the strong agent; nothing without rows."""
    games = results.stories
    if not any(results.jobs_of(game, plan.BEYOND) for game in games):
        return []
    tables = [
        ablation_table(results, game) for game in games if results.jobs_of(game, plan.ABLATIONS)
    ]
    figures = _strong_figure(results, games)
    return [PROSE["beyond"], strong_table(results, games), *figures, *tables]


def strong_table(results: ResultSet, games: Sequence[str]) -> Table:
    """Compare random play, the paper, its recipe, the strong agent and the best possible score."""
    header = ["", "random play", "the paper", "paper's recipe, ours", "softmax", "… lowest"]
    header += ["`best`", "… lowest", "greedy", "best possible"]
    rows = [row for game in games for row in _strong_rows(results, game)]
    episodes = set()
    for game in games:
        for job in results.jobs_of(game, plan.BEYOND):
            episodes |= {row["episodes"] for row in results.final_rows(game, job, "best")}
    note = PROSE["strong"].format(games=" or ".join(f"{count:,}" for count in sorted(episodes)))
    return Table("The strong agent: final reward", header, rows, [note])


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
    """Describe a job; the longer one by its number of episodes."""
    if job != LONG:
        return job.label
    rounds = results.wanted(game, job, "rounds")
    return f"{rounds * results.wanted(game, job, 'episodes_per_round'):,} episodes"


def _paper_scores(results: ResultSet, game: str, wording: str) -> Cells:
    """Return the score of the paper's DRRN: as published, and in our rows."""
    if wording == REWORDED:
        return ["", ""]
    theirs = result_set.published_score(game, BEST, wording)
    return [spread(theirs) if theirs else "", results.text(game, BEST, wording=wording)]


def _mean_and_lowest(scores: list[float], *, bold: bool = False) -> Cells:
    mean = Cell(spread(summary(scores), 2), bold=bold)
    return [mean, decimal(min(scores, default=None), 2)]


def ablation_table(results: ResultSet, game: str) -> Table:
    """Compare the strong agent with each part removed, and the paper's recipe in the last row."""
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
    caption = f"Contribution of each part, {results.title(game)}"
    return Table(caption, header, [*rows, last], [PROSE["ablations"]])


def _strong_figure(results: ResultSet, games: Sequence[str]) -> list[Plot]:
    panels = []
    for game in games:
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
    data = {"panels": panels}
    return [plot("beyond", PROSE["strong_figure"], "panels", data)] if panels else []


def _thin(points: Points) -> Points:
    """Keep every n-th round, counted from the last one, so that error bars stay legible."""
    return points[::-1][:: max(1, len(points) // MAX_POINTS)][::-1]


def parts_block(results: ResultSet) -> str:
    """Return the tables of the strong agent as Markdown, for docs/beyond.md."""
    games = [game for game in plan.EXPLORED if results.jobs_of(game, plan.ABLATIONS)]
    if not games:
        return PROSE["no_parts"]
    # The page itself describes the measurements.
    tables = [replace(strong_table(results, results.games), notes=())]
    tables += [ablation_table(results, game) for game in games]
    return "\n\n".join(markdown_block(table) for table in tables)


# --- Encoders on the paper's games

BAG = "bag of words, the paper's"


def encoders_section(results: ResultSet) -> list[Block]:
    """Return the tables and the figure of encoders; nothing without rows."""
    games = [game for game in results.stories if results.jobs_of(game, plan.ENCODERS)]
    if not games:
        return []
    verdicts = [sentence for game in games for sentence in encoder_verdicts(results, game)]
    tables = [_encoder_table(results, game) for game in games]
    panels = []
    for game in games:
        jobs = results.jobs_of(game, (BEST, *plan.ENCODERS))
        lines = [(job.label or BAG, job.name, results.curve(game, job)) for job in jobs]
        panels.append(curves_of(results, game, lines))
    figure = plot("encoders", PROSE["encoder_figure"], "panels", {"panels": panels})
    return [PROSE["encoders"], *verdicts, *tables, figure]


def _encoder_table(results: ResultSet, game: str) -> Table:
    """Compare encoders: final rewards, also with paraphrased actions, and computing time."""
    header = ["Encoder", "final reward", "by greedy choice"]
    conditions: list[dict[str, Any]] = [{"policy": "greedy"}]
    if results.has_paraphrases(game):
        header += ["paraphrased", "greedy, paraphrased"]
        conditions += [{"wording": "paraphrased"}]
        conditions += [{"policy": "greedy", "wording": "paraphrased"}]
    jobs = results.jobs_of(game, (BEST, *plan.ENCODERS))
    top = max(results.means(game, jobs).values())
    rows = []
    for job in jobs:
        row: Cells = [job.label or BAG, best_cell(results.final(game, job), top)]
        row += [results.text(game, job, **condition) for condition in conditions]
        rows.append([*row, minutes(results, game, job)])
    caption = f"Encoders on {results.title(game)}"
    return Table(caption, [*header, "minutes"], rows, [PROSE["encoder_table"]])


def encoder_verdicts(results: ResultSet, game: str) -> list[str]:
    """Say in a sentence each whether an LSTM, and the bag with word vectors, beat the bag."""
    verdicts = []
    for job in (plan.LSTM, plan.BAG_VECTORS):
        score = results.final(game, job)
        bag = results.final(game, BEST)
        if score is None or bag is None:
            continue
        scores = f"{job.label} {spread(score)}, bag of words {spread(bag)}"
        verdict = f"{results.title(game)}: {scores}: {_comparison(score, bag)}."
        if job == plan.LSTM and score.mean > bag.mean and score.differs(bag):
            verdict += " The remark does not hold here."
        elif job == plan.LSTM:
            verdict += " The remark holds here: the LSTM gives no clear improvement."
        score = results.final(game, job, wording="paraphrased")
        bag = results.final(game, BEST, wording="paraphrased")
        if score and bag:
            comparison = f"{spread(score)} and {spread(bag)}: {_comparison(score, bag)}"
            verdict += f" With paraphrased actions {comparison}."
        verdicts.append(verdict)
    return verdicts


def _comparison(score: Summary, other: Summary) -> str:
    """Compare two scores; a difference counts above twice the joint standard deviation."""
    difference = decimal(abs(score.mean - other.mean))
    sign = "more" if score.mean > other.mean else "less"
    if score.sd is None or other.sd is None:
        return f"{sign} by {difference}, with one seed"
    if not score.differs(other):
        return f"a difference of {difference}, within twice the joint deviation"
    return f"{sign} by {difference}"


def minutes(results: ResultSet, game: str, job: Variant) -> str:
    """Format the computing time of all seeds, with the device if it is not the CPU."""
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
# (docs/worlds.md): share of quests, return.
BAG_REACHES = {"home-world": (0.979, 0.935), "comet-house": (0.49, 5.95)}


def parser_section(results: ResultSet) -> list[Block]:
    """Return the tables and the figure of parser games; nothing without rows."""
    games = [game for game in results.known if results.jobs_of(game, plan.PARSERS)]
    if not games:
        return []
    sentences: list[str] = []
    panels = []
    for game in games:
        sentences += on_par(results, game)
        jobs = results.jobs_of(game, plan.PARSERS)
        lines = [(job.label, job.name, results.curve(game, job, column="return")) for job in jobs]
        panels.append({**curves_of(results, game, lines, "return"), "measure": "mean return"})
    tables = [_parser_table(results, game) for game in games]
    figure = plot("parser", PROSE["parser_figure"], "panels", {"panels": panels})
    return [PROSE["parser"], *sentences, *tables, figure]


def _parser_table(results: ResultSet, game: str) -> Table:
    """Compare random play, the agents, the bound for bags of words and the best possible play."""
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
    notes = [PROSE["parser_table"]] + [PROSE["parser_published"]] * bool(published)
    return Table(f"Agents in {results.title(game)}", header, rows, notes)


def _agent_scores(results: ResultSet, game: str, job: Variant) -> list[str]:
    cells = []
    for policy in ("softmax", "greedy"):
        cells.append(_percent_spread(_quests(results, game, job, "done", policy)))
        cells.append(spread(_quests(results, game, job, "return", policy), 2))
    rows = [row for row in results.rows(game, job, ".quests") if row["final"]]
    return [*cells, _mean_steps(rows), minutes(results, game, job)]


def _mean_steps(rows: Sequence[Row]) -> str:
    """Format the steps that a seed played to learn: mean over seeds."""
    steps = [row["played"] for row in rows if row["played"] is not None]
    return f"{round(sum(steps) / len(steps)):,}" if steps else MISSING


def _exact_scores(results: ResultSet, game: str, player: str) -> list[str]:
    done = results.fact(game, f"{player}_done")
    return [percent(done), results.fact_text(game, f"{player}_return", 2)]


def _percent_spread(value: Summary | None) -> str:
    if value is None:
        return MISSING
    return percent(value.mean) + ("" if value.sd is None else f" ({decimal(100 * value.sd)})")


def _quests(
    results: ResultSet, game: str, job: Variant, column: str, policy: str = "softmax"
) -> Summary | None:
    """Summarise a column, `done` or `return`, after the last round, exact if known."""
    rows = results.final_rows(game, job, policy, ".quests")
    exact = [row[f"exact_{column}"] for row in rows if row[f"exact_{column}"] is not None]
    if column == "return":
        return summary(exact or results.scores(game, job, "return", policy=policy))
    return summary(exact or [row["done"] for row in rows])


def on_par(results: ResultSet, game: str) -> list[str]:
    """Say whether DRRN with bags and BOW-DQN are on par, by softmax and by greedy play."""
    sentences = []
    for policy in ("softmax", "greedy"):
        drrn = _quests(results, game, DRRN_BAG, "return", policy)
        dqn = _quests(results, game, plan.BOW_DQN, "return", policy)
        if drrn is not None and dqn is not None:
            scores = f"{DRRN_BAG.label} {spread(drrn, 2)}, BOW-DQN {spread(dqn, 2)}"
            start = f"{results.title(game)}, return by {policy} play: {scores}"
            sentences.append(f"{start}: {_on_par_verdict(drrn, dqn)}.")
    return sentences


def _on_par_verdict(drrn: Summary, dqn: Summary) -> str:
    if drrn.sd is None or dqn.sd is None:
        return "one seed, too few to decide whether they are on par"
    difference = abs(drrn.mean - dqn.mean)
    if difference <= min(drrn.sd, dqn.sd):
        return "each is within the other's standard deviation, so “on par” holds"
    if not drrn.differs(dqn):
        return PROSE["nearly_on_par"]
    ahead = DRRN_BAG.label if drrn.mean > dqn.mean else plan.BOW_DQN.label
    return f"they differ by {decimal(difference, 2)}, so “on par” does not hold: {ahead} is ahead"


# --- Games of suites


def suites_section(results: ResultSet) -> list[Block]:
    """Return the table of games of suites; nothing without rows."""
    games = [game for game in results.known if results.jobs_of(game, plan.SUITE_JOBS)]
    return [PROSE["suites"], _suite_table(results, games)] if games else []


def _suite_table(results: ResultSet, games: Sequence[str]) -> Table:
    """Compare random play and each agent, by each policy."""
    rows: list[Cells] = []
    for game in games:
        chance = results.fact_text(game, "random_return", 2)
        won = percent(results.fact(game, "random_done"), 0)
        rows.append([results.title(game), "random play", chance, "", "", won, "", ""])
        for job in results.jobs_of(game, plan.SUITE_JOBS):
            row: Cells = ["", job.label]
            row += [spread(_quests(results, game, job, "return", each), 2) for each in POLICIES]
            done = _quests(results, game, job, "done", "best")
            row.append(percent(done.mean if done else None, 0))
            row.append(_mean_steps(results.final_rows(game, job, "softmax", ".quests")))
            rows.append([*row, minutes(results, game, job)])
    header = ["", "", *POLICIES, "won", "steps", "minutes"]
    return Table("Returns in games of suites", header, rows, [PROSE["suite_table"]])


# --- Reading: one agent with several readers, in a game's own and in other words

READERS = {name: job for name, job in plan.READERS.items() if job != plan.BAGS[1]}


def reading_section(results: ResultSet) -> list[Block]:
    """Return the tables of readers and of recall; nothing without rows."""
    if not any(plan.VARIANTS[name].group == "reading" for _, name in results.jobs):
        return []
    header = ["", "random play", *READERS, "bag, recall", "best possible"]
    rows = [*_story_rows(results), *_diagnostic_rows(results)]
    note = PROSE["readers"].format(bag=decimal(BAG_REACHES["home-world"][1], 2))
    readers = Table("Readers", header, rows, [note], "l" + "r" * (len(header) - 1))
    header = ["", "own words", "without recall", *map(literal, plan.RECALLED)]
    recall = Table("Recall", header, list(_recall_rows(results)), [PROSE["recall"]])
    return [PROSE["reading"], readers, *([recall] if recall.rows else [])]


def reading_block(results: ResultSet) -> str:
    """Return the tables as Markdown, for docs/beyond.md."""
    return "\n\n".join(map(markdown_block, reading_section(results) or [PROSE["no_reading"]]))


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
    """Yield the rows of diagnostics, in the order of the plan."""
    scores: dict[tuple[str, int, str], dict[str, list[float]]] = {}
    ends = {}
    for row in published_rows(results, READERS):
        game = (row["game"], row["level"], row["variant"])
        ends[game] = [decimal(row[name], 2) for name in ("random_score", "optimum")]
        scores.setdefault(game, {}).setdefault(row["agent"], []).append(row["score"])
    order = plan.PLAN["read_diagnostics"]
    for game in sorted(scores, key=lambda game: (order.index(game[0]), game[2] != "train")):
        own = [scores[game].get(name) for name in READERS]
        cells = _marked(f"{game[0]} {game[2]}", [spread(summary(x), 2) if x else "" for x in own])
        yield [label_of(game).capitalize(), ends[game][0], *cells, "", ends[game][1]]


def _marked(name: str, scores: list[str]) -> Cells:
    """Return a cell for each reader; a mark means that it cannot exceed random play."""
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


# --- Diagnostics: shares of the way from random play to the optimum, by agent

SOLVED = 0.95  # of the way

Game = tuple[str, int, str]  # name, level, variant


def blocks_of(rows: Sequence[Row]) -> tuple[str, Plot, Table]:
    """Return a text, the figure and the table of games by agents, with means over seeds."""
    names = list(dict.fromkeys(row["agent"] for row in rows))
    agents = sorted(names, key=[*plan.AGENTS, *names].index)
    values: dict[Game, dict[str, list[float]]] = {}
    for row in rows:
        game = (row["game"], row["level"], row["variant"])
        values.setdefault(game, {}).setdefault(row["agent"], []).append(row["share"])
    shares: dict[Game, list[float | None]] = {}
    for game in sorted(values, key=lambda g: (g[2] != "train", [*DIAGNOSTICS].index(g[0]), g[1])):
        own = {agent: round(fmean(each), 4) for agent, each in values[game].items()}
        shares[game] = [own.get(agent) for agent in agents]
    columns = zip(*shares.values(), strict=True)
    lines = [{"label": agent, "points": next(columns)} for agent in agents]
    figure = plot(
        "diagnostics", PROSE["radar"], "radar", {"labels": [*map(label_of, shares)], "lines": lines}
    )
    return PROSE["diagnostics"], figure, share_table(agents, shares)


def share_table(agents: Sequence[str], shares: dict[Game, list[float | None]]) -> Table:
    """Return the table of shares; a dagger marks those below 95 %."""
    rows: list[list[Cell | str]] = []
    for game, values in shares.items():
        cells = [
            MISSING if share is None else Cell(percent(share, 0), mark="†" * (share < SOLVED))
            for share in values
        ]
        rows.append([label_of(game), f"{game[0]}/{game[1]}", *cells])
    counts: list[Cell | str] = []
    for column in zip(*shares.values(), strict=True):
        known = [share for share in column if share is not None]
        counts.append(f"{sum(share >= SOLVED for share in known)} of {len(known)}")
    rows.append([f"at least {percent(SOLVED, 0)}", "", *counts])
    header = ["Capability", "Game", *map(literal, agents)]
    return Table("", header, rows, [PROSE["shares"]], "ll" + "r" * len(agents))


def label_of(game: Game) -> str:
    return DIAGNOSTICS[game[0]].capability + (", held out" if game[2] != "train" else "")


def diagnostics_section(results: ResultSet) -> list[Block]:
    """Return the published figure and table."""
    rows = published_rows(results, plan.AGENTS)
    return list(blocks_of(rows)) if rows else []


def published_rows(results: ResultSet, agents: Collection[str]) -> list[Row]:
    """Return the last row of each game, agent and seed, at the published level."""
    keys = ("game", "variant", "agent", "seed")
    rows = [
        row for row in results.diagnostics if row["level"] == plan.LEVEL and row["agent"] in agents
    ]
    return list({tuple(row[key] for key in keys): row for row in rows}.values())


def diagnostics_block(results: ResultSet) -> str:
    """Return the published figure and table as Markdown, for docs/diagnostics.md."""
    blocks = diagnostics_section(results) or [PROSE["no_diagnostics"]]
    text = "\n\n".join(map(markdown_block, blocks))
    return text.replace("](figures/", "](../results/figures/")
