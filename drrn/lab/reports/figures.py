"""Figures of the report: their data, and their drawings as SVG."""

from __future__ import annotations

import hashlib
import io
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from drrn.document import Figure
from drrn.errors import require

INK = "#1d1d1f"  # replaced by the colour of text in a page
GREY = "#8a8a8a"
STYLE: dict[str, Any] = {
    "svg.hashsalt": "drrn", "svg.fonttype": "path", "font.size": 10, "axes.spines.top": False,
    "axes.spines.right": False, "axes.edgecolor": GREY, "axes.labelcolor": INK, "text.color": INK,
    "xtick.color": GREY, "ytick.color": GREY, "xtick.labelcolor": INK, "ytick.labelcolor": INK,
    "axes.titlesize": 11, "axes.titleweight": "bold", "axes.titlelocation": "left", "figure.facecolor": "none",
    "axes.facecolor": "none", "savefig.facecolor": "none",
    "text.parse_math": False,  # a title may have two dollar signs
}  # fmt: skip
LINES = {  # colour, dash, marker
    "drrn-2x100": ("#2166ac", "-", "o"),
    "drrn-1x100": ("#67a9cf", "-", "s"),
    "drrn-2x100-shared": ("#d6604d", "-", "^"),
    "max-action-2x100": ("#d98b2b", "--", "^"),
    "per-action-2x100": ("#8e5ea2", "--", "v"),
    "linear": (GREY, "--", "D"),
    "strong, softmax": ("#c2410c", "-", "o"),
    "strong, best": ("#8e5ea2", "--", "^"),
    "drrn-2x100-lstm": ("#c2410c", "-", "^"),
    "drrn-2x100-gru": ("#3a8f4d", "-", "s"),
    "drrn-2x100-attention": ("#8e5ea2", "--", "v"),
    "drrn-2x100-bag-vectors": ("#67a9cf", "--", "D"),
    "parser-bow-dqn": ("#d98b2b", "--", "s"),
    "parser-lstm-dqn": ("#c2410c", "--", "^"),
    "parser-drrn-bag": ("#67a9cf", "-", "o"),
    "parser-drrn-lstm": ("#2166ac", "-", "D"),
}
MARKS = {  # text, colour, dashes, whether the text is above its line
    "best": ("best possible", "#3a8f4d", (6, 3), True),
    "random": ("random play", GREY, (1, 2), False),
}
WHITE = '<rect width="100%" height="100%" fill="#ffffff"/>'
GOOD = "#3a8f4d"
POOR = "#c0392b"
STATE = "#2166ac"


WIDE = ("plane", "panels")  # kinds of figures that take the whole width


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
    """Return a plot whose file is `figures/NAME.svg`."""
    path = f"figures/{name}.svg"
    return Plot(caption, path, wide=kind in WIDE, name=name, kind=kind, data=data)


def curve_line(
    label: str, style: str, points: Sequence[tuple[int, float, float]]
) -> dict[str, Any]:
    """Return the data of a learning curve; `style` is a key of LINES."""
    rounded = [[x, round(mean, 4), round(sd, 4)] for x, mean, sd in points]
    return {"label": label, "style": style, "points": rounded}


def draw(figure: Plot) -> str:
    """Draw a figure as an SVG with a transparent background."""
    matplotlib = require("matplotlib", "plot")
    matplotlib.use("Agg")
    pyplot = require("matplotlib.pyplot", "plot")
    with matplotlib.rc_context(STYLE):
        drawing = KINDS[figure.kind](pyplot, figure.data)
        text = io.StringIO()
        drawing.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
        pyplot.close(drawing)
    svg = re.sub(r"<metadata>.*?</metadata>\s*", "", text.getvalue(), flags=re.S)
    svg = re.sub(r"[ \t]+$", "", svg[svg.index("<svg") :], flags=re.M).strip()
    hashes = f'data-rows="{figure.sha256}" data-drawing="{_hash(svg)}"'
    return svg.replace("<svg ", f'<svg {hashes} role="img" ', 1)


def inside_page(svg: str, name: str) -> str:
    """Prepare an SVG for a page: text in the page's colour, ids with the prefix `name`."""
    svg = svg.replace(INK, "currentColor")
    ids = set(re.findall(r'\bid="([^"]+)"', svg))

    def rename(match: re.Match[str]) -> str:
        return f"{match[1]}{name}-{match[2]}" if match[2] in ids else match[0]

    return re.sub(r'(id="|href="#|url\(#)([^")]+)(?=["\)])', rename, svg)


def as_file(svg: str) -> str:
    """Return an SVG as a stand-alone file on white, because a viewer may be dark."""
    whole = re.sub(r"(<svg [^>]*>)", rf"\1\n {WHITE}", svg, count=1)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{whole}\n'


def from_file(text: str) -> str:
    """Return the SVG of a stand-alone file as `draw` returned it."""
    return text[text.find("<svg") :].replace(f"\n {WHITE}", "", 1).strip()


def rows_hash(svg: str) -> str | None:
    """Return the hash of the rows that an SVG shows; None if it has none."""
    match = re.search(r'<svg data-rows="(\w+)"', svg)
    return match[1] if match else None


def is_unchanged(svg: str) -> bool:
    """Whether an SVG is as `draw` returned it."""
    match = re.search(r' data-rows="\w+" data-drawing="(\w+)" role="img"', svg)
    return match is not None and _hash(svg.replace(match[0], "", 1)) == match[1]


def _hash(svg: str) -> str:
    return hashlib.sha256(svg.encode()).hexdigest()[:16]


def _curves(pyplot: Any, data: dict[str, Any]) -> Any:
    figure, axes = pyplot.subplots(figsize=(5.6, 4.0), layout="constrained")
    _draw_curves(axes, data)
    longest = max(len(line["label"]) for line in data["lines"])
    columns = 3 if longest < 20 else 2
    figure.legend(
        loc="outside lower center", ncols=columns, frameon=False, fontsize=9, handlelength=2.4
    )
    return figure


def _panels(pyplot: Any, data: dict[str, Any]) -> Any:
    """Learning curves of several games in one figure, with one legend."""
    rows = (len(data["panels"]) + 1) // 2
    figure, grid = pyplot.subplots(
        rows, 2, figsize=(9.6, 3.5 * rows + 0.4), layout="constrained", squeeze=False
    )
    for axes, panel in zip(grid.flat, data["panels"], strict=False):
        _draw_curves(axes, panel)
    for axes in grid.flat[len(data["panels"]) :]:
        axes.set_axis_off()
    labelled = dict(
        pair
        for axes in grid.flat
        for pair in zip(*axes.get_legend_handles_labels()[::-1], strict=True)
    )
    figure.legend(
        list(labelled.values()), list(labelled), loc="outside lower center", ncols=3, frameon=False, fontsize=9,
        handlelength=2.4,
    )  # fmt: skip
    return figure


def _draw_curves(axes: Any, data: dict[str, Any]) -> None:
    """Draw a line with error bars per model, and lines for random play and the best score."""
    for line in data["lines"]:
        colour, dash, marker = LINES.get(line["style"], ("#444444", "-", "o"))
        x, mean, sd = zip(*line["points"], strict=True)
        axes.errorbar(
            x, mean, sd, label=line["label"], color=colour, linestyle=dash, marker=marker, markersize=3.5,
            linewidth=1.6, elinewidth=0.9, capsize=1.8, alpha=0.95,
        )  # fmt: skip
    if data["rest"] is not None:  # named in the legend, because it is among the curves
        axes.axhline(
            data["rest"], color=INK, linestyle=(0, (4, 2, 1, 2)), linewidth=1.2, zorder=1,
            label=f"fixed point of Q-learning {data['rest']:.1f}",
        )  # fmt: skip
    for name, (words, colour, dashes, above) in MARKS.items():
        if data[name] is not None:
            axes.axhline(data[name], color=colour, linestyle=(0, dashes), linewidth=1.2, zorder=1)
            axes.annotate(
                f"{words} {data[name]:.1f}", (1, data[name]), xycoords=("axes fraction", "data"),
                xytext=(-2, 3 if above else -3), textcoords="offset points", ha="right",
                va="bottom" if above else "top", fontsize=8.5,
            )  # fmt: skip
    axes.set(
        xlabel="episodes played",
        ylabel=data.get("measure", "mean final reward"),
        title=data["title"],
    )
    axes.set_xlim(left=0)
    axes.margins(y=0.08)
    axes.grid(axis="y", color=GREY, alpha=0.25, linewidth=0.6)


def _scatter(pyplot: Any, data: dict[str, Any]) -> Any:
    figure, axes = pyplot.subplots(figsize=(4.6, 4.4), layout="constrained")
    q, paraphrased = zip(*data["points"], strict=True)
    low = min(*q, *paraphrased)
    high = max(*q, *paraphrased)
    axes.plot([low, high], [low, high], color=GREY, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
    axes.scatter(q, paraphrased, s=13, color=STATE, alpha=0.35, linewidths=0, zorder=2)
    axes.set(
        xlabel="Q of the original action",
        ylabel="Q of its paraphrase",
        title=data["title"],
        aspect="equal",
    )
    axes.grid(color=GREY, alpha=0.22, linewidth=0.6)
    return figure


def _plane(pyplot: Any, data: dict[str, Any]) -> Any:
    looks = data["looks"]
    figure, panels = pyplot.subplots(
        1,
        len(looks),
        figsize=(2.7 * len(looks), 3.1),
        layout="constrained",
        sharex=True,
        sharey=True,
        squeeze=False,
    )
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
    figure.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    return figure


ARROW = {"arrowstyle": "-|>", "lw": 1.8, "shrinkA": 0, "shrinkB": 0}
ROLES = {"state": ("state", STATE), "good": ("good action", GOOD), "poor": ("poor action", POOR)}
KINDS = {"curves": _curves, "panels": _panels, "scatter": _scatter, "plane": _plane}
