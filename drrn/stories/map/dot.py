"""Graphviz's `dot`, where it is installed: the order of nodes in the columns of a band, with fewer crossings than ours.

It is called as a program, within a time.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator

from drrn.stories.map.boxes import WIDTH
from drrn.stories.map.graph import BOX, BandGraph, Node
from drrn.stories.map.layers import CHANNEL, GAP

SECONDS = 10.0
MOST_STRANDS = 900  # of a band: more take too long


def is_installed() -> bool:
    """Whether there is a program `dot`."""
    return shutil.which("dot") is not None


def dot_order(graph: BandGraph) -> list[list[Node]] | None:
    """The columns in dot's order; None where it does not find one in time."""
    if sum(map(len, graph.strands)) > MOST_STRANDS:
        return None
    names = {
        node: f"n{number}"
        for number, node in enumerate(n for column in graph.columns for n in column)
    }
    try:
        done = subprocess.run(
            ["dot", "-Tjson0"], input="\n".join(_source(graph, names)), capture_output=True, text=True,
            timeout=SECONDS, check=True,
        )  # fmt: skip
        said = {
            placed["name"]: placed
            for placed in json.loads(done.stdout)["objects"]
            if "pos" in placed
        }
        upward = {node: float(said[name]["pos"].split(",")[1]) for node, name in names.items()}
    except (OSError, subprocess.SubprocessError, ValueError, KeyError, IndexError):
        return None
    return [sorted(column, key=lambda node: -upward[node]) for column in graph.columns]


def _source(graph: BandGraph, names: dict[Node, str]) -> Iterator[str]:
    """The band in dot's language: each column is a rank, each strand an edge from port to port."""
    yield "digraph band {"
    yield f"rankdir=LR; ranksep={CHANNEL / 72:.3f}; nodesep={GAP / 72:.3f}; remincross=true; searchsize=60;"
    yield "node [shape=plain, fixedsize=false]; edge [dir=none, arrowhead=none];"
    ports: dict[Node, set[float]] = {node: set() for node in names}
    for strand in (strand for strands in graph.strands for strand in strands):
        ports[strand.left].add(strand.left_y)
        ports[strand.right].add(strand.right_y)
    for column in graph.columns:
        if column:
            yield "{rank=same; " + " ".join(f"{names[node]};" for node in column) + "}"
        for node in column:
            yield f"{names[node]} [label=<{_table(graph.height(node), sorted(ports[node]))}>];"
    for strand in (strand for strands in graph.strands for strand in strands):
        straight = (strand.left[0] != BOX) + (strand.right[0] != BOX)
        ends = f"{names[strand.left]}:p{strand.left_y:.0f}:e -> {names[strand.right]}:p{strand.right_y:.0f}:w"
        yield f"{ends} [weight={(1, 3, 9)[straight]}];"
    yield "}"


def _table(height: float, ports: list[float]) -> str:
    """A table as high as the node, with a cell in the middle of which each port is."""
    rows = []
    y = 0.0
    for port in ports:
        half = min(3.0, port - y)
        rows += [(port - half - y, ""), (2 * half, f' PORT="p{port:.0f}"')]
        y = port + half
    rows.append((height - y, ""))
    cells = "".join(
        f'<TR><TD FIXEDSIZE="TRUE" WIDTH="{WIDTH:.0f}" HEIGHT="{tall:.0f}"{port}></TD></TR>'
        for tall, port in rows
        if tall >= 1
    )
    return f'<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="0">{cells}</TABLE>'
