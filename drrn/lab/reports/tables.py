"""The paper's tables, with our numbers and the paper's, and the tables on paraphrased actions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from drrn.document import MISSING, Cell, Table
from drrn.lab.experiments.plan import (
    BEST,
    INTERACTIONS,
    LARGEST,
    LAYERED,
    LINEAR,
    MADE_UP,
    PAIRED,
    PAPER,
    SIZES,
    TABLE,
    Example,
    Variant,
)
from drrn.lab.experiments.results import mark
from drrn.lab.reports import paper
from drrn.lab.reports.claims import LABELS, best_baseline, control, depth_effect, label
from drrn.lab.reports.result_set import ResultSet, Summary, decimal, percent, spread, summary

Cells = list[Cell | str]
MARK_NOTE = (
    "† differs from the paper's by more than twice the joint standard deviation, √(sd² + sd²)."
)
FIXED_POINT_NOTE = (
    "Fixed point of Q-learning: the softmax score if each pair of text and action has a separate "
    "Q, and each Q is the mean of its targets. A learner need not reach it: docs/training.md."
)
INTERACTION_NOTE = (
    "DRRN with two layers, 100 units for states. The paper: bilinear is like inner, the network is "
    "worse."
)
GAP_NOTE = (
    "Stuck: the share of episodes that the step limit stopped; each counts as a final reward of 0. "
    "Targets of four steps are not in the paper: they add up four rewards before the value of the "
    "next page."
)
PREDICTION_NOTE = (
    "pR² = 1 - Σ (Q - Q')² / Σ (Q - mean Q)² over all pairs, Q of the original action and Q' of "
    "its paraphrase, for each seed; r² is the squared correlation, which ignores a slope and a "
    "shift."
)
STATISTICS = {
    "kind": "Text game type",
    "state_vocabulary": "Words of states",
    "action_vocabulary": "Words of actions",
    "words_per_description": "Words in a description, on average",
    "most_actions": "Most actions at once",
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
    "four_steps_at_rest": "… with targets of four steps",
}


def statistics_table(results: ResultSet, games: Sequence[str]) -> Table:
    """Table 1: our statistics of each game, and the paper's."""
    header = [""]
    for game in games:
        header += [results.title(game)] + ["the paper"] * (game in PAPER)
    rows = []
    for name, text in STATISTICS.items():
        row: Cells = [text]
        for game in games:
            row.append(_fact(results, game, name))
            if game in PAPER:
                row.append(paper.STATISTICS[game].get(name, ""))
        rows.append(row)
    note = "Scores are exact expectations if the best possible score is known."
    return Table("Statistics of the games", header, rows, [note])


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


def score_table(results: ResultSet, game: str) -> Table:
    """Tables 2 and 3: final average reward for each model and size."""
    lines = [(LABELS["linear"], dict.fromkeys(SIZES, LINEAR))]
    for model in LAYERED:
        for layers in (1, 2):
            variants = {size: Variant(model, layers, size) for size in SIZES}
            lines.append((label(Variant(model, layers)), variants))
    caption = f"Final average reward on {results.title(game)}"
    table = _size_table(results, game, caption, lines, paper.SCORES.get(game, {}))
    notes = [*table.notes, *best_baseline(results, game), *depth_effect(results, game)]
    return replace(table, notes=notes)


def _size_table(
    results: ResultSet,
    game: str,
    caption: str,
    lines: Sequence[tuple[str, dict[int, Variant]]],
    published: dict[str, paper.Reported],
    *,
    paraphrased: bool = False,
) -> Table:
    """Return a table with a row per model and a column per size, with the paper's numbers."""
    scores = {
        (name, size): results.final(game, variant, paraphrased=paraphrased)
        for name, variants in lines
        for size, variant in variants.items()
    }
    best = {
        size: max((s.mean for (_, n), s in scores.items() if s and n == size), default=None)
        for size in SIZES
    }
    rows = []
    notes: list[str] = []
    for name, variants in lines:
        row: Cells = [name]
        for size, variant in variants.items():
            ours = scores[name, size]
            theirs = Summary(*published[variant.name]) if variant.name in published else None
            differs = ours is not None and theirs is not None and ours.differs(theirs)
            if differs:
                notes = [MARK_NOTE]
            is_best = ours is not None and ours.mean == best[size]
            row.append(Cell(spread(ours), is_best, "†" if differs else ""))
            if published:
                row.append(spread(theirs))
        rows.append(row)
    header = ["Hidden units"]
    for size in SIZES:
        header += [f"{size}, ours", f"{size}, paper"] if published else [str(size)]
    return Table(caption, header, rows, notes)


def reference_table(results: ResultSet, game: str) -> Table:
    """Reference scores: look-up table, random play, fixed point, best possible, people."""
    exact = "" if results.fact(game, "best_final_reward") is None else ", exact"
    facts = {
        f"Random play{exact}": "random_final_reward",
        "Fixed point of Q-learning, exact": "one_step_at_rest",
        "Softmax of the true Q-values, exact": "true_q_softmax",
        "Best possible, exact": "best_final_reward",
    }
    rows = [[f"{LABELS['table']}, a control", spread(results.final(game, TABLE)), ""]]
    rows += [[text, decimal(results.fact(game, name), 2), ""] for text, name in facts.items()]
    people = paper.PEOPLE.get(game, {})
    rows += [[f"People, {kind}", "", decimal(score)] for kind, score in people.items()]
    header = ["", "final reward", "the paper"]
    if not people:
        header = header[:2]
        rows = [row[:2] for row in rows]
    notes = [FIXED_POINT_NOTE, *control(results, game)]
    return Table(f"Reference scores, {results.title(game)}", header, rows, notes)


def interaction_table(results: ResultSet, game: str) -> Table:
    """Compare the interaction functions, on the game and on its paraphrased actions."""
    paraphrased = results.fact(game, "paraphrases") is not None
    header = ["Interaction", "action side", "final reward", "by greedy choice"]
    header += ["paraphrased"] * paraphrased
    best = _best_mean(results, game, INTERACTIONS)
    rows = []
    for variant in INTERACTIONS:
        score = results.final(game, variant)
        row: Cells = [variant.interaction, str(variant.action_hidden or 100)]
        row.append(Cell(spread(score), score is not None and score.mean == best))
        row.append(spread(results.final(game, variant, policy="greedy")))
        if paraphrased:
            row.append(spread(results.final(game, variant, paraphrased=True)))
        rows.append(row)
    caption = f"Interaction functions on {results.title(game)}"
    return Table(caption, header, rows, [INTERACTION_NOTE])


def _best_mean(results: ResultSet, game: str, variants: Sequence[Variant]) -> float | None:
    return max((s.mean for v in variants if (s := results.final(game, v))), default=None)


def gap_table(results: ResultSet, game: str) -> Table:
    """Compare each model with the best possible score; show how often it gets stuck."""
    best = results.fact(game, "best_final_reward")
    chance = results.fact(game, "random_final_reward")
    top = _best_mean(results, game, LARGEST)
    rows = []
    for variant in LARGEST:
        score = results.final(game, variant)
        gap = best - score.mean if score and best is not None else None
        whole = best - chance if best is not None and chance is not None else None
        progress = 1 - gap / whole if gap is not None and whole else None
        row: Cells = [label(variant)]
        row.append(Cell(spread(score), score is not None and score.mean == top))
        row += [decimal(gap), percent(progress, 0), _stuck(results, game, variant, "softmax")]
        row.append(spread(results.final(game, variant, policy="greedy")))
        rows.append([*row, _stuck(results, game, variant, "greedy")])
    header = ["100 hidden units", "final reward", "short of the best", "progress from random"]
    header += ["stuck", "greedy", "greedy, stuck"]
    caption = f"Distance from the best possible score, {results.title(game)}"
    return Table(caption, header, rows, [GAP_NOTE])


def _stuck(results: ResultSet, game: str, variant: Variant, policy: str) -> str:
    share = results.final(game, variant, "stopped", policy=policy)
    return percent(share.mean if share else None)


def paraphrase_table(results: ResultSet, game: str) -> Table:
    """Final average reward on the game with paraphrased actions."""
    lines = [
        (label(Variant(model, 2)), {size: Variant(model, 2, size) for size in SIZES})
        for model in ("per-action", "max-action", "drrn")
    ]
    published = paper.PARAPHRASED.get(game, {})
    caption = f"Final average reward on {results.title(game)}, its actions paraphrased"
    table = _size_table(results, game, caption, lines, published, paraphrased=True)
    before = results.final(game, TABLE)
    after = results.final(game, TABLE, paraphrased=True)
    empty = [""] * (len(table.header) - 2)
    notes = [*table.notes, *best_baseline(results, game, paraphrased=True)]
    if before is not None and after is not None:
        chance = results.fact(game, "random_final_reward") or 0
        fails = after.mean < (before.mean + chance) / 2
        verdict = "it fails, as expected" if fails else "it does not fail"
        notes.append(
            "The look-up table, which does not read texts, falls from "
            f"{spread(before)} to {spread(after)}: {verdict}."
        )
    rows = [*table.rows, [LABELS["table"], spread(after), *empty]]
    return replace(table, rows=rows, notes=notes)


def paraphrase_facts(results: ResultSet, games: Sequence[str]) -> Table:
    """Measure how much the paraphrases differ from the originals."""
    measures = {
        "paraphrases": ("Paraphrased actions", 0, 1.0),
        "paraphrased_pairs": ("Unique pairs of state and action", 0, 1.0),
        "oov_rate": ("Words that no action has, %", 1, 100.0),
        "bleu": ("BLEU-4", 3, 1.0),
    }
    header = [""]
    for game in games:
        header += [results.title(game)] + ["the paper"] * (game in paper.PARAPHRASES)
    rows = []
    for name, (text, digits, scale) in measures.items():
        row: Cells = [text]
        for game in games:
            ours = results.fact(game, name)
            row.append(decimal(None if ours is None else ours * scale, digits))
            if game in paper.PARAPHRASES:
                row.append(decimal(paper.PARAPHRASES[game][name] * scale, digits))
        rows.append(row)
    paraphrased = [game for game in games if results.fact(game, "paraphrases")]
    notes = []
    if any(results.fact(game, "bleu") is None for game in paraphrased):
        notes.append("BLEU-4 needs: pip install 'drrn[paper]'")
    return Table("The paraphrases", header, rows, notes)


def prediction_table(results: ResultSet, game: str) -> Table:
    """Predictive R² between Q-values of paraphrased and of original actions."""
    published = paper.PREDICTIVE_R2.get(game, {})
    rows: list[Cells] = []
    for variant in PAIRED:
        predictive, squared = results.predictive_r2(game, variant) or (None, None)
        theirs = [decimal(published.get(variant.name), 2)] if published else []
        rows.append([label(variant), spread(predictive, 2), *theirs, spread(squared, 2)])
    header = ["", "pR², ours", *["pR², paper"] * bool(published), "r²"]
    caption = f"Q-values of paraphrased and original actions, {results.title(game)}"
    return Table(caption, header, rows, [PREDICTION_NOTE])


def example_table(results: ResultSet, example: Example) -> Table:
    """Q-values of the actions of an example, mean (sd) over seeds."""
    values: dict[tuple[str, str], list[float]] = {}
    for row in results.rows(example.game, BEST, ".examples"):
        if row["state"] == example.state.mark:
            values.setdefault((row["kind"], row["action"]), []).append(row["q"])
    lines = []  # description, text, kind, mark of the action
    for kind, action in (("good", example.good), ("poor", example.poor)):
        lines.append((f"in the game, {kind}", action.gloss, kind, action.mark))
    for kind in ("good paraphrased", "poor paraphrased"):
        if marks := [action for other, action in values if other == kind]:
            quality = kind.partition(" ")[0]
            lines.append((f"paraphrased, {quality}", "the same in other words", kind, marks[0]))
    for kind in MADE_UP:
        for text in example.made_up[kind]:
            lines.append((f"made up, {kind}", text, kind, mark(text)))
    published = paper.EXAMPLES.get(example.state.mark, {})
    rows: list[Cells] = []
    for description, text, kind, action_mark in lines:
        cells: Cells = [description, text, spread(summary(values.get((kind, action_mark), [])))]
        if published:
            cells.append(decimal(published[kind]) if kind in published else "")
        rows.append(cells)
    header = ["", "Action", "Q", *["the paper"] * bool(published)]
    return Table(f"{results.title(example.game)}: {example.state.gloss}", header, rows)
