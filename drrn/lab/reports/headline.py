"""The headline of the README: the paper's number, ours, and the best possible; the curves; the one command."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from drrn.document import Block, Paragraph, Table, markdown_block
from drrn.errors import InputError
from drrn.lab.experiments.plan import BEST, FOUR_STEPS, PAPER, STRONG_JOB
from drrn.lab.reports import paper
from drrn.lab.reports.beyond import strong_scores
from drrn.lab.reports.figures import Plot
from drrn.lab.reports.result_set import Measured, ResultSet, decimal, measured, spread

NAME = "headline"  # of the markers


def headline(results: ResultSet, figures: str) -> str:
    """The block; `figures` is the way from the README to the folder of figures."""
    table = headline_table(results)
    sides = "l" + "r" * (len(table.header) - 1)
    grid = markdown_block(replace(table, caption="", align=sides))
    drawn = [game for game in PAPER if results.curve(game, BEST)]
    images = [
        f'<img src="{figures}/curves-{g}.svg" width="49%" alt="Learning curves, {PAPER[g]}">'
        for g in drawn
    ]
    parts = [
        f"{table.caption}; every table and figure: `drrn reproduce`.",
        grid,
        *["\n".join(images)] * bool(images),
    ]
    return "\n\n".join(parts)


def headline_table(results: ResultSet) -> Table:
    """A line for each of the paper's games, and for those of ours that the strong agent has played."""
    ours = [game for game in results.games if game not in PAPER and strong_scores(results, game)]
    strong = bool(ours) or any(strong_scores(results, game) for game in PAPER)
    columns = [
        "DRRN, two layers of 100",
        "random play",
        "the paper",
        "ours",
        *STRONG_COLUMNS * strong,
        "best possible",
    ]
    rows = [line for game in (*PAPER, *ours) for line in _lines(results, game, strong)]
    return Table(f"Mean final reward (standard deviation{_over(results, strong)})", columns, rows)


def headline_blocks(results: ResultSet, curves: Sequence[Plot]) -> list[Block]:
    """The headline of the page: a sentence, the table, and the learning curves of the paper's games, or of others."""
    games = [game for game in PAPER if results.final(game, BEST)] or [
        g for g in results.games if results.final(g, BEST)
    ]
    if not games:
        return []
    said = "; ".join(_sentence(results, game) for game in games)
    shown = [figure for figure in curves if figure.name in {f"curves-{game}" for game in games}]
    sentence = Paragraph(f"DRRN, two layers of 100, final reward: {said}.", "headline")
    return [sentence, headline_table(results), *shown]


def _sentence(results: ResultSet, game: str) -> str:
    ours = results.final(game, BEST)
    reported = paper.SCORES.get(game, {}).get(BEST.name)
    beside = [f"the paper: {decimal(reported[0])}"] if reported else []
    if strong := measured(strong_scores(results, game, STRONG_JOB, "softmax")):
        beside.append(f"the strong agent: {decimal(strong.mean)}")
    chance, most = (results.fact(game, f"{name}_final_reward") for name in ("random", "best"))
    beside += [f"random play: {decimal(chance)}"] * (chance is not None)
    beside += [f"best possible: {decimal(most)}"] * (most is not None)
    told = f"**{decimal(ours.mean if ours else None)}** on {results.title(game)}"
    return f"{told} ({', '.join(beside)})" if beside else told


STRONG_COLUMNS = ("the strong agent", "… by `best`")


def _over(results: ResultSet, strong: bool) -> str:
    """Over how many seeds; the strong agent has more of them."""
    seeds = {
        record["wanted"]["replicas"] for game in PAPER if (record := results.record(game, BEST))
    }
    more = {
        r["wanted"]["replicas"] for game in results.games if (r := results.record(game, STRONG_JOB))
    }
    over = f" over {seeds.pop()} seeds" if len(seeds) == 1 else ""
    return over + (
        f", of the strong agent over {more.pop()}" if strong and over and len(more) == 1 else ""
    )


def _lines(results: ResultSet, game: str, strong: bool) -> Iterator[list[str]]:
    reported, in_words = (
        paper_scores.get(game, {}).get(BEST.name)
        for paper_scores in (paper.SCORES, paper.PARAPHRASED)
    )
    cells = [(results.title(game), reported, results.final(game, BEST), "")]
    if in_words or (game not in PAPER and strong_scores(results, game, words="paraphrased")):
        cells.append(
            (
                "… its actions paraphrased",
                in_words,
                results.final(game, BEST, paraphrased=True),
                "paraphrased",
            )
        )
    chance, most = (
        decimal(results.fact(game, f"{name}_final_reward")) for name in ("random", "best")
    )
    for words, theirs, ours, said in cells:
        mine = [
            spread(measured(strong_scores(results, game, STRONG_JOB, policy, said)))
            for policy in ("softmax", "best")
        ]
        shown = [
            chance,
            spread(Measured(*theirs)) if theirs else "",
            spread(ours),
            *mine * strong,
            most,
        ]
        yield [words, *shown]
    if game in PAPER and (further := results.final(game, FOUR_STEPS)):
        shown = [chance, "", spread(further), *["", ""] * strong, most]
        yield ["… targets of four steps, not in the paper", *shown]


def with_headline(readme: Path, results: ResultSet, root: Path) -> tuple[str, str]:
    """The README as it is, and as it should be."""
    way = Path(os.path.relpath(root / "figures", readme.parent)).as_posix()
    return with_block(readme, NAME, headline(results, way))


def with_block(path: Path, name: str, block: str) -> tuple[str, str]:
    """Return a file's text, and the text with a block between `<!-- name -->` and `<!-- /name -->`."""
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
