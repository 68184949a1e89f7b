"""The map of a story as SVG: nothing loaded from elsewhere, light and dark, each page a group that scripts can find."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from drrn.stories.map.boxes import PAD, ROW, TITLE_LINE, WIDTH, BoxedPage, MapBox, plain
from drrn.stories.map.layout import MapLayout, MapLine, map_layout
from drrn.stories.map.legend import legend_height, legend_svg
from drrn.stories.map.looks import (
    counted_places,
    line_width,
    origin_words,
    reference,
    reward_class,
    row_words,
    way_words,
)
from drrn.stories.map.story_map import StoryMap
from drrn.stories.map.style import MAP_STYLE

LEAST_WIDTH = 620.0
EXCERPT = 300  # characters of a page's text in its tooltip


def story_map_svg(drawn: StoryMap, *, with_style: bool = True, engine: str = "auto") -> str:
    """The map as one `<svg class="story-map">`, to be written to a file or to be put into a page of HTML.

    Each place is `<g class="place" id="place-N" data-place="N" data-page="its name">`, N as in the lists;
    each way `<path class="way" data-from="N …" data-to="N">`. Without style, the page must have MAP_STYLE itself, as
    one does whose Content-Security-Policy allows no style inside. Engines: `dot`, `own`, `auto` (dot if installed).
    """
    layout = map_layout(drawn, engine)
    width = max(layout.width, LEAST_WIDTH)
    top = legend_height(drawn, layout, width)
    height = layout.height + top
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="story-map" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" height="{height:.0f}" role="group" aria-label="{_said(_name(drawn))}">'
    ]
    parts += [f"<style>{MAP_STYLE}</style>"] * with_style
    parts += [MARKERS, f'<rect class="paper" width="{width:.0f}" height="{height:.0f}"/>']
    parts += legend_svg(drawn, layout, width)
    parts.append(f'<g class="map" transform="translate(0 {top:.0f})">')
    parts += [_way(drawn, line) for line in sorted(layout.lines, key=lambda line: line.often)]
    for number, box in enumerate(layout.boxes):
        parts += _box(drawn, layout, number, box)
    return "\n".join([*parts, "</g>", "</svg>"]) + "\n"


MARKERS = "<defs>" + "".join(
    f'<marker id="story-map-{kind}" viewBox="0 0 8 8" refX="7.5" refY="4" markerWidth="8" markerHeight="8" '
    f'markerUnits="userSpaceOnUse" orient="auto"><path class="head {kind}" d="M0 .6L8 4 0 7.4z"/></marker>'
    for kind in ("on", "back")
) + "</defs>"  # fmt: skip


def _name(drawn: StoryMap) -> str:
    return f"Map of {drawn.name}: {counted_places(drawn)}"


def _said(text: str) -> str:
    """Text that is no markup, in one line."""
    return escape(plain(text), quote=True)


def _way(drawn: StoryMap, line: MapLine) -> str:
    """A line with its tooltip."""
    kind = "back" if line.back else "on"
    arrow = f' marker-end="url(#story-map-{kind})"' if line.arrow else ""
    names = "\n".join(_said(words) for words in way_words(drawn, line.sources, line.target))
    return (
        f'<path class="way {kind}" data-from="{" ".join(map(str, line.sources))}" data-to="{line.target}" '
        f'd="{_curves(line)}" stroke-width="{line_width(line.often):.1f}"{arrow}><title>{names}</title></path>'
    )


def _curves(line: MapLine) -> str:
    points = [f"{x:.1f} {y:.1f}" for x, y in line.points]
    return f"M{points[0]}C" + " ".join(points[1:])


def _box(drawn: StoryMap, layout: MapLayout, number: int, box: MapBox) -> Iterator[str]:
    x, y = layout.corners[number]
    yield f'<g class="box" transform="translate({x:.1f} {y:.1f})">'
    for page in box.pages:
        yield from _page(drawn, layout, box, page)
    if len(box.pages) > 1:
        yield f'<rect class="chain" width="{WIDTH:.0f}" height="{box.height:.0f}" rx="6"/>'
    yield "</g>"


def _page(drawn: StoryMap, layout: MapLayout, box: MapBox, page: BoxedPage) -> Iterator[str]:
    place = page.place
    height = page.bottom - page.top
    kind = (
        "ending"
        if box.ending
        else "trap"
        if drawn.trap[place]
        else "start"
        if not drawn.distance[place]
        else ""
    )
    colour = reward_class(drawn, place)
    classes = " ".join(filter(None, ("place", kind, colour)))
    yield (
        f'<g class="{classes}" id="place-{place}" data-place="{place}" data-page="{_said(drawn.labels[place])}">'
        f"<title>{_tooltip(drawn, place)}</title>"
    )
    corner = min(height / 2, 16) if box.ending else 6
    yield (
        f'<rect class="frame" y="{page.top:.0f}" width="{WIDTH:.0f}" height="{height:.0f}" rx="{corner:.0f}" '
        f'stroke-width="{0.6 + 0.7 * line_width(drawn.visits[place]):.1f}"/>'
    )
    if box.ending:  # a second frame inside, as final states have
        yield (
            f'<rect class="inner" x="3" y="{page.top + 3:.0f}" width="{WIDTH - 6:.0f}" height="{height - 6:.0f}" '
            f'rx="{corner - 3:.0f}"/>'
        )
    if page.origins:
        yield (
            f'<a class="chip on" href="#place-{page.origins[0]}"><text class="from" x="9" y="{page.top + PAD + 9:.0f}">'
            f"{_said(origin_words(drawn, page))}</text></a>"
        )
    for line, words in enumerate(page.title):
        pays = "pays" if box.ending and line == len(page.title) - 1 else "name"
        at = page.title_top + TITLE_LINE * (line + 0.5)
        x, anchor = (WIDTH / 2, ' text-anchor="middle"') if box.ending else (9.0, "")
        yield f'<text class="{pays}" x="{x:.0f}" y="{at + 4:.0f}"{anchor}>{_said(words)}</text>'
    for row in range(len(page.rows)):
        yield _row(drawn, layout, page, row)
    yield "</g>"


def _row(drawn: StoryMap, layout: MapLayout, page: BoxedPage, row: int) -> str:
    """The words of a link, which lead to its page, and the name of that page where no line leads there."""
    link = page.rows[row]
    named = layout.references.get((page.place, row), [])
    words, chip = row_words(drawn, layout, page, row)
    y = page.row_y(row) + 3.5
    text = f'<text x="9" y="{y:.1f}">{_said(words)}</text>'
    told = [f'<a class="link" href="#place-{link.targets[0]}">{text}</a>' if link.targets else text]
    if chip and not named:
        told.append(
            f'<text class="untried" x="{WIDTH - 8:.0f}" y="{y:.1f}" text-anchor="end">{_said(chip)}</text>'
        )
    elif chip:
        kind = "back" if reference(drawn, layout, page.place, named[0])[0] in "↩↻" else "on"
        told.append(
            f'<a class="chip {kind}" href="#place-{named[0]}" data-from="{page.place}" '
            f'data-to="{" ".join(map(str, named))}">'
            f'<text x="{WIDTH - 8:.0f}" y="{y:.1f}" text-anchor="end">{_said(chip)}</text></a>'
        )
    names = "\n".join(_said(drawn.labels[target]) for target in link.targets[:12])
    tooltip = f"<title>{_said(link.words)} →\n{names}</title>"
    band = f'<rect class="row" x="3" y="{page.row_y(row) - ROW / 2:.1f}" width="{WIDTH - 6:.0f}" height="{ROW:.0f}"/>'
    return f"<g>{tooltip}{band}{''.join(told)}</g>"


def _tooltip(drawn: StoryMap, place: int) -> str:
    text = plain(drawn.texts[place]) if drawn.texts else ""
    text = text if len(text) <= EXCERPT else text[:EXCERPT].rsplit(" ", 1)[0] + " …"
    often = f"{drawn.visits[place]:.2g} times in a random game, {drawn.distance[place]} steps from the start at least"
    return f"{_said(drawn.labels[place])}\n{_said(often)}\n{_said(text)}".rstrip()
