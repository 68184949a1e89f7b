"""What the rows say about the paper's claims, in sentences; the headline of the README."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from drrn.document import Block, Paragraph, Table, markdown_block
from drrn.errors import InputError
from drrn.lab.experiments.plan import (
    BEST,
    FOUR_STEPS,
    GRID,
    LAYERED,
    LINEAR,
    PAPER,
    SIZES,
    STRONG_JOB,
    TABLE,
    Variant,
)
from drrn.lab.reports import paper
from drrn.lab.reports.beyond import strong_scores
from drrn.lab.reports.figures import Plot
from drrn.lab.reports.result_set import ResultSet, Summary, comma_list, decimal, spread, summary

LABELS = {
    "linear": "Linear",
    "per-action": "PA DQN",
    "max-action": "MA DQN",
    "drrn": "DRRN",
    "table": "Look-up table",
}
STRONG_COLUMNS = ("the strong agent", "… by `best`")


def label(variant: Variant) -> str:
    """Return a model's name as in the paper: DRRN (L = 2)."""
    options = []
    if variant.layers:
        options.append(f"L = {variant.layers}")
    if variant.interaction != "inner":
        options.append(variant.interaction)
    if variant.shared:
        options.append("shared embeddings")
    if variant.n_steps > 1:
        options.append(f"{variant.n_steps}-step targets")
    return LABELS[variant.model] + (f" ({', '.join(options)})" if options else "")


def best_baseline(results: ResultSet, game: str, *, paraphrased: bool = False) -> list[str]:
    """Say for which sizes DRRN is ahead of all baselines; nothing if rows are missing."""
    ahead = []
    behind = []
    for size in SIZES:
        variants = [Variant(model, 2, size) for model in LAYERED]
        if not paraphrased:
            variants = [LINEAR, *(Variant(m, n, size) for m in LAYERED for n in (1, 2))]
        scores = {v: results.final(game, v, paraphrased=paraphrased) for v in variants}
        means = {variant: score.mean for variant, score in scores.items() if score}
        if len(means) < len(variants):
            continue
        drrn = max((v for v in means if v.model == "drrn"), key=means.__getitem__)
        other = max((v for v in means if v.model != "drrn"), key=means.__getitem__)
        difference = decimal(abs(means[drrn] - means[other]))
        if means[drrn] > means[other]:
            ahead.append(f"{size} units (by {difference})")
        else:
            behind.append(f"{size} units ({label(other)} is, by {difference})")
    if not ahead and not behind:
        return []
    sentence = "DRRN is ahead nowhere"
    if ahead:
        sentence = f"DRRN is ahead of every baseline with {comma_list(ahead)}"
    return [f"{sentence}; not with {comma_list(behind)}." if behind else f"{sentence}."]


def depth_effect(results: ResultSet, game: str) -> list[str]:
    """Say how often two layers beat one, in our rows and in the paper's table."""
    variants = [Variant(model, n, size) for model in LAYERED for n in (1, 2) for size in SIZES]
    ours = {v.name: score.mean for v in variants if (score := results.final(game, v))}
    count, exceptions = _depth_pairs(ours)
    if not count:
        return []
    sentence = f"Two layers beat one in {count - len(exceptions)} of {count} comparisons"
    if exceptions:
        sentence += f"; not for {comma_list(exceptions)}"
    published = {name: mean for name, (mean, _) in paper.SCORES.get(game, {}).items()}
    count, exceptions = _depth_pairs(published)
    if count:
        sentence += f" (in the paper's table: {count - len(exceptions)} of {count})"
    return [f"{sentence}."]


def _depth_pairs(means: dict[str, float]) -> tuple[int, list[str]]:
    """Return the number of pairs, and those in which the deeper model is not ahead."""
    count = 0
    exceptions = []
    for model in LAYERED:
        for size in SIZES:
            one, two = (means.get(Variant(model, layers, size).name) for layers in (1, 2))
            if one is not None and two is not None:
                count += 1
                if two <= one:
                    exceptions.append(f"{LABELS[model]} at {size}")
    return count, exceptions


def control(results: ResultSet, game: str) -> list[str]:
    """Say so if the look-up table, which does not read texts, beats every model."""
    table = results.final(game, TABLE)
    means = {v: score.mean for v in GRID if (score := results.final(game, v))}
    if table is None or not means or table.mean <= max(means.values()):
        return []
    best = max(means, key=means.__getitem__)
    name = label(best) + (f" at {best.hidden}" if best.hidden else "")
    difference = decimal(table.mean - means[best])
    return [
        f"The control, a look-up table, is ahead of every model (of {name} by {difference}): if "
        "all texts are known in advance, no understanding is needed."
    ]


def headline(results: ResultSet, figures: str) -> str:
    """Return the headline as Markdown; `figures` is the path from the README to the figures."""
    table = headline_table(results)
    sides = "l" + "r" * (len(table.header) - 1)
    grid = markdown_block(replace(table, caption="", align=sides))
    images = [
        f'<img src="{figures}/curves-{game}.svg" width="49%" alt="Learning curves, {title}">'
        for game, title in PAPER.items()
        if results.curve(game, BEST)
    ]
    parts = [f"{table.caption}; every table and figure: `drrn reproduce`.", grid]
    if images:
        parts.append("\n".join(images))
    return "\n\n".join(parts)


def headline_table(results: ResultSet) -> Table:
    """Compare the scores on the paper's games, and on our games that the strong agent played."""
    ours = [game for game in results.games if game not in PAPER and strong_scores(results, game)]
    strong = bool(ours) or any(strong_scores(results, game) for game in PAPER)
    columns = ["DRRN, two layers of 100", "random play", "the paper", "ours"]
    columns += [*STRONG_COLUMNS * strong, "best possible"]
    rows = [row for game in (*PAPER, *ours) for row in _headline_rows(results, game, strong)]
    seeds = _seed_counts(results, strong)
    return Table(f"Mean final reward (standard deviation{seeds})", columns, rows)


def _seed_counts(results: ResultSet, strong: bool) -> str:
    records = [results.record(game, BEST) for game in PAPER]
    counts = {record["wanted"]["replicas"] for record in records if record}
    records = [results.record(game, STRONG_JOB) for game in results.games]
    strong_counts = {record["wanted"]["replicas"] for record in records if record}
    if len(counts) != 1:
        return ""
    text = f" over {counts.pop()} seeds"
    if strong and len(strong_counts) == 1:
        text += f", of the strong agent over {strong_counts.pop()}"
    return text


def _headline_rows(results: ResultSet, game: str, strong: bool) -> Iterator[list[str]]:
    chance = decimal(results.fact(game, "random_final_reward"))
    best = decimal(results.fact(game, "best_final_reward"))
    paraphrased = paper.PARAPHRASED.get(game, {}).get(BEST.name)
    wordings = [(results.title(game), paper.SCORES.get(game, {}).get(BEST.name), "")]
    if paraphrased or (game not in PAPER and strong_scores(results, game, wording="paraphrased")):
        wordings.append(("… its actions paraphrased", paraphrased, "paraphrased"))
    for name, published, wording in wordings:
        row = [name, chance, spread(Summary(*published)) if published else ""]
        row.append(spread(results.final(game, BEST, paraphrased=bool(wording))))
        for policy in ("softmax", "best") if strong else ():
            row.append(spread(summary(strong_scores(results, game, STRONG_JOB, policy, wording))))
        yield [*row, best]
    if game in PAPER and (score := results.final(game, FOUR_STEPS)):
        name = "… targets of four steps, not in the paper"
        yield [name, chance, "", spread(score), *["", ""] * strong, best]


def headline_blocks(results: ResultSet, curves: Sequence[Plot]) -> list[Block]:
    """Return the opening of the report: a sentence, the table and the learning curves.

    They are of the paper's games, or of all games if the paper's have no rows.
    """
    games = [game for game in PAPER if results.final(game, BEST)]
    games = games or [game for game in results.games if results.final(game, BEST)]
    if not games:
        return []
    scores = "; ".join(_headline_phrase(results, game) for game in games)
    sentence = Paragraph(f"DRRN, two layers of 100, final reward: {scores}.", "headline")
    names = {f"curves-{game}" for game in games}
    figures = [figure for figure in curves if figure.name in names]
    return [sentence, headline_table(results), *figures]


def _headline_phrase(results: ResultSet, game: str) -> str:
    score = results.final(game, BEST)
    published = paper.SCORES.get(game, {}).get(BEST.name)
    strong = summary(strong_scores(results, game))
    references = {
        "the paper": published[0] if published else None,
        "the strong agent": strong.mean if strong else None,
        "random play": results.fact(game, "random_final_reward"),
        "best possible": results.fact(game, "best_final_reward"),
    }
    texts = [f"{k}: {decimal(value)}" for k, value in references.items() if value is not None]
    phrase = f"**{decimal(score.mean if score else None)}** on {results.title(game)}"
    return f"{phrase} ({', '.join(texts)})" if texts else phrase


def with_headline(readme: Path, results: ResultSet, root: Path) -> tuple[str, str]:
    """Return the README's present text, and the text that it should have."""
    folder = Path(os.path.relpath(root / "figures", readme.parent)).as_posix()
    return with_block(readme, "headline", headline(results, folder))


def with_block(path: Path, name: str, block: str) -> tuple[str, str]:
    """Return a file's text, and the text with a block between its two markers.

    The markers are `<!-- name -->` and `<!-- /name -->`.
    """
    start = f"<!-- {name} -->"
    end = f"<!-- /{name} -->"
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    if text.count(start) != 1 or text.count(end) != 1 or text.index(start) > text.index(end):
        raise InputError(f"{path}: the file must have one {start} and, after it, one {end}")
    whole = f"{start}\n\n{block}\n\n{end}"
    return text, re.sub(f"{start}.*{end}", lambda _: whole, text, flags=re.S)
