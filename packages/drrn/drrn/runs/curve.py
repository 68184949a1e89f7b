"""Learning curves of runs, drawn from their scores alone."""

import io
import itertools
import math
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from drrn.runs.scores import ReferenceScores, RoundScores
from textgames.errors import require
from textgames.files import write_atomically
from textgames.wording import visible

GREY = "#888888"
GREEN = "#3a8f4d"


def draw_run(
    rounds: Sequence[RoundScores], title: str, scores: ReferenceScores, path: Path
) -> None:
    """Draw the final rewards of a run, and its returns if the game pays before its end."""
    measures = {"final_reward": "", "return": ", return"}
    if not any(each.pays_on_the_way for each in rounds):
        measures.pop("return")
    curves = []
    for measure, policy in itertools.product(measures, ("softmax", "best")):
        curves.append((f"policy {policy}{measures[measure]}", rounds, f"{policy}_{measure}"))
    references = {"random play": scores.random, "best possible": scores.best}
    references |= {"random play, return": scores.random_return, "best return": scores.best_return}
    draw_curves(curves, references, "mean final reward", title, [path])


def draw_curves(
    curves: Sequence[tuple[str, Sequence[RoundScores], str]],
    references: Mapping[str, float | None],
    measure: str,
    title: str,
    paths: Sequence[Path],
) -> None:
    """Draw curves: the mean over replicas, with the standard deviation as a band up to the best.

    A curve is a label, rounds, and the column of a line, such as "softmax_return". References are
    scores by name, None if not known. The suffix of a path determines the format.
    """
    matplotlib = require("matplotlib")
    matplotlib.use("Agg")
    pyplot = require("matplotlib.pyplot", "matplotlib")
    figure, axes = pyplot.subplots(figsize=(7.5, 4.8), layout="constrained")
    best = [v for name, v in references.items() if v is not None and name.startswith("best")]
    limit = max(best, default=math.inf)
    for label, rounds, column in curves:
        x = [each.episodes_played for each in rounds]
        means = [each.mean(column) for each in rounds]
        low = [each.mean(column) - each.sd(column) for each in rounds]
        high = [min(limit, each.mean(column) + each.sd(column)) for each in rounds]
        look = {"linewidth": 1.6, "marker": "o", "markersize": 2.5}
        (line,) = axes.plot(x, means, label=_plain(label), **look)
        axes.fill_between(x, low, high, color=line.get_color(), alpha=0.15, linewidth=0)
    for name, value in references.items():
        if value is not None:
            colour = GREY if name.startswith("random") else GREEN
            style = "-." if name.endswith("return") else "--"
            axes.axhline(value, color=colour, linestyle=style, label=f"{name} ({value:.1f})")
    axes.set(xlabel="episodes played", ylabel=measure, title=_plain(title))
    axes.set_xlim(left=0)
    axes.grid(alpha=0.25)
    figure.legend(loc="outside lower center", ncols=2, frameon=False)
    for path in paths:
        _save(matplotlib, figure, path)
    pyplot.close(figure)


def _plain(text: str) -> str:
    """The text without control characters and without formulas."""
    return visible(text).replace("$", r"\$")


def _save(matplotlib: Any, figure: Any, path: Path) -> None:
    """Write the figure in the format of the suffix. Equal figures have equal bytes."""
    kind = path.suffix[1:]
    image = io.BytesIO()
    metadata = {"Software": None} if kind == "png" else {"Date": None}
    with warnings.catch_warnings(), matplotlib.rc_context({"svg.hashsalt": "drrn"}):
        warnings.simplefilter("ignore", UserWarning)  # glyphs that the font lacks
        figure.savefig(image, dpi=150, format=kind, metadata=metadata)
    write_atomically(path, image.getvalue())
