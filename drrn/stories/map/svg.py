"""The map of a story as SVG: self-contained, light and dark, with a group per page for scripts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

from drrn.errors import InputError
from drrn.pages import static_text
from drrn.stories.map.layers import (
    PAD,
    ROW,
    ROW_LETTERS,
    TITLE_LINE,
    WIDTH,
    Box,
    Page,
    breadth,
    plain,
    shorten,
)
from drrn.stories.map.layout import Layout, Line, map_layout
from drrn.stories.map.story_map import StoryMap
from drrn.writing import counted

MIN_WIDTH = 620.0
EXCERPT = 300  # characters of a page's text in its tooltip
MAX_LINKS = 12  # in the tooltip of a line
REWARD_CLASSES = 9  # r0 to r8, from the worst reward to the best
NOT_TRIED = "not tried"
MIN_CHIP = 14  # letters of the name of a target
# The legend
LEFT = 24.0
FIRST_Y = 74.0
LEGEND_LINE = 22.0
SIGN = 36.0  # width of a sign
LETTER = 6.8  # width of a letter
MARKER = (
    '<marker id="story-map-{0}" viewBox="0 0 8 8" refX="7.5" refY="4" markerWidth="8" '
    'markerHeight="8" markerUnits="userSpaceOnUse" orient="auto">'
    '<path class="head {0}" d="M0 .6L8 4 0 7.4z"/></marker>'
)


def check_map_file(file: Path) -> None:
    """Raise InputError if a map cannot be written to a file. Existing files are not overwritten."""
    if file.suffix.lower() != ".svg":
        raise InputError(f"{file}: a map is an SVG file; choose a name that ends in .svg")
    if file.exists():
        raise InputError(f"{file}: the file exists; choose another name for the map")
    if not file.parent.is_dir():
        raise InputError(f"{file}: there is no folder {file.parent}; create it first")


def write_map(story: StoryMap, file: Path) -> None:
    """Write a map to an SVG file."""
    try:
        file.write_text(story_map_svg(story), encoding="utf-8")
    except OSError as error:
        raise InputError(f"{file}: cannot be written: {error.strerror}") from error


def story_map_svg(story: StoryMap, *, with_style: bool = True) -> str:
    """Draw a map as one `<svg class="story-map">`, for a file or for a page of HTML.

    Each node is `<g class="place" id="place-N" data-place="N" data-page="label">`, where N is its
    index in the lists of `story`; each line is `<path class="way" data-from="N …" data-to="N">`.

    Args:
        story: the map.
        with_style: include the style sheet. Without it, the page must load `map.css`, as a page
            does whose Content-Security-Policy forbids inline styles.
    """
    layout = map_layout(story)
    width = max(layout.width, MIN_WIDTH)
    legend, top = _legend(story, layout, width)
    height = layout.height + top
    size = f'width="{width:.0f}" height="{height:.0f}"'
    label = _text(f"Map of {story.name}: {_counts(story)}")
    parts = [
        '<svg xmlns="http://www.w3.org/2000/svg" class="story-map" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" {size} role="group" aria-label="{label}">'
    ]
    if with_style:
        parts.append(f"<style>{static_text('map.css')}</style>")
    parts.append(f"<defs>{MARKER.format('on')}{MARKER.format('back')}</defs>")
    parts += [f'<rect class="paper" {size}/>', *legend]
    parts.append(f'<g class="map" transform="translate(0 {top:.0f})">')
    parts += [_line(story, line) for line in sorted(layout.lines, key=lambda n: n.frequency)]
    for box, (x, y) in zip(layout.boxes, layout.corners, strict=True):
        parts.append(f'<g class="box" transform="translate({x:.1f} {y:.1f})">')
        for page in box.pages:
            parts += _page(story, layout, box, page)
        if len(box.pages) > 1:
            frame = f'width="{WIDTH:.0f}" height="{box.height:.0f}"'
            parts.append(f'<rect class="chain" {frame} rx="6"/>')
        parts.append("</g>")
    return "\n".join([*parts, "</g>", "</svg>"]) + "\n"


def _text(text: str) -> str:
    return escape(plain(text), quote=True)


def _counts(story: StoryMap) -> str:
    endings = sum(reward is not None for reward in story.reward)
    others = len(story.labels) - endings
    counts = f"{counted(others, story.noun)}, {counted(endings, 'ending')}"
    return f"{counts}, as far as seen" if story.partial else counts


def _line_width(frequency: float) -> float:
    return 0.9 + 2.9 * min(1.0, math.sqrt(max(frequency, 0.0)))


def _line(story: StoryMap, line: Line) -> str:
    kind = "back" if line.back else "on"
    sources = " ".join(map(str, line.sources))
    points = [f"{x:.1f} {y:.1f}" for x, y in line.points]
    arrow = f' marker-end="url(#story-map-{kind})"' if line.arrow else ""
    tooltip = "\n".join(map(_text, _links(story, line.sources, line.target)))
    return (
        f'<path class="way {kind}" data-from="{sources}" data-to="{line.target}" '
        f'd="M{points[0]}C{" ".join(points[1:])}" '
        f'stroke-width="{_line_width(line.frequency):.1f}"{arrow}><title>{tooltip}</title></path>'
    )


def _links(story: StoryMap, sources: Sequence[int], target: int) -> list[str]:
    """Return the links that a line represents, for its tooltip."""
    lines = []
    for source in sources:
        edge = (source, target)
        actions = story.actions.get(edge) or {"": story.edges.get(edge, 0.0)}
        for action, frequency in sorted(actions.items(), key=lambda item: -item[1]):
            quoted = f"“{action}” " if action else ""
            ends = f"{story.labels[source]} {quoted}→ {story.labels[target]}"
            lines.append(f"{ends}: {frequency:.2g} times in a random game")
    rest = len(lines) - MAX_LINKS
    return [*lines[:MAX_LINKS], f"… and {rest} more"] if rest > 0 else lines


def _page(story: StoryMap, layout: Layout, box: Box, page: Page) -> Iterator[str]:
    node = page.node
    label = _text(story.labels[node])
    yield (
        f'<g class="{_page_class(story, node)}" id="place-{node}" data-place="{node}" '
        f'data-page="{label}"><title>{_tooltip(story, node)}</title>'
    )
    height = page.bottom - page.top
    corner = min(height / 2, 16) if box.ending else 6
    stroke = 0.6 + 0.7 * _line_width(story.visits[node])
    yield (
        f'<rect class="frame" y="{page.top:.0f}" width="{WIDTH:.0f}" height="{height:.0f}" '
        f'rx="{corner:.0f}" stroke-width="{stroke:.1f}"/>'
    )
    if box.ending:  # a double frame, the sign of a final state
        yield (
            f'<rect class="inner" x="3" y="{page.top + 3:.0f}" width="{WIDTH - 6:.0f}" '
            f'height="{height - 6:.0f}" rx="{corner - 3:.0f}"/>'
        )
    if page.origins:
        yield (
            f'<a class="chip on" href="#place-{page.origins[0]}"><text class="from" x="9" '
            f'y="{page.top + PAD + 9:.0f}">{_text(_origins(story, page))}</text></a>'
        )
    position = f'x="{WIDTH / 2:.0f}"' if box.ending else 'x="9"'
    anchor = ' text-anchor="middle"' if box.ending else ""
    for number, line in enumerate(page.title):
        kind = "pays" if box.ending and number == len(page.title) - 1 else "name"
        y = page.title_top + TITLE_LINE * (number + 0.5) + 4
        yield f'<text class="{kind}" {position} y="{y:.0f}"{anchor}>{_text(line)}</text>'
    for row in range(len(page.rows)):
        yield _row(story, layout, page, row)
    yield "</g>"


def _page_class(story: StoryMap, node: int) -> str:
    """Return the classes of a node; r0 is the worst reward, r4 is 0, r8 the best."""
    reward = story.reward[node]
    if reward is not None:
        span = max(abs(other) for other in story.reward if other is not None) or 1.0
        return f"place ending r{round((REWARD_CLASSES - 1) * (0.5 + 0.5 * reward / span))}"
    if story.trap[node]:
        return "place trap"
    return "place" if story.distance[node] else "place start"


def _tooltip(story: StoryMap, node: int) -> str:
    text = plain(story.texts[node]) if story.texts else ""
    if len(text) > EXCERPT:
        text = text[:EXCERPT].rsplit(" ", 1)[0] + " …"
    visits = f"{story.visits[node]:.2g} times in a random game"
    steps = f"{story.distance[node]} steps from the start at least"
    return f"{_text(story.labels[node])}\n{visits}, {steps}\n{_text(text)}".rstrip()


def _origins(story: StoryMap, page: Page) -> str:
    """Name the nodes that lead to a page that no line leads to."""
    more = f" +{len(page.origins) - 1}" if len(page.origins) > 1 else ""
    name = f"from {plain(story.labels[page.origins[0]])}"
    return shorten(name, ROW_LETTERS - len(more)) + more


def _row(story: StoryMap, layout: Layout, page: Page, number: int) -> str:
    """Draw the text of a link and, if no line leads to its target, the name of the target."""
    row = page.rows[number]
    targets = layout.references.get((page.node, number), [])
    words, chip = _row_texts(story, layout, page, number)
    y = page.row_y(number)
    text = f'<text x="9" y="{y + 3.5:.1f}">{_text(words)}</text>'
    if row.targets:
        text = f'<a class="link" href="#place-{row.targets[0]}">{text}</a>'
    position = f'x="{WIDTH - 8:.0f}" y="{y + 3.5:.1f}" text-anchor="end"'
    if targets:
        kind = "on" if chip.startswith("→") else "back"
        ends = f'data-from="{page.node}" data-to="{" ".join(map(str, targets))}"'
        text += f'<a class="chip {kind}" href="#place-{targets[0]}" {ends}>'
        text += f"<text {position}>{_text(chip)}</text></a>"
    elif chip:
        text += f'<text class="untried" {position}>{_text(chip)}</text>'
    names = "\n".join(_text(story.labels[target]) for target in row.targets[:MAX_LINKS])
    tooltip = f"<title>{_text(row.text)} →\n{names}</title>"
    size = f'width="{WIDTH - 6:.0f}" height="{ROW:.0f}"'
    return f'<g>{tooltip}<rect class="row" x="3" y="{y - ROW / 2:.1f}" {size}/>{text}</g>'


def _row_texts(story: StoryMap, layout: Layout, page: Page, number: int) -> tuple[str, str]:
    """Return the text of a link and the name of its target ("" if a line shows it), shortened."""
    row = page.rows[number]
    words = row.text or "…"
    if not row.targets:
        return shorten(words, ROW_LETTERS - breadth(NOT_TRIED) - 1), NOT_TRIED
    targets = layout.references.get((page.node, number))
    if not targets:
        return shorten(words, ROW_LETTERS), ""
    chip = _reference(story, layout, page.node, targets[0])
    more = f" +{len(targets) - 1}" if len(targets) > 1 else ""
    room = ROW_LETTERS - 1 - breadth(more)
    least = min(breadth(chip), MIN_CHIP, room)
    words = shorten(words, max(room - breadth(chip), room - max(least, room // 2)))
    return words, shorten(chip, max(room - breadth(words), least)) + more


def _reference(story: StoryMap, layout: Layout, source: int, target: int) -> str:
    if source == target:
        return "↻"
    is_forward = layout.layer_of_node[target] > layout.layer_of_node[source]
    return f"{'→' if is_forward else '↩'} {plain(story.labels[target])}"


def _legend(story: StoryMap, layout: Layout, width: float) -> tuple[list[str], float]:
    """Return the title, the counts and the legend as SVG, and their height."""
    title = shorten(plain(story.name), int((width - 2 * LEFT) / 10))
    parts = [
        f'<g class="legend"><text class="heading" x="24" y="30">{escape(title)}</text>',
        f'<text class="note" x="24" y="50">{escape(_counts(story))}</text>',
    ]
    x = LEFT
    y = FIRST_Y
    for sign, words in _legend_signs(story, layout):
        needed = SIGN + 8 + LETTER * breadth(words) + 20
        if x > LEFT and x + needed > width:
            x = LEFT
            y += LEGEND_LINE
        parts.append(f'<g transform="translate({x:.0f} {y:.0f})">{_sign(sign)}')
        parts.append(f'<text class="note" x="{SIGN + 6:.0f}" y="4">{escape(words)}</text></g>')
        x += needed
    return [*parts, "</g>"], y + LEGEND_LINE


def _legend_signs(story: StoryMap, layout: Layout) -> Iterator[tuple[str, str]]:
    """Yield the signs that the map uses, with their meanings."""
    yield "page", f"a {story.noun} with its links"
    yield "start", "the start of the story"
    rewards = sorted({reward for reward in story.reward if reward is not None})
    if any(rewards):
        span = f", from {rewards[0]:g} to {rewards[-1]:g}" if len(rewards) > 1 else ""
        meaning = f"an ending, coloured by reward{span}, with its share of random games"
        yield "ending", meaning
    elif rewards:
        yield "unpaid", "an ending with its share of random games"
    if any(story.trap):
        yield "trap", "no ending can be reached from here, or not in every case"
    yield "on", "the wider, the more often random play takes it"
    if any(line.back for line in layout.lines):
        yield "back", "leads back"
    references = [
        node == target for (node, _), targets in layout.references.items() for target in targets
    ]
    if not all(references):
        yield "chip", "leads back (↩) or forward (→) to the page named"
    if any(references):
        yield "again", "leads to the same page"


def _sign(sign: str) -> str:
    """Draw a sign of the legend."""
    size = f'width="{SIGN:.0f}" height="14"'
    if sign in ("page", "start", "trap"):
        return f'<g class="{sign}"><rect class="frame" y="-7" {size} rx="4"/></g>'
    if sign == "unpaid":
        frame = f'<rect class="frame r{REWARD_CLASSES // 2}" y="-7" {size} rx="7"/>'
        inner = f'x="2" y="-5" width="{SIGN - 4:.0f}" height="10"'
        return f'{frame}<rect class="inner" {inner} rx="5"/>'
    if sign == "ending":
        step = SIGN / REWARD_CLASSES
        colours = "".join(
            f'<rect class="frame r{n}" x="{n * step:.1f}" y="-7" width="{step:.1f}" height="14" '
            'stroke-width="0"/>'
            for n in range(REWARD_CLASSES)
        )
        return f'{colours}<rect class="inner" y="-7" {size} rx="3"/>'
    if sign in ("on", "back"):
        arrow = f'marker-end="url(#story-map-{sign})"/>'
        if sign == "back":
            return f'<path class="way back" d="M0 0H{SIGN:.0f}" stroke-width="1.5" {arrow}'
        thin = f'<path class="way on" d="M0 -3H{SIGN:.0f}" stroke-width="1"/>'
        return f'{thin}<path class="way on" d="M0 3H{SIGN:.0f}" stroke-width="3" {arrow}'
    letters = "↩ →" if sign == "chip" else "↻"
    position = f'x="{SIGN / 2:.0f}" y="4" text-anchor="middle"'
    return f'<g class="chip back"><text {position}>{letters}</text></g>'
