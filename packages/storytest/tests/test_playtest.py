"""Exact findings of a play-test: endings and odds, shortest paths, traps, best play, the map."""

import pytest

import textgames
from storytest.map.story_map import story_map
from storytest.playtest.playtest import inspect_game
from storytest.playtest.solve import ShortestPaths, walkthrough
from tests.stories import open_story
from textgames.openers import BUILT_IN
from textgames.wording import last_words

TALE = """\
:: Start
[[Climb.|Wall]]
[[Knock.|Door]]

:: Wall
[[Jump.|Pit]]
[[Back.|Start]]

:: Door
<<if random(1, 4) eq 1>>[[Enter.|Hall]]<<else>>[[Wait.|Door]]<<endif>>

:: Pit
[[Dig.|Pit]]

:: Hall
Home.

:: Attic
Nobody comes here.
"""
RULES = 'step_reward = -1\n[[ending]]\npassage = "Hall"\nreward = 9\n'


@pytest.fixture
def game(story):
    return story(TALE, RULES)


@pytest.fixture
def compiled(game):
    return textgames.compile_game(game, cache=False)


def mean(estimate):
    """Return the mean of an estimate that exists."""
    assert estimate is not None
    return estimate.mean


def test_odds_paths_and_traps_equal_those_computed_by_hand(game, compiled):
    test = inspect_game(game, compiled)
    assert test.random is not None and test.best is not None
    ending = test.endings[0]
    # Start leads to the door, then home, with 1/2; to the wall with 1/2, then to the pit or back.
    assert mean(ending.probability) == pytest.approx(2 / 3)
    assert mean(test.random.unfinished) == pytest.approx(1 / 3)
    assert mean(ending.best) == pytest.approx(1)
    assert ending.path is not None and list(ending.path.actions) == ["Knock.", "Enter."]
    assert mean(test.best.final_reward) == pytest.approx(9)
    assert mean(test.random.final_reward) == pytest.approx(6)
    assert mean(test.best.returns) == pytest.approx(9 - 4)  # four visits to the door on average
    assert mean(test.best.steps) == pytest.approx(1 + 4)
    assert test.random.returns is None and test.random.steps is None
    assert [dead.passage for dead in test.dead_ends] == ["Pit"]


def test_the_walkthrough_is_the_likeliest_course_of_the_best_play(compiled):
    steps = walkthrough(compiled)
    assert [(step.passage, step.action) for step in steps] == [
        ("Start", "Knock."),
        ("Door", "Enter."),
        ("Hall", None),
    ]
    assert [step.chance for step in steps] == [0.25, 1, 1]


def test_the_walkthrough_stops_if_it_is_best_never_to_end(story):
    tale = ":: Start\n[[Stay.|Start]]\n[[Go.|Bad]]\n\n:: Bad\nB.\n"
    game = textgames.compile_game(
        story(tale, '[[ending]]\npassage = "Bad"\nreward = -1\n'), cache=False
    )
    assert [step.action for step in walkthrough(game)] == ["Stay."]


@pytest.mark.full
@pytest.mark.parametrize("name", BUILT_IN)
def test_built_in_stories_have_reachable_endings_and_no_traps(name):
    game = open_story(name)
    compiled = textgames.compile_game(game)
    test = inspect_game(game, compiled)
    assert len(ShortestPaths(compiled).to_endings()) == len(game.rules.endings)
    assert sum(mean(ending.probability) for ending in test.endings) == pytest.approx(1)
    assert test.random is not None and test.best is not None
    assert mean(test.random.final_reward) < mean(test.best.final_reward)


@pytest.mark.parametrize(
    ("text", "last"),
    [
        ("You go in.\n\nThe table is laid for two.", "The table is laid for two."),
        (
            "He nods. You look round the room. There is cake.",
            "You look round the room. There is cake.",
        ),
        ('It is late. She says: "Is there any cake?"', 'She says: "Is there any cake?"'),
        ("“Go now!” You run as you never ran.", "You run as you never ran."),
        ('It is late. "Is there cake?" he asks.', '"Is there cake?" he asks.'),
        (
            "It is late. You wake up at Dr. Moss and Mrs. Hill.",
            "You wake up at Dr. Moss and Mrs. Hill.",
        ),
        ("You swim home.\n\nTHE END", "You swim home."),
        ("The end.", "The end."),
        ("* * *", "* * *"),
        ("It is late. You go out into\nthe darkness.", "You go out into\nthe darkness."),
    ],
)
def test_last_words_of_a_page(text, last):
    assert last_words(text) == last


def test_the_map_has_a_node_for_each_passage_and_ending(compiled):
    graph = story_map(compiled)
    node = {label: number for number, label in enumerate(graph.labels)}
    assert set(node) == {"Start", "Wall", "Door", "Pit", "Hall"}
    assert graph.reward[node["Hall"]] == 9
    assert graph.reward[node["Pit"]] is None and graph.trap[node["Pit"]]
    assert graph.distance[node["Hall"]] == 2
    assert graph.visits[node["Start"]] == pytest.approx(4 / 3)
    assert graph.edges[node["Start"], node["Door"]] == pytest.approx(2 / 3)
