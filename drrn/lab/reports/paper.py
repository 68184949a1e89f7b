"""The report's sections on the paper's experiments: our numbers next to the paper's."""

from collections.abc import Sequence
from dataclasses import replace

from drrn.document import MISSING, Block, Cell, Table
from drrn.lab.experiments import plan
from drrn.lab.experiments.plan import BEST, LAYERED, PAPER, SIZES, TABLE, Example, Variant
from drrn.lab.experiments.results import mark
from drrn.lab.reports import result_set
from drrn.lab.reports.claims import best_baseline, control, depth_effect, label
from drrn.lab.reports.figures import Plot, curves_of, plot
from drrn.lab.reports.result_set import ResultSet, Summary, decimal, percent, spread, summary
from drrn.lab.reports.texts import FACTS, MODELS, PARAPHRASES, PROSE, REFERENCES, published

Cells = list[Cell | str]


def statistics_section(results: ResultSet) -> list[Block]:
    """Table 1: our statistics of each game, and the paper's."""
    games = results.stories
    rows = []
    for name, text in FACTS.items():
        row: Cells = [text]
        for game in games:
            row.append(_fact(results, game, name))
            if game in PAPER:
                row.append(published("statistics", game).get(name, ""))
        rows.append(row)
    header = _game_columns(results, games)
    table = Table("Statistics of the games", header, rows, [PROSE["statistics"]])
    return [table] if games else []


def _game_columns(results: ResultSet, games: Sequence[str], table: str = "statistics") -> list[str]:
    """Return a column per game, and one for the paper's numbers if it has some."""
    header = [""]
    for game in games:
        header += [results.title(game)] + ["the paper"] * bool(published(table, game))
    return header


def _fact(results: ResultSet, game: str, name: str) -> str:
    value = results.facts.get(game, {}).get(name)
    if value is None:
        return MISSING
    try:
        text = decimal(float(value), 2) if "." in value else f"{int(value):,}"
    except ValueError:
        return value
    is_bound = name == "states" and results.facts[game].get("states_are_all") == "no"
    return f"≥ {text}" if is_bound else text


# --- Scores


def scores_section(results: ResultSet) -> list[Block]:
    """Tables 2 and 3: final average reward for each model and size; reference scores."""
    blocks: list[Block] = []
    lines = {MODELS["linear"]: dict.fromkeys(SIZES, plan.LINEAR)}
    for model in LAYERED:
        for layers in (1, 2):
            variants = {size: Variant(model, layers, size) for size in SIZES}
            lines[label(Variant(model, layers))] = variants
    for game in results.stories:
        caption = f"Final average reward on {results.title(game)}"
        table = _size_table(results, game, caption, lines)
        notes = [*table.notes, *best_baseline(results, game), *depth_effect(results, game)]
        blocks += [replace(table, notes=notes), _reference_table(results, game)]
    return blocks


def _size_table(
    results: ResultSet,
    game: str,
    caption: str,
    lines: dict[str, dict[int, Variant]],
    wording: str = "",
) -> Table:
    """Return a table with a row per model and a column per size, with the paper's numbers."""
    has_published = bool(published(wording or "scores", game))
    best = {}
    for size in SIZES:
        means = results.means(game, [variants[size] for variants in lines.values()], wording)
        best[size] = max(means.values(), default=None)
    rows = []
    notes: list[str] = []
    for name, variants in lines.items():
        row: Cells = [name]
        for size, variant in variants.items():
            ours = results.final(game, variant, wording=wording)
            theirs = result_set.published_score(game, variant, wording)
            differs = ours is not None and theirs is not None and ours.differs(theirs)
            if differs:
                notes = [PROSE["mark"]]
            row.append(replace(best_cell(ours, best[size]), mark="†" if differs else ""))
            if has_published:
                row.append(spread(theirs))
        rows.append(row)
    header = ["Hidden units"]
    for size in SIZES:
        header += [f"{size}, ours", f"{size}, paper"] if has_published else [str(size)]
    return Table(caption, header, rows, notes)


def best_cell(score: Summary | None, best: float | None) -> Cell:
    """Return a mean with its deviation, in bold if it is the best."""
    return Cell(spread(score), bold=score is not None and score.mean == best)


def _reference_table(results: ResultSet, game: str) -> Table:
    """Reference scores: look-up table, random play, fixed point, best possible, people."""
    exact = results.fact(game, "best_final_reward") is not None
    rows = [[f"{MODELS['table']}, a control", results.text(game, TABLE), ""]]
    for name, text in REFERENCES.items():
        is_sampled = name == "random_final_reward" and not exact
        text += "" if is_sampled else ", exact"
        rows.append([text, results.fact_text(game, name, 2), ""])
    people = published("people", game)
    rows += [[f"People, {kind}", "", decimal(score)] for kind, score in people.items()]
    columns = 3 if people else 2
    header = ["", "final reward", "the paper"][:columns]
    notes = [PROSE["fixed_point"], *control(results, game)]
    caption = f"Reference scores, {results.title(game)}"
    return Table(caption, header, [row[:columns] for row in rows], notes)


def curves_section(results: ResultSet, name: str) -> list[Block]:
    """Plot the learning curves of an experiment, a figure per game."""
    plots: list[Block] = []
    for game in results.stories:
        variants = plan.EXPERIMENTS[name]
        lines = [(label(v), v.name, results.curve(game, v)) for v in variants]
        data = curves_of(results, game, lines)
        data["rest"] = results.fact(game, "one_step_at_rest")
        caption = PROSE[name].format(title=results.title(game))
        plots += [plot(f"{name}-{game}", caption, "curves", data)] if data["lines"] else []
    return plots


def interaction_table(results: ResultSet, game: str) -> Table:
    """Compare the interaction functions, on the game and on its paraphrased actions."""
    paraphrased = results.has_paraphrases(game)
    header = ["Interaction", "action side", "final reward", "by greedy choice"]
    header += ["paraphrased"] * paraphrased
    best = max(results.means(game, plan.INTERACTIONS).values(), default=None)
    rows = []
    for variant in plan.INTERACTIONS:
        row: Cells = [variant.interaction, str(variant.action_hidden or 100)]
        row.append(best_cell(results.final(game, variant), best))
        row.append(results.text(game, variant, policy="greedy"))
        if paraphrased:
            row.append(results.text(game, variant, wording="paraphrased"))
        rows.append(row)
    caption = f"Interaction functions on {results.title(game)}"
    return Table(caption, header, rows, [PROSE["interactions"]])


def gap_table(results: ResultSet, game: str) -> Table:
    """Compare each model with the best possible score; show how often it gets stuck."""
    best = results.fact(game, "best_final_reward")
    chance = results.fact(game, "random_final_reward")
    top = max(results.means(game, plan.LARGEST).values(), default=None)
    rows = []
    for variant in plan.LARGEST:
        score = results.final(game, variant)
        gap = best - score.mean if score and best is not None else None
        whole = best - chance if best is not None and chance is not None else None
        progress = 1 - gap / whole if gap is not None and whole else None
        row: Cells = [label(variant), best_cell(score, top), decimal(gap), percent(progress, 0)]
        row += [_stuck(results, game, variant), results.text(game, variant, policy="greedy")]
        rows.append([*row, _stuck(results, game, variant, "greedy")])
    header = ["100 hidden units", "final reward", "short of the best", "progress from random"]
    header += ["stuck", "greedy", "greedy, stuck"]
    caption = f"Distance from the best possible score, {results.title(game)}"
    return Table(caption, header, rows, [PROSE["gaps"]])


def _stuck(results: ResultSet, game: str, variant: Variant, policy: str = "softmax") -> str:
    share = results.final(game, variant, "stopped", policy=policy)
    return percent(share.mean if share else None)


# --- Paraphrased actions


def paraphrases_section(results: ResultSet) -> list[Block]:
    games = [game for game in results.stories if results.has_paraphrases(game)]
    blocks: list[Block] = [_paraphrase_facts(results, games)] if games else []
    for game in games:
        blocks += [_paraphrase_table(results, game), _prediction_table(results, game)]
        blocks += _scatter(results, game)
    return blocks


def _paraphrase_facts(results: ResultSet, games: Sequence[str]) -> Table:
    """Measure how much the paraphrases differ from the originals."""
    rows = []
    for name, (text, digits, scale) in PARAPHRASES.items():
        row: Cells = [text]
        for game in games:
            ours = results.fact(game, name)
            row.append(decimal(None if ours is None else ours * scale, digits))
            if theirs := published("paraphrases", game):
                row.append(decimal(theirs[name] * scale, digits))
        rows.append(row)
    notes = []
    if any(results.fact(game, "bleu") is None for game in games):
        notes.append("BLEU-4 needs: pip install 'drrn[paper]'")
    return Table("The paraphrases", _game_columns(results, games, "paraphrases"), rows, notes)


def _paraphrase_table(results: ResultSet, game: str) -> Table:
    """Final average reward on the game with paraphrased actions."""
    lines = {
        label(Variant(model, 2)): {size: Variant(model, 2, size) for size in SIZES}
        for model in LAYERED
    }
    caption = f"Final average reward on {results.title(game)}, its actions paraphrased"
    table = _size_table(results, game, caption, lines, "paraphrased")
    before = results.final(game, TABLE)
    after = results.final(game, TABLE, wording="paraphrased")
    notes = [*table.notes, *best_baseline(results, game, "paraphrased")]
    if before is not None and after is not None:
        chance = results.fact(game, "random_final_reward") or 0
        fails = after.mean < (before.mean + chance) / 2
        verdict = "it fails, as expected" if fails else "it does not fail"
        scores = {"before": spread(before), "after": spread(after)}
        notes.append(PROSE["table_fails"].format(verdict=verdict, **scores))
    empty = [""] * (len(table.header) - 2)
    rows = [*table.rows, [MODELS["table"], spread(after), *empty]]
    return replace(table, rows=rows, notes=notes)


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
    return Table(caption, header, rows, [PROSE["prediction"]])


def _scatter(results: ResultSet, game: str) -> list[Plot]:
    """Plot Q-values of original and paraphrased actions, of one seed as in the paper."""
    seeds = results.pairs(game, BEST)
    r2 = results.predictive_r2(game, BEST)[0]
    if not seeds or not r2:
        return []
    points = [list(pair) for pair in seeds[0]]
    title = results.title(game)
    seed = results.wanted(game, BEST, "seed")
    facts = {"title": title, "seed": seed, "r2": decimal(r2.mean, 2)}
    caption = PROSE["scatter"].format(pairs=len(points), **facts)
    return [plot(f"paraphrases-{game}", caption, "scatter", {"title": title, "points": points})]


# --- Examples


def examples_section(results: ResultSet) -> list[Block]:
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


def embeddings_section(results: ResultSet) -> list[Block]:
    """Plot the embeddings of an example on their two principal axes, during training."""
    traced = [each for each in plan.EXAMPLES if each.embedding and each.game in results.stories]
    return [figure for example in traced for figure in _plane(results, example)]


def _plane(results: ResultSet, example: Example) -> list[Plot]:
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
    glosses = {name: getattr(example, name)["gloss"] for name in ("state", "good", "poor")}
    caption = PROSE["plane"].format(title=title, seed=seed, **glosses).replace("..", ".")
    data = {"title": title, "looks": points}
    return [plot(f"embeddings-{example.game}", caption, "plane", data)]
