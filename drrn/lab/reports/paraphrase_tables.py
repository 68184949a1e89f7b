"""Tables on paraphrased actions: rewards, distances from the originals, Q-values of pairs and of examples."""

from __future__ import annotations

from collections.abc import Sequence

from drrn.document import MISSING, Cell, Table
from drrn.lab.experiments.examples import MADE_UP, Example, examples_of
from drrn.lab.experiments.plan import BEST, PAIRED, SIZES, TABLE, Variant
from drrn.lab.experiments.results import mark
from drrn.lab.reports import paper
from drrn.lab.reports.claims import LABELS, ahead, label
from drrn.lab.reports.result_set import ResultSet, decimal, measured, spread
from drrn.lab.reports.tables import size_table


def paraphrase_table(results: ResultSet, game: str) -> Table:
    """The rewards on the paraphrased game."""
    lines = [
        (label(Variant(model, 2)), {size: Variant(model, 2, size) for size in SIZES})
        for model in ("per-action", "max-action", "drrn")
    ]
    reported = paper.PARAPHRASED.get(game, {})
    caption = f"Final average reward on {results.title(game)}, its actions paraphrased"
    table = size_table(results, game, caption, lines, reported, paraphrased=True)
    control = results.final(game, TABLE, paraphrased=True)
    last: list[Cell | str] = [LABELS["table"], spread(control), *[""] * (len(table.header) - 2)]
    notes = [*table.notes, *ahead(results, game, paraphrased=True), *_control(results, game)]
    return Table(caption, table.header, [*table.rows, last], notes)


def paraphrase_facts(results: ResultSet, games: Sequence[str]) -> Table:
    """How far the paraphrases stand from the originals."""
    names = {
        "paraphrases": ("Paraphrased actions", 0, 1.0),
        "paraphrased_pairs": ("Unique pairs of state and action", 0, 1.0),
        "oov_rate": ("Words that no action has, %", 1, 100.0),
        "bleu": ("BLEU-4", 3, 1.0),
    }
    header = [""]
    for game in games:
        header += [results.title(game)] + ["the paper"] * (game in paper.PARAPHRASES)
    rows = []
    for name, (words, digits, scale) in names.items():
        row: list[Cell | str] = [words]
        for game in games:
            ours = results.fact(game, name)
            row.append(decimal(None if ours is None else ours * scale, digits))
            if game in paper.PARAPHRASES:
                row.append(decimal(paper.PARAPHRASES[game][name] * scale, digits))
        rows.append(row)
    lacking = any(
        results.fact(game, "paraphrases") and results.fact(game, "bleu") is None for game in games
    )
    return Table(
        "The paraphrases", header, rows, ["BLEU-4 needs: pip install 'drrn[paper]'"] * lacking
    )


def prediction_table(results: ResultSet, game: str) -> Table:
    """Predictive R² between Q-values of paraphrased and of original actions."""
    reported = paper.PREDICTIVE_R2.get(game, {})
    rows: list[list[Cell | str]] = []
    for variant in PAIRED:
        found = results.predictive_r2(game, variant)
        theirs = [decimal(reported.get(variant.name), 2)] if reported else []
        ours = [spread(one, 2) for one in found] if found else [MISSING, MISSING]
        rows.append([label(variant), ours[0], *theirs, ours[1]])
    header = ["", "pR², ours", *["pR², paper"] * bool(reported), "r²"]
    note = (
        "pR² = 1 - Σ (Q - Q')² / Σ (Q - mean Q)² over all pairs, Q of the original action and Q' of its paraphrase, "
        "for each seed; r² is the squared correlation, which forgives a slope and a shift."
    )
    return Table(
        f"Q-values of paraphrased and original actions, {results.title(game)}", header, rows, [note]
    )


def _control(results: ResultSet, game: str) -> list[str]:
    """What becomes of the look-up table, which has never met a paraphrase."""
    before = results.final(game, TABLE)
    after = results.final(game, TABLE, paraphrased=True)
    if before is None or after is None:
        return []
    fails = (
        "it fails, as it must"
        if after.mean < (before.mean + (results.fact(game, "random_final_reward") or 0)) / 2
        else "it does not fail"
    )
    return [
        f"The look-up table, which understands nothing, falls from {spread(before)} to {spread(after)}: {fails}."
    ]


def example_tables(results: ResultSet, game: str) -> list[Table]:
    """Q-values of the examples, mean (sd) over seeds."""
    return [_example_table(results, example) for example in examples_of(game)]


def _example_table(results: ResultSet, example: Example) -> Table:
    values: dict[tuple[str, str], list[float]] = {}
    for row in results.rows(example.game, BEST, ".examples"):
        if row["state"] == example.state.mark:
            values.setdefault((row["kind"], row["action"]), []).append(row["q"])

    reported = paper.EXAMPLES.get(example.state.mark, {})

    def line(what: str, words: str, kind: str, action: str) -> list[Cell | str]:
        q = spread(measured(values.get((kind, action), [])))
        return [
            what,
            words,
            q,
            *[decimal(reported.get(kind)) if kind in reported else ""] * bool(reported),
        ]

    own = (("good", example.good), ("poor", example.poor))
    lines = [line(f"in the game, {kind}", text.gloss, kind, text.mark) for kind, text in own]
    for kind, _ in own:
        said = next((action for k, action in values if k == f"{kind} paraphrased"), None)
        if said:
            lines.append(
                line(f"paraphrased, {kind}", "the same in other words", f"{kind} paraphrased", said)
            )
    for kind in MADE_UP:
        lines += [
            line(f"made up, {kind}", action, kind, mark(action)) for action in example.made_up[kind]
        ]
    header = ["", "Action", "Q", *["the paper"] * bool(reported)]
    return Table(f"{results.title(example.game)}: {example.state.gloss}", header, lines)
