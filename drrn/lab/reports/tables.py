"""The paper's tables, our numbers beside the paper's."""

from __future__ import annotations

from collections.abc import Sequence

from drrn.document import MISSING, Cell, Table
from drrn.lab.experiments.plan import (
    INTERACTIONS,
    LARGEST,
    LAYERED,
    LINEAR,
    PAPER,
    SIZES,
    TABLE,
    Variant,
)
from drrn.lab.reports import paper
from drrn.lab.reports.claims import FIXED_POINT, LABELS, ahead, control, deeper, label, off
from drrn.lab.reports.result_set import Measured, ResultSet, decimal, spread

MARKED = "† differs from the paper's by more than twice the joint standard deviation, √(sd² + sd²)."

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
    """Table 1: ours for each game, and the paper's where it has one."""
    header = [""]
    for game in games:
        header += [results.title(game)] + ["the paper"] * (game in PAPER)
    rows = []
    for name, words in STATISTICS.items():
        row: list[Cell | str] = [words]
        for game in games:
            row.append(_fact(results, game, name))
            if game in PAPER:
                row.append(paper.STATISTICS[game].get(name, ""))
        rows.append(row)
    return Table(
        "Statistics of the games",
        header,
        rows,
        ["Scores are exact expectations where the best possible is known."],
    )


def score_table(results: ResultSet, game: str) -> Table:
    """Tables 2 and 3: final average reward, for each model and size."""
    lines = [(LABELS["linear"], dict.fromkeys(SIZES, LINEAR))] + [
        (label(Variant(model, layers)), {size: Variant(model, layers, size) for size in SIZES})
        for model in LAYERED
        for layers in (1, 2)
    ]
    caption = f"Final average reward on {results.title(game)}"
    table = size_table(results, game, caption, lines, paper.SCORES.get(game, {}))
    return Table(
        table.caption,
        table.header,
        table.rows,
        [*table.notes, *ahead(results, game), *deeper(results, game)],
    )


def size_table(
    results: ResultSet,
    game: str,
    caption: str,
    lines: Sequence[tuple[str, dict[int, Variant]]],
    reported: dict[str, paper.Reported],
    *,
    paraphrased: bool = False,
) -> Table:
    """A line for each model, a column for each size; the paper's column beside ours, where it has numbers."""
    best = {
        size: max(
            (
                m.mean
                for _, sizes in lines
                if (m := results.final(game, sizes[size], paraphrased=paraphrased))
            ),
            default=None,
        )
        for size in SIZES
    }
    rows = []
    marked = False
    for name, sizes in lines:
        row: list[Cell | str] = [name]
        for size, variant in sizes.items():
            ours = results.final(game, variant, paraphrased=paraphrased)
            theirs = reported.get(variant.name)
            differs = off(ours, theirs)
            marked |= differs
            row.append(
                Cell(spread(ours), ours is not None and ours.mean == best[size], "†" * differs)
            )
            if reported:
                row.append(spread(Measured(*theirs)) if theirs else MISSING)
        rows.append(row)
    header = ["Hidden units"]
    for size in SIZES:
        header += [f"{size}, ours", f"{size}, paper"] if reported else [str(size)]
    return Table(caption, header, rows, [MARKED] * marked)


def reference_table(results: ResultSet, game: str) -> Table:
    """Reference scores: the look-up table, random play, the fixed point of Q-learning, the best possible, people."""
    exact = "" if results.fact(game, "best_final_reward") is None else ", exact"
    rows: list[list[Cell | str]] = [
        [f"{LABELS['table']}, a control", spread(results.final(game, TABLE)), ""],
        [f"Random play{exact}", decimal(results.fact(game, "random_final_reward"), 2), ""],
        [
            "Fixed point of Q-learning, exact",
            decimal(results.fact(game, "one_step_at_rest"), 2),
            "",
        ],
        [
            "Softmax of the true Q-values, exact",
            decimal(results.fact(game, "true_q_softmax"), 2),
            "",
        ],
        ["Best possible, exact", decimal(results.fact(game, "best_final_reward"), 2), ""],
    ]
    rows += [
        [f"People, {kind}", "", decimal(score)]
        for kind, score in paper.PEOPLE.get(game, {}).items()
    ]
    header = ["", "final reward", "the paper"]
    if game not in paper.PEOPLE:
        header = header[:2]
        rows = [row[:2] for row in rows]
    notes = [FIXED_POINT, *control(results, game)]
    return Table(f"Reference scores, {results.title(game)}", header, rows, notes)


def interaction_table(results: ResultSet, game: str) -> Table:
    """The interaction functions compared, on the game and on its paraphrased actions."""
    paraphrased = results.fact(game, "paraphrases") is not None
    header = [
        "Interaction",
        "action side",
        "final reward",
        "by greedy choice",
        *["paraphrased"] * paraphrased,
    ]
    means = [m.mean for v in INTERACTIONS if (m := results.final(game, v))]
    rows = []
    for variant in INTERACTIONS:
        ours = results.final(game, variant)
        row: list[Cell | str] = [variant.interaction, str(variant.action_hidden or 100)]
        row.append(Cell(spread(ours), ours is not None and ours.mean == max(means)))
        row.append(spread(results.final(game, variant, policy="greedy")))
        if paraphrased:
            row.append(spread(results.final(game, variant, paraphrased=True)))
        rows.append(row)
    note = "DRRN of two layers, 100 units on the side of the states. The paper: bilinear like inner, the network worse."
    return Table(f"Interaction functions on {results.title(game)}", header, rows, [note])


def gap_table(results: ResultSet, game: str) -> Table:
    """How far each model is from the best possible, and how often it gets stuck."""
    best = results.fact(game, "best_final_reward")
    chance = results.fact(game, "random_final_reward")
    top = max((m.mean for v in LARGEST if (m := results.final(game, v))), default=None)
    rows: list[list[Cell | str]] = []
    for variant in LARGEST:
        row: list[Cell | str] = [label(variant)]
        soft = results.final(game, variant)
        greedy = results.final(game, variant, policy="greedy")
        row.append(Cell(spread(soft), soft is not None and soft.mean == top))
        short = best - soft.mean if soft and best is not None else None
        whole = best - chance if best is not None and chance is not None else None
        row += [
            decimal(short),
            _percent(1 - short / whole if short is not None and whole else None, 0),
        ]
        row.append(_percent(_mean(results.final(game, variant, "stopped"))))
        row += [
            spread(greedy),
            _percent(_mean(results.final(game, variant, "stopped", policy="greedy"))),
        ]
        rows.append(row)
    header = [
        "100 hidden units",
        "final reward",
        "short of the best",
        "of the way from random",
        "stuck",
    ]
    header += ["greedy", "greedy, stuck"]
    note = "Stuck: the share of episodes that the step limit stopped; each counts as a final reward of 0."
    note += " Targets of four steps are not the paper's: four rewards are added up before the next page's value counts."
    return Table(f"How far from the best possible, {results.title(game)}", header, rows, [note])


def _fact(results: ResultSet, game: str, name: str) -> str:
    value = results.facts.get(game, {}).get(name)
    if value is None:
        return MISSING
    try:
        text = decimal(float(value), 2) if "." in value else f"{int(value):,}"
    except ValueError:
        return value
    return (
        f"≥ {text}"
        if name == "states" and results.facts[game].get("states_are_all") == "no"
        else text
    )


def _mean(value: Measured | None) -> float | None:
    return value.mean if value else None


def _percent(share: float | None, digits: int = 1) -> str:
    return MISSING if share is None else f"{decimal(100 * share, digits)} %"
