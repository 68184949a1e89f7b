"""Tables and figures of the paper's experiments: our numbers next to the paper's."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from lab.experiments import plan
from lab.experiments.plan import BEST, LAYERED, PAPER, SIZES, STRONG_JOB, Example, Variant
from lab.experiments.results import mark
from lab.reports.figures import plot
from lab.reports.result_set import (
    ResultSet,
    Summary,
    decimal,
    percent,
    published,
    published_score,
    spread,
    summary,
)
from textgames.document import MISSING, Block, Cell, Table

Cells = list[Cell | str]
Columns = Sequence[tuple[str, Callable[[Variant], Cell | str]]]
Points = Sequence[tuple[int, float, float]]  # episodes, mean, standard deviation

MODELS = {
    "linear": "Linear",
    "per-action": "PA DQN",
    "max-action": "MA DQN",
    "drrn": "DRRN",
    "table": "Look-up table",
}
FACTS = {
    "kind": "Text game type",
    "state_vocabulary": "Words of states",
    "action_vocabulary": "Words of actions",
    "words_per_description": "Words in a description, on average",
    "most_actions": "Most actions on a page",
    "transitions": "State transitions",
    "states": "States: page and variables",
    "states_that_differ": "… that play differently",
    "pages": "Distinct texts of states",
    "actions": "Distinct texts of actions",
    "endings": "Endings",
    "random_final_reward": "Random play, final reward",
    "best_final_reward": "Best possible, final reward",
    "true_q_softmax": "Softmax of the true Q-values",
    "one_step_at_rest": "Fixed point of Q-learning",
    "four_steps_at_rest": "… with four-step targets",
    "novice": "People, novice",
    "experienced": "People, experienced",
}
PARAPHRASES = {
    "paraphrases": "Paraphrased actions",
    "paraphrased_pairs": "Unique pairs of state and action",
    "oov_rate": "Words in no original action",
    "bleu": "BLEU-4",
}


def label(variant: Variant) -> str:
    """A model's name as in the paper: DRRN (L = 2)."""
    options = []
    if variant.layers:
        options.append(f"L = {variant.layers}")
    if variant.interaction != "inner":
        options.append(variant.interaction)
    if variant.shared:
        options.append("shared embeddings")
    if variant.n_steps > 1:
        options.append(f"{variant.n_steps}-step targets")
    return MODELS[variant.model] + (f" ({', '.join(options)})" if options else "")


def table_of_jobs(
    caption: str, first: str, jobs: Iterable[tuple[str, Variant]], columns: Columns
) -> Table:
    """A table with a row for each job, next to its name, and a function for each column."""
    rows = [[name, *(cell(job) for _, cell in columns)] for name, job in jobs]
    return Table(caption, [first, *(name for name, _ in columns)], rows)


def best_cell(score: Summary | None, best: float | None) -> Cell:
    """A mean with its deviation, in bold if it is the best."""
    return Cell(spread(score), bold=score is not None and score.mean == best)


def final_rewards(results: ResultSet, game: str, jobs: Iterable[Variant]) -> Columns:
    """The column of final rewards, the best one in bold."""
    best = max(results.means(game, jobs).values(), default=None)
    return [("final reward", lambda job: best_cell(results.final(game, job), best))]


# --- The headline and the games


def headline_table(results: ResultSet) -> Table:
    """Scores on the paper's games, and on our games that the strong agent played."""
    played = [game for game in results.games if results.scores(game, STRONG_JOB)]
    header = ["game", "random play", "the paper", "paper's settings, ours", "strong agent"]
    rows = []
    for game in [*PAPER, *(game for game in played if game not in PAPER)]:
        theirs = published_score(game, BEST)
        row = [results.title(game), results.fact_text(game, "random_final_reward")]
        row += [spread(theirs) if theirs else "", results.text(game, BEST)]
        row += [results.text(game, STRONG_JOB), results.fact_text(game, "best_final_reward")]
        rows.append(row)
    return Table("", [*header, "best possible"], rows, align="lrrrrr")


def statistics_table(results: ResultSet) -> list[Block]:
    """Table 1: our statistics of each game, and the paper's."""
    return _facts_table("Statistics of the games", results, results.stories, "statistics", FACTS)


def _facts_table(
    caption: str, results: ResultSet, games: Sequence[str], table: str, facts: dict[str, str]
) -> list[Block]:
    """A row for each fact, a column for each game, and one for the paper's numbers if any."""
    header = [""]
    columns = [list(facts.values())]
    for game in games:
        header.append(results.title(game))
        columns.append([_fact(results, game, name) for name in facts])
        if theirs := published(table, game):
            header.append("the paper")
            columns.append([theirs.get(name, "") for name in facts])
    return [Table(caption, header, list(zip(*columns, strict=True)))] if games else []


def _fact(results: ResultSet, game: str, name: str) -> str:
    value = results.facts.get(game, {}).get(name)
    if value is None:
        return "" if name in ("novice", "experienced") else MISSING
    if name == "oov_rate":
        return percent(float(value))
    try:
        digits = 3 if name == "bleu" else 2
        text = decimal(float(value), digits) if "." in value else f"{int(value):,}"
    except ValueError:
        return value
    is_bound = name == "states" and results.facts[game].get("states_are_all") == "no"
    return f"≥ {text}" if is_bound else text


# --- Scores


def scores_tables(results: ResultSet) -> list[Block]:
    """Tables 2 and 3: final average reward for each model and size."""
    lines = {MODELS["linear"]: dict.fromkeys(SIZES, plan.LINEAR)}
    for model in LAYERED:
        for layers in (1, 2):
            variants = {size: Variant(model, layers, size) for size in SIZES}
            lines[label(Variant(model, layers))] = variants
    caption = "Final average reward on"
    return [
        _size_table(results, game, f"{caption} {results.title(game)}", lines)
        for game in results.stories
    ]


def _size_table(
    results: ResultSet,
    game: str,
    caption: str,
    lines: dict[str, dict[int, Variant]],
    wording: str = "",
) -> Table:
    """A table with a row per model and a column per size, with the paper's numbers."""
    has_published = bool(published(wording or "scores", game))
    best = {}
    for size in SIZES:
        means = results.means(game, [variants[size] for variants in lines.values()], wording)
        best[size] = max(means.values(), default=None)
    rows = []
    for name, variants in lines.items():
        row: Cells = [name]
        for size, variant in variants.items():
            ours = results.final(game, variant, wording=wording)
            theirs = published_score(game, variant, wording)
            differs = ours is not None and theirs is not None and ours.differs(theirs)
            row.append(replace(best_cell(ours, best[size]), mark="†" if differs else ""))
            if has_published:
                row.append(spread(theirs))
        rows.append(row)
    header = ["Hidden units"]
    for size in SIZES:
        header += [f"{size}, ours", f"{size}, paper"] if has_published else [str(size)]
    return Table(caption, header, rows)


def curves_of(
    results: ResultSet,
    game: str,
    lines: Iterable[tuple[str, str, Points]],
    measure: str = "final_reward",
) -> dict[str, Any]:
    """The data of learning curves on a game, from lines of (label, style, points)."""
    data = []
    for name, style, points in lines:
        rounded = [[x, round(mean, 4), round(sd, 4)] for x, mean, sd in points]
        data += [{"label": name, "style": style, "points": rounded}] if rounded else []
    references = {each: results.fact(game, f"{each}_{measure}") for each in ("random", "best")}
    return {"title": results.title(game), "lines": data, **references, "rest": None}


def panels_of(name: str, caption: str, panels: Sequence[dict[str, Any]]) -> list[Block]:
    """A figure with a panel of learning curves for each game, if there are any."""
    caption += "; bars are standard deviations."
    return [plot(name, caption, "panels", {"panels": list(panels)})] if panels else []


def curves(results: ResultSet, name: str, models: str) -> list[Block]:
    """The learning curves of an experiment, a figure per game."""
    plots: list[Block] = []
    for game in results.stories:
        variants = plan.EXPERIMENTS[name]
        lines = [(label(v), v.name, results.curve(game, v)) for v in variants]
        data = curves_of(results, game, lines)
        data["rest"] = results.fact(game, "one_step_at_rest")
        caption = f"{results.title(game)}: {models}; bars are standard deviations."
        plots += [plot(f"{name}-{game}", caption, "curves", data)] if data["lines"] else []
    return plots


def interaction_tables(results: ResultSet) -> list[Block]:
    """The interaction functions, on each game and on its paraphrased actions."""
    return [_interaction_table(results, game) for game in results.stories]


def _interaction_table(results: ResultSet, game: str) -> Table:
    jobs = plan.INTERACTIONS
    columns: Columns = [
        ("action side", lambda job: str(job.action_hidden or 100)),
        *final_rewards(results, game, jobs),
        ("by greedy choice", lambda job: results.text(game, job, policy="greedy")),
        ("paraphrased", lambda job: results.text(game, job, wording="paraphrased")),
    ]
    if not results.has_paraphrases(game):
        columns = columns[:-1]
    caption = f"Interaction functions on {results.title(game)}"
    return table_of_jobs(caption, "Interaction", [(j.interaction, j) for j in jobs], columns)


def gap_tables(results: ResultSet) -> list[Block]:
    """The distance of each model from the best possible score, and how often it gets stuck."""
    return [_gap_table(results, game) for game in results.stories]


def _gap_table(results: ResultSet, game: str) -> Table:
    best = results.fact(game, "best_final_reward")
    chance = results.fact(game, "random_final_reward")

    def gap(job: Variant) -> float | None:
        score = results.final(game, job)
        return best - score.mean if score and best is not None else None

    def progress(job: Variant) -> str:
        distance = gap(job)
        if distance is None or best is None or chance in (None, best):
            return MISSING
        return percent(1 - distance / (best - chance), 0)

    def stuck(job: Variant, policy: str) -> str:
        share = results.final(game, job, "stopped", policy=policy)
        return percent(share.mean if share else None)

    columns: Columns = [
        *final_rewards(results, game, plan.LARGEST),
        ("short of the best", lambda job: decimal(gap(job))),
        ("progress from random", progress),
        ("stuck", lambda job: stuck(job, "softmax")),
        ("greedy", lambda job: results.text(game, job, policy="greedy")),
        ("greedy, stuck", lambda job: stuck(job, "greedy")),
    ]
    caption = f"Distance from the best possible score, {results.title(game)}"
    jobs = [(label(job), job) for job in plan.LARGEST]
    return table_of_jobs(caption, "100 hidden units", jobs, columns)


# --- Paraphrased actions


def paraphrases_blocks(results: ResultSet) -> list[Block]:
    games = [game for game in results.stories if results.has_paraphrases(game)]
    blocks = _facts_table("The paraphrases", results, games, "paraphrases", PARAPHRASES)
    for game in games:
        blocks += [_paraphrase_table(results, game), _prediction_table(results, game)]
        blocks += _scatter(results, game)
    return blocks


def _paraphrase_table(results: ResultSet, game: str) -> Table:
    """Final average reward on the game with paraphrased actions."""
    lines = {
        label(Variant(model, 2)): {size: Variant(model, 2, size) for size in SIZES}
        for model in LAYERED
    }
    caption = f"Final average reward on {results.title(game)}, its actions paraphrased"
    table = _size_table(results, game, caption, lines, "paraphrased")
    control = results.text(game, plan.TABLE, wording="paraphrased")
    empty = [""] * (len(table.header) - 2)
    return replace(table, rows=[*table.rows, [MODELS["table"], control, *empty]])


def _prediction_table(results: ResultSet, game: str) -> Table:
    """Predictive R² between Q-values of paraphrased and of original actions."""
    theirs = published("predictive_r2", game)
    rows: list[Cells] = []
    for variant in plan.PAIRED:
        predictive, squared = results.predictive_r2(game, variant)
        cells = [decimal(theirs.get(variant.name), 2)] if theirs else []
        rows.append([label(variant), spread(predictive, 2), *cells, spread(squared, 2)])
    header = ["", "pR², ours", *["pR², paper"] * bool(theirs), "r²"]
    caption = f"Q-values of paraphrased and original actions, {results.title(game)}"
    return Table(caption, header, rows)


def _scatter(results: ResultSet, game: str) -> list[Block]:
    """Plot Q-values of original and paraphrased actions, of one seed as in the paper."""
    seeds = results.pairs(game, BEST)
    if not seeds:
        return []
    title = results.title(game)
    caption = (
        f"{title}: Q of original and of paraphrased actions, DRRN (L = 2) of 100 units, "
        f"seed {results.wanted(game, BEST, 'seed')}, {len(seeds[0]):,} pairs."
    )
    data = {"title": title, "points": [list(pair) for pair in seeds[0]]}
    return [plot(f"paraphrases-{game}", caption, "scatter", data)]


# --- Examples


def examples_tables(results: ResultSet) -> list[Block]:
    """Q-values of the actions of each example, mean (sd) over seeds."""
    stories = results.stories
    return [_example_table(results, each) for each in plan.EXAMPLES if each.game in stories]


def _example_table(results: ResultSet, example: Example) -> Table:
    values: dict[tuple[str, str], list[float]] = {}
    for row in results.rows(example.game, BEST, ".examples"):
        if row["state"] == example.state["mark"]:
            values.setdefault((row["kind"], row["action"]), []).append(row["q"])
    lines = []  # description, text, kind, mark of the action
    for kind, action in (("good", example.good), ("poor", example.poor)):
        lines.append((f"in the game, {kind}", action["gloss"], kind, action["mark"]))
    same = "the same in other words"
    for kind, action_mark in values:
        if kind.endswith(" paraphrased"):
            lines.append((f"paraphrased, {kind.split()[0]}", same, kind, action_mark))
    for kind in plan.MADE_UP:
        lines += [(f"made up, {kind}", text, kind, mark(text)) for text in example.made_up[kind]]
    theirs = published("examples", example.state["mark"])
    rows: list[Cells] = []
    for description, text, kind, action_mark in lines:
        cells: Cells = [description, text, spread(summary(values.get((kind, action_mark), [])))]
        if theirs:
            cells.append(decimal(theirs[kind]) if kind in theirs else "")
        rows.append(cells)
    header = ["", "Action", "Q", *["the paper"] * bool(theirs)]
    return Table(f"{results.title(example.game)}: {example.state['gloss']}", header, rows)


def embeddings_figures(results: ResultSet) -> list[Block]:
    """Plot the embeddings of an example on their two principal axes, during training."""
    traced = [each for each in plan.EXAMPLES if each.embedding and each.game in results.stories]
    return [figure for example in traced for figure in _plane(results, example)]


def _plane(results: ResultSet, example: Example) -> list[Block]:
    rows = results.rows(example.game, BEST, ".embeddings")
    if not rows or rows[0]["state"] != example.state["mark"]:
        return []
    seed = rows[0]["seed"]
    looks: dict[int, dict[str, list[float | None]]] = {}
    for row in rows:
        if row["seed"] == seed:
            looks.setdefault(row["episodes"], {})[row["role"]] = [row["x"], row["y"], row["q"]]
    title = results.title(example.game)
    points = [{"episodes": episodes, **points} for episodes, points in sorted(looks.items())]
    state, good, poor = (getattr(example, name)["gloss"] for name in ("state", "good", "poor"))
    caption = (
        f"{title}, DRRN (L = 2) of 100 units, seed {seed}, on the two principal axes (the origin "
        f"is fixed). The state: {state} The good action: {good}. The poor one: {poor}."
    ).replace("..", ".")
    data = {"title": title, "looks": points}
    return [plot(f"embeddings-{example.game}", caption, "plane", data)]
