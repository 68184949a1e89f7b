"""The layout of a map: where each box stands and how each line goes, so that no line passes behind a box.

Boxes stand in columns, and lines bend in the channels between the columns alone: through a column they go straight, at
the height of a dummy node. Bands of columns stand below each other; lines from one to the next go round the margins.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from drrn.stories.map.boxes import WIDTH, MapBox, box_of_place, boxes_of
from drrn.stories.map.dot import dot_order, is_installed
from drrn.stories.map.graph import BACK, BOX, BandGraph, Node, Strand, band_graph
from drrn.stories.map.layers import CHANNEL, GAP, BoxLink, Layering, layered
from drrn.stories.map.order import crossings, order
from drrn.stories.map.story_map import StoryMap

# round the map; between lines that go side by side
MARGIN = 24.0
TRACK = 7.0
LINE_GAP = 4.0  # between lines that pass through a column
SWEEPS = 20
PULL = 0.25  # to the middle of a band, beside a line's 1 and more
Point = tuple[float, float]


@dataclass(frozen=True)
class MapLine:
    """A line, or the part that several lines share: cubic Bézier curves as a start and three points for each curve."""

    points: tuple[Point, ...]
    sources: tuple[int, ...]  # places
    target: int
    often: float
    back: bool
    arrow: bool  # whether it comes to its target


@dataclass(frozen=True)
class MapLayout:
    """Boxes with their top left corners, lines, and the links that are named instead: (place, row) → places."""

    boxes: list[MapBox]
    corners: list[Point]
    lines: list[MapLine]
    references: dict[tuple[int, int], list[int]]
    layer: list[int]  # of each box: which of two comes first
    width: float
    height: float

    @cached_property
    def at(self) -> dict[int, int]:
        """The box of each place."""
        return box_of_place(self.boxes)


def map_layout(drawn: StoryMap, engine: str = "auto") -> MapLayout:
    """Place the map; the engine is `dot`, `own` or `auto`: dot where it is installed."""
    by_dot = engine == "dot" or (engine == "auto" and is_installed())
    placed = layered(drawn, boxes_of(drawn))
    orders = [_ordered(band_graph(placed, band), by_dot) for band in range(len(placed.bands))]
    placed = _with_sorted_rows(placed, orders)
    corners: list[Point] = [(0.0, 0.0)] * len(placed.boxes)
    lines: list[MapLine] = []
    top = MARGIN
    width = 0.0
    exits = dict[int, Point]()
    side = MARGIN + TRACK * (1 + _most_over(placed))
    for band, columns in enumerate(orders):
        graph = replace(band_graph(placed, band), columns=columns)
        heights = _without_empty_strips(graph, _heights(graph))
        across = _across(graph, side)
        lowest = min((heights[node] for column in columns for node in column), default=0.0)
        top += TRACK * (len(exits) + 1) if exits else 0.0
        heights = {node: y - lowest + top for node, y in heights.items()}
        entries = {
            node[1]: (across[0], heights[node] + graph.height(node) / 2) for node in columns[0]
        }
        lines += _over(exits, entries, side, top, width, placed, graph)
        for column, x in zip(columns, across, strict=True):
            for node in column:
                if node[0] == BOX:
                    corners[node[1]] = (x, heights[node])
        lines += _drawn_lines(graph, across, heights)
        exits = {
            node[1]: (across[-1], heights[node] + graph.height(node) / 2) for node in columns[-1]
        }
        width = max(width, across[-1])
        top = max(heights[node] + graph.height(node) for column in columns for node in column) + GAP
    references: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
    for link in placed.references:
        references[placed.boxes[link.source].pages[link.page].place, link.row].append(link.place)
    return MapLayout(
        placed.boxes,
        corners,
        lines,
        dict(references),
        placed.layer,
        width + side,
        top - GAP + MARGIN,
    )


def _ordered(graph: BandGraph, by_dot: bool) -> list[list[Node]]:
    """The columns in the order with the fewest crossings, of ours and dot's."""
    own = order(graph)
    dots = dot_order(graph) if by_dot else None
    return min([own, dots], key=lambda columns: crossings(graph, columns)) if dots else own


def _most_over(placed: Layering) -> int:
    """How many lines go round the margin between two bands, at most."""
    band = [placed.band_of(box) for box in range(len(placed.boxes))]
    over: defaultdict[int, set[int]] = defaultdict(set)
    for link in placed.lines:
        if band[link.source] != band[link.target]:
            over[band[link.source]].add(link.target)
    return max(map(len, over.values()), default=0)


def _with_sorted_rows(placed: Layering, orders: list[list[list[Node]]]) -> Layering:
    """The rows of each page in the order of what their lines lead to; those that are named come last."""
    rank = {
        node: number
        for columns in orders
        for column in columns
        for number, node in enumerate(column)
    }
    wish: defaultdict[tuple[int, int, int], list[float]] = defaultdict(list)
    first = [0]
    for band in placed.bands:
        first.append(first[-1] + len(band))
    for link in placed.lines:
        ahead = placed.layer[link.target] - placed.layer[link.source]
        column = placed.layer[link.source] - first[placed.band_of(link.source)] + 1
        step = 1 if ahead > 0 else -1
        beside: Node = ("on" if ahead > 0 else BACK, link.target, column + step)
        at = (
            rank.get(beside, rank[BOX, link.target, 0])
            if abs(ahead) > 1
            else rank[BOX, link.target, 0]
        )
        wish[link.source, link.page, link.row].append(float(at) if ahead > 0 else 5_000.0 + at)
    boxes = list[MapBox]()
    moved = dict[tuple[int, int, int], int]()
    for number, box in enumerate(placed.boxes):
        pages = []
        for index, page in enumerate(box.pages):
            keys = [wish.get((number, index, row), [10_000.0]) for row in range(len(page.rows))]
            sequence = sorted(
                range(len(page.rows)), key=lambda row: (sum(keys[row]) / len(keys[row]), row)
            )
            moved |= {(number, index, row): to for to, row in enumerate(sequence)}
            pages.append(replace(page, rows=tuple(page.rows[row] for row in sequence)))
        boxes.append(replace(box, pages=tuple(pages)))

    def move(links: list[BoxLink]) -> list[BoxLink]:
        return [replace(link, row=moved[link.source, link.page, link.row]) for link in links]

    return replace(
        placed, boxes=boxes, lines=move(placed.lines), references=move(placed.references)
    )


def _across(graph: BandGraph, side: float) -> list[float]:
    """Where each column begins; the more lines a channel has, the wider it is. Columns 0 and last have no width."""
    found = [side]
    for at, strands in enumerate(graph.strands):
        width = WIDTH if at > 0 else 0.0
        outer = not (
            graph.columns[0]
            if at == 0
            else graph.columns[-1]
            if at == len(graph.strands) - 1
            else [0]
        )
        found.append(
            found[-1] + width + (8.0 if outer else CHANNEL + min(90.0, 2.0 * len(strands)))
        )
    return found


def _heights(graph: BandGraph) -> dict[Node, float]:
    """The top of each node: in the order of its column, as near as can be to what it is joined with."""
    top: dict[Node, float] = {}
    for column in graph.columns:
        y = -sum(graph.height(node) + _gap(node) for node in column) / 2
        for node in column:
            top[node] = y
            y += graph.height(node) + _gap(node)
    joined: tuple[defaultdict[Node, list[tuple[Node, float, float]]], ...] = (
        defaultdict(list),
        defaultdict(list),
    )
    for strand in (strand for strands in graph.strands for strand in strands):
        weight = (
            1.0
            + (strand.left[0] != BOX) * 2.0
            + (strand.right[0] != BOX) * 2.0
            + min(strand.often, 1.0)
        )
        joined[0][strand.right].append((strand.left, strand.left_y - strand.right_y, weight))
        joined[1][strand.left].append((strand.right, strand.right_y - strand.left_y, weight))
    for sweep in range(SWEEPS):
        both = sweep >= SWEEPS - 6
        columns = graph.columns if sweep % 2 == 0 else graph.columns[::-1]
        for column in columns:
            wishes = {}
            for node in column:
                near = joined[0][node] + joined[1][node] if both else joined[sweep % 2][node]
                # All are drawn a little to the middle: links leave below titles and arrive at them, so bands sink.
                near = (
                    [*near, (node, -top[node] - graph.height(node) / 2, PULL * len(near))]
                    if near
                    else near
                )
                total = sum(weight for _, _, weight in near)
                wish = (
                    sum((top[other] + by) * weight for other, by, weight in near) / total
                    if near
                    else top[node]
                )
                wishes[node] = (wish, total or 0.05)
            top.update(_spread(graph, column, wishes))
    return top


def _without_empty_strips(graph: BandGraph, top: Mapping[Node, float]) -> dict[Node, float]:
    """The same with strips taken out in which no column has anything."""
    found = dict[Node, float]()
    bottom = None
    less = 0.0
    for node in sorted(top, key=lambda node: (top[node], node)):
        if bottom is not None and top[node] > bottom + 2 * GAP:
            less += top[node] - bottom - 2 * GAP
        bottom = max(bottom if bottom is not None else top[node], top[node] + graph.height(node))
        found[node] = top[node] - less
    return found


def _gap(node: Node) -> float:
    return GAP if node[0] == BOX else LINE_GAP


def _spread(
    graph: BandGraph, column: list[Node], wishes: Mapping[Node, tuple[float, float]]
) -> dict[Node, float]:
    """Tops in the column's order, apart by their heights and together as near to those wished for as can be.

    Nodes that would overlap form a block, which stands at the weighted mean of what its nodes wish.
    """
    offset: list[float] = []  # of each node below the first of its column, if all stood close
    y = 0.0
    for node, after in zip(column, [*column[1:], None], strict=False):
        offset.append(y)
        y += graph.height(node) + (max(_gap(node), _gap(after)) if after else 0.0)
    blocks: list[
        list[float]
    ] = []  # sum of weighted wishes for the column's first node, sum of weights, nodes
    for node, below in zip(column, offset, strict=True):
        wish, weight = wishes[node]
        blocks.append([(wish - below) * weight, weight, 1])
        while len(blocks) > 1 and blocks[-2][0] / blocks[-2][1] > blocks[-1][0] / blocks[-1][1]:
            last = blocks.pop()
            blocks[-1] = [one + other for one, other in zip(blocks[-1], last, strict=True)]
    firsts = [block[0] / block[1] for block in blocks for _ in range(int(block[2]))]
    return {node: first + below for node, first, below in zip(column, firsts, offset, strict=True)}


def _drawn_lines(graph: BandGraph, across: list[float], top: Mapping[Node, float]) -> list[MapLine]:
    """A line for each strand: a curve through the channel, and straight on through the column of a dummy node."""
    found = []
    last = len(graph.columns) - 1
    for at, strands in enumerate(graph.strands):
        begin = across[at] + (WIDTH if at > 0 else 0.0)
        for s in strands:
            start = (begin, top[s.left] + s.left_y)
            end = (across[at + 1], top[s.right] + s.right_y)
            points = _curve(start, end)
            # The part through a column is drawn once, though several lines come together there.
            if s.left[0] != BOX and at > 0 and not s.back:
                points = [
                    (start[0] - WIDTH, start[1]),
                    *_straight((start[0] - WIDTH, start[1]), start),
                    *points[1:],
                ]
            if s.right[0] != BOX and at + 1 < last and s.back:
                points += _straight(end, (end[0] + WIDTH, end[1]))
            arrow = (s.left if s.back else s.right)[0] == BOX
            found.append(_line(s, points[::-1] if s.back else points, arrow))
    return found


def _line(strand: Strand, points: list[Point], arrow: bool) -> MapLine:
    sources = tuple(dict.fromkeys(strand.sources))
    return MapLine(tuple(points), sources, strand.target, strand.often, strand.back, arrow)


def _curve(start: Point, end: Point) -> list[Point]:
    """A curve that leaves and arrives level."""
    bend = (end[0] - start[0]) * 0.5
    return [start, (start[0] + bend, start[1]), (end[0] - bend, end[1]), end]


def _straight(start: Point, end: Point) -> list[Point]:
    """The three points that go straight on from a start."""
    (x, y), (to_x, to_y) = start, end
    return [
        (x + (to_x - x) / 3, y + (to_y - y) / 3),
        (x + 2 * (to_x - x) / 3, y + 2 * (to_y - y) / 3),
        end,
    ]


def _over(
    exits: Mapping[int, Point], entries: Mapping[int, Point], side: float, top: float, width: float,
    placed: Layering, graph: BandGraph,
) -> list[MapLine]:  # fmt: skip
    """The lines from a band to the next: out to the right, down, back between the bands, and in from the left."""
    found = []
    for number, (box, (x, y)) in enumerate(sorted(exits.items(), key=lambda item: -item[1][1])):
        right = width + TRACK * (number + 1)
        level = top - TRACK * (len(exits) - number) - TRACK / 2
        left = side - TRACK * (len(exits) - number)
        corners = [
            (x, y),
            (right, y),
            (right, level),
            (left, level),
            (left, entries[box][1]),
            entries[box],
        ]
        points = [corners[0]]
        for one, other in itertools.pairwise(corners):
            points += _straight(one, other)
        strands = [s for s in graph.strands[0] if s.left[1] == box]
        often = sum(s.often for s in strands)
        sources = tuple(dict.fromkeys(p for s in strands for p in s.sources))
        found.append(
            MapLine(tuple(points), sources, placed.boxes[box].pages[0].place, often, False, False)
        )
    return found
