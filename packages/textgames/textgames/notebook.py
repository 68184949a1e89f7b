"""What a notebook displays as HTML and SVG: pages of games, Q-values, learning curves, maps."""

import itertools
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from textgames.errors import InputError
from textgames.files import write
from textgames.pages import rendered

BACKGROUND = '<rect width="100%" height="100%" fill="#fff"/>'
COLOURS = ("#2f6fab", "#c2571a", "#8250c4", "#2e7d32", "#b3261e", "#6b5b00")


@dataclass(frozen=True)
class Picture:
    """A drawing that a notebook displays; `save` writes it to a file."""

    svg: str = field(repr=False)
    title: str

    def _repr_html_(self) -> str:
        return self.svg

    def save(self, path: str | Path) -> None:
        """Write the drawing as an SVG file, on white, so that it is readable on dark pages too."""
        if Path(path).suffix.lower() != ".svg":
            raise InputError(f"{path}: a picture is an SVG file; choose a name that ends in .svg")
        write(Path(path), self.svg.replace(">", f">{BACKGROUND}", 1))


def html(template: str, **values: Any) -> str | None:
    """Render a template of notebooks. Without Jinja2, the result is None."""
    try:
        return rendered(f"notebook_{template}", **values)
    except InputError:
        return None


@dataclass(frozen=True)
class Line:
    """A learning curve: a mean and a standard deviation at each number of episodes."""

    label: str
    episodes: Sequence[int]
    means: Sequence[float]
    sds: Sequence[float]


def curve(
    title: str,
    lines: Sequence[Line],
    references: Mapping[str, float | None],
    box: tuple[float, float, float, float] = (40.0, 28.0, 400.0, 228.0),
) -> str | None:
    """Draw learning curves as SVG, with a band of the deviation, which ends at the best score.

    `box` is the left, top, right and bottom of the curves in the drawing.
    """
    left, top, right, bottom = box
    scores = {name: value for name, value in references.items() if value is not None}
    bound = scores.get("best", float("inf"))
    values = [*scores.values(), *(m for line in lines for m in line.means)]
    low = min(values) - 0.1
    high = max(values) + 0.1
    last = max(line.episodes[-1] for line in lines)

    def at(x: float, y: float) -> tuple[float, float]:
        share = (min(max(y, low), high) - low) / (high - low)
        across = left + (right - left) * x / last
        return round(across, 1), round(bottom - (bottom - top) * share, 1)

    drawn = []
    for line, colour in zip(lines, itertools.cycle(COLOURS), strict=False):
        triples = list(zip(line.episodes, line.means, line.sds, strict=True))
        dots = [at(x, mean) for x, mean, _ in triples]
        upper = [at(x, min(mean + sd, bound)) for x, mean, sd in triples]
        lower = [at(x, mean - sd) for x, mean, sd in triples]
        band = f"M{_path(upper)} L{_path(reversed(lower))}Z"
        shape = {"points": _path(dots), "dots": dots, "band": band}
        drawn.append({"label": line.label, "colour": colour, **shape})
    ticks = [(at(0, y)[1], f"{y:.1f}") for y in (low + 0.1, high - 0.1)]
    marks = [(at(0, y)[1], f"{name} {y:.1f}") for name, y in scores.items()]
    facts = {"title": title, "lines": drawn, "ticks": ticks, "references": marks, "last": last}
    return html("curve.svg", **facts)


def _path(points: Any) -> str:
    return " ".join(f"{x:g},{y:g}" for x, y in points)


def live_display() -> Callable[[Any], None] | None:
    """A function that replaces what it displayed last. Outside notebooks, there is none."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    if shell is None or not hasattr(shell, "kernel"):
        return None
    from IPython.display import HTML, display  # type: ignore[import-not-found,unused-ignore]

    handle = display(HTML(""), display_id=True)
    update: Callable[[Any], None] = handle.update
    return update
