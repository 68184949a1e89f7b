"""The layout of a map: the position of each box and the curve of each line.

Boxes form columns, one per layer. Lines bend only in the channels between columns and cross a
column straight, at the height of a dummy vertex, so no line passes behind a box. Bands of columns
are placed below each other.
"""

import itertools
from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from storytest.map.layers import SHAPE, Box, Layers, Link, Shape, make_boxes, make_layers
from storytest.map.story_map import StoryMap

BOX = "box"
FORWARD = "on"
BACK = "back"

Point = tuple[float, float]
# BOX and its number; or FORWARD or BACK, the box a line leads to, and the column it crosses
Vertex = tuple[str, int, int]
Columns = list[list[Vertex]]
Pull = tuple[Vertex, float, float]  # a neighbour, the offset from it, the weight


@dataclass(frozen=True)
class Line:
    """A line, or the part that several lines share: a start and three points per Bézier curve."""

    points: tuple[Point, ...]
    sources: tuple[int, ...]  # nodes
    target: int  # node
    frequency: float
    back: bool = False
    arrow: bool = False  # it ends at its target


@dataclass
class _Segment:
    """The part of one or more lines between a vertex of a column and one of the next column."""

    left: Vertex
    left_y: float  # offset from the vertex's top
    right: Vertex
    right_y: float
    target: int  # node
    back: bool
    frequency: float = 0.0
    sources: list[int] = field(default_factory=list)  # nodes


@dataclass(frozen=True)
class _Band:
    """A band as a proper layered graph: lines that span layers pass through dummy vertices."""

    boxes: list[Box]
    columns: Columns
    segments: list[list[_Segment]]  # between each column and the next
    shape: Shape

    def height(self, vertex: Vertex) -> float:
        return self.boxes[vertex[1]].height if vertex[0] == BOX else self.shape.line

    def gap(self, vertex: Vertex) -> float:
        return self.shape.gap if vertex[0] == BOX else self.shape.line_gap


def _band(layers: Layers, number: int) -> _Band:
    columns: Columns = [[(BOX, box, 0) for box in stack] for stack in layers.bands[number]]
    merged: list[dict[tuple[Vertex, float, Vertex, float], _Segment]] = [{} for _ in columns[1:]]
    for link in layers.lines:
        if layers.band[link.source] != number:
            continue
        for column, new in _segments(layers, link, layers.first_layer[number]):
            key = (new.left, new.left_y, new.right, new.right_y)
            segment = merged[column].setdefault(key, new)
            segment.frequency += link.frequency
            segment.sources.append(layers.boxes[link.source].nodes[link.page])
            for vertex, index in ((new.left, column), (new.right, column + 1)):
                if vertex not in columns[index]:
                    columns[index].append(vertex)
    return _Band(layers.boxes, columns, [list(one.values()) for one in merged], layers.shape)


def _segments(layers: Layers, link: Link, first: int) -> Iterator[tuple[int, _Segment]]:
    start = layers.layer[link.source] - first
    end = layers.layer[link.target] - first
    is_back = end < start
    source = layers.boxes[link.source].pages[link.page]
    target = layers.boxes[link.target].pages[0]
    ends = {
        start: ((BOX, link.source, 0), source.row_y(link.row)),
        end: ((BOX, link.target, 0), target.title_y()),
    }

    def vertex(column: int) -> tuple[Vertex, float]:
        dummy = (BACK if is_back else FORWARD, link.target, column)
        return ends.get(column, (dummy, layers.shape.line / 2))

    for column in range(min(start, end), max(start, end)):
        yield column, _Segment(*vertex(column), *vertex(column + 1), target.node, is_back)


def order_columns(band: _Band, sweeps: int = 16, swapped_segments: int = 3_000) -> Columns:
    """Order the columns so that few lines cross, by barycentres and swaps of neighbours."""
    columns = [list(column) for column in band.columns]
    best = band.columns
    fewest = _crossings(band, columns)
    can_swap = sum(map(len, band.segments)) <= swapped_segments
    indices = range(len(columns))
    for sweep in range(sweeps):
        if sweep % 2 == 0:
            for index in indices[1:]:
                _sort_by_barycentre(band, columns, index, index - 1)
        else:
            for index in indices[-2::-1]:
                _sort_by_barycentre(band, columns, index, index + 1)
        if can_swap:
            _swap_neighbours(band, columns)
        count = _crossings(band, columns)
        if count < fewest:
            best = [list(column) for column in columns]
            fewest = count
        if not count:
            break
    return best


def _ends(
    band: _Band, columns: Columns, index: int, other: int
) -> defaultdict[Vertex, list[tuple[int, float]]]:
    """The ends, in a column next to a vertex's, of its segments: rank and offset."""
    ends: defaultdict[Vertex, list[tuple[int, float]]] = defaultdict(list)
    if not 0 <= other < len(columns):
        return ends
    ranks = _ranks(columns[other])
    for segment in band.segments[min(index, other)]:
        if other < index:
            ends[segment.right].append((ranks[segment.left], segment.left_y))
        else:
            ends[segment.left].append((ranks[segment.right], segment.right_y))
    return ends


def _ranks(column: list[Vertex]) -> dict[Vertex, int]:
    return {vertex: rank for rank, vertex in enumerate(column)}


def _sort_by_barycentre(band: _Band, columns: Columns, index: int, other: int) -> None:
    column = columns[index]
    ends = _ends(band, columns, index, other)
    scale = len(columns[other]) / max(len(column), 1)
    wish = {}
    for rank, vertex in enumerate(column):
        positions = [end + min(y, 900.0) / 1000.0 for end, y in ends[vertex]]
        mean = sum(positions) / len(positions) if positions else rank * scale
        wish[vertex] = (mean, rank)
    column.sort(key=wish.__getitem__)


def _crossings(band: _Band, columns: Columns) -> int:
    total = 0
    for index, segments in enumerate(band.segments):
        left = _ranks(columns[index])
        right = _ranks(columns[index + 1])
        ends = sorted(((left[s.left], s.left_y), (right[s.right], s.right_y)) for s in segments)
        above: list[tuple[int, float]] = []
        for _, end in ends:
            total += len(above) - bisect_left(above, (end[0], end[1] + 1e-9))
            insort(above, end)
    return total


def _swap_neighbours(band: _Band, columns: Columns) -> None:
    def crossed(above: Vertex, below: Vertex) -> int:
        return sum(one > other for ends in sides for one in ends[above] for other in ends[below])

    for index, column in enumerate(columns):
        sides = [_ends(band, columns, index, other) for other in (index - 1, index + 1)]
        for rank in range(len(column) - 1):
            one, other = column[rank : rank + 2]
            if crossed(other, one) < crossed(one, other):
                column[rank : rank + 2] = [other, one]


class Layout:
    """The map: boxes with their corners, lines, and the links whose row names the target."""

    def __init__(self, story: StoryMap, shape: Shape = SHAPE) -> None:
        self.shape = shape
        self.layers = make_layers(story, make_boxes(story, shape), shape)
        self.boxes = self.layers.boxes
        self.corners: list[Point] = [(0.0, 0.0)] * len(self.boxes)  # top left
        self.lines: list[Line] = []
        # (node, row) → target nodes
        self.references: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
        for link in self.layers.references:
            node = self.boxes[link.source].nodes[link.page]
            self.references[node, link.row].append(link.node)
        self.width = 0.0
        self.height = shape.margin
        for number in range(len(self.layers.bands)):  # from top to bottom
            band = _band(self.layers, number)
            self._add(replace(band, columns=order_columns(band)))
        self.width += shape.margin
        self.height += shape.margin - shape.gutter

    @cached_property
    def layer_of_node(self) -> dict[int, int]:
        boxes = zip(self.boxes, self.layers.layer, strict=True)
        return {node: layer for box, layer in boxes for node in box.nodes}

    def _add(self, band: _Band) -> None:
        tops = _tops(band)
        xs = [self.shape.margin]
        for segments in band.segments:
            channel = self.shape.channel + min(90.0, 2.0 * len(segments))
            xs.append(xs[-1] + self.shape.width + channel)
        highest = min(tops.values())
        tops = {vertex: y - highest + self.height for vertex, y in tops.items()}
        for column, x in zip(band.columns, xs, strict=True):
            for vertex in column:
                if vertex[0] == BOX:
                    self.corners[vertex[1]] = (x, tops[vertex])
        self.lines += _band_lines(band, xs, tops)
        self.width = max(self.width, xs[-1] + self.shape.width)
        self.height = max(y + band.height(vertex) for vertex, y in tops.items()) + self.shape.gutter


def _tops(band: _Band, sweeps: int = 20) -> dict[Vertex, float]:
    """The top of each vertex: in the order of its column, near its neighbours."""
    top: dict[Vertex, float] = {}
    for column in band.columns:
        y = -sum(band.height(vertex) + band.gap(vertex) for vertex in column) / 2
        for vertex in column:
            top[vertex] = y
            y += band.height(vertex) + band.gap(vertex)
    before: defaultdict[Vertex, list[Pull]] = defaultdict(list)
    after: defaultdict[Vertex, list[Pull]] = defaultdict(list)
    for s in itertools.chain.from_iterable(band.segments):
        dummies = (s.left[0] != BOX) + (s.right[0] != BOX)
        weight = 1.0 + 2.0 * dummies + min(s.frequency, 1.0)
        before[s.right].append((s.left, s.left_y - s.right_y, weight))
        after[s.left].append((s.right, s.right_y - s.left_y, weight))
    for sweep in range(sweeps):
        sides = [after] if sweep % 2 else [before]
        if sweep >= sweeps - 6:
            sides = [before, after]
        for column in reversed(band.columns) if sweep % 2 else band.columns:
            wishes = []
            for vertex in column:
                pulls = [pull for side in sides for pull in side[vertex]]
                wishes.append(_wish(band, top, vertex, pulls))
            top.update(_spread(band, column, wishes))
    return top


def _wish(
    band: _Band,
    top: Mapping[Vertex, float],
    vertex: Vertex,
    pulls: list[Pull],
    centring: float = 0.25,
) -> tuple[float, float]:
    """The best top of a vertex, and its weight.

    Every vertex is pulled a little to the middle: links leave below titles and arrive at titles, so
    bands would drift downwards.
    """
    if not pulls:
        return top[vertex], 0.05
    middle = -top[vertex] - band.height(vertex) / 2
    pulls = [*pulls, (vertex, middle, centring * len(pulls))]
    total = sum(weight for _, _, weight in pulls)
    return sum((top[other] + by) * weight for other, by, weight in pulls) / total, total


def _spread(
    band: _Band, column: list[Vertex], wishes: list[tuple[float, float]]
) -> dict[Vertex, float]:
    """Tops without overlaps, in the column's order, as near to the wishes as possible.

    Vertices that would overlap form a block at the weighted mean of their wishes.
    """
    offsets: list[float] = []  # of each vertex in a column without free space
    y = 0.0
    for vertex, following in itertools.zip_longest(column, column[1:]):
        offsets.append(y)
        y += band.height(vertex) + (
            max(band.gap(vertex), band.gap(following)) if following else 0.0
        )
    blocks: list[tuple[float, float, int]] = []  # sum of weighted wishes, of weights, vertices
    for (wish, weight), offset in zip(wishes, offsets, strict=True):
        block = ((wish - offset) * weight, weight, 1)
        while blocks and blocks[-1][0] / blocks[-1][1] > block[0] / block[1]:
            last = blocks.pop()
            block = (last[0] + block[0], last[1] + block[1], last[2] + block[2])
        blocks.append(block)
    starts = [wish / weight for wish, weight, count in blocks for _ in range(count)]
    placed = zip(column, starts, offsets, strict=True)
    return {vertex: start + offset for vertex, start, offset in placed}


def _band_lines(band: _Band, xs: list[float], top: Mapping[Vertex, float]) -> list[Line]:
    """A line for each segment: a curve in the channel, straight across a dummy's column."""
    lines = []
    width = band.shape.width
    for index, segments in enumerate(band.segments):
        left_x = xs[index] + width
        for s in segments:
            start = (left_x, top[s.left] + s.left_y)
            end = (xs[index + 1], top[s.right] + s.right_y)
            points = _curve(start, end)
            # The part across a column is drawn once, though several lines may meet there.
            if s.left[0] != BOX and not s.back:
                edge = (start[0] - width, start[1])
                points = [edge, *_straight(edge, start), *points[1:]]
            if s.right[0] != BOX and s.back:
                points += _straight(end, (end[0] + width, end[1]))
            if s.back:
                points.reverse()
            arrow = (s.left if s.back else s.right)[0] == BOX
            sources = tuple(dict.fromkeys(s.sources))
            lines.append(Line(tuple(points), sources, s.target, s.frequency, s.back, arrow))
    return lines


def _curve(start: Point, end: Point) -> list[Point]:
    bend = (end[0] - start[0]) * 0.5
    return [start, (start[0] + bend, start[1]), (end[0] - bend, end[1]), end]


def _straight(start: Point, end: Point) -> list[Point]:
    """The three points that continue a line straight from a start."""
    x, y = start
    to_x, to_y = end
    third = (x + (to_x - x) / 3, y + (to_y - y) / 3)
    return [third, (x + 2 * (to_x - x) / 3, y + 2 * (to_y - y) / 3), end]
