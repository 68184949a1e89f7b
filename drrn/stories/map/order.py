"""Crossing reduction: the order of nodes in the columns of a band, by barycentres and exchanges of neighbours."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import defaultdict

from drrn.stories.map.graph import BandGraph, Node, Strand

SWEEPS = 16
MOST_EXCHANGED = 3_000  # strands of a band up to which neighbours are exchanged


def order(graph: BandGraph) -> list[list[Node]]:
    """The columns in an order with few crossings."""
    columns = [list(column) for column in graph.columns]
    best = [list(column) for column in columns]
    fewest = crossings(graph, columns)
    for sweep in range(SWEEPS):
        down = sweep % 2 == 0
        for at in range(1, len(columns)) if down else range(len(columns) - 2, -1, -1):
            strands = graph.strands[at - 1] if down else graph.strands[at]
            _by_barycentre(columns, at, at - 1 if down else at + 1, strands, down)
        if sum(map(len, graph.strands)) <= MOST_EXCHANGED:
            _exchange(graph, columns)
        count = crossings(graph, columns)
        if count < fewest:
            best = [list(column) for column in columns]
            fewest = count
        if not count:
            break
    return best


def _by_barycentre(
    columns: list[list[Node]], at: int, beside: int, strands: list[Strand], down: bool
) -> None:
    place = {node: number for number, node in enumerate(columns[beside])}
    met: defaultdict[Node, list[float]] = defaultdict(list)
    for strand in strands:
        one, other = (strand.right, strand.left) if down else (strand.left, strand.right)
        other_y = strand.left_y if down else strand.right_y
        met[one].append(place[other] + min(other_y, 900.0) / 1000.0)
    own = {node: number for number, node in enumerate(columns[at])}
    scale = len(columns[beside]) / max(len(columns[at]), 1)
    wish = {n: sum(met[n]) / len(met[n]) if n in met else own[n] * scale for n in columns[at]}
    columns[at].sort(key=lambda node: (wish[node], own[node]))


def crossings(graph: BandGraph, columns: list[list[Node]]) -> int:
    """How many pairs of strands cross."""
    total = 0
    for at, strands in enumerate(graph.strands):
        left = {node: number for number, node in enumerate(columns[at])}
        right = {node: number for number, node in enumerate(columns[at + 1])}
        ends = sorted(
            ((left[s.left], s.left_y), (right[s.right], s.right_y)) for s in strands
        )  # fmt: skip
        seen: list[tuple[int, float]] = []
        for _, end in ends:
            total += len(seen) - bisect_left(seen, (end[0], end[1] + 1e-9))
            insort(seen, end)
    return total


def _exchange(graph: BandGraph, columns: list[list[Node]]) -> None:
    """Neighbours change places where that saves crossings."""
    for at, column in enumerate(columns):
        sides = []
        for strands, beside, to_left in (
            (graph.strands[at - 1] if at else [], at - 1, True),
            (graph.strands[at] if at < len(graph.strands) else [], at + 1, False),
        ):
            place = {node: number for number, node in enumerate(columns[beside])} if strands else {}
            ends: defaultdict[Node, list[tuple[int, float]]] = defaultdict(list)
            for s in strands:
                own, other, y = (
                    (s.right, s.left, s.left_y) if to_left else (s.left, s.right, s.right_y)
                )
                ends[own].append((place[other], y))
            sides.append(ends)
        for number in range(len(column) - 1):
            one = column[number]
            other = column[number + 1]
            now = sum(_crossed(ends[one], ends[other]) for ends in sides)
            then = sum(_crossed(ends[other], ends[one]) for ends in sides)
            if then < now:
                column[number], column[number + 1] = other, one


def _crossed(above: list[tuple[int, float]], below: list[tuple[int, float]]) -> int:
    return sum(one > other for one in above for other in below)
