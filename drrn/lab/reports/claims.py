"""What the rows say about the paper's claims, in sentences; the headline of the README."""

import itertools
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from drrn.document import Block, Table, markdown_block
from drrn.errors import InputError
from drrn.files import read_text
from drrn.lab.experiments import plan
from drrn.lab.experiments.plan import BEST, LAYERED, PAPER, SIZES, STRONG_JOB, Variant
from drrn.lab.reports.figures import Plot
from drrn.lab.reports.result_set import ResultSet, comma_list, decimal, published_score, spread
from drrn.lab.reports.texts import MODELS, PROSE, published


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
    return MODELS[variant.model] + (f" ({', '.join(options)})" if options else "")


def best_baseline(results: ResultSet, game: str, wording: str = "") -> list[str]:
    """Say for which sizes DRRN is ahead of all baselines; nothing if rows are missing."""
    ahead = []
    behind = []
    for size in SIZES:
        variants = [Variant(model, 2, size) for model in LAYERED]
        if not wording:
            variants += [plan.LINEAR, *(Variant(model, 1, size) for model in LAYERED)]
        means = results.means(game, variants, wording)
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
    means = results.means(game, plan.LAYERED_GRID)
    count, exceptions = _depth_pairs({variant.name: mean for variant, mean in means.items()})
    if not count:
        return []
    sentence = f"Two layers beat one in {count - len(exceptions)} of {count} comparisons"
    if exceptions:
        sentence += f"; not for {comma_list(exceptions)}"
    theirs = published("scores", game)
    count, exceptions = _depth_pairs({name: mean for name, (mean, _) in theirs.items()})
    if count:
        sentence += f" (in the paper's table: {count - len(exceptions)} of {count})"
    return [f"{sentence}."]


def _depth_pairs(means: dict[str, float]) -> tuple[int, list[str]]:
    """Return the number of pairs, and those in which the deeper model is not ahead."""
    count = 0
    exceptions = []
    for model, size in itertools.product(LAYERED, SIZES):
        one, two = (means.get(f"{model}-{layers}x{size}") for layers in (1, 2))
        if one is not None and two is not None:
            count += 1
            if two <= one:
                exceptions.append(f"{MODELS[model]} at {size}")
    return count, exceptions


def control(results: ResultSet, game: str) -> list[str]:
    """Say so if the look-up table, which does not read texts, beats every model."""
    table = results.final(game, plan.TABLE)
    means = results.means(game, plan.GRID)
    if table is None or not means or table.mean <= max(means.values()):
        return []
    best = max(means, key=means.__getitem__)
    name = label(best) + (f" at {best.hidden}" if best.hidden else "")
    return [PROSE["control"].format(name=name, difference=decimal(table.mean - means[best]))]


# --- The headline


def headline(results: ResultSet, figures: str) -> str:
    """Return the headline as Markdown; `figures` is the path from the README to the figures."""
    table = headline_table(results)
    sides = "l" + "r" * (len(table.header) - 1)
    grid = markdown_block(replace(table, caption="", align=sides))
    parts = [grid, f"{table.caption}. Regenerate: `drrn reproduce`."]
    if any(results.scores(game, STRONG_JOB) for game in results.games):
        alt = "Learning curves of the strong agent and of the paper's settings"
        parts.append(f'<img src="{figures}/beyond.svg" alt="{alt}">')
    return "\n\n".join(parts)


def headline_table(results: ResultSet) -> Table:
    """Compare the scores on the paper's games, and on our games that the strong agent played."""
    played = [game for game in results.games if results.scores(game, STRONG_JOB)]
    strong = bool(played)
    columns = ["game", "random play", "the paper", "paper's settings, ours"]
    columns += [*["strong agent"] * strong, "best possible"]
    games = [*PAPER, *(game for game in played if game not in PAPER)]
    rows = [_headline_row(results, game, strong) for game in games]
    seeds = _seed_counts(results, strong)
    return Table(f"Mean score (standard deviation{seeds})", columns, rows)


def _seed_counts(results: ResultSet, strong: bool) -> str:
    ours = {results.wanted(game, BEST, "replicas") for game in PAPER} - {None}
    counts = {results.wanted(game, STRONG_JOB, "replicas") for game in results.games} - {None}
    if len(ours) != 1:
        return ""
    more = f", {counts.pop()} for the strong agent" if strong and len(counts) == 1 else ""
    return f" over {ours.pop()} seeds{more}"


def _headline_row(results: ResultSet, game: str, strong: bool) -> list[str]:
    theirs = published_score(game, BEST, "")
    row = [results.title(game), results.fact_text(game, "random_final_reward")]
    row += [spread(theirs) if theirs else "", results.text(game, BEST)]
    if strong:
        row.append(results.text(game, STRONG_JOB))
    return [*row, results.fact_text(game, "best_final_reward")]


def headline_blocks(results: ResultSet, curves: Sequence[Block]) -> list[Block]:
    """Return the table and the curves of the strong agent; without these, the paper's games'."""
    played = [game for game in results.games if results.final(game, BEST)]
    games = [game for game in PAPER if game in played] or played
    if not games:
        return []
    plots = [block for block in curves if isinstance(block, Plot)]
    names = {"beyond"} & {plot.name for plot in plots} or {f"curves-{game}" for game in games}
    return [headline_table(results), *(plot for plot in plots if plot.name in names)]


def with_headline(readme: Path, results: ResultSet, root: Path) -> str:
    """Return the text of the README with the headline of these results."""
    folder = Path(os.path.relpath(root / "figures", readme.parent)).as_posix()
    return with_blocks(readme, headline=headline(results, folder))


def with_blocks(path: Path, **blocks: str) -> str:
    """Return a file's text with blocks between their markers, <!-- name --> and <!-- /name -->."""
    text = read_text(path)
    for name, block in blocks.items():
        start = f"<!-- {name} -->"
        end = f"<!-- /{name} -->"
        if text.count(start) != 1 or text.count(end) != 1 or text.index(start) > text.index(end):
            raise InputError(f"{path}: the file must have one {start} and, after it, one {end}")
        whole = f"{start}\n\n{block}\n\n{end}"
        text = text[: text.index(start)] + whole + text[text.index(end) + len(end) :]
    return text
