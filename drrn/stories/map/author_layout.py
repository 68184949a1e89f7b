"""The author's own layout of a map: boxes where Twine's map has their passages."""

from dataclasses import replace

from drrn.stories.map.layers import WIDTH, Box, make_boxes
from drrn.stories.map.layout import MARGIN, Line, Point, straight
from drrn.stories.map.story_map import StoryMap

WIDE = 2.2  # pixels per pixel of Twine, whose boxes are 100 wide
HIGH = 0.9
SHIFT = 18.0  # between boxes of the same passage
BELOW = 70.0  # from a passage to a target that is not written


class AuthorLayout:
    """Boxes without rows at the author's positions, and straight lines between them."""

    def __init__(self, story: StoryMap) -> None:
        single = replace(story, actions={}, untried={})  # no chains, no rows
        self.boxes: list[Box] = make_boxes(single)
        self.references: dict[tuple[int, int], list[int]] = {}
        self.layer_of_node: dict[int, int] = {}
        nodes = [box.nodes[0] for box in self.boxes]
        places = _places(story)
        left = min(x for x, _ in places.values()) - MARGIN
        top = min(y for _, y in places.values()) - MARGIN
        self.corners = [(places[node][0] - left, places[node][1] - top) for node in nodes]
        self.width = max(x for x, _ in self.corners) + WIDTH + MARGIN
        bottoms = zip(self.corners, self.boxes, strict=True)
        self.height = max(corner[1] + box.height for corner, box in bottoms) + MARGIN
        rectangles = dict(zip(nodes, zip(self.corners, self.boxes, strict=True), strict=True))
        self.lines = []
        for (source, target), frequency in story.edges.items():
            if source != target:
                points = _line(rectangles[source], rectangles[target])
                line = Line(points, (source,), target, frequency, arrow=True)
                self.lines.append(line)


def _places(story: StoryMap) -> dict[int, Point]:
    """Return the corner of each node; those without a position are below one that leads there."""
    places: dict[int, Point] = {}
    taken: set[Point] = set()

    def place(node: int, x: float, y: float) -> None:
        while (x, y) in taken:
            x += SHIFT
            y += SHIFT
        taken.add((x, y))
        places[node] = (x, y)

    for node, (x, y) in story.positions.items():
        place(node, WIDE * x, HIGH * y)
    origins = {target: source for source, target in story.edges if source in places}
    for node in range(len(story.labels)):
        if node not in places:
            x, y = places.get(origins.get(node, -1), (0.0, 0.0))
            place(node, x, y + BELOW)
    return places


def _line(source: tuple[Point, Box], target: tuple[Point, Box]) -> tuple[Point, ...]:
    """Return a line from the middle of a box to the edge of another."""
    start, end = ((x + WIDTH / 2, y + box.height / 2) for (x, y), box in (source, target))
    across = abs(end[0] - start[0]) / (WIDTH / 2)
    down = abs(end[1] - start[1]) / (target[1].height / 2)
    part = 1 - 1 / max(across, down, 1.0)
    tip = (start[0] + part * (end[0] - start[0]), start[1] + part * (end[1] - start[1]))
    return (start, *straight(start, tip))
