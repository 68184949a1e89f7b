"""The headline of the README: the paper's number, ours, and the best possible; the curves; the one command."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from drrn.experiments.beyond import STRONG_JOB
from drrn.experiments.plan import BEST, FOUR_STEPS, PAPER
from drrn.reports import paper
from drrn.reports.beyond import strong_scores
from drrn.reports.document import shown_number, spread
from drrn.reports.marked import with_block
from drrn.reports.result_set import Measured, ResultSet, measured

NAME = "headline"  # of the markers


def headline(results: ResultSet, figures: str) -> str:
    """The block; `figures` is the way from the README to the folder of figures."""
    ours = [game for game in results.games if game not in PAPER and strong_scores(results, game)]
    strong = bool(ours) or any(strong_scores(results, game) for game in PAPER)
    columns = ["DRRN, two layers of 100", "random play", "the paper", "ours", *STRONG_COLUMNS * strong, "best possible"]
    lines = [
        f"| {' | '.join(columns)} |",
        f"| --- |{' ---: |' * (len(columns) - 1)}",
        *(line for game in (*PAPER, *ours) for line in _lines(results, game, strong)),
    ]
    drawn = [game for game in PAPER if results.curve(game, BEST)]
    images = [f'<img src="{figures}/curves-{g}.svg" width="49%" alt="Learning curves, {PAPER[g]}">' for g in drawn]
    parts = [
        f"Mean final reward (standard deviation{_over(results, strong)}); every table and figure: `drrn reproduce`.",
        "\n".join(lines),
        *["\n".join(images)] * bool(images),
    ]
    return "\n\n".join(parts)


STRONG_COLUMNS = ("the strong agent", "… by `best`")


def _over(results: ResultSet, strong: bool) -> str:
    """Over how many seeds; the strong agent has more of them."""
    seeds = {record["wanted"]["replicas"] for game in PAPER if (record := results.record(game, BEST))}
    more = {r["wanted"]["replicas"] for game in results.games if (r := results.record(game, STRONG_JOB))}
    over = f" over {seeds.pop()} seeds" if len(seeds) == 1 else ""
    return over + (f", of the strong agent over {more.pop()}" if strong and over and len(more) == 1 else "")


def _lines(results: ResultSet, game: str, strong: bool) -> Iterator[str]:
    reported, in_words = (
        paper_scores.get(game, {}).get(BEST.name) for paper_scores in (paper.SCORES, paper.PARAPHRASED)
    )
    cells = [(results.title(game), reported, results.final(game, BEST), "")]
    if in_words or (game not in PAPER and strong_scores(results, game, words="paraphrased")):
        cells.append(
            ("… its actions paraphrased", in_words, results.final(game, BEST, paraphrased=True), "paraphrased")
        )
    chance, most = (shown_number(results.fact(game, f"{name}_final_reward")) for name in ("random", "best"))
    for words, theirs, ours, said in cells:
        mine = [
            spread(measured(strong_scores(results, game, STRONG_JOB, policy, said))) for policy in ("softmax", "best")
        ]
        shown = [chance, spread(Measured(*theirs)) if theirs else "", spread(ours), *mine * strong, most]
        yield f"| {words} | {' | '.join(shown)} |"
    if game in PAPER and (further := results.final(game, FOUR_STEPS)):
        shown = [chance, "", spread(further), *["", ""] * strong, most]
        yield f"| … targets of four steps, not in the paper | {' | '.join(shown)} |"


def with_headline(readme: Path, results: ResultSet, root: Path) -> tuple[str, str]:
    """The README as it is, and as it should be."""
    way = Path(os.path.relpath(root / "figures", readme.parent)).as_posix()
    return with_block(readme, NAME, headline(results, way))
