"""Layers of a map's boxes (the first step of Sugiyama's method), wrapped into bands as words are wrapped into lines.

Within a strongly connected part, where the order is anyone's, steps away from the start go on and all others go back.
A link is drawn as a line where its ends stand near to each other, else as the name of where it leads.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from drrn.stories.map.boxes import WIDTH, MapBox, box_of_place, with_origins
from drrn.stories.map.story_map import StoryMap

# between boxes above each other, between layers, between bands
GAP = 16.0
CHANNEL = 76.0
GUTTER = 26.0
HEIGHTS = (480, 700, 1_000, 1_400, 2_000, 2_800, 4_000, 5_600)  # of a layer, that are tried
ASPECT = 1.5  # of the canvas, width to height, that is aimed at
SCREEN = 2_200  # a map no wider than this is not wrapped without need
MOST_BANDS = 10
THROUGH = 9.0  # the height that a line takes in a layer that it passes through
STRAIGHTENED = 1.2  # how much higher layers become when lines are drawn straight
SMALL = 36  # boxes up to which every link is drawn as a line, if it can
# layers that a line spans at most on a larger map, on and back
FAR = 5
FAR_BACK = 2
MOST_OVER = 7  # lines that go on from one band to the next


@dataclass(frozen=True)
class BoxLink:
    """A link from a row of a box's page to a place at the top of a box."""

    source: int
    page: int  # of the source box, from 0
    row: int
    target: int
    place: int  # that it leads to, in the target box
    often: float


@dataclass(frozen=True)
class Layering:
    """Where boxes stand: bands of layers of boxes; which links are lines; and by what the others are named."""

    boxes: list[MapBox]
    bands: list[list[list[int]]]
    layer: list[int]  # of each box
    lines: list[BoxLink]
    references: list[BoxLink]

    def band_of(self, box: int) -> int:
        """The number of the band in which a box stands."""
        last = -1
        for number, band in enumerate(self.bands):
            last += len(band)
            if self.layer[box] <= last:
                return number
        raise ValueError(f"box {box} stands nowhere")


def layered(drawn: StoryMap, boxes: list[MapBox]) -> Layering:
    """Layers and bands so that the canvas has a shape that can be looked at, and most links are lines."""
    links = links_between(boxes)
    onward = _onward(drawn, boxes, links)
    best: tuple[float, Layering] | None = None
    for tallest in HEIGHTS:
        layers = _layers(boxes, onward, tallest)
        layer = [0] * len(boxes)
        for number, stack in enumerate(layers):
            for box in stack:
                layer[box] = number
        narrow = len(layers) * (WIDTH + CHANNEL) <= SCREEN
        for bands in range(1, 2 if narrow else min(MOST_BANDS, len(layers) // 3) + 1):
            tried = _with_lines(
                Layering(boxes, _wrapped(layers, bands, links, layer), layer, [], []), links
            )
            cost = _cost(tried)
            if best is None or cost < best[0] - 1e-9:
                best = (cost, tried)
        if max(map(len, layers)) == len(boxes) or sum(box.height + GAP for box in boxes) < tallest:
            break
    assert best is not None
    return best[1]


def links_between(boxes: list[MapBox]) -> list[BoxLink]:
    """The links of all rows, but for those that lead on within a box."""
    at = box_of_place(boxes)
    found = []
    for number, box in enumerate(boxes):
        for index, page in enumerate(box.pages):
            below = box.pages[index + 1].place if index + 1 < len(box.pages) else None
            for row, link in enumerate(page.rows):
                pairs = zip(link.targets, link.often, strict=True)
                found += [
                    BoxLink(number, index, row, at[t], t, often) for t, often in pairs if t != below
                ]
    return found


def _onward(drawn: StoryMap, boxes: list[MapBox], links: list[BoxLink]) -> dict[int, set[int]]:
    """The links by which layers are made, without any circle: between parts that are strongly connected, and within one
    those that lead away from the start."""
    after: defaultdict[int, set[int]] = defaultdict(set)
    for link in links:
        after[link.source].add(link.target)
    part = strong_parts(len(boxes), after)
    distance = [drawn.distance[box.pages[0].place] for box in boxes]
    onward: dict[int, set[int]] = {box: set() for box in range(len(boxes))}
    for source, targets in after.items():
        onward[source] = {
            target
            for target in targets
            if part[target] != part[source] or distance[target] > distance[source] >= 0
        }  # fmt: skip
    return onward


def strong_parts(count: int, after: dict[int, set[int]]) -> list[int]:
    """The strongly connected part of each node, by Tarjan's algorithm without recursion."""
    index = [-1] * count
    low = [0] * count
    part = [-1] * count
    stack: list[int] = []
    found = 0
    for root in range(count):
        if index[root] >= 0:
            continue
        work = [(root, iter(sorted(after.get(root, ()))))]
        index[root] = low[root] = found
        found += 1
        stack.append(root)
        while work:
            node, successors = work[-1]
            for successor in successors:
                if index[successor] < 0:
                    index[successor] = low[successor] = found
                    found += 1
                    stack.append(successor)
                    work.append((successor, iter(sorted(after.get(successor, ())))))
                    break
                if part[successor] < 0:
                    low[node] = min(low[node], index[successor])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    while part[node] < 0:
                        part[stack.pop()] = node
    return part


def _layers(boxes: list[MapBox], onward: dict[int, set[int]], tallest: float) -> list[list[int]]:
    """Every box in the first layer after all that lead to it, if there is room; the longest way ahead goes first."""
    waits = [0] * len(boxes)
    for targets in onward.values():
        for target in targets:
            waits[target] += 1
    ahead = _ways_ahead(onward, waits)
    ready = [box for box in range(len(boxes)) if not waits[box]]
    layers: list[list[int]] = []
    while ready:
        ready.sort(key=lambda box: (-ahead[box], box))
        layer = list[int]()
        height = 0.0
        for box in ready:
            if not layer or height + boxes[box].height <= tallest:
                layer.append(box)
                height += boxes[box].height + GAP
        placed = set(layer)
        ready = [box for box in ready if box not in placed]
        for box in layer:
            for target in sorted(onward[box]):
                waits[target] -= 1
                if not waits[target]:
                    ready.append(target)
        layers.append(layer)
    return layers


def _ways_ahead(onward: dict[int, set[int]], waits: Sequence[int]) -> list[int]:
    """How many layers the longest way from each box takes."""
    left = list(waits)
    queue = [box for box, count in enumerate(waits) if not count]
    for box in queue:
        for target in onward[box]:
            left[target] -= 1
            if not left[target]:
                queue.append(target)
    ahead = [0] * len(left)
    for box in reversed(queue):
        ahead[box] = max((1 + ahead[target] for target in onward[box]), default=0)
    return ahead


def _cost(tried: Layering) -> float:
    """How far a canvas is from one that is small, of a good shape, hardly wrapped, and with lines for most links."""
    heights = [
        sum(tried.boxes[box].height + GAP for box in layer)
        for band in tried.bands
        for layer in band
    ]
    for target, first in {(link.target, tried.layer[link.source]) for link in tried.lines}:
        for passed in range(min(first, tried.layer[target]) + 1, max(first, tried.layer[target])):
            heights[passed] += THROUGH
    height = 0.0
    at = 0
    for band in tried.bands:
        height += STRAIGHTENED * max(heights[at : at + len(band)]) + GUTTER
        at += len(band)
    width = max(map(len, tried.bands)) * (WIDTH + CHANNEL)
    odd = abs(math.log(width / height / ASPECT))
    named = len(tried.references) / max(len(tried.references) + len(tried.lines), 1)
    alone = sum(bool(box.pages[0].origins) for box in tried.boxes) / len(tried.boxes)
    return (
        math.log(width * height)
        + 1.2 * max(0.0, odd - 0.25)
        + 0.08 * len(tried.bands)
        + named
        + 2 * alone
    )


def _wrapped(
    layers: list[list[int]], bands: int, links: list[BoxLink], layer: list[int]
) -> list[list[list[int]]]:
    """The layers cut into bands where few links are cut, by dynamic programming."""
    count = len(layers)
    most = math.ceil(len(layers) / bands) + (bands > 1)
    cuts = [0.0] * (count + 1)
    for link in links:
        first, last = sorted((layer[link.source], layer[link.target]))
        for at in range(first + 1, last + 1):
            cuts[at] += 1.0
    best: list[tuple[float, int]] = [(0.0, 0)]
    for end in range(1, count + 1):
        options = []
        for begin in range(max(0, end - most), end):
            ragged = 0.0 if end == count else 2.0 * (most - (end - begin)) ** 2 / most
            options.append((best[begin][0] + cuts[begin] + 4.0 + ragged, begin))
        best.append(min(options))
    ends = [count]
    while ends[-1]:
        ends.append(best[ends[-1]][1])
    ends.reverse()
    return [layers[first:last] for first, last in itertools.pairwise(ends)]


def _with_lines(placed: Layering, links: list[BoxLink]) -> Layering:
    """Tell the links that become lines from those that are named; the ones most often gone have the first claim."""
    small = len(placed.boxes) <= SMALL
    band = [placed.band_of(box) for box in range(len(placed.boxes))]
    over: defaultdict[int, set[int]] = defaultdict(set)  # targets of lines from a band to the next
    lines = list[BoxLink]()
    references = list[BoxLink]()
    for link in sorted(
        links, key=lambda link: (-link.often, link.source, link.page, link.row, link.target)
    ):
        span = placed.layer[link.target] - placed.layer[link.source]
        if band[link.source] == band[link.target]:
            line = (0 < span <= (99 if small else FAR)) or (
                0 > span >= -(99 if small else FAR_BACK)
            )
        else:
            ahead = over[band[link.source]]
            near = band[link.target] == band[link.source] + 1 and span <= (99 if small else FAR)
            line = near and len(ahead | {link.target}) <= MOST_OVER
            if line:
                ahead.add(link.target)
        (lines if line else references).append(link)
    boxes = _with_origins(placed.boxes, lines, references)
    return Layering(boxes, placed.bands, placed.layer, lines, references)


def _with_origins(
    boxes: list[MapBox], lines: list[BoxLink], references: list[BoxLink]
) -> list[MapBox]:
    """Boxes to which no line leads have the names of what leads there."""
    led_to = {link.target for link in lines}
    origins: defaultdict[int, dict[int, None]] = defaultdict(dict)
    for link in references:
        if link.target not in led_to and link.target != link.source:
            origins[link.target][boxes[link.source].pages[link.page].place] = None
    return [
        with_origins(box, tuple(origins[n])) if n in origins else box for n, box in enumerate(boxes)
    ]
