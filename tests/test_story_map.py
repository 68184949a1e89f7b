"""The map of a story: its data, its layout and its SVG."""

import dataclasses
import random
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import drrn
from drrn.cli import main
from drrn.pages import static_text
from drrn.stories.map.layers import WIDTH, breadth, make_boxes, make_layers, shorten
from drrn.stories.map.layout import Layout
from drrn.stories.map.story_map import StoryMap, seen_map, story_map
from drrn.stories.map.svg import story_map_svg
from drrn.stories.playtest.playtest import StoryTest
from tests.sample_games import Doors

SVG = "{http://www.w3.org/2000/svg}"


def a_map(places: int, ways: list[tuple[int, int]], labels=None, endings=()) -> StoryMap:
    """Return a map with these edges; nodes without outgoing edges are endings."""
    after = {source for source, _ in ways}
    steps = {0: 0}
    queue = [0]
    for place in queue:
        for source, target in ways:
            if source == place and target not in steps:
                steps[target] = steps[place] + 1
                queue.append(target)
    kept = {place: number for number, place in enumerate(queue)}
    ways = [(kept[a], kept[b]) for a, b in ways if a in kept and b in kept]
    labels = labels or [f"Page {place}" for place in range(places)]
    return StoryMap(
        name="A tale",
        labels=[labels[place] for place in queue],
        reward=[None if place in after else float(place % 7 - 3) for place in queue],
        trap=[False] * len(queue),
        visits=[1.0] * len(queue),
        distance=[steps[place] for place in queue],
        texts=["It is late."] * len(queue),
        actions={way: {f"go to {way[1]}": 0.5} for way in ways},
    )


@st.composite
def maps(draw):
    """Stories of one node to seventy: mostly forward, some edges back, some far."""
    count = draw(st.integers(1, 70))
    chance = random.Random(draw(st.integers(0, 10**6)))
    ways = [(chance.randrange(max(0, place - 6), place), place) for place in range(1, count)]
    ways += [
        (chance.randrange(count), chance.randrange(count))
        for _ in range(draw(st.integers(0, count)))
    ]
    return a_map(count, sorted(set(ways)))


def on_the_curve(line, steps=12):
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


def assert_can_be_read(drawn: StoryMap, layout) -> None:
    frames = [
        (x, y, x + WIDTH, y + box.height)
        for box, (x, y) in zip(layout.boxes, layout.corners, strict=True)
    ]
    for number, (x0, y0, x1, y1) in enumerate(frames):
        assert x0 >= 0 and y0 >= 0 and x1 <= layout.width and y1 <= layout.height
        for a0, b0, a1, b1 in frames[:number]:
            assert x1 <= a0 or a1 <= x0 or y1 <= b0 or b1 <= y0, "two boxes overlap"
    for line in layout.lines:
        for x, y in on_the_curve(line):
            assert 0 <= x <= layout.width and 0 <= y <= layout.height
            assert not any(x0 + 0.5 < x < x1 - 0.5 and y0 < y < y1 for x0, y0, x1, y1 in frames), (
                "a line behind a box"
            )
        assert all(drawn.reward[place] is None for place in line.sources), "an ending leads on"
    assert all(not page.rows for box in layout.boxes if box.ending for page in box.pages)
    assert sorted(place for box in layout.boxes for place in box.nodes) == list(
        range(len(drawn.labels))
    )


@settings(max_examples=25, deadline=None)
@given(maps())
def test_boxes_do_not_overlap_and_no_line_passes_behind_a_box(drawn):
    layout = Layout(drawn)
    assert_can_be_read(drawn, layout)
    shown = {(s, line.target) for line in layout.lines for s in line.sources}
    named = {
        (place, target) for (place, _), targets in layout.references.items() for target in targets
    }
    within = {pair for box in layout.boxes for pair in zip(box.nodes, box.nodes[1:], strict=False)}
    assert set(drawn.edges) == shown | named | within, (
        "every edge is a line, a name, or inside a chain"
    )


@pytest.mark.parametrize("count", [100, pytest.param(500, marks=pytest.mark.slow)])
def test_a_large_map_is_wrapped_rather_than_drawn_as_a_ribbon(count):
    chance = random.Random(count)
    ways = {(max(0, place - 1 - chance.randrange(3)), place) for place in range(1, count)}
    ways |= {(chance.randrange(count), chance.randrange(count)) for _ in range(count // 2)}
    drawn = a_map(count, sorted(ways))
    layout = Layout(drawn)
    assert_can_be_read(drawn, layout)
    assert 1 / 3 < layout.width / layout.height < 4


def test_the_map_of_a_whole_story_can_be_read():
    compiled = drrn.compile_game(drrn.make("long-watch"))
    drawn = story_map(compiled)
    assert_can_be_read(drawn, Layout(drawn))
    assert drawn.node_of_state is not None and len(drawn.node_of_state) == len(compiled)
    assert set(drawn.node_of_state.tolist()) == set(range(len(drawn.labels)))


def test_a_chain_of_pages_shares_a_box():
    drawn = a_map(5, [(0, 1), (1, 2), (2, 3), (2, 4), (1, 1)])
    assert [box.nodes for box in make_boxes(drawn)] == [(0, 1, 2), (3,), (4,)]


def test_a_box_without_an_incoming_line_names_a_source():
    ways = [(place, place + 1) for place in range(60)] + [
        (place, 61 + place % 3) for place in range(0, 60, 7)
    ]
    drawn = a_map(64, ways)
    placed = make_layers(drawn, make_boxes(drawn))
    led_to = {link.target for link in placed.lines}
    for number, box in enumerate(placed.boxes):
        assert number == 0 or number in led_to or box.pages[0].origins


def test_the_svg_has_a_group_for_each_node_and_escapes_every_text():
    evil = [
        '<script>alert("1")</script>',
        "\x1b[31mred\x00 & \ud800 ]]>",
        '" onload="x',
        "夜の市場" * 12,
    ]
    drawn = a_map(4, [(0, 1), (0, 2), (1, 3), (2, 3)], labels=evil)
    drawn = dataclasses.replace(
        drawn, name="A & B <b>", actions={way: {evil[1]: 0.5} for way in drawn.edges}
    )
    text = story_map_svg(drawn)
    text.encode("utf-8")
    root = ElementTree.fromstring(text)
    places = root.findall(f".//{SVG}g[@data-place]")
    assert [place.get("id") for place in places] == [
        f"place-{place.get('data-place')}" for place in places
    ]
    by_number = {int(place.get("data-place")): place for place in places}
    assert by_number[0].get("data-page") == evil[0] and len(places) == 4
    assert not root.findall(f".//{SVG}script") and "\x1b" not in text
    assert not any(name.startswith("on") for element in root.iter() for name in element.attrib)
    assert all(place.find(f"{SVG}title").text for place in places)
    assert not any("style" in element.attrib for element in root.iter())
    ways = root.findall(f".//{SVG}path[@data-to]")
    assert {(way.get("data-from"), way.get("data-to")) for way in ways} >= {("0", "1"), ("0", "2")}
    assert static_text("map.css") in text and "<style" not in story_map_svg(drawn, with_style=False)


def test_endings_are_coloured_from_the_worst_to_the_best():
    drawn = dataclasses.replace(a_map(4, [(0, 1), (0, 2), (0, 3)]), reward=[None, -10.0, 0.0, 10.0])
    root = ElementTree.fromstring(story_map_svg(drawn))
    classes = {
        int(g.get("data-place")): g.get("class") for g in root.findall(f".//{SVG}g[@data-place]")
    }
    assert classes == {
        0: "place start",
        1: "place ending r0",
        2: "place ending r4",
        3: "place ending r8",
    }


def test_the_map_of_a_play_test_agrees_with_the_exact_map():
    test = StoryTest(Doors(), seconds=60)
    test.run()
    exact = test.story_map()
    seen = seen_map("Doors", test.evidence)
    assert sorted(seen.labels) == sorted(exact.labels) and len(seen.edges) == len(exact.edges)
    assert sorted(seen.reward, key=str) == sorted(exact.reward, key=str) and not exact.partial
    often = {(seen.labels[a], seen.labels[b]): amount for (a, b), amount in seen.edges.items()}
    for (a, b), amount in exact.edges.items():
        assert often[exact.labels[a], exact.labels[b]] == pytest.approx(amount, abs=0.25)


def test_a_text_is_shortened_to_a_width():
    assert shorten("Go on", 10) == "Go on" and shorten("Go on and on and on", 10).endswith("…")
    assert breadth(shorten("夜の市場の門のそば", 10)) <= 10 and breadth("iii") < breadth("www")


def test_drrn_test_draws_the_map(tmp_path, capsys):
    tale = tmp_path / "tale.twee"
    tale.write_text(":: Start\n[[Go.|End]]\n\n:: End\nOver.\n", encoding="utf-8")
    assert main(["test", str(tale), "--map", str(tmp_path / "map.svg")]) == 0
    assert 'data-page="Start"' in (tmp_path / "map.svg").read_text(encoding="utf-8")
    for wrong in ("map.svg", "map.gif", "none/map.svg"):
        capsys.readouterr()
        assert main(["test", str(tale), "--map", str(tmp_path / wrong)]) == 2
        assert wrong in capsys.readouterr().err
