"""A band of a map as a proper layered graph: lines that span layers go through dummy nodes, shared by their target."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from drrn.stories.map.boxes import MapBox
from drrn.stories.map.layers import BoxLink, Layering

BOX = "box"
ON = "on"
BACK = "back"
Node = tuple[
    str, int, int
]  # BOX and its number; or ON or BACK, the box a line leads to, and the column it passes
DUMMY_HEIGHT = 7.0


@dataclass
class Strand:
    """A part of one or more lines, from a node of a column to one of the next."""

    left: Node
    left_y: float  # below the node's top
    right: Node
    right_y: float
    target: int  # the place that it leads to
    often: float = 0.0
    sources: list[int] = field(default_factory=list)  # places
    back: bool = False


@dataclass(frozen=True)
class BandGraph:
    """The columns of a band, from the column of lines that come in to that of lines that go over to the next band."""

    columns: list[list[Node]]
    strands: list[list[Strand]]  # between each column and the next
    boxes: list[MapBox]

    def height(self, node: Node) -> float:
        return self.boxes[node[1]].height if node[0] == BOX else DUMMY_HEIGHT


def band_graph(placed: Layering, band: int) -> BandGraph:
    """The graph of one band; columns 0 and last have no boxes."""
    first = sum(len(layers) for layers in placed.bands[:band])
    layers = placed.bands[band]
    columns: list[list[Node]] = [[], *([(BOX, box, 0) for box in layer] for layer in layers), []]
    found: list[dict[tuple[Node, float, Node, float], Strand]] = [{} for _ in columns[1:]]
    known: set[Node] = set()
    for link in placed.lines:
        for column, strand in _strands(placed, link, first, len(layers)):
            kept = found[column].setdefault(
                (strand.left, strand.left_y, strand.right, strand.right_y), strand
            )
            kept.often += link.often
            kept.sources.append(placed.boxes[link.source].pages[link.page].place)
            for node, at in ((strand.left, column), (strand.right, column + 1)):
                if node[0] != BOX and node not in known:
                    known.add(node)
                    columns[at].append(node)
    return BandGraph(columns, [list(strands.values()) for strands in found], placed.boxes)


def _strands(
    placed: Layering, link: BoxLink, first: int, layers: int
) -> Iterator[tuple[int, Strand]]:
    """The parts of a link's line within a band, each with the column on its left."""
    begin = placed.layer[link.source] - first + 1
    end = placed.layer[link.target] - first + 1
    back = end < begin
    low = min(begin, end)
    high = max(begin, end)
    if high < 1 or low > layers or (back and (low < 1 or high > layers)):
        return
    source = placed.boxes[link.source].pages[link.page]
    target = placed.boxes[link.target].pages[0]
    ends = {
        begin: ((BOX, link.source, 0), source.row_y(link.row)),
        end: ((BOX, link.target, 0), target.title_y),
    }
    kind = BACK if back else ON

    def node(column: int) -> tuple[Node, float]:
        within = ends.get(column) if 1 <= column <= layers else None
        return within or ((kind, link.target, column), DUMMY_HEIGHT / 2)

    for column in range(max(low, 0), min(high, layers + 1)):
        yield column, Strand(*node(column), *node(column + 1), target.place, back=back)
