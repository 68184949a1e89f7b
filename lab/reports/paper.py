"""Tables and figures of the paper's experiments: our numbers next to the paper's."""

from collections.abc import Callable, Iterable, Sequence
from statistics import fmean
from typing import Any, NamedTuple

from lab.experiments import plan
from lab.experiments.measure import MADE_UP
from lab.experiments.plan import BEST, LAYERED, PAPER, SIZES, STRONG_JOB, Example, Variant
from lab.experiments.results import mark
from lab.reports.figures import plot
from lab.reports.result_set import (
    PUBLISHED,
    ResultSet,
    Summary,
    clearly_best,
    decimal,
    holm,
    interval,
    percent,
    published,
    published_score,
    spread,
    summary,
    welch,
)
from textgames.document import MISSING, Block, Cell, Table

Cells = list[Cell | str]
Columns = Sequence[tuple[str, Callable[[Variant], Cell | str]]]
Points = Sequence[tuple[float, float, float]]  # episodes, mean, standard deviation
Games = Sequence[str]

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


def final_rewards(results: ResultSet, game: str, jobs: Iterable[Variant]) -> Columns:
    """The columns of final rewards, of all episodes and of those that ended by themselves."""
    every = list(jobs)
    best = clearly_best([results.final(game, job) for job in every])

    def score(job: Variant) -> Cell:
        bold = best is not None and job == every[best]
        return Cell(interval(results.final(game, job)), bold=bold)

    finished = ("finished games", lambda job: interval(results.finished(game, job)))
    return [("final reward", score), finished]


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


def statistics_table(results: ResultSet, games: Games) -> list[Block]:
    """Table 1: our statistics of each game, and the paper's."""
    return _facts_table("Statistics of the games", results, games, "statistics", FACTS)


def _facts_table(
    caption: str, results: ResultSet, games: Games, table: str, facts: dict[str, str]
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


class Comparison(NamedTuple):
    """A cell of the paper's tables 2, 3 and 5: our score, theirs, and p of their difference."""

    ours: Summary | None
    theirs: Summary
    p: float | None  # of Welch's test, adjusted for the number of cells

    @property
    def differs(self) -> bool:
        return self.p is not None and self.p < 0.05


def comparisons(results: ResultSet) -> dict[tuple[str, Variant, str], Comparison]:
    """Every cell of the paper's tables, by game, variant and wording."""
    scores = {}
    for game in PAPER:
        for wording in ("", "paraphrased"):
            for variant in plan.GRID:
                theirs = published_score(game, variant, wording)
                if theirs:
                    ours = results.final(game, variant, wording=wording)
                    scores[game, variant, wording] = (ours, theirs)
    adjusted = holm([welch(*pair) for pair in scores.values()])
    pairs = zip(scores.items(), adjusted, strict=True)
    return {key: Comparison(*pair, p) for (key, pair), p in pairs}


def cells_table(results: ResultSet) -> list[Block]:
    """Every cell of tables 2, 3 and 5 with its interval and test."""
    rows: list[Cells] = []
    for (game, variant, wording), (ours, theirs, p) in comparisons(results).items():
        if ours is None:
            continue
        name = f"{results.title(game)}{', paraphrased' if wording else ''}"
        finished = results.finished(game, variant, wording=wording)
        row: Cells = [name, label(variant), str(variant.hidden or ""), interval(ours)]
        row += [str(ours.n), spread(theirs), decimal(ours.mean - theirs.mean)]
        row += [MISSING if p is None else f"{p:.3f}", interval(finished)]
        rows.append(row)
    header = ["Game", "Model", "units", "ours", "seeds", "the paper", "difference", "p"]
    return [Table("All cells", [*header, "ours, finished games"], rows)] if rows else []


def scores_tables(results: ResultSet, games: Games) -> list[Block]:
    """Tables 2 and 3: final average reward for each model and size."""
    lines = {MODELS["linear"]: dict.fromkeys(SIZES, plan.LINEAR)}
    for model in LAYERED:
        for layers in (1, 2):
            variants = {size: Variant(model, layers, size) for size in SIZES}
            lines[label(Variant(model, layers))] = variants
    caption = "Final average reward on"
    return [_size_table(results, game, f"{caption} {results.title(game)}", lines) for game in games]


def _size_table(
    results: ResultSet,
    game: str,
    caption: str,
    lines: dict[str, dict[int, Variant]],
    wording: str = "",
) -> Table:
    """A table with a row per model and a column per size, with the paper's numbers."""
    tests = comparisons(results) if published(wording or "scores", game) else {}
    header = ["Hidden units"]
    columns: list[Cells] = [[*lines]]
    for size in SIZES:
        variants = [line[size] for line in lines.values()]
        scores = [results.final(game, each, wording=wording) for each in variants]
        best = clearly_best(scores)
        ours: Cells = []
        for index, (variant, score) in enumerate(zip(variants, scores, strict=True)):
            test = tests.get((game, variant, wording))
            dagger = "†" * (test is not None and test.differs)
            ours.append(Cell(interval(score), bold=index == best, mark=dagger))
        header.append(f"{size}, ours" if tests else str(size))
        columns.append(ours)
        finished = [results.finished(game, each, wording=wording) for each in variants]
        pairs = zip(scores, finished, strict=True)
        if any(a and b and abs(a.mean - b.mean) >= 0.05 for a, b in pairs):
            header.append("… finished")
            columns.append([decimal(score.mean if score else None) for score in finished])
        if tests:
            header.append(f"{size}, paper")
            theirs = [tests.get((game, each, wording)) for each in variants]
            columns.append([spread(test.theirs) if test else "" for test in theirs])
    return Table(caption, header, list(zip(*columns, strict=True)))


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


def curves(results: ResultSet, games: Games, name: str, models: str) -> list[Block]:
    """The learning curves of an experiment, a figure per game."""
    plots: list[Block] = []
    for game in games:
        variants = plan.EXPERIMENTS[name]
        lines = [(label(v), v.name, results.curve(game, v)) for v in variants]
        data = curves_of(results, game, lines)
        data["rest"] = results.fact(game, "one_step_at_rest")
        caption = f"{results.title(game)}: {models}; bars are standard deviations."
        plots += [plot(f"{name}-{game}", caption, "curves", data)] if data["lines"] else []
    return plots


def interaction_tables(results: ResultSet, games: Games) -> list[Block]:
    """The interaction functions, on each game and on its paraphrased actions."""
    return [_interaction_table(results, game) for game in games]


def _interaction_table(results: ResultSet, game: str) -> Table:
    jobs = plan.INTERACTIONS
    columns: Columns = [
        ("action side", lambda job: str(job.action_hidden or 100)),
        *final_rewards(results, game, jobs),
        ("by greedy choice", lambda job: interval(results.final(game, job, policy="greedy"))),
        ("paraphrased", lambda job: interval(results.final(game, job, wording="paraphrased"))),
    ]
    if not results.has_paraphrases(game):
        columns = columns[:-1]
    caption = f"Interaction functions on {results.title(game)}"
    return table_of_jobs(caption, "Interaction", [(j.interaction, j) for j in jobs], columns)


def gap_tables(results: ResultSet, games: Games) -> list[Block]:
    """The distance of each model from the best possible score, and how often it gets stuck."""
    return [_gap_table(results, game) for game in games]


def _gap_table(results: ResultSet, game: str) -> Table:
    best = results.fact(game, "best_final_reward")

    def gap(job: Variant) -> str:
        score = results.final(game, job)
        return decimal(best - score.mean if score and best is not None else None)

    def stuck(job: Variant, policy: str) -> str:
        share = results.final(game, job, "stopped", policy=policy)
        return percent(share.mean if share else None)

    columns: Columns = [
        *final_rewards(results, game, plan.LARGEST),
        ("short of the best", gap),
        ("stuck", lambda job: stuck(job, "softmax")),
        ("greedy", lambda job: interval(results.final(game, job, policy="greedy"))),
        ("greedy, stuck", lambda job: stuck(job, "greedy")),
    ]
    caption = f"Distance from the best possible score, {results.title(game)}"
    jobs = [(label(job), job) for job in plan.LARGEST]
    return table_of_jobs(caption, "100 hidden units", jobs, columns)


# --- What the paper leaves open


def updates_blocks(results: ResultSet, games: Games) -> list[Block]:
    """Final score against the number of updates, and the number of epochs that is chosen."""
    blocks: list[Block] = []
    panels = []
    for game in games:
        numbers = plan.PLAN["updates"].get(game, ())
        jobs = {(job.changes["epochs"], label(job)): job for job in plan.UPDATES}
        lines, levels = [], []
        rows: list[Cells] = []
        for model in plan.COMPARED:
            theirs = published_score(game, model)
            points = []
            scores = [results.final(game, jobs[each, label(model)]) for each in numbers]
            for epochs, score in zip(numbers, scores, strict=True):
                played = results.interactions(game, jobs[epochs, label(model)])
                if score and played:
                    points.append((epochs * played / 1_000, score.mean, score.sd or 0.0))
            lines.append((label(model), model.name, points))
            levels.append([theirs.mean if theirs else None, model.name])
            rows.append([label(model), *map(interval, scores), spread(theirs)])
        distances = epoch_distances(results, game)
        if not distances:
            continue
        best = min(distances, key=lambda epochs: distances[epochs])
        last = [Cell(decimal(distances.get(n), 2), bold=n == best) for n in numbers]
        rows.append(["mean distance from the paper", *last, ""])
        header = ["100 hidden units", *(f"{n} epoch{'s' * (n > 1)}" for n in numbers), "the paper"]
        blocks.append(Table(f"Epochs, {results.title(game)}", header, rows))
        data = curves_of(results, game, lines)
        data |= {"levels": levels, "progress": "thousand updates of one transition"}
        panels.append(data)
    caption = "Final reward against the number of updates; thin lines are the paper's values"
    return [*blocks, *panels_of("updates", caption, panels)]


def epoch_distances(results: ResultSet, game: str) -> dict[int, float]:
    """The mean distance of the seven models of 100 units from the paper's scores, by epochs."""
    distances: dict[int, list[float]] = {}
    for job in plan.UPDATES:
        model = next(each for each in plan.COMPARED if job.name.endswith(f"-{each.name}"))
        score, theirs = results.final(game, job), published_score(game, model)
        if score and theirs:
            distances.setdefault(job.changes["epochs"], []).append(abs(score.mean - theirs.mean))
    return {n: fmean(each) for n, each in distances.items() if len(each) == len(plan.COMPARED)}


def choices_table(results: ResultSet, games: Games) -> list[Block]:
    """Each choice that the paper leaves open: ours, why, and the scores of another one."""
    header = ["Choice", "ours", "why", "instead"]
    header += [results.title(game) for game in games]
    first = [
        "DRRN (L = 2), 100 units",
        "",
        "",
        "",
        *(interval(results.final(g, BEST)) for g in games),
    ]
    rows: list[Cells] = [[*first]]
    for choice in PUBLISHED["choice"]:
        jobs = [job for job in plan.CHOICES if job.name in choice["jobs"]]
        cells: Cells = [choice["name"], choice["ours"], choice["why"]]
        for job in jobs:
            scores: Cells = []
            for game in games:
                score = results.final(game, job)
                p = welch(score, results.final(game, BEST))
                scores.append(Cell(interval(score), mark="†" * (p is not None and p < 0.05)))
            rows.append([*cells, job.label, *scores])
            cells = ["", "", ""]
        if not jobs:
            rows.append([*cells, choice["instead"], *[""] * len(games)])
    return [Table("", header, rows, align="llll" + "r" * len(games))]


# --- Paraphrased actions


def paraphrases_blocks(results: ResultSet, games: Games) -> list[Block]:
    games = [game for game in games if results.has_paraphrases(game)]
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
    control = interval(results.final(game, plan.TABLE, wording="paraphrased"))
    caption = f"Final average reward on {results.title(game)}, its actions paraphrased"
    table = _size_table(results, game, caption, lines, "paraphrased")
    empty = [""] * (len(table.header) - 2)
    return Table(caption, table.header, [*table.rows, [MODELS["table"], control, *empty]])


def _prediction_table(results: ResultSet, game: str) -> Table:
    """Predictive R² between Q-values of paraphrased and of original actions."""
    theirs = published("predictive_r2", game)
    rows: list[Cells] = []
    for variant in plan.PAIRED:
        predictive, squared = results.predictive_r2(game, variant)
        cells = [decimal(theirs.get(variant.name), 2)] if theirs else []
        rows.append([label(variant), interval(predictive, 2), *cells, interval(squared, 2)])
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


def examples_tables(results: ResultSet, games: Games) -> list[Block]:
    """Q-values of the actions of each example."""
    return [_example_table(results, each) for each in plan.EXAMPLES if each.game in games]


def example_values(results: ResultSet, example: Example, job: Variant = BEST) -> dict[Any, Any]:
    """The Q-values of an example's actions, for each seed, by kind and mark."""
    values: dict[tuple[str, str], list[float]] = {}
    for row in results.rows(example.game, job, ".examples"):
        if row["state"] == example.state["mark"]:
            values.setdefault((row["kind"], row["action"]), []).append(row["q"])
    return values


def _example_table(results: ResultSet, example: Example) -> Table:
    ours, kept = (example_values(results, example, job) for job in (BEST, plan.MEMORY))
    rows: list[Cells] = []

    def add(kind: str, text: str, theirs: float | None, action: str | None = None) -> None:
        keys = [key for key in {**ours, **kept} if key[0] == kind and action in (None, key[1])]
        cells = [interval(summary(q.get(key, []))) for q in (ours, kept) for key in keys[:1]]
        cells = cells or [MISSING, MISSING]
        rows.append([kind, text, *cells[: 2 if is_paper else 1], *[decimal(theirs)] * is_paper])

    is_paper = example.game in PAPER
    for action in example.actions:
        add(action["role"], action["gloss"], action.get("paper"), action["mark"])
    kinds = dict.fromkeys([*(kind for kind, _ in ours), *example.printed])
    for kind in kinds:
        if kind.endswith(" paraphrased"):
            add(kind, "the same in other words", example.printed.get(kind))
    for kind in MADE_UP:
        for text in example.made_up.get(kind, ()):
            add(kind, text, None, mark(text))
    for kind, theirs in example.printed.items():
        if not kind.endswith(" paraphrased"):
            add(kind, "made up by the paper's authors", theirs)
    header = ["", "Action", "Q"]
    header += ["Q, kept memory", "the paper"] if is_paper else []
    return Table(f"{results.title(example.game)}: {example.state['gloss']}", header, rows)


def embeddings_figures(results: ResultSet, games: Games) -> list[Block]:
    """Plot the embeddings of an example on their two principal axes, during training."""
    traced = [each for each in plan.EXAMPLES if each.embedding and each.game in games]
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
    good, poor = (example.role(role)["gloss"] for role in ("good", "poor"))
    caption = (
        f"{title}, DRRN (L = 2) of 100 units, seed {seed}, on the two principal axes (the origin "
        f"is fixed). The state: {example.state['gloss']} The good action: {good}. The poor one: "
        f"{poor}."
    ).replace("..", ".")
    data = {"title": title, "looks": points}
    return [plot(f"embeddings-{example.game}", caption, "plane", data)]
