"""Boxes of a map, and the layers and bands in which they are placed.

A page is a box with a row for each link, and an ending is a box. Pages of which each leads to the
next alone share a box. Boxes are assigned to layers (the first step of Sugiyama's method), and
layers are wrapped into bands, as words are wrapped into lines. Inside a strongly connected
component, links away from the start lead forward and all others back. A link is drawn as a line if
its ends are near each other in one band. Otherwise its row names the target.
"""

import itertools
import math
import textwrap
import unicodedata
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from graphlib import TopologicalSorter

import numpy as np

from storytest.map.story_map import UNWRITTEN, StoryMap
from textgames.compiled.chain import strong_components
from textgames.wording import percent

NARROW_LETTERS = frozenset(" iIjltfr.,:;!|'’()[]")
BROAD_LETTERS = frozenset("mwMW@%—…↩→")


@dataclass(frozen=True)
class Shape:
    """Sizes of the parts of a map in pixels, and limits of what it draws."""

    # Boxes; numbers of letters are widths in average letters.
    width: float = 204.0
    padding: float = 6.0
    title_line: float = 15.0
    row: float = 14.0
    title_letters: int = 25
    row_letters: int = 33
    title_lines: int = 2
    rows: int = 8
    chain: int = 6  # pages in one box
    # Space between boxes of a layer, between layers, between bands, around the map
    gap: float = 16.0
    channel: float = 76.0
    gutter: float = 26.0
    margin: float = 24.0
    # Lines: space between two across a column, height of one in a column
    line_gap: float = 4.0
    line: float = 7.0
    # Layers and bands
    aspect: float = 1.5  # desired width / height
    screen: int = 2_200  # width up to which a map has one band
    # Layers that a line may span in maps of more than `small` boxes
    small: int = 36
    forward: int = 5
    back: int = 2


SHAPE = Shape()


@dataclass(frozen=True)
class Row:
    """A row of a page: the text of one or more links, and their targets, the most frequent first.

    A link that was never taken has no targets.
    """

    text: str
    targets: dict[int, float]  # with their frequencies


@dataclass(frozen=True)
class Page:
    """A node inside a box: its offset from the top of the box, its title and its rows."""

    node: int
    top: float
    title: tuple[str, ...]
    rows: tuple[Row, ...]
    origins: tuple[int, ...] = ()  # nodes that lead here, named above the title if no line does
    shape: Shape = SHAPE

    @property
    def title_top(self) -> float:
        return self.top + self.shape.padding + self.shape.row * bool(self.origins)

    def title_y(self, line: int = 0) -> float:
        return self.title_top + self.shape.title_line * (line + 0.5)

    def row_y(self, row: int) -> float:
        first_row = self.title_y(len(self.title)) - self.shape.title_line / 2
        return first_row + self.shape.row * (row + 0.5)

    @property
    def bottom(self) -> float:
        return self.row_y(len(self.rows)) - self.shape.row / 2 + self.shape.padding


@dataclass(frozen=True)
class Box:
    """A box: an ending, a page, or a chain of pages."""

    pages: tuple[Page, ...]
    ending: bool

    @property
    def height(self) -> float:
        return self.pages[-1].bottom

    @property
    def nodes(self) -> tuple[int, ...]:
        return tuple(page.node for page in self.pages)

    def with_origins(self, origins: tuple[int, ...]) -> "Box":
        """The box with the names of nodes that lead to it above its first title."""
        first = replace(self.pages[0], origins=origins)
        shift = first.bottom - self.pages[0].bottom
        rest = [replace(page, top=page.top + shift) for page in self.pages[1:]]
        return replace(self, pages=(first, *rest))


@dataclass(frozen=True)
class Link:
    """A link from a row of a page to a node of another box."""

    source: int  # the box
    page: int  # its index in the source box
    row: int
    target: int  # the box
    node: int  # in the target box
    frequency: float


@dataclass(frozen=True)
class Layers:
    """Boxes in bands of layers, and the links that are lines or names of their targets."""

    boxes: list[Box]
    bands: list[list[list[int]]]
    layer: list[int]  # of each box
    lines: list[Link]
    references: list[Link]
    shape: Shape = SHAPE

    @cached_property
    def band(self) -> list[int]:
        band_of_layer = [number for number, band in enumerate(self.bands) for _ in band]
        return [band_of_layer[layer] for layer in self.layer]

    @cached_property
    def first_layer(self) -> list[int]:
        return [0, *itertools.accumulate(map(len, self.bands[:-1]))]


def make_boxes(story: StoryMap, shape: Shape = SHAPE) -> list[Box]:
    """A box for each chain of nodes, nearest to the start first."""
    chains = sorted(
        _chains(story, shape.chain), key=lambda chain: (story.distance[chain[0]], chain[0])
    )
    rows = _rows(story, shape)
    boxes = []
    for chain in chains:
        pages: list[Page] = []
        for node in chain:
            top = pages[-1].bottom if pages else 0.0
            title = _title(story, node, shape)
            pages.append(Page(node, top, title, tuple(rows[node]), shape=shape))
        boxes.append(Box(tuple(pages), story.reward[chain[0]] is not None))
    return boxes


def _title(story: StoryMap, node: int, shape: Shape) -> tuple[str, ...]:
    label = story.labels[node]
    letters = max(2, int(shape.title_letters * len(label) / max(breadth(label), 1.0)))
    lines = textwrap.wrap(label, letters) or ["…"]
    if len(lines) > shape.title_lines:
        rest = " ".join(lines[shape.title_lines - 1 :])
        lines[shape.title_lines - 1 :] = [shorten(rest, shape.title_letters)]
    if story.flaws.get(node, ("",))[0] == UNWRITTEN:
        lines.append("not written")
    elif story.reward[node] is not None:
        probability = percent(min(1.0, story.visits[node]))
        pays = f"pays {story.reward[node]:g} · {probability}"
        lines.append(pays if any(story.reward) else f"{probability} of random games")
    return tuple(lines)


def breadth(text: str) -> float:
    """Estimate the width of a text in average letters: an i is narrow, a W broad."""
    return sum(_letter_width(letter) for letter in text)


def _letter_width(letter: str) -> float:
    if letter in NARROW_LETTERS:
        return 0.55
    if letter in BROAD_LETTERS:
        return 1.45
    if unicodedata.east_asian_width(letter) in "WF":
        return 1.8
    return 1.15 if letter.isupper() else 1.0


def shorten(text: str, length: float) -> str:
    if breadth(text) <= length:
        return text
    while text and breadth(text) + _letter_width("…") > length:
        text = text[:-1]
    return text.rstrip() + "…"


def _chains(story: StoryMap, longest: int) -> list[list[int]]:
    """Group nodes into chains: each node leads to the next alone, and nothing else leads there."""
    after: defaultdict[int, set[int]] = defaultdict(set)
    before: defaultdict[int, set[int]] = defaultdict(set)
    for source, target in story.edges:
        if source != target:
            after[source].add(target)
            before[target].add(source)
    follower: dict[int, int] = {}
    for source, targets in after.items():
        target = next(iter(targets))
        alone = len(targets) == 1 and len(before[target]) == 1
        farther = story.distance[target] > story.distance[source]
        if alone and farther and story.reward[target] is None:
            follower[source] = target
    chains = []
    for head in sorted(set(range(len(story.labels))) - set(follower.values())):
        chain = [head]
        while chain[-1] in follower:
            chain.append(follower[chain[-1]])
        chains += [chain[i : i + longest] for i in range(0, len(chain), longest)]
    return chains


def _rows(story: StoryMap, shape: Shape) -> list[list[Row]]:
    rows_of_node = []
    texts: list[defaultdict[str, dict[int, float]]] = [defaultdict(dict) for _ in story.labels]
    for (source, target), actions in story.actions.items():
        for action, amount in actions.items():
            texts[source][action][target] = amount
    for node, untried in story.untried.items():
        for action in untried:
            texts[node].setdefault(action, {})
    for node, rows in enumerate(texts):
        order = {action: number for number, action in enumerate(story.order.get(node, ()))}
        items = sorted(rows.items(), key=lambda item: order.get(item[0], len(order)))
        rows_of_node.append(_merge_rows([_row(*item) for item in items], shape))
    return rows_of_node


def _row(text: str, amounts: Mapping[int, float]) -> Row:
    return Row(text, dict(sorted(amounts.items(), key=lambda item: (-item[1], item[0]))))


def _merge_rows(rows: list[Row], shape: Shape) -> list[Row]:
    """Merge rows if there are too many: those with equal targets first, then the remaining ones."""
    if len(rows) <= shape.rows:
        return rows
    groups: defaultdict[tuple[int, ...], list[Row]] = defaultdict(list)
    for row in rows:
        groups[tuple(sorted(row.targets))].append(row)
    merged = []
    for group in groups.values():
        words = shorten(group[0].text, shape.row_letters - 8)
        merged.append(_join_rows(group, f"{words} (+ {len(group) - 1})"))
    rest = merged[shape.rows - 1 :]
    if len(rest) > 1:
        merged[shape.rows - 1 :] = [_join_rows(rest, f"… {len(rest)} more links")]
    return merged


def _join_rows(rows: list[Row], text: str) -> Row:
    if len(rows) == 1:
        return rows[0]
    amounts: defaultdict[int, float] = defaultdict(float)
    for row in rows:
        for target, amount in row.targets.items():
            amounts[target] += amount
    return _row(text, amounts)


def make_layers(story: StoryMap, boxes: list[Box], shape: Shape = SHAPE) -> Layers:
    """Choose layers of such a height, and as many bands, that the canvas has a good shape."""
    links = links_between(boxes)
    column = shape.width + shape.channel
    area = column * sum(box.height + shape.gap for box in boxes)
    layers = _layers(
        boxes, _forward(story, boxes, links), math.sqrt(area / shape.aspect), shape.gap
    )
    layer = {box: number for number, stack in enumerate(layers) for box in stack}
    count = 1
    if len(layers) * column > shape.screen:  # a long story
        height = max(sum(boxes[box].height + shape.gap for box in stack) for stack in layers)
        count = max(1, round(math.sqrt(len(layers) * column / (shape.aspect * height))))
    size = math.ceil(len(layers) / count)
    bands = [layers[first : first + size] for first in range(0, len(layers), size)]
    numbers = [layer[box] for box in range(len(boxes))]
    return _choose_lines(Layers(boxes, bands, numbers, [], [], shape), links)


def links_between(boxes: list[Box]) -> list[Link]:
    """The links of all rows, except those to the next page of a chain."""
    box_of_node = {node: number for number, box in enumerate(boxes) for node in box.nodes}
    links = []
    for number, box in enumerate(boxes):
        for index, page in enumerate(box.pages):
            following = box.nodes[index + 1] if index + 1 < len(box.pages) else None
            for row_number, row in enumerate(page.rows):
                for node, frequency in row.targets.items():
                    if node != following:
                        target = box_of_node[node]
                        links.append(Link(number, index, row_number, target, node, frequency))
    return links


def _forward(story: StoryMap, boxes: list[Box], links: list[Link]) -> list[set[int]]:
    """The boxes that each box leads forward to, without cycles.

    Links between strongly connected components lead forward, and inside one those away from the
    start.
    """
    source = np.array([link.source for link in links], np.intp)
    target = np.array([link.target for link in links], np.intp)
    component = strong_components(len(boxes), source, target)
    distance = [story.distance[box.pages[0].node] for box in boxes]
    forward: list[set[int]] = [set() for _ in boxes]
    for link in links:
        away = distance[link.target] > distance[link.source] >= 0
        if away or component[link.target] != component[link.source]:
            forward[link.source].add(link.target)
    return forward


def _layers(
    boxes: list[Box], forward: list[set[int]], max_height: float, gap: float
) -> list[list[int]]:
    """Put every box into the first layer after its predecessors that has room.

    Boxes that the longest path starts from come first.
    """
    depth = [0] * len(boxes)  # layers that the longest path from a box takes
    for box in TopologicalSorter(dict(enumerate(forward))).static_order():
        depth[box] = max((1 + depth[target] for target in forward[box]), default=0)
    sorter: TopologicalSorter[int] = TopologicalSorter()
    for box, targets in enumerate(forward):
        sorter.add(box)
        for target in targets:
            sorter.add(target, box)
    sorter.prepare()
    ready: list[int] = []
    layers = []
    while sorter.is_active():
        ready = sorted([*ready, *sorter.get_ready()], key=lambda box: (-depth[box], box))
        layer: list[int] = []
        height = 0.0
        for box in ready:
            if not layer or height + boxes[box].height <= max_height:
                layer.append(box)
                height += boxes[box].height + gap
        ready = [box for box in ready if box not in set(layer)]
        sorter.done(*layer)
        layers.append(layer)
    return layers


def _choose_lines(layers: Layers, links: list[Link]) -> Layers:
    """Decide which links are lines, the most frequent first. The others are references."""
    shape = layers.shape
    is_small = len(layers.boxes) <= shape.small
    max_forward = 99 if is_small else shape.forward
    max_back = 99 if is_small else shape.back
    band = layers.band
    lines: list[Link] = []
    references: list[Link] = []
    for link in sorted(links, key=lambda n: (-n.frequency, n.source, n.page, n.row, n.target)):
        span = layers.layer[link.target] - layers.layer[link.source]
        is_near = 0 < span <= max_forward or 0 > span >= -max_back
        is_line = is_near and band[link.source] == band[link.target]
        (lines if is_line else references).append(link)
    boxes = _name_origins(layers.boxes, lines, references)
    return replace(layers, boxes=boxes, lines=lines, references=references)


def _name_origins(boxes: list[Box], lines: list[Link], references: list[Link]) -> list[Box]:
    connected = {link.target for link in lines}
    origins: defaultdict[int, dict[int, None]] = defaultdict(dict)
    for link in references:
        if link.target not in connected and link.target != link.source:
            origins[link.target][boxes[link.source].nodes[link.page]] = None
    return [
        box.with_origins(tuple(origins[number])) if number in origins else box
        for number, box in enumerate(boxes)
    ]
