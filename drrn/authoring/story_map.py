"""The map of a compiled game: pages from the start on, endings coloured by reward, lines as wide as they are gone."""

from __future__ import annotations

import math
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from drrn.authoring.map_layout import columns, heights
from drrn.errors import InputError, require
from drrn.exact.chain import Chain, uniform
from drrn.games import Compiled
from drrn.games.compiled.graph import first_words
from drrn.games.optional import THE_END

PAGE, LINE, BACK, INK = "#eef1f5", "#5b6b82", "#c98a3c", "#1d2530"
TRAP = "#b9a3d6"


@dataclass(frozen=True)
class StoryMap:
    """Places (a passage, or a page where there are no passages; or an ending), and the ways between them under random
    play."""

    name: str
    labels: list[str]
    reward: list[float | None]  # of endings
    trap: list[bool]
    visits: list[float]
    distance: list[int]  # steps from the start
    ways: dict[tuple[int, int], float]  # how often each is expected to be gone
    noun: str = "passage"  # what a place is


def story_map(compiled: Compiled) -> StoryMap:
    """States gathered by their passage, or by their text in games that have no passages; endings apart."""
    named = np.array([passage != "" for passage in compiled.passages])[compiled.passage]
    gathered = np.where(named, compiled.passage, len(compiled.passages) + compiled.text)
    keys = [(int(p), int(e)) for p, e in zip(np.where(compiled.ended, -1, gathered), compiled.ending_at, strict=True)]
    number: dict[tuple[int, int], int] = {}
    place = np.array([number.setdefault(key, len(number)) for key in keys])
    chain = Chain(compiled, uniform(compiled))
    visits, lost = chain.visits(), ~chain.leads_to(compiled.ended)
    flow = visits[chain.origin] * chain.chance
    pairs, at = np.unique(place[chain.origin] * len(number) + place[chain.successor], return_inverse=True)
    amount = np.bincount(at, flow)
    steps = _distance(compiled, chain)
    of_place = [np.flatnonzero(place == at) for at in range(len(number))]
    return StoryMap(
        name=compiled.title,
        labels=[_label(compiled, int(states[0])) for states in of_place],
        reward=[float(compiled.reward[states[0]]) if compiled.ended[states[0]] else None for states in of_place],
        trap=[bool(lost[states].any()) for states in of_place],
        visits=[float(visits[states].sum()) for states in of_place],
        distance=[int(steps[states].min()) for states in of_place],
        ways={divmod(int(pair), len(number)): float(a) for pair, a in zip(pairs, amount, strict=True)},
        noun="passage" if named.any() else "page",
    )


def _label(compiled: Compiled, state: int) -> str:
    """The passage or the ending's name; where a game has no such names, the first words of the text."""
    if not compiled.ended[state]:
        return compiled.place_of(state)
    ending = compiled.endings[compiled.ending_at[state]]
    return first_words(ending.text) if ending.passage == THE_END and ending.text else ending.passage


def _distance(compiled: Compiled, chain: Chain) -> Any:
    steps = np.where(compiled.start > 0, 0, -1)
    for number in range(1, len(compiled) + 1):
        reached = chain.successor[steps[chain.origin] == number - 1]
        reached = reached[steps[reached] < 0]
        if not reached.size:
            break
        steps[reached] = number
    return steps


def draw(compiled: Compiled, stem: Path) -> list[Path]:
    """Write the map as `stem.svg` and `stem.png`."""
    require("matplotlib", "plot")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    figure = map_figure(story_map(compiled))
    written = []
    for suffix, canvas in ((".svg", FigureCanvasSVG), (".png", FigureCanvasAgg)):
        path = stem.with_name(stem.name + suffix)
        try:
            canvas(figure).print_figure(path, dpi=110)
        except OSError as error:
            raise InputError(f"{path}: cannot be written: {error.strerror}") from error
        written.append(path)
    return written


def map_figure(drawn: StoryMap) -> Any:
    """The map as a figure of Matplotlib."""
    from matplotlib.figure import Figure

    stacks = columns(drawn.distance, tallest=max(9, round(1.1 * math.sqrt(len(drawn.labels)))))
    # A line counts for the layout even where it is hardly ever gone.
    height = heights(stacks, {way: 0.2 + math.sqrt(amount) for way, amount in drawn.ways.items()})
    across = {node: number for number, stack in enumerate(stacks) for node in stack}
    low, high = min(height.values()), max(height.values())
    width = max(len(stacks), 3)  # columns: fewer leave no room for the title
    figure = Figure(figsize=(1.65 * width + 0.4, 0.5 * (high - low + 1) + 1.2))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set_xlim(-0.65, width - 0.35)
    axes.set_ylim(high + 0.8, low - 2.4)
    for way, amount in sorted(drawn.ways.items(), key=lambda item: item[1]):
        _draw_way(axes, way, amount, across, height)
    for node, label in enumerate(drawn.labels):
        _draw_place(axes, drawn, node, label, across[node], height[node])
    _draw_legend(axes, drawn, low, letters=18 * width)
    return figure


HALF = 0.36  # of a place's width, where columns are 1 apart


def _draw_way(axes: Any, way: tuple[int, int], amount: float, across: Any, height: Any) -> None:
    from matplotlib.patches import FancyArrowPatch
    from matplotlib.path import Path as Curve

    source, target = way
    x0, y0, x1, y1 = across[source], height[source], across[target], height[target]
    width = 0.5 + 2.5 * min(1.0, math.sqrt(amount))
    alpha = 0.4 + 0.5 * min(1.0, math.sqrt(amount))
    if source == target:
        points = [(x0 + side, y0 - up) for side, up in ((-0.12, 0.36), (-0.2, 0.66), (0.2, 0.66), (0.12, 0.36))]
        colour = BACK
    elif x1 > x0:  # onward
        a, b = (x0 + HALF, y0), (x1 - HALF, y1)
        bend = max(0.25, 0.45 * (b[0] - a[0]))
        points = [a, (a[0] + bend, a[1]), (b[0] - bend, b[1]), b]
        colour = LINE
    else:  # back, or within a column
        a, b = (x0 + HALF, y0 + 0.12), (x1 + HALF, y1 + 0.12)
        points = [a, (a[0] + 0.22, a[1] + 0.2), (b[0] + 0.22, b[1] + 0.2), b]
        colour = BACK
        alpha *= 0.6
    curve = Curve(points, [Curve.MOVETO, Curve.CURVE4, Curve.CURVE4, Curve.CURVE4])
    axes.add_patch(
        FancyArrowPatch(
            path=curve, arrowstyle="-|>", mutation_scale=5 + 2 * width, linewidth=width, color=colour, alpha=alpha,
            zorder=1, shrinkA=0, shrinkB=0,
        )
    )  # fmt: skip


def _draw_place(axes: Any, drawn: StoryMap, node: int, label: str, x: float, y: float) -> None:
    from matplotlib.patches import FancyBboxPatch

    reward = drawn.reward[node]
    colour = PAGE if reward is None else _colour(reward, drawn.reward)
    box = FancyBboxPatch(
        (x - HALF + 0.03, y - 0.33), 2 * HALF - 0.06, 0.66, boxstyle="round,pad=0.03,rounding_size=0.06",
        facecolor=TRAP if drawn.trap[node] else colour, edgecolor=INK,
        linewidth=0.4 + 2.2 * min(1.0, math.sqrt(drawn.visits[node])), zorder=2,
    )  # fmt: skip
    axes.add_patch(box)
    pays = "" if reward is None else f" ({reward:g})"
    lines = textwrap.wrap(label, 17 - len(pays)) or [""]
    shown = "\n".join(lines[:2]) + ("…" if len(lines) > 2 else "") + pays
    axes.text(x, y, shown, ha="center", va="center", fontsize=8, color=INK, zorder=3, linespacing=0.95)


def _colour(reward: float, rewards: list[float | None]) -> Any:
    """From red by yellow to green; 0 is yellow where rewards are of both signs."""
    import matplotlib

    span = max(abs(other) for other in rewards if other is not None) or 1.0
    return matplotlib.colormaps["RdYlGn"](0.5 + 0.33 * reward / span)


def _draw_legend(axes: Any, drawn: StoryMap, low: float, letters: int) -> None:
    endings = sum(reward is not None for reward in drawn.reward)
    places = len(drawn.labels) - endings
    title = f"{drawn.name}: {places} {drawn.noun}{'s' * (places != 1)}, {endings} ending{'s' * (endings != 1)}"
    key = "by steps from the start; lines and frames as wide as random play goes there; orange leads back"
    text = "\n".join(textwrap.fill(part, letters, max_lines=2) for part in (title, key))
    axes.text(-HALF, low - 1.5, text, fontsize=10, color=INK, va="center")
