"""The head of a map: its title, what it counts, and a legend, wrapped to the map's width."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from drrn.stories.map.boxes import breadth, cut, plain
from drrn.stories.map.layout import MapLayout
from drrn.stories.map.looks import CLASSES, counted_places
from drrn.stories.map.story_map import StoryMap

LEFT = 24.0
TITLE_Y = 30.0
COUNT_Y = 50.0
FIRST_Y = 74.0
LINE = 22.0
SIGN = 36.0  # the width of a sign
LETTER = 6.8  # of a word in the legend


@dataclass(frozen=True)
class LegendItem:
    """A sign of the map with what it means, and where it stands."""

    sign: str
    words: str
    x: float
    y: float


def legend_items(drawn: StoryMap, layout: MapLayout, width: float) -> list[LegendItem]:
    """The signs that the map has need of, in lines."""
    signs = [("page", f"a {drawn.noun} with its links"), ("start", "where the story begins")]
    rewards = sorted({reward for reward in drawn.reward if reward is not None})
    if rewards:
        span = f", from {rewards[0]:g} to {rewards[-1]:g}" if len(rewards) > 1 else ""
        pays = f", its colour by what it pays{span}," if any(rewards) else ""
        signs.append(
            ("ending" if pays else "unpaid", f"an ending{pays} and its share of random games")
        )
    if any(drawn.trap):
        signs.append(("trap", "no ending can be reached from here, or not always"))
    signs.append(("on", "the wider, the more often random play goes there"))
    named = [
        (place, target) for (place, _), targets in layout.references.items() for target in targets
    ]
    if any(line.back for line in layout.lines):
        signs.append(("back", "leads back"))
    if any(place != target for place, target in named):
        signs.append(("chip", "leads back, or on, to the page named"))
    if any(place == target for place, target in named):
        signs.append(("again", "leads to the same page"))
    items = []
    x = LEFT
    y = FIRST_Y
    for sign, words in signs:
        needs = SIGN + 8 + LETTER * breadth(words) + 20
        if x > LEFT and x + needs > width:
            x = LEFT
            y = y + LINE
        items.append(LegendItem(sign, words, x, y))
        x += needs
    return items


def map_titles(drawn: StoryMap, width: float) -> tuple[str, str]:
    """The title and what the map counts."""
    return cut(plain(drawn.name), int((width - 2 * LEFT) / 10)), counted_places(drawn)


def legend_height(drawn: StoryMap, layout: MapLayout, width: float) -> float:
    """How much of the canvas the head takes."""
    return legend_items(drawn, layout, width)[-1].y + LINE


def legend_svg(drawn: StoryMap, layout: MapLayout, width: float) -> list[str]:
    """The head as SVG."""
    title, count = map_titles(drawn, width)
    parts = [
        f'<g class="legend"><text class="heading" x="{LEFT:.0f}" y="{TITLE_Y:.0f}">{escape(title)}</text>',
        f'<text class="note" x="{LEFT:.0f}" y="{COUNT_Y:.0f}">{escape(count)}</text>',
    ]
    for item in legend_items(drawn, layout, width):
        parts.append(f'<g transform="translate({item.x:.0f} {item.y:.0f})">{_sign(item.sign)}')
        parts.append(f'<text class="note" x="{SIGN + 6:.0f}" y="4">{escape(item.words)}</text></g>')
    return [*parts, "</g>"]


def _sign(sign: str) -> str:
    if sign in ("page", "start", "trap"):
        return f'<g class="{sign}"><rect class="frame" y="-7" width="{SIGN:.0f}" height="14" rx="4"/></g>'
    if sign == "unpaid":
        return (
            f'<rect class="frame r{CLASSES // 2}" y="-7" width="{SIGN:.0f}" height="14" rx="7"/>'
            f'<rect class="inner" x="2" y="-5" width="{SIGN - 4:.0f}" height="10" rx="5"/>'
        )
    if sign == "ending":
        step = SIGN / CLASSES
        ramp = "".join(
            f'<rect class="frame r{n}" x="{n * step:.1f}" y="-7" width="{step:.1f}" height="14" stroke-width="0"/>'
            for n in range(CLASSES)
        )
        return f'{ramp}<rect class="inner" y="-7" width="{SIGN:.0f}" height="14" rx="3"/>'
    if sign in ("on", "back"):
        wide = (
            f'<path class="way {sign}" d="M0 -3H{SIGN:.0f}" stroke-width="1"/>'
            if sign == "on"
            else ""
        )
        y, thick = (3, 3) if sign == "on" else (0, 1.5)
        return (
            f'{wide}<path class="way {sign}" d="M0 {y}H{SIGN:.0f}" stroke-width="{thick}" '
            f'marker-end="url(#story-map-{sign})"/>'
        )
    words = "↩ →" if sign == "chip" else "↻"
    return f'<g class="chip back"><text x="{SIGN / 2:.0f}" y="4" text-anchor="middle">{words}</text></g>'
