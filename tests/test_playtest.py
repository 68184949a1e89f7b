"""Exact findings of a play-test: endings and odds, shortest paths, traps, best play, the map."""

import pytest

import drrn
from drrn.game.make import BUILT_IN
from drrn.stories.map.story_map import story_map
from drrn.stories.playtest.evidence import Evidence
from drrn.stories.playtest.findings import last_words
from drrn.stories.playtest.playtest import gather, inspect_game
from drrn.stories.playtest.solve import ShortestPaths, walkthrough
from drrn.stories.playtest.survey import compiled_statistics, explore

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
    return drrn.compile_game(game, cache=False)


def test_odds_paths_and_traps_equal_those_computed_by_hand(game, compiled):
    test = inspect_game(game, compiled)
    # From the start: 1/2 to the door, and so home; 1/2 to the wall, from there 1/2 into the pit, 1/2 back.
    assert test.endings[0].probability.mean == pytest.approx(
        2 / 3
    ) and test.random.unfinished.mean == pytest.approx(1 / 3)
    assert test.endings[0].best.mean == pytest.approx(1) and list(test.endings[0].path.actions) == [
        "Knock.",
        "Enter.",
    ]
    assert test.best.final_reward.mean == pytest.approx(
        9
    ) and test.random.final_reward.mean == pytest.approx(6)
    assert test.best.returns.mean == pytest.approx(9 - 4)  # four visits to the door on average
    assert test.best.steps.mean == pytest.approx(1 + 4)
    assert test.random.returns is None and test.random.steps is None
    assert [dead.passage for dead in test.dead_ends] == ["Pit"] and test.trap_states == 1


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
    game = drrn.compile_game(story(tale, '[[ending]]\npassage = "Bad"\nreward = -1\n'), cache=False)
    assert [step.action for step in walkthrough(game)] == ["Stay."]


def test_compiled_and_explored_statistics_are_equal(game, compiled):
    full = inspect_game(game, compiled)
    evidence = Evidence()
    explored = gather(game, evidence, statistics=explore(game, evidence))
    assert full.statistics == explored.statistics == compiled_statistics(game, compiled)
    assert full.states == explored.states and full.complete
    for findings in (full, explored):
        assert [issue.passage for issue in findings.never_reached] == ["Attic"]
        assert [(e.name, e.reward, e.rule) for e in findings.endings] == [("Hall", 9, 1)]


@pytest.mark.parametrize("name", BUILT_IN)
def test_built_in_stories_have_reachable_endings_and_no_traps(name):
    game = drrn.make(name)
    compiled = drrn.compile_game(game)
    test = inspect_game(game, compiled)
    assert len(ShortestPaths(compiled).to_endings()) == len(game.rules.endings)
    assert not test.trap_states
    assert sum(ending.probability.mean for ending in test.endings) == pytest.approx(1)
    assert (
        test.random.final_reward.mean
        < test.memoryless.final_reward.mean
        <= test.best.final_reward.mean + 1e-9
    )


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
    drawn = story_map(compiled)
    place = {label: number for number, label in enumerate(drawn.labels)}
    assert set(place) == {"Start", "Wall", "Door", "Pit", "Hall"}
    assert (
        drawn.reward[place["Hall"]] == 9
        and drawn.reward[place["Pit"]] is None
        and drawn.trap[place["Pit"]]
    )
    assert drawn.distance[place["Hall"]] == 2
    assert drawn.visits[place["Start"]] == pytest.approx(4 / 3)
    assert drawn.edges[place["Start"], place["Door"]] == pytest.approx(2 / 3)
