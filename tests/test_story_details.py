"""Details of native stories: variables when going back, rules, draws with many outcomes, memory."""

import gc

import pytest

import drrn
from drrn.errors import InputError


def test_going_back_restores_variables_that_the_link_set(story):
    twee = ":: StoryInit\n<<set $g = 7>>\n\n:: Start\ng is <<$g>>.\n\n[[Go|A][$x = 5]]\n\n"
    twee += (
        ":: A\nx is <<$x>>.\n\n[[On|C][$x = 9]]\n<<back>>\n\n:: C\nHere x is <<$x>>.\n\n<<back>>\n"
    )
    game = story(twee)
    game.reset(0)
    game.step(0)
    assert game.step(0).text == "Here x is 9."
    assert game.step(0).text == "x is 5."
    assert game.step(1).text == "g is 7."


@pytest.mark.parametrize(
    "draws", ["random(1, 100000000)", "random(1, 1000) * random(1, 1000) * random(1, 1000)"]
)
def test_exploring_a_draw_with_many_outcomes_stops_at_the_limit(story, draws):
    game = story(f":: Start\n<<set $x = {draws}>>Lot <<$x>>.\n\n[[Again|Start]]\n")
    exploration = game.explore(limit=10)
    assert not exploration.complete
    assert len(exploration.visited) < 30


def test_a_where_condition_reads_visits_and_cannot_set_variables(story):
    twee = ":: Start\nGo.\n\n[[a|A]]\n[[b|B]]\n\n:: A\nA.\n\n[[b|B]]\n\n:: B\nB.\n"
    game = story(twee, "[[ending]]\nwhere = 'visited(\"A\") gt 0'\nreward = 3\n")
    game.reset(0)
    assert game.step(1).reward == 0
    game.reset(0)
    game.step(0)
    assert game.step(0).reward == 3
    for where in ("$x = 5", "random(0, 1)"):
        with pytest.raises(InputError, match="may only compare"):
            story(twee, f"[[ending]]\nwhere = '{where}'\nreward = 3\n")


def test_rules_match_decoded_entities_and_typed_answers(story):
    twee = ':: Start\n<<set $n = prompt("?")>>caf&eacute;\n\n[[on]]\n\n:: on\nWell done, <<$n>>.\n'
    story(twee, '[inputs]\nn = "Ines"\n[[ending]]\ncontains = "Well done, Ines"\nreward = 1\n')
    story(twee, '[[ending]]\ncontains = "café"\nreward = 1\n')


def test_unseeded_games_differ(story):
    game = story(":: Start\n<<set $x = random(1, 1000000)>>Lot <<$x>>.\n")
    assert len({game.another().reset().text for _ in range(5)}) > 1


def test_lenient_play_shows_a_computed_link_without_a_target_as_text(story):
    twee = ":: Start\nGo [[on|$w]] now.\n"
    with pytest.raises(InputError, match="leads to no passage"):
        story(twee).reset(0)
    assert story(twee, lenient=True).reset(0).text == "Go on now."


def test_an_event_on_the_first_page_pays_once_when_a_step_reaches_it(story):
    game = story(
        ":: Start\nHere.\n\n[[Round.|Start]]\n", "[[event]]\npassage = 'Start'\nreward = 5\n"
    )
    assert game.reset(0).reward == 0 and game.step(0).reward == 5 and game.step(0).reward == 0


def test_a_passage_name_may_end_with_a_colon(story):
    assert story(":: Start\n[[Chapter 1:]]\n\n:: Chapter 1:\nIt begins.\n").reset(0).actions == (
        "Chapter 1:",
    )


@pytest.mark.parametrize(
    "toml",
    [
        "step_reward = nan\n",
        "default_reward = inf\n",
        "step_reward = 1" + "0" * 400 + "\n",
        "x = " + "[" * 3000 + "\n",
    ],
    ids=["nan", "inf", "long", "deep"],
)
def test_invalid_numbers_and_deep_tables_in_a_toml_are_refused(story, toml):
    with pytest.raises(InputError):
        story(":: Start\nHi.\n", toml)


def count_live_observations():
    gc.collect()
    return sum(type(thing) is drrn.Observation for thing in gc.get_objects())


def test_the_cache_of_pages_is_bounded(story, monkeypatch):
    monkeypatch.setattr("drrn.stories.twine.story_game.MOST_VIEWS", 50)
    game = story(":: Start\n<<set $n += 1>>Turn <<$n>>.\n\n[[On.|Start]]\n")
    game.reset(0)
    before = count_live_observations()
    for _ in range(300):
        game.step(0)
    assert count_live_observations() - before <= 52
