"""The table and the radar plot of `drrn diagnose`: normalised scores of agents by game."""

import io
import itertools
import math
import re
from collections.abc import Iterable, Sequence
from statistics import fmean
from typing import Any

from drrn.experiments.agents import AGENTS
from drrn.experiments.results import Row
from textgames.diagnostics import DIAGNOSTICS
from textgames.document import MISSING, Cell, Table, literal
from textgames.errors import require

Game = tuple[str, int, str]  # name, level, variant
Shares = dict[Game, list[float | None]]  # of each agent: 0 is random play, 1 the optimum
GREY = "#8a8a8a"
LINES = [
    ("#2166ac", "-", "o"),
    ("#d6604d", "-", "^"),
    ("#3a8f4d", "-", "s"),
    ("#8e5ea2", "--", "v"),
    ("#d98b2b", "--", "D"),
    ("#67a9cf", "--", "s"),
    ("#8a8a8a", "--", "o"),
]


def shares_of(rows: Iterable[Row]) -> tuple[list[str], Shares]:
    """The agents, and their mean shares over seeds."""
    values: dict[Game, dict[str, list[float]]] = {}
    names: dict[str, None] = {}
    for row in rows:
        game = (row["game"], row["level"], row["variant"])
        values.setdefault(game, {}).setdefault(row["agent"], []).append(row["share"])
        names[row["agent"]] = None
    agents = sorted(names, key=[*AGENTS, *names].index)
    shares: Shares = {}
    for game in sorted(values, key=lambda g: (g[2] != "train", [*DIAGNOSTICS].index(g[0]), g[1])):
        own = {agent: round(fmean(each), 4) for agent, each in values[game].items()}
        shares[game] = [own.get(agent) for agent in agents]
    return agents, shares


def share_table(agents: Sequence[str], shares: Shares, solved: float = 0.95) -> Table:
    """The table of shares, in which a dagger marks those below `solved`."""
    rows: list[list[Cell | str]] = []
    for game, values in shares.items():
        cells = [
            MISSING if share is None else Cell(_percent(share), mark="†" * (share < solved))
            for share in values
        ]
        rows.append([label_of(game), f"{game[0]}/{game[1]}", *cells])
    counts: list[Cell | str] = []
    for column in zip(*shares.values(), strict=True):
        known = [share for share in column if share is not None]
        counts.append(f"{sum(share >= solved for share in known)} of {len(known)}")
    rows.append([f"at least {_percent(solved)}", "", *counts])
    header = ["Capability", "Game", *map(literal, agents)]
    note = f"† below {_percent(solved)} of the way from random play to the optimum."
    return Table("", header, rows, [note], "ll" + "r" * len(agents))


def label_of(game: Game) -> str:
    return DIAGNOSTICS[game[0]].capability + (", held out" if game[2] != "train" else "")


def _percent(share: float) -> str:
    return f"{round(100 * share) + 0:,} %"


def radar(agents: Sequence[str], shares: Shares) -> str:
    """Draw the shares as an SVG, with one axis for each game and a closed line for each agent."""
    matplotlib = require("matplotlib")
    matplotlib.use("Agg")
    pyplot = require("matplotlib.pyplot", "matplotlib")
    text = io.StringIO()
    look = {"svg.hashsalt": "drrn", "svg.fonttype": "path", "text.parse_math": False}
    with matplotlib.rc_context(look):
        figure = _draw(pyplot, agents, shares)
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
        pyplot.close(figure)
    return re.sub(r"[ \t]+$", "", text.getvalue(), flags=re.M)


def _draw(pyplot: Any, agents: Sequence[str], shares: Shares) -> Any:
    figure = pyplot.figure(figsize=(8.6, 8.2), layout="constrained")
    axes = figure.add_subplot(projection="polar")
    angles = [2 * math.pi * number / len(shares) for number in range(len(shares))]
    columns = zip(*shares.values(), strict=True)
    for agent, column, (colour, dash, marker) in zip(
        agents, columns, itertools.cycle(LINES), strict=False
    ):
        points = [math.nan if share is None else min(max(share, 0), 1) for share in column]
        form = {"color": colour, "linestyle": dash, "marker": marker, "markersize": 4}
        axes.plot([*angles, angles[0]], [*points, points[0]], label=agent, **form)
    axes.set(theta_offset=math.pi / 2, theta_direction=-1, ylim=(-0.15, 1.03))
    axes.set_xticks(angles, [*map(label_of, shares)], fontsize=9.5)
    for label, angle in zip(axes.get_xticklabels(), angles, strict=True):
        side = math.sin(angle)  # the axes run clockwise from the top
        label.set_ha(("center", "left", "right")[(side > 0.1) - (side < -0.1)])
    axes.set_yticks([0, 0.5, 1], ["0 %", "50 %", "100 %"], fontsize=8, color=GREY)
    axes.grid(color=GREY, alpha=0.3, linewidth=0.7)
    axes.spines["polar"].set_visible(False)
    columns_of_legend = min(4, len(agents))
    legend = {"loc": "outside lower center", "frameon": False, "fontsize": 9}
    figure.legend(ncols=columns_of_legend, handlelength=2.4, **legend)
    return figure
