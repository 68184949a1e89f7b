"""Learning curves of runs, drawn from their scores alone."""

from __future__ import annotations

import io
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from drrn.errors import require
from drrn.files import write_atomically
from drrn.runs.scores import ReferenceScores, RoundScores
from drrn.writing import visible

GREY = "#888888"
GREEN = "#3a8f4d"
COLOURS = {"softmax": "#1f5fa8", "best": "#c9772b"}

Rounds = Sequence[RoundScores]


def draw_curve(rounds: Rounds, title: str, scores: ReferenceScores, path: Path) -> None:
    """Draw the mean final reward over replicas, with its standard deviation, to a PNG.

    The mean return is drawn as well, dashed, if the game pays before its end.
    """
    pyplot = _pyplot()
    figure, axes = pyplot.subplots(figsize=(7, 4.2), layout="constrained")
    x = [each.episodes_played for each in rounds]
    for policy, colour in COLOURS.items():
        final = [each.mean(f"{policy}_final_reward") for each in rounds]
        returns = [each.mean(f"{policy}_return") for each in rounds]
        lines = [("final_reward", f"policy {policy}", "-")] if rounds else []
        if any(abs(a - b) > 1e-6 for a, b in zip(final, returns, strict=True)):
            lines.append(("return", f"policy {policy}, return", "--"))
        for measure, label, style in lines:
            column = f"{policy}_{measure}"
            means = [each.mean(column) for each in rounds]
            deviations = [each.sd(column) for each in rounds]
            look = {"color": colour, "linestyle": style, "linewidth": 1.6, "elinewidth": 0.8}
            axes.errorbar(x, means, deviations, label=label, capsize=2, **look)
    for label, value, colour, style, width in (
        ("random play", scores.random, GREY, ":", 1.5),
        ("best possible", scores.best, GREEN, "--", 1.5),
        ("random play, return", scores.random_return, GREY, "-.", 0.8),
        ("best return", scores.best_return, GREEN, "-.", 0.8),
    ):
        if value is not None:
            text = f"{label} ({value:.1f})"
            axes.axhline(value, color=colour, linestyle=style, linewidth=width, label=text)
    _set_labels(axes, "mean final reward", title)
    figure.legend(loc="outside lower center", ncols=4, frameon=False)
    _save(figure, path)
    pyplot.close(figure)


def draw_curves(
    runs: Sequence[tuple[str, Rounds]],
    column: str,
    title: str,
    reference: tuple[float | None, float | None],
    paths: Sequence[Path],
) -> None:
    """Draw runs together: the mean over replicas, with the standard deviation as a band.

    Args:
        runs: The label and the rounds of each run.
        column: What to draw, such as "softmax_final_reward".
        title: The title of the figure.
        reference: Random play and the best possible score, if they are known.
        paths: Where to write the figure; the suffix determines the format.
    """
    pyplot = _pyplot()
    figure, axes = pyplot.subplots(figsize=(7.5, 4.8), layout="constrained")
    for label, rounds in runs:
        x = [each.episodes_played for each in rounds]
        means = [each.mean(column) for each in rounds]
        look = {"linewidth": 1.6, "marker": "o", "markersize": 2.5}
        (line,) = axes.plot(x, means, label=_plain(label), **look)
        low = [each.mean(column) - each.sd(column) for each in rounds]
        high = [each.mean(column) + each.sd(column) for each in rounds]
        axes.fill_between(x, low, high, color=line.get_color(), alpha=0.15, linewidth=0)
    random, best = reference
    if random is not None:
        axes.axhline(random, color=GREY, linestyle=":", label=f"random play ({random:.1f})")
    if best is not None:
        axes.axhline(best, color=GREEN, linestyle="--", label=f"best possible ({best:.1f})")
    policy, _, measure = column.partition("_")
    _set_labels(axes, f"mean {measure.replace('_', ' ')}, policy {policy}", title)
    figure.legend(loc="outside lower center", ncols=2, frameon=False)
    for path in paths:
        _save(figure, path)
    pyplot.close(figure)


def _pyplot() -> Any:
    require("matplotlib", "plot").use("Agg")
    return require("matplotlib.pyplot", "plot")


def _set_labels(axes: Any, measure: str, title: str) -> None:
    axes.set(xlabel="episodes played", ylabel=measure, title=_plain(title))
    axes.set_xlim(left=0)
    axes.grid(alpha=0.25)


def _plain(text: str) -> str:
    """Return text of others without control characters and without formulas."""
    return visible(text).replace("$", r"\$")


def _save(figure: Any, path: Path) -> None:
    """Write the figure in the format of the suffix; the same figure gives the same bytes."""
    kind = path.suffix[1:]
    image = io.BytesIO()
    metadata = {"Software": None} if kind == "png" else {"Date": None}
    matplotlib = require("matplotlib", "plot")
    with warnings.catch_warnings(), matplotlib.rc_context({"svg.hashsalt": "drrn"}):
        warnings.simplefilter("ignore", UserWarning)  # glyphs that the font lacks
        figure.savefig(image, dpi=150, format=kind, metadata=metadata)
    write_atomically(path, [image.getvalue()])
