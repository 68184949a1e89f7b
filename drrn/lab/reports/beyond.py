"""Experiments that the paper does not have: the strong agent, encoders, parser games, suites."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from drrn.document import MISSING, Block, Cell, Table, markdown_block
from drrn.lab.experiments.plan import (
    ABLATIONS,
    BAG_VECTORS,
    BEST,
    BEYOND,
    BOW_DQN,
    DRRN_BAG,
    DRRN_LSTM,
    ENCODERS,
    EXPLORED,
    LONG,
    LSTM,
    LSTM_DQN,
    PARSERS,
    REWORDED,
    STRONG_JOB,
    SUITE_JOBS,
    VECTORS,
    Variant,
)
from drrn.lab.experiments.results import Row
from drrn.lab.reports import paper
from drrn.lab.reports.figures import Plot, curve_line, plot
from drrn.lab.reports.result_set import ResultSet, Summary, decimal, percent, spread, summary

Cells = list[Cell | str]

# The strong agent

SEEDS_NOTE = (
    "The results are of the seeds that the settings below name. The recipe was tuned on other "
    "seeds, from 1,000 on, on The Night Market and Machine of Death. Choices about reworded "
    "actions were made on The Night Market; none was made on the rewording of The Long Watch, and "
    "nearly none on the paraphrases of Machine of Death: docs/beyond.md."
)
STRONG_NOTE = (
    "Softmax is the exact expectation. `best` takes the best action on a page that is new in the "
    "episode and plays by softmax on one that was visited before. It depends on the history, so "
    "its score is the mean of {games} games per seed. “Lowest” is the lowest seed. The paper's "
    "recipe is DRRN with two layers of 100 units, as above."
)
ABLATION_NOTE = (
    "Each row removes one part and keeps the others: mean (sd) over seeds, and the lowest seed."
)
MAX_POINTS = 20  # of a learning curve, approximately
WORDINGS = {"": "", "paraphrased": "paraphrased", REWORDED: "reworded entirely"}  # of actions


def beyond_blocks(results: ResultSet, games: Sequence[str]) -> list[Block]:
    """Return the tables and the figure of the strong agent; nothing without rows."""
    if not any(results.jobs_of(game, BEYOND) for game in games):
        return []
    tables = [ablation_table(results, game) for game in games if results.jobs_of(game, ABLATIONS)]
    return [SEEDS_NOTE, strong_table(results, games), *_strong_figure(results, games), *tables]


def strong_table(results: ResultSet, games: Sequence[str]) -> Table:
    """Compare random play, the paper, its recipe, the strong agent and the best possible score."""
    header = ["", "random play", "the paper", "paper's recipe, ours", "softmax", "… lowest"]
    header += ["`best`", "… lowest", "greedy", "best possible"]
    rows = [row for game in games for row in _strong_rows(results, game)]
    episodes = set()
    for job in results.jobs.values():
        final = [row for row in job.rows[""] if row["final"] and row["policy"] == "best"]
        episodes |= {row["episodes"] for row in final}
    note = STRONG_NOTE.format(games=" or ".join(f"{count:,}" for count in sorted(episodes)))
    return Table("The strong agent: final reward", header, rows, [note])


def _strong_rows(results: ResultSet, game: str) -> Iterator[Cells]:
    for job in (STRONG_JOB, LONG, VECTORS):
        for wording in WORDINGS:
            if not strong_scores(results, game, job, wording=wording):
                continue
            kinds = [WORDINGS[wording]] if wording else []
            if job != STRONG_JOB:
                kinds.append(_job_name(results, game, job))
            row: Cells = [f"… {', '.join(kinds)}" if kinds else results.title(game)]
            row.append(decimal(results.fact(game, "random_final_reward")))
            row += _paper_scores(results, game, wording) if job == STRONG_JOB else ["", ""]
            for policy in ("softmax", "best"):
                scores = strong_scores(results, game, job, policy, wording)
                mean = Cell(spread(summary(scores), 2), bold=policy == "softmax")
                row += [mean, decimal(min(scores), 2)]
            greedy = strong_scores(results, game, job, "greedy", wording)
            best = decimal(results.fact(game, "best_final_reward"), 2)
            yield [*row, spread(summary(greedy), 2), best]


def _job_name(results: ResultSet, game: str, job: Variant) -> str:
    """Describe a job; the longer one by its number of episodes."""
    record = results.record(game, job)
    if job != LONG or record is None:
        return job.label
    return f"{record['wanted']['rounds'] * record['wanted']['episodes_per_round']:,} episodes"


def _paper_scores(results: ResultSet, game: str, wording: str) -> Cells:
    """Return the score of the paper's DRRN: as published, and in our rows."""
    if wording == REWORDED:
        return ["", ""]
    published = (paper.PARAPHRASED if wording else paper.SCORES).get(game, {}).get(BEST.name)
    ours = results.final(game, BEST, paraphrased=bool(wording))
    return [spread(Summary(*published)) if published else "", spread(ours)]


def strong_scores(
    results: ResultSet,
    game: str,
    job: Variant = STRONG_JOB,
    policy: str = "softmax",
    wording: str = "",
) -> list[float]:
    """Return the final reward of each seed; `wording` is a key of WORDINGS."""
    kind = f".{REWORDED}" if wording == REWORDED else ""
    return results.scores(game, job, policy=policy, paraphrased=bool(wording), kind=kind)


def ablation_table(results: ResultSet, game: str) -> Table:
    """Compare the strong agent with each part removed, and the paper's recipe in the last row."""
    wordings = [w for w in WORDINGS if w and strong_scores(results, game, wording=w)]
    header = ["", "softmax", "… lowest", "`best`", "… lowest"]
    header += [f"softmax, {WORDINGS[wording]}" for wording in wordings]
    rows: list[Cells] = []
    for job in (STRONG_JOB, *ABLATIONS):
        if not job.suits(game, vectors=True):
            continue
        row: Cells = [job.label]
        for policy in ("softmax", "best"):
            row += _mean_and_lowest(strong_scores(results, game, job, policy))
        for wording in wordings:
            row.append(spread(summary(strong_scores(results, game, job, wording=wording)), 2))
        rows.append(row)
    last: Cells = ["the paper's recipe", *_mean_and_lowest(results.scores(game, BEST)), "", ""]
    paraphrased = spread(results.final(game, BEST, paraphrased=True), 2)
    last += ["" if wording == REWORDED else paraphrased for wording in wordings]
    caption = f"Contribution of each part, {results.title(game)}"
    return Table(caption, header, [*rows, last], [ABLATION_NOTE])


def _mean_and_lowest(scores: list[float]) -> Cells:
    return [spread(summary(scores), 2), decimal(min(scores), 2) if scores else MISSING]


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
            title = results.title(game)
            if job == LONG:
                title += f", {_job_name(results, game, job)}"
            panel = _panel(results, game, [(a, b, _thin(points)) for a, b, points in lines])
            panels.append({**panel, "title": title})
    caption = (
        "Learning curves of the strong agent, by softmax and by `best`, and of the paper's recipe, "
        "by softmax; bars are standard deviations."
    )
    return [plot("beyond", caption, "panels", {"panels": panels})] if panels else []


Points = Sequence[tuple[int, float, float]]


def _thin(points: Points) -> Points:
    """Keep every n-th round, counted from the last one, so that error bars stay legible."""
    return points[::-1][:: max(1, len(points) // MAX_POINTS)][::-1]


def _panel(
    results: ResultSet,
    game: str,
    lines: Iterable[tuple[str, str, Points]],
    measure: str = "final_reward",
) -> dict[str, object]:
    """Return the data of a panel; lines are (label, style, points)."""
    return {
        "title": results.title(game),
        "lines": [curve_line(*line) for line in lines if line[2]],
        "random": results.fact(game, f"random_{measure}"),
        "best": results.fact(game, f"best_{measure}"),
        "rest": None,
    }


def parts_block(results: ResultSet) -> str:
    """Return the tables of the strong agent as Markdown, for docs/beyond.md."""
    games = [game for game in EXPLORED if results.jobs_of(game, ABLATIONS)]
    if not games:
        return (
            "No rows yet: run `drrn reproduce --only beyond`, then `drrn report --beyond FILE` "
            "writes this table."
        )
    # The page itself describes the measurements.
    tables = [replace(strong_table(results, results.games), notes=())]
    tables += [ablation_table(results, game) for game in games]
    return "\n\n".join(markdown_block(table) for table in tables)


# Encoders on the paper's games

BAG = "bag of words, the paper's"
ENCODER_NOTE = (
    "DRRN with two layers of 100 units and the paper's settings; only the encoder differs, for "
    "states and for actions."
)
ENCODER_REMARK = (
    "The paper, of preliminary experiments with Machine of Death: “we did not find LSTMs to give "
    "improved performance, but we conjecture that they would be useful in larger-scale tasks, or "
    "when the word embeddings are initialized by training on large data sets.”"
)


def encoder_blocks(results: ResultSet, games: Sequence[str]) -> list[Block]:
    """Return the tables and the figure of encoders; nothing without rows."""
    games = [game for game in games if results.jobs_of(game, ENCODERS)]
    if not games:
        return []
    verdicts = [sentence for game in games for sentence in encoder_verdicts(results, game)]
    tables = [encoder_table(results, game) for game in games]
    panels = []
    for game in games:
        jobs = results.jobs_of(game, (BEST, *ENCODERS))
        lines = [(_encoder_name(job), job.name, results.curve(game, job)) for job in jobs]
        panels.append(_panel(results, game, lines))
    caption = "Learning curves of DRRN with each encoder, by softmax; bars are standard deviations."
    figure = plot("encoders", caption, "panels", {"panels": panels})
    return [ENCODER_REMARK, *verdicts, *tables, figure]


def _encoder_name(job: Variant) -> str:
    return job.label if job.label else BAG


def encoder_table(results: ResultSet, game: str) -> Table:
    """Compare encoders: final rewards, also with paraphrased actions, and computing time."""
    header = ["Encoder", "final reward", "by greedy choice"]
    conditions = [("greedy", False)]
    if results.fact(game, "paraphrases") is not None:
        header += ["paraphrased", "greedy, paraphrased"]
        conditions += [("softmax", True), ("greedy", True)]
    jobs = results.jobs_of(game, (BEST, *ENCODERS))
    top = max(score.mean for job in jobs if (score := results.final(game, job)))
    rows = []
    for job in jobs:
        score = results.final(game, job)
        row: Cells = [_encoder_name(job)]
        row.append(Cell(spread(score), bold=score is not None and score.mean == top))
        for policy, paraphrased in conditions:
            row.append(spread(results.final(game, job, policy=policy, paraphrased=paraphrased)))
        rows.append([*row, minutes(results, game, job)])
    caption = f"Encoders on {results.title(game)}"
    return Table(caption, [*header, "minutes"], rows, [ENCODER_NOTE])


def encoder_verdicts(results: ResultSet, game: str) -> list[str]:
    """Say in a sentence each whether an LSTM, and the bag with word vectors, beat the bag."""
    verdicts = []
    for job in (LSTM, BAG_VECTORS):
        score = results.final(game, job)
        bag = results.final(game, BEST)
        if score is None or bag is None:
            continue
        scores = f"{job.label} {spread(score)}, bag of words {spread(bag)}"
        verdict = f"{results.title(game)}: {scores}: {_comparison(score, bag)}."
        if job == LSTM and score.mean > bag.mean and score.differs(bag):
            verdict += " The remark does not hold here."
        elif job == LSTM:
            verdict += " The remark holds here: the LSTM gives no clear improvement."
        score = results.final(game, job, paraphrased=True)
        bag = results.final(game, BEST, paraphrased=True)
        if score and bag:
            verdict += f" With paraphrased actions {spread(score)} and {spread(bag)}: "
            verdict += f"{_comparison(score, bag)}."
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


# Parser games

PARSER_REMARK = (
    "The paper, of preliminary experiments with the parser game of Narasimhan et al. (2015): “the "
    "DRRN using a bag-of-words (BOW) input achieves results on par with their BOW DQN.”"
)
PARSER_NOTE = (
    "Exact expectations, from the weights. Steps are those that a seed played to learn; mean over "
    "seeds."
)
PARSER_PUBLISHED_NOTE = (
    "Published: by play with ε = 0.05. The share of the bag is inferred from an abstract that has "
    "LSTM-DQN ahead by 54 %. The authors' texts differ from ours; rules and numbers do not."
)
# Share of quests completed
PUBLISHED = {"home-world": {LSTM_DQN.name: "100 %", BOW_DQN.name: "about 46 %, inferred"}}
# The best that an agent reading bags of words can do with one command for each page, exactly
# (docs/worlds.md): share of quests, return.
BAG_REACHES = {"home-world": (0.979, 0.935), "comet-house": (0.49, 5.95)}
NEARLY_ALL = 0.99


def parser_blocks(results: ResultSet, games: Sequence[str]) -> list[Block]:
    """Return the tables and the figure of parser games; nothing without rows."""
    games = [game for game in games if results.jobs_of(game, PARSERS)]
    if not games:
        return []
    sentences: list[str] = []
    panels = []
    for game in games:
        sentences += [*on_par(results, game), *nearly_all(results, game)]
        jobs = results.jobs_of(game, PARSERS)
        lines = [(job.label, job.name, results.curve(game, job, column="return")) for job in jobs]
        panels.append({**_panel(results, game, lines, "return"), "measure": "mean return"})
    tables = [parser_table(results, game) for game in games]
    caption = (
        "Learning curves of the agents in each world: the return by softmax; bars are standard "
        "deviations."
    )
    figure = plot("parser", caption, "panels", {"panels": panels})
    return [PARSER_REMARK, *sentences, *tables, figure]


def parser_table(results: ResultSet, game: str) -> Table:
    """Compare random play, the agents, the bound for bags of words and the best possible play."""
    published = PUBLISHED.get(game, {})
    extra = ["published"] if published else []
    header = ["", "quests done", *extra, "return", "greedy, quests done", "greedy, return"]
    header += ["steps played", "minutes"]
    lines = [("random play", "", _exact_scores(results, game, "random"))]
    for job in results.jobs_of(game, PARSERS):
        lines.append((job.label, published.get(job.name, ""), _agent_scores(results, game, job)))
    if game in BAG_REACHES:
        share, reward = BAG_REACHES[game]
        bound = [percent(share), decimal(reward, 2)]
        lines.append(("most that a bag of words can reach", "", bound))
    lines.append(("best possible", "", _exact_scores(results, game, "best")))
    rows = []
    for name, share_published, (done, *rest) in lines:
        cells: Cells = [name, done, *([share_published] if published else []), *rest]
        rows.append(cells + [""] * (len(header) - len(cells)))
    notes = [PARSER_NOTE, PARSER_PUBLISHED_NOTE] if published else [PARSER_NOTE]
    return Table(f"Agents in {results.title(game)}", header, rows, notes)


def _agent_scores(results: ResultSet, game: str, job: Variant) -> list[str]:
    cells = []
    for policy in ("softmax", "greedy"):
        done = summary(quest_scores(results, game, job, "done", policy))
        cells.append(_percent_spread(done))
        cells.append(spread(summary(quest_scores(results, game, job, "return", policy)), 2))
    rows = [row for row in results.rows(game, job, ".quests") if row["final"]]
    return [*cells, _mean_steps(rows), minutes(results, game, job)]


def _mean_steps(rows: Sequence[Row]) -> str:
    """Format the steps that a seed played to learn: mean over seeds."""
    steps = [row["played"] for row in rows if row["played"] is not None]
    return f"{round(sum(steps) / len(steps)):,}" if steps else MISSING


def _exact_scores(results: ResultSet, game: str, player: str) -> list[str]:
    done = results.fact(game, f"{player}_done")
    return [percent(done), decimal(results.fact(game, f"{player}_return"), 2)]


def _percent_spread(value: Summary | None) -> str:
    if value is None:
        return MISSING
    return percent(value.mean) + ("" if value.sd is None else f" ({decimal(100 * value.sd)})")


def quest_scores(
    results: ResultSet, game: str, job: Variant, column: str, policy: str = "softmax"
) -> list[float]:
    """Return a column, `done` or `return`, of each seed after the last round, exact if known."""
    rows = results.final_rows(game, job, policy, ".quests")
    exact = [row[f"exact_{column}"] for row in rows if row[f"exact_{column}"] is not None]
    if exact:
        return exact
    if column == "done":
        return [row["done"] for row in rows]
    return results.scores(game, job, "return", policy=policy)


def on_par(results: ResultSet, game: str) -> list[str]:
    """Say whether DRRN with bags and BOW-DQN are on par, by softmax and by greedy play."""
    sentences = []
    for policy in ("softmax", "greedy"):
        drrn = summary(quest_scores(results, game, DRRN_BAG, "return", policy))
        dqn = summary(quest_scores(results, game, BOW_DQN, "return", policy))
        if drrn is not None and dqn is not None:
            scores = f"{DRRN_BAG.label} {spread(drrn, 2)}, BOW-DQN {spread(dqn, 2)}"
            verdict = _on_par_verdict(drrn, dqn)
            title = results.title(game)
            sentences.append(f"{title}, return by {policy} play: {scores}: {verdict}.")
    return sentences


def _on_par_verdict(drrn: Summary, dqn: Summary) -> str:
    if drrn.sd is None or dqn.sd is None:
        return "one seed, too few to decide whether they are on par"
    difference = abs(drrn.mean - dqn.mean)
    if difference <= min(drrn.sd, dqn.sd):
        return "each is within the other's standard deviation, so “on par” holds"
    if not drrn.differs(dqn):
        return (
            "they differ by more than one of the deviations, but by less than twice the joint "
            "deviation: nearly on par"
        )
    ahead = DRRN_BAG.label if drrn.mean > dqn.mean else BOW_DQN.label
    return f"they differ by {decimal(difference, 2)}, so “on par” does not hold: {ahead} is ahead"


def nearly_all(results: ResultSet, game: str) -> list[str]:
    """Say after how many steps the agents that read words in order complete nearly all quests."""
    sentences = []
    for job in (DRRN_LSTM, LSTM_DQN):
        done = summary(quest_scores(results, game, job, "done"))
        if done is None:
            continue
        steps = _steps_until(results.rows(game, job, ".quests"))
        when = "in no round"
        if steps:
            when = f"after {steps:,} steps per seed, as a mean over seeds"
        share = (
            f"{results.title(game)}: {job.label} completes {_percent_spread(done)} of its quests"
        )
        sentences.append(f"{share} at the end; it reaches 99 % {when}.")
    return sentences


def _steps_until(rows: list[Row]) -> int | None:
    """Return the mean steps of a seed when the mean over seeds first reaches nearly all quests."""
    rounds: dict[int, list[Row]] = {}
    for row in rows:
        if not row["final"]:
            rounds.setdefault(row["round"], []).append(row)
    for _, group in sorted(rounds.items()):
        steps: list[int] = [row["played"] for row in group if row["played"] is not None]
        if steps and sum(row["done"] for row in group) / len(group) >= NEARLY_ALL:
            return round(sum(steps) / len(steps))
    return None


# Games of suites

SUITE_REMARK = (
    "Published results: DRRN with a GRU scores 32.6 in Zork I (Hausknecht et al. 2020, "
    "arXiv:1909.05398), after far longer training and episodes. We found no published number for "
    "the other games with these limits and so few steps."
)
SUITE_NOTE = (
    "A return is the score minus the score at the start of the episode: up to 1 in "
    "TextWorldExpress and TextWorld, 100 in ScienceWorld, and the game's maximum in Jericho. "
    "Greedy play without memory can walk in circles; best does not: it is greedy on a page that is "
    "new in the episode and softmax on one that was visited before. Won: the share of episodes by "
    "best that are won. Steps: those that a seed played to learn. Minutes: of all seeds, "
    "evaluations included. Random play is sampled."
)
SUITE_POLICIES = ("softmax", "greedy", "best")


def suite_blocks(results: ResultSet, games: Sequence[str]) -> list[Block]:
    """Return the table of games of suites and their commands; nothing without rows."""
    games = [game for game in games if results.jobs_of(game, SUITE_JOBS)]
    if not games:
        return []
    commands = []
    for game in games:
        source = results.facts[game].get("source")
        command = f"`drrn reproduce --only suites --games '{source}'`"
        commands.append([results.title(game), command])
    table = Table("Commands that produce these rows", ["", "command"], commands)
    return [SUITE_REMARK, suite_table(results, games), table]


def suite_table(results: ResultSet, games: Sequence[str]) -> Table:
    """Compare random play and each agent, by each policy."""
    rows: list[Cells] = []
    for game in games:
        chance = decimal(results.fact(game, "random_return"), 2)
        won = percent(results.fact(game, "random_done"), 0)
        rows.append([results.title(game), "random play", chance, "", "", won, "", ""])
        for job in results.jobs_of(game, SUITE_JOBS):
            row: Cells = ["", job.label]
            for policy in SUITE_POLICIES:
                returns = quest_scores(results, game, job, "return", policy)
                row.append(spread(summary(returns), 2))
            done = summary(quest_scores(results, game, job, "done", "best"))
            row.append(percent(done.mean if done else None, 0))
            row.append(_mean_steps(results.final_rows(game, job, "softmax", ".quests")))
            rows.append([*row, minutes(results, game, job)])
    header = ["", "", *SUITE_POLICIES, "won", "steps", "minutes"]
    return Table("Returns in games of suites", header, rows, [SUITE_NOTE])
