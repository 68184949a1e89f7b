"""The learning curve of a run, drawn from its rows alone."""

from __future__ import annotations

import io
import statistics
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from drrn.errors import require
from drrn.runs.reference_scores import ReferenceScores
from drrn.files import write_atomically
from drrn.writing import visible


def draw_curve(
    rows: Sequence[dict[str, str]], title: str, episodes_per_round: int, scores: ReferenceScores, path: Path
) -> None:
    """Mean final reward over replicas after each round, with the standard deviation as bars, as a PNG; the mean return
    beside it, dashed, where the game pays on the way."""
    matplotlib = require("matplotlib", "plot")
    matplotlib.use("Agg")
    pyplot = require("matplotlib.pyplot", "plot")
    figure, axes = pyplot.subplots(figsize=(7, 4.2), layout="constrained")
    for policy, colour in (("softmax", "#1f5fa8"), ("best", "#c9772b")):
        final, returns = (points(rows, f"{policy}_{measure}") for measure in ("final_reward", "return"))
        drawn = [(f"policy {policy}", "-", final)] if final[0] else []
        if final[0] and any(abs(a - b) > 1e-6 for a, b in zip(final[1], returns[1], strict=True)):
            drawn.append((f"policy {policy}, return", "--", returns))
        for label, line, (x, means, deviations) in drawn:
            style = {"color": colour, "linestyle": line, "capsize": 2, "linewidth": 1.6, "elinewidth": 0.8}
            axes.errorbar([number * episodes_per_round for number in x], means, deviations, label=label, **style)
    axes.axhline(scores.random, color="#888888", linestyle=":", label=f"random play ({scores.random:.1f})")
    if scores.best is not None:
        axes.axhline(scores.best, color="#3a8f4d", linestyle="--", label=f"best possible ({scores.best:.1f})")
    if scores.random_return is not None:
        value = scores.random_return
        axes.axhline(value, color="#888888", linestyle="-.", linewidth=0.8, label=f"random play, return ({value:.1f})")
    if scores.best_return is not None:
        value = scores.best_return
        axes.axhline(value, color="#3a8f4d", linestyle="-.", linewidth=0.8, label=f"best return ({value:.1f})")
    _labelled(axes, "mean final reward", title)
    figure.legend(loc="outside lower center", ncols=4, frameon=False)
    _save(figure, path)
    pyplot.close(figure)


def draw_curves(
    runs: Sequence[tuple[str, Sequence[dict[str, str]], int]],
    measure: str,
    title: str,
    known: tuple[float | None, float | None],
    paths: Sequence[Path],
) -> None:
    """Runs together, each by its label, its rows and its episodes a round: the mean of a measure over replicas, and the
    standard deviation as a band; with random play and the best possible, where they are known."""
    matplotlib = require("matplotlib", "plot")
    matplotlib.use("Agg")
    pyplot = require("matplotlib.pyplot", "plot")
    figure, axes = pyplot.subplots(figsize=(7.5, 4.8), layout="constrained")
    for label, rows, episodes in runs:
        x, means, deviations = points(rows, measure)
        played = [number * episodes for number in x]
        (line,) = axes.plot(played, means, linewidth=1.6, marker="o", markersize=2.5, label=_plain(label))
        low, high = ([m + sign * d for m, d in zip(means, deviations, strict=True)] for sign in (-1, 1))
        axes.fill_between(played, low, high, color=line.get_color(), alpha=0.15, linewidth=0)
    for name, value, colour, style in zip(
        ("random play", "best possible"), known, ("#888888", "#3a8f4d"), (":", "--"), strict=True
    ):
        if value is not None:
            axes.axhline(value, color=colour, linestyle=style, label=f"{name} ({value:.1f})")
    policy, _, what = measure.partition("_")
    _labelled(axes, f"mean {what.replace('_', ' ')}, policy {policy}", title)
    figure.legend(loc="outside lower center", ncols=2, frameon=False)
    for path in paths:
        _save(figure, path)
    pyplot.close(figure)


def _labelled(axes: Any, measured: str, title: str) -> None:
    axes.set(xlabel="episodes played", ylabel=measured, title=_plain(title))
    axes.set_xlim(left=0)
    axes.grid(alpha=0.25)


def _plain(text: str) -> str:
    """Text that others wrote, of which neither a terminal nor a formula is made."""
    return visible(text).replace("$", r"\$")


def _save(figure: Any, path: Path) -> None:
    """Write the figure in the form that the name's ending says; the same figure has the same bytes."""
    kind = path.suffix[1:]
    drawn = io.BytesIO()
    metadata = {"Software": None} if kind == "png" else {"Date": None}
    matplotlib = require("matplotlib", "plot")
    with warnings.catch_warnings(), matplotlib.rc_context({"svg.hashsalt": "drrn"}):
        warnings.simplefilter("ignore", UserWarning)  # of scripts that the font does not have
        figure.savefig(drawn, dpi=150, format=kind, metadata=metadata)
    write_atomically(path, [drawn.getvalue()])


def points(rows: Sequence[dict[str, str]], column: str) -> tuple[list[int], list[float], list[float]]:
    """For each round: its number, the mean over replicas, and the standard deviation."""
    rounds: dict[int, list[float]] = {}
    for row in rows:
        if row.get(column):  # a run older than the policy has rounds without it
            rounds.setdefault(int(row["round"]), []).append(float(row[column]))
    means = [statistics.fmean(values) for values in rounds.values()]
    deviations = [statistics.stdev(values) if len(values) > 1 else 0.0 for values in rounds.values()]
    return list(rounds), means, deviations
