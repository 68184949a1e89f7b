"""The headline of the README: the paper's number, ours, and the best possible; the curves; the one command."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from drrn.errors import InputError
from drrn.experiments.plan import BEST, FOUR_STEPS, PAPER
from drrn.reports import paper
from drrn.reports.document import shown_number, spread
from drrn.reports.result_set import Measured, ResultSet

BEGIN, END = "<!-- headline -->", "<!-- /headline -->"


def headline(results: ResultSet, figures: str) -> str:
    """The block, with its markers; `figures` is the way from the README to the folder of figures."""
    lines = [
        "| DRRN, two layers of 100 | random play | the paper | ours | best possible |",
        "| --- | ---: | ---: | ---: | ---: |",
        *(line for game, title in PAPER.items() for line in _lines(results, game, title)),
    ]
    drawn = [game for game in PAPER if results.curve(game, BEST)]
    images = [f'<img src="{figures}/curves-{g}.svg" width="49%" alt="Learning curves, {PAPER[g]}">' for g in drawn]
    seeds = {record["wanted"]["replicas"] for game in PAPER if (record := results.record(game, BEST))}
    over = f" over {seeds.pop()} seeds" if len(seeds) == 1 else ""
    parts = [
        f"Mean final reward (standard deviation{over}); every table and figure: `drrn reproduce`.",
        "\n".join(lines),
        *["\n".join(images)] * bool(images),
    ]
    return "\n\n".join([BEGIN, *parts, END])


def _lines(results: ResultSet, game: str, title: str) -> Iterator[str]:
    reported = spread(Measured(*paper.SCORES[game][BEST.name]))
    cells = [(title, reported, results.final(game, BEST))]
    if game in paper.PARAPHRASED:
        reported = spread(Measured(*paper.PARAPHRASED[game][BEST.name]))
        cells.append(("… its actions paraphrased", reported, results.final(game, BEST, paraphrased=True)))
    if further := results.final(game, FOUR_STEPS):
        cells.append(("… targets of four steps, not in the paper", "", further))
    chance, most = (shown_number(results.fact(game, f"{name}_final_reward")) for name in ("random", "best"))
    for words, theirs, ours in cells:
        yield f"| {words} | {chance} | {theirs} | {spread(ours)} | {most} |"


def with_headline(readme: Path, results: ResultSet, root: Path) -> tuple[str, str]:
    """The README as it is, and as it should be."""
    try:
        text = readme.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"{readme}: cannot be read: {error.strerror}") from error
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        raise InputError(f"{readme}: it must have one {BEGIN} and, after it, one {END}")
    way = Path(os.path.relpath(root / "figures", readme.parent)).as_posix()
    block = headline(results, way)
    return text, re.sub(f"{BEGIN}.*{END}", lambda _: block, text, flags=re.S)
