"""Figures of the report: their data, and their drawings as SVG."""

import hashlib
import io
import itertools
import json
import math
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from textgames.document import Figure
from textgames.errors import require
from textgames.files import read_toml

_LOOK = read_toml(Path(__file__).with_name("figures.toml"))
STYLE: dict[str, Any] = _LOOK["style"]
LINES: dict[str, list[str]] = _LOOK["lines"]  # colour, dash, marker
MARKS: dict[str, list[Any]] = _LOOK["marks"]  # text, colour, dashes, whether it is above its line
ROLES: dict[str, list[str]] = _LOOK["roles"]  # text, colour
INK = STYLE["text.color"]
GREY = "#8a8a8a"
LEGEND = {"loc": "outside lower center", "frameon": False, "fontsize": 9}
NOTE: dict[str, Any] = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points"}
NOTE |= {"ha": "right", "fontsize": 8.5}
ABOVE = {"xytext": (-2, 3), "va": "bottom"}
BELOW = {"xytext": (-2, -3), "va": "top"}
WHITE = '<rect width="100%" height="100%" fill="#ffffff"/>'
ARROW = {"arrowstyle": "-|>", "lw": 1.8, "shrinkA": 0, "shrinkB": 0}


@dataclass(frozen=True)
class Plot(Figure):
    """A figure that is drawn from data."""

    name: str = ""
    kind: str = ""
    data: dict[str, Any] = field(default_factory=dict)

    @property
    def sha256(self) -> str:
        """Hash of the data: equal rows give equal hashes, however they are drawn."""
        text = json.dumps([self.kind, self.data], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def plot(name: str, caption: str, kind: str, data: dict[str, Any]) -> Plot:
    """A plot whose file is `figures/NAME.svg`."""
    return Plot(caption, f"figures/{name}.svg", name=name, kind=kind, data=data)


def draw(figure: Plot) -> str:
    """Draw a figure as an SVG with a transparent background."""
    matplotlib = require("matplotlib")
    matplotlib.use("Agg")
    pyplot = require("matplotlib.pyplot", "matplotlib")
    with matplotlib.rc_context(STYLE):
        drawing = KINDS[figure.kind](pyplot, figure.data)
        text = io.StringIO()
        drawing.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
        pyplot.close(drawing)
    svg = re.sub(r"<metadata>.*?</metadata>\s*", "", text.getvalue(), flags=re.S)
    svg = re.sub(r"[ \t]+$", "", svg[svg.index("<svg") :], flags=re.M).strip()
    hashes = f'data-rows="{figure.sha256}" data-drawing="{_hash(svg)}"'
    return svg.replace("<svg ", f'<svg {hashes} role="img" ', 1)


def as_file(svg: str) -> str:
    """A stand-alone SVG file on white, because a viewer may be dark."""
    whole = re.sub(r"(<svg [^>]*>)", rf"\1\n {WHITE}", svg, count=1)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{whole}\n'


def from_file(text: str) -> str:
    """The SVG of a stand-alone file, as `draw` returned it."""
    return text[text.find("<svg") :].replace(f"\n {WHITE}", "", 1).strip()


def fault(svg: str, figure: Plot) -> str:
    """Why an SVG is not the drawing of a figure, or an empty string if it is."""
    match = re.search(r' data-rows="(\w+)" data-drawing="(\w+)" role="img"', svg)
    if match is None or match[1] != figure.sha256:
        return "it shows other rows"
    is_unchanged = _hash(svg.replace(match[0], "", 1)) == match[2]
    return "" if is_unchanged else "it was edited after it was drawn"


def _hash(svg: str) -> str:
    return hashlib.sha256(svg.encode()).hexdigest()[:16]


def _curves(pyplot: Any, data: dict[str, Any]) -> Any:
    figure, axes = pyplot.subplots(figsize=(5.6, 4.0), layout="constrained")
    _draw_curves(axes, data)
    longest = max(len(line["label"]) for line in data["lines"])
    figure.legend(ncols=3 if longest < 20 else 2, handlelength=2.4, **LEGEND)
    return figure


def _panels(pyplot: Any, data: dict[str, Any]) -> Any:
    """Draw the learning curves of several games in one figure, with one legend."""
    rows = (len(data["panels"]) + 1) // 2
    size = (9.6, 3.5 * rows + 0.4)
    figure, grid = pyplot.subplots(rows, 2, figsize=size, layout="constrained", squeeze=False)
    for axes, panel in zip(grid.flat, data["panels"], strict=False):
        _draw_curves(axes, panel)
    for axes in grid.flat[len(data["panels"]) :]:
        axes.set_axis_off()
    handles: dict[str, Any] = {}
    for axes in grid.flat:
        lines, labels = axes.get_legend_handles_labels()
        handles.update(zip(labels, lines, strict=True))
    figure.legend(list(handles.values()), list(handles), ncols=3, handlelength=2.4, **LEGEND)
    return figure


def _draw_curves(axes: Any, data: dict[str, Any]) -> None:
    """Draw a line with error bars per model, and lines for random play and the best score."""
    for line in data["lines"]:
        colour, dash, marker = LINES.get(line["style"], ("#444444", "-", "o"))
        x, mean, sd = zip(*line["points"], strict=True)
        look = {"color": colour, "linestyle": dash, "marker": marker, "markersize": 3.5}
        bars = {"linewidth": 1.6, "elinewidth": 0.9, "capsize": 1.8, "alpha": 0.95}
        axes.errorbar(x, mean, sd, label=line["label"], **look, **bars)
    if data["rest"] is not None:  # named in the legend, because it is among the curves
        look = {"color": INK, "linestyle": (0, (4, 2, 1, 2)), "linewidth": 1.2, "zorder": 1}
        axes.axhline(data["rest"], label=f"fixed point of Q-learning {data['rest']:.1f}", **look)
    for name, (text, colour, dashes, is_above) in MARKS.items():
        if data.get(name) is not None:
            axes.axhline(data[name], color=colour, linestyle=(0, dashes), linewidth=1.2, zorder=1)
            text = f"{text} {data[name]:.1f}"
            axes.annotate(text, (1, data[name]), **NOTE, **(ABOVE if is_above else BELOW))
    for value, style in data.get("levels", ()):
        if value is not None:
            axes.axhline(value, color=LINES[style][0], linewidth=0.8, alpha=0.7, zorder=1)
    labels = {"xlabel": data.get("progress", "episodes played"), "title": data["title"]}
    axes.set(**labels, ylabel=data.get("measure", "mean final reward"))
    axes.set_xlim(left=0)
    axes.margins(y=0.08)
    axes.grid(axis="y", color=GREY, alpha=0.25, linewidth=0.6)


def _scatter(pyplot: Any, data: dict[str, Any]) -> Any:
    figure, axes = pyplot.subplots(figsize=(4.6, 4.4), layout="constrained")
    q, paraphrased = zip(*data["points"], strict=True)
    low = min(*q, *paraphrased)
    high = max(*q, *paraphrased)
    axes.plot([low, high], [low, high], color=GREY, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
    axes.scatter(q, paraphrased, s=13, color=ROLES["state"][1], alpha=0.35, linewidths=0, zorder=2)
    axes.set(xlabel="Q of the original action", ylabel="Q of its paraphrase")
    axes.set(title=data["title"], aspect="equal")
    axes.grid(color=GREY, alpha=0.22, linewidth=0.6)
    return figure


def _plane(pyplot: Any, data: dict[str, Any]) -> Any:
    looks = data["looks"]
    size = (2.7 * len(looks), 3.1)
    shared = {"sharex": True, "sharey": True, "layout": "constrained"}
    figure, panels = pyplot.subplots(1, len(looks), figsize=size, squeeze=False, **shared)
    values = [abs(value) for look in looks for role in ROLES for value in look[role][:2]]
    reach = 1.18 * max(values) or 1.0
    for axes, look in zip(panels[0], looks, strict=True):
        axes.axhline(0, color=GREY, alpha=0.35, linewidth=0.7)
        axes.axvline(0, color=GREY, alpha=0.35, linewidth=0.7)
        for role, (words, colour) in ROLES.items():
            x, y = look[role][:2]
            axes.annotate("", (x, y), (0, 0), arrowprops={**ARROW, "color": colour})
            axes.plot([], [], color=colour, linewidth=2, label=words if look is looks[0] else None)
        end = " (end)" if look is looks[-1] else ""
        axes.set_title(f"{look['episodes']:,} episodes{end}", fontsize=9.5)
        text = f"Q good {look['good'][2]:.1f}\nQ poor {look['poor'][2]:.1f}"
        axes.text(0.03, 0.03, text, transform=axes.transAxes, fontsize=8.5, va="bottom")
        axes.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")
    figure.suptitle(data["title"], fontsize=11, fontweight="bold", x=0.01, ha="left")
    figure.legend(ncols=3, **LEGEND)
    return figure


def _radar(pyplot: Any, data: dict[str, Any]) -> Any:
    """Draw shares from 0 to 1 as closed lines, on one axis per label."""
    figure = pyplot.figure(figsize=(8.6, 8.2), layout="constrained")
    axes = figure.add_subplot(projection="polar")
    count = len(data["labels"])
    angles = [2 * math.pi * number / count for number in range(count)]
    styles = itertools.cycle({style[0]: style for style in LINES.values()}.values())
    for line, (colour, dash, marker) in zip(data["lines"], styles, strict=False):
        shares = [math.nan if share is None else min(max(share, 0), 1) for share in line["points"]]
        form = {"color": colour, "linestyle": dash, "marker": marker, "markersize": 4}
        axes.plot([*angles, angles[0]], [*shares, shares[0]], label=line["label"], **form)
    axes.set(theta_offset=math.pi / 2, theta_direction=-1, ylim=(-0.15, 1.03))
    axes.set_xticks(angles, data["labels"], fontsize=9.5)
    for label, angle in zip(axes.get_xticklabels(), angles, strict=True):
        side = math.sin(angle)  # the axes run clockwise from the top
        label.set_ha(("center", "left", "right")[(side > 0.1) - (side < -0.1)])
    axes.set_yticks([0, 0.5, 1], ["0 %", "50 %", "100 %"], fontsize=8, color=GREY)
    axes.grid(color=GREY, alpha=0.3, linewidth=0.7)
    axes.spines["polar"].set_visible(False)
    figure.legend(ncols=min(4, len(data["lines"])), handlelength=2.4, **LEGEND)
    return figure


KINDS = {"curves": _curves, "panels": _panels, "scatter": _scatter, "plane": _plane}
KINDS["radar"] = _radar
