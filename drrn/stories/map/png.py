"""The map of a story as PNG, for print: the same layout as the SVG's, drawn with Matplotlib."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from drrn.errors import require
from drrn.stories.map.boxes import PAD, TITLE_LINE, WIDTH, BoxedPage, MapBox
from drrn.stories.map.layout import MapLayout, MapLine, map_layout
from drrn.stories.map.legend import (
    COUNT_Y,
    LEFT,
    SIGN,
    TITLE_Y,
    LegendItem,
    legend_height,
    legend_items,
    map_titles,
)
from drrn.stories.map.looks import (
    CLASSES,
    line_width,
    origin_words,
    reference,
    reward_class,
    row_words,
)
from drrn.stories.map.story_map import StoryMap
from drrn.stories.map.style import LIGHT, LIGHT_REWARDS
from drrn.stories.map.svg import LEAST_WIDTH

SHARPNESS = 2.0  # pixels of the picture for each of the layout
MOST_PIXELS = 12_000  # of a side
POINTS = 72.0  # to the inch: one for each pixel of the layout


def write_map_png(drawn: StoryMap, file: Path, engine: str = "auto") -> None:
    """Write the map as a picture."""
    require("matplotlib", "plot")
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    figure = map_figure(drawn, engine)
    dpi = POINTS * min(SHARPNESS, MOST_PIXELS / (POINTS * max(figure.get_size_inches())))
    FigureCanvasAgg(figure).print_figure(file, dpi=dpi, pil_kwargs={"compress_level": 3})


def map_figure(drawn: StoryMap, engine: str = "auto") -> Any:
    """The map as a figure of Matplotlib, in which a point is a pixel of the layout."""
    require("matplotlib", "plot")
    from matplotlib.figure import Figure

    layout = map_layout(drawn, engine)
    width = max(layout.width, LEAST_WIDTH)
    top = legend_height(drawn, layout, width)
    figure = Figure(
        figsize=(width / POINTS, (layout.height + top) / POINTS), facecolor=LIGHT["paper"]
    )
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set_xlim(0, width)
    axes.set_ylim(layout.height, -top)
    _draw_legend(axes, drawn, layout, width, -top)
    for line in sorted(layout.lines, key=lambda line: line.often):
        _draw_line(axes, line)
    for number, box in enumerate(layout.boxes):
        _draw_box(axes, drawn, layout, box, *layout.corners[number])
    return figure


def _draw_line(axes: Any, line: MapLine) -> None:
    from matplotlib.patches import PathPatch, Polygon
    from matplotlib.path import Path as Curve

    curve = Curve(list(line.points), [Curve.MOVETO, *[Curve.CURVE4] * (len(line.points) - 1)])
    looks: dict[str, Any] = {
        "linewidth": line_width(line.often),
        "linestyle": (0, (4, 2)) if line.back else "solid",
    }
    looks["edgecolor"] = LIGHT["back" if line.back else "line"]
    axes.add_patch(PathPatch(curve, facecolor="none", zorder=1, **looks))
    if line.arrow:
        (x0, _), (x, y) = line.points[-2:]
        back = 8.0 if x > x0 else -8.0
        tip = [(x, y), (x - back, y - 3.4), (x - back, y + 3.4)]
        axes.add_patch(
            Polygon(tip, closed=True, facecolor=looks["edgecolor"], linewidth=0, zorder=2)
        )


def _draw_box(
    axes: Any, drawn: StoryMap, layout: MapLayout, box: MapBox, x: float, y: float
) -> None:
    for page in box.pages:
        _draw_frame(axes, x, y + page.top, WIDTH, page.bottom - page.top, *_frame(drawn, box, page))
        if box.ending:
            _draw_frame(
                axes,
                x + 3,
                y + page.top + 3,
                WIDTH - 6,
                page.bottom - page.top - 6,
                "none",
                0.7,
                10.0,
            )
        _draw_words(axes, drawn, layout, box, page, x, y)
    if len(box.pages) > 1:
        _draw_frame(axes, x, y, WIDTH, box.height, "none", 2.0, 6.0)


def _frame(drawn: StoryMap, box: MapBox, page: BoxedPage) -> tuple[str, float, float]:
    """The colour of a page, the width of its frame, and how round its corners are."""
    place = page.place
    if box.ending:
        colour = LIGHT_REWARDS[int(reward_class(drawn, place)[1:])]
    else:
        colour = LIGHT[
            "trap" if drawn.trap[place] else "page" if drawn.distance[place] else "start"
        ]
    return colour, 0.6 + 0.7 * line_width(drawn.visits[place]), 13.0 if box.ending else 6.0


def _draw_frame(
    axes: Any,
    x: float,
    y: float,
    width: float,
    height: float,
    colour: str,
    line: float,
    corner: float,
) -> None:
    from matplotlib.patches import FancyBboxPatch

    style = f"round,pad=0,rounding_size={min(corner, height / 2)}"
    axes.add_patch(
        FancyBboxPatch(
            (x, y),
            width,
            height,
            boxstyle=style,
            facecolor=colour,
            edgecolor=LIGHT["frame"],
            linewidth=line,
            zorder=3,
        )
    )


def _draw_words(
    axes: Any, drawn: StoryMap, layout: MapLayout, box: MapBox, page: BoxedPage, x: float, y: float
) -> None:
    def say(
        words: str, at: float, down: float, size: float, colour: str = "ink", **more: Any
    ) -> None:
        literal = words.replace("$", r"\$")  # which would begin a formula
        axes.text(
            at, down, literal, fontsize=size, color=LIGHT[colour], va="center", zorder=4, **more
        )

    if page.origins:
        say(origin_words(drawn, page), x + 9, y + page.top + PAD + 6, 7.6)
    for line, words in enumerate(page.title):
        down = y + page.title_top + TITLE_LINE * (line + 0.5)
        if box.ending:
            last = line == len(page.title) - 1
            say(
                words,
                x + WIDTH / 2,
                down,
                8 if last else 9,
                ha="center",
                weight="normal" if last else "bold",
            )
        else:
            say(words, x + 9, down, 9, weight="bold")
    for row in range(len(page.rows)):
        words, chip = row_words(drawn, layout, page, row)
        say(words, x + 9, y + page.row_y(row), 7.6, "soft")
        if chip:
            named = layout.references.get((page.place, row), [])
            back = bool(named) and reference(drawn, layout, page.place, named[0])[0] in "↩↻"
            say(
                chip, x + WIDTH - 8, y + page.row_y(row), 7.6, "back" if back else "ink", ha="right"
            )


def _draw_legend(axes: Any, drawn: StoryMap, layout: MapLayout, width: float, top: float) -> None:
    title, count = map_titles(drawn, width)
    axes.text(
        LEFT, top + TITLE_Y - 6, title.replace("$", r"\$"), fontsize=14, weight="bold", va="center"
    )
    axes.text(LEFT, top + COUNT_Y - 4, count, fontsize=8.8, color=LIGHT["soft"], va="center")
    for item in legend_items(drawn, layout, width):
        _draw_sign(axes, item, top)
        axes.text(
            item.x + SIGN + 6,
            top + item.y,
            item.words,
            fontsize=8.8,
            color=LIGHT["soft"],
            va="center",
        )


def _draw_sign(axes: Any, item: LegendItem, top: float) -> None:
    x = item.x
    y = top + item.y
    if item.sign in ("page", "start", "trap"):
        _draw_frame(axes, x, y - 7, SIGN, 14, LIGHT[item.sign], 0.8, 4.0)
    elif item.sign == "unpaid":
        _draw_frame(axes, x, y - 7, SIGN, 14, LIGHT_REWARDS[CLASSES // 2], 0.8, 7.0)
    elif item.sign == "ending":
        from matplotlib.patches import Rectangle

        for number, colour in enumerate(LIGHT_REWARDS):
            step = SIGN / CLASSES
            axes.add_patch(
                Rectangle((x + number * step, y - 7), step, 14, facecolor=colour, linewidth=0)
            )
        _draw_frame(axes, x, y - 7, SIGN, 14, "none", 0.8, 3.0)
    elif item.sign in ("on", "back"):
        for often, down in ((0.9, 3.0), (0.0, -3.0)) if item.sign == "on" else ((0.1, 0.0),):
            points = tuple((x + part * SIGN / 3, y + down) for part in range(4))
            _draw_line(axes, MapLine(points, (), 0, often, item.sign == "back", arrow=down >= 0))
    else:
        words = "↩ →" if item.sign == "chip" else "↻"
        axes.text(x + SIGN / 2, y, words, fontsize=8, color=LIGHT["back"], ha="center", va="center")
