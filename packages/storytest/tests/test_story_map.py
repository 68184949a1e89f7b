"""The map of a story: its data, its layout and its SVG."""

import dataclasses
import random
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import textgames
from storytest.map.layers import make_boxes, make_layers
from storytest.map.layout import Layout
from storytest.map.story_map import StoryMap, seen_map, story_map
from storytest.map.svg import story_map_svg
from storytest.playtest.playtest import StoryTest
from tests.sample_games import Doors
from textgames.pages import style

SVG = "{http://www.w3.org/2000/svg}"


def make_map(count: int, edges: list[tuple[int, int]], labels=None) -> StoryMap:
    """Return a map with these edges; nodes without outgoing edges are endings."""
    sources = {source for source, _ in edges}
    steps = {0: 0}
    queue = [0]
    for node in queue:
        for source, target in edges:
            if source == node and target not in steps:
                steps[target] = steps[node] + 1
                queue.append(target)
    index = {node: number for number, node in enumerate(queue)}
    edges = [(index[a], index[b]) for a, b in edges if a in index and b in index]
    labels = labels or [f"Page {node}" for node in range(count)]
    return StoryMap(
        name="A tale",
        labels=[labels[node] for node in queue],
        reward=[None if node in sources else float(node % 7 - 3) for node in queue],
        trap=[False] * len(queue),
        visits=[1.0] * len(queue),
        distance=[steps[node] for node in queue],
        texts=["It is late."] * len(queue),
        actions={edge: {f"go to {edge[1]}": 0.5} for edge in edges},
    )


@st.composite
def maps(draw):
    """Maps of up to seventy nodes: mostly forward edges, some back, some long."""
    count = draw(st.integers(1, 70))
    chance = random.Random(draw(st.integers(0, 10**6)))
    edges = [(chance.randrange(max(0, node - 6), node), node) for node in range(1, count)]
    edges += [
        (chance.randrange(count), chance.randrange(count))
        for _ in range(draw(st.integers(0, count)))
    ]
    return make_map(count, sorted(set(edges)))


def points_on(line, steps=12):
    """Yield points along a line of Bézier curves."""
    for at in range(0, len(line.points) - 1, 3):
        a, b, c, d = line.points[at : at + 4]
        for number in range(steps + 1):
            t = number / steps
            weights = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3)
            yield tuple(
                sum(w * p[axis] for w, p in zip(weights, (a, b, c, d), strict=True))
                for axis in (0, 1)
            )


def assert_readable(graph: StoryMap, layout) -> None:
    frames = [
        (x, y, x + layout.shape.width, y + box.height)
        for box, (x, y) in zip(layout.boxes, layout.corners, strict=True)
    ]
    for number, (x0, y0, x1, y1) in enumerate(frames):
        assert x0 >= 0 and y0 >= 0 and x1 <= layout.width and y1 <= layout.height
        for a0, b0, a1, b1 in frames[:number]:
            assert x1 <= a0 or a1 <= x0 or y1 <= b0 or b1 <= y0, "two boxes overlap"
    for line in layout.lines:
        for x, y in points_on(line):
            assert 0 <= x <= layout.width and 0 <= y <= layout.height
            assert not any(x0 + 0.5 < x < x1 - 0.5 and y0 < y < y1 for x0, y0, x1, y1 in frames), (
                "a line behind a box"
            )
        assert all(graph.reward[node] is None for node in line.sources), "an ending leads on"
    assert all(not page.rows for box in layout.boxes if box.ending for page in box.pages)
    assert sorted(node for box in layout.boxes for node in box.nodes) == list(
        range(len(graph.labels))
    )


@settings(max_examples=25, deadline=None)
@given(maps())
def test_boxes_do_not_overlap_and_no_line_passes_behind_a_box(graph):
    layout = Layout(graph)
    assert_readable(graph, layout)
    lines = {(source, line.target) for line in layout.lines for source in line.sources}
    references = {
        (node, target) for (node, _), targets in layout.references.items() for target in targets
    }
    within = {pair for box in layout.boxes for pair in zip(box.nodes, box.nodes[1:], strict=False)}
    assert set(graph.edges) == lines | references | within, (
        "every edge is a line, a reference, or inside a chain"
    )


@pytest.mark.parametrize("count", [100, pytest.param(500, marks=pytest.mark.full)])
def test_a_large_map_is_wrapped(count):
    chance = random.Random(count)
    edges = {(max(0, node - 1 - chance.randrange(3)), node) for node in range(1, count)}
    edges |= {(chance.randrange(count), chance.randrange(count)) for _ in range(count // 2)}
    graph = make_map(count, sorted(edges))
    layout = Layout(graph)
    assert_readable(graph, layout)
    assert 1 / 3 < layout.width / layout.height < 4


def test_the_map_of_a_built_in_story_is_readable():
    compiled = textgames.compile_game(textgames.make("long-watch"))
    graph = story_map(compiled)
    assert_readable(graph, Layout(graph))
    assert graph.node_of_state is not None and len(graph.node_of_state) == len(compiled)
    assert set(graph.node_of_state.tolist()) == set(range(len(graph.labels)))


def test_a_chain_of_pages_shares_a_box():
    graph = make_map(5, [(0, 1), (1, 2), (2, 3), (2, 4), (1, 1)])
    assert [box.nodes for box in make_boxes(graph)] == [(0, 1, 2), (3,), (4,)]


def test_a_box_without_an_incoming_line_names_a_source():
    edges = [(node, node + 1) for node in range(60)] + [
        (node, 61 + node % 3) for node in range(0, 60, 7)
    ]
    graph = make_map(64, edges)
    layers = make_layers(graph, make_boxes(graph))
    targets = {link.target for link in layers.lines}
    for number, box in enumerate(layers.boxes):
        assert number == 0 or number in targets or box.pages[0].origins


def test_the_svg_has_a_group_for_each_node_and_escapes_every_text():
    hostile = [
        '<script>alert("1")</script>',
        "\x1b[31mred\x00 & \ud800 ]]>",
        '" onload="x',
        "夜の市場" * 12,
    ]
    graph = make_map(4, [(0, 1), (0, 2), (1, 3), (2, 3)], labels=hostile)
    graph = dataclasses.replace(
        graph, name="A & B <b>", actions={edge: {hostile[1]: 0.5} for edge in graph.edges}
    )
    text = story_map_svg(graph)
    text.encode("utf-8")
    root = ElementTree.fromstring(text)
    groups = root.findall(f".//{SVG}g[@data-number]")
    for group in groups:
        assert group.get("id") == f"page-{group.get('data-number')}"
        title = group.find(f"{SVG}title")
        assert title is not None and title.text
    (first,) = (group for group in groups if group.get("data-number") == "0")
    assert first.get("data-page") == hostile[0] and len(groups) == 4
    assert not root.findall(f".//{SVG}script") and "\x1b" not in text
    assert not any(name.startswith("on") for element in root.iter() for name in element.attrib)
    assert not any("style" in element.attrib for element in root.iter())
    paths = root.findall(f".//{SVG}path[@data-to]")
    edges = {(path.get("data-from"), path.get("data-to")) for path in paths}
    assert edges >= {("0", "1"), ("0", "2")}
    assert style("storytest/map.css") in text and "<style" not in story_map_svg(
        graph, with_style=False
    )


FLAWED = """\
:: Start {"position":"400,100","size":"100,100"}
[[Walk.|Cell]]
[[Row.|Home]]
[[Sail.|Sea]]
[[Rest.|Home]]

:: Cell {"position":"200,300"}
[[Wait.|Cell]]

:: Home {"position":"600,300"}
Home.

:: Cave {"position":"800,300"}
[[Out.|Home]]
"""


@pytest.fixture(scope="module")
def flawed(tmp_path_factory):
    """The map of a story with a trap, a missing passage and one that is never reached."""
    path = tmp_path_factory.mktemp("flawed") / "tale.twee"
    path.write_text(FLAWED, encoding="utf-8")
    test = StoryTest(textgames.make(path, shuffle=False, lenient=True), seconds=2)
    return test.story_map(test.run())


def test_the_map_shows_problems(flawed):
    graph = flawed
    root = ElementTree.fromstring(story_map_svg(graph))
    groups = root.findall(f".//{SVG}g[@data-number]")
    kinds = {group.get("data-page"): (group.get("class") or "").split() for group in groups}
    assert "wrong" in kinds["Cell"] and kinds["Home"][:2] == ["page", "ending"]
    assert (kinds["Cave"], kinds["Sea"]) == (["page", "unreached"], ["page", "unwritten"])
    lines = root.findall(f".//{SVG}path[@data-to]")
    sea = str(graph.labels.index("Sea"))
    assert all("untaken" in line.attrib["class"] for line in lines if line.get("data-to") == sea)
    assert "not written" in "".join(root.itertext())


def test_the_sampled_map_agrees_with_the_exact_one():
    test = StoryTest(Doors(), seconds=5)
    test.run()
    exact = test.story_map()
    assert exact is not None
    sampled = seen_map("Doors", test.evidence)
    assert sorted(sampled.labels) == sorted(exact.labels) and len(sampled.edges) == len(exact.edges)
    assert sorted(sampled.reward, key=str) == sorted(exact.reward, key=str) and not exact.partial
    visits = {
        (sampled.labels[a], sampled.labels[b]): amount for (a, b), amount in sampled.edges.items()
    }
    for (a, b), amount in exact.edges.items():
        assert visits[exact.labels[a], exact.labels[b]] == pytest.approx(amount, abs=0.25)
