"""The layout of a map as a layered graph: columns by distance from the start, lines kept short."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

Edge = tuple[int, int]
SWEEPS = 24


def columns(distance: Sequence[int], tallest: int) -> list[list[int]]:
    """Nodes by their distance from the start; a column too tall is cut into several."""
    by_distance: dict[int, list[int]] = defaultdict(list)
    for node, steps in enumerate(distance):
        by_distance[steps].append(node)
    cut = []
    for _, nodes in sorted(by_distance.items()):
        parts = -(-len(nodes) // tallest)
        size = -(-len(nodes) // parts)
        cut += [nodes[at : at + size] for at in range(0, len(nodes), size)]
    return cut


def heights(stacks: list[list[int]], edges: Mapping[Edge, float]) -> dict[int, float]:
    """A height for each node, at least 1 from its neighbours in the column and near to what it is joined with."""
    joined: dict[int, list[tuple[int, float]]] = defaultdict(list)
    for (source, target), weight in edges.items():
        if source != target:
            joined[source].append((target, weight))
            joined[target].append((source, weight))
    height = {node: place - (len(stack) - 1) / 2 for stack in stacks for place, node in enumerate(stack)}
    for sweep in range(SWEEPS):
        for stack in stacks if sweep % 2 == 0 else stacks[::-1]:
            wanted = {node: _mean(height[node], joined[node], height) for node in stack}
            stack.sort(key=wanted.__getitem__)
            height.update(_spread(stack, wanted))
    return height


def _mean(own: float, joined: list[tuple[int, float]], height: Mapping[int, float]) -> float:
    total = sum(weight for _, weight in joined)
    return sum(height[node] * weight for node, weight in joined) / total if total else own


def _spread(stack: list[int], wanted: Mapping[int, float]) -> dict[int, float]:
    """Heights in the stack's order, at least 1 apart and together as near to those wanted as can be.

    Nodes that would overlap form a block, which stands at the mean of what its nodes want.
    """
    blocks: list[list[float]] = []  # sum of wishes for the block's first node, count
    for node in stack:
        blocks.append([wanted[node], 1.0])
        while len(blocks) > 1 and _foot(blocks[-2]) + blocks[-2][1] > _foot(blocks[-1]):
            wish, count = blocks.pop()
            blocks[-1][0] += wish - count * blocks[-1][1]
            blocks[-1][1] += count
    placed = [_foot(block) + place for block in blocks for place in range(int(block[1]))]
    return dict(zip(stack, placed, strict=True))


def _foot(block: list[float]) -> float:
    return block[0] / block[1]
