"""Native stories as games: exploration of draws, seeds."""

import pytest


def test_every_random_outcome_and_every_choice_is_explored(story):
    twee = ":: Start\n<<set $x = random(1, 3)>>Lot <<$x>>.\n\n[[On.|On]]\n[[Off.|Off]]\n\n"
    twee += ":: On\nOn, <<$x>>.\n\n:: Off\nOff.\n\n:: Attic\nNever.\n"
    exploration = story(twee).explore()
    assert exploration.complete and exploration.stochastic
    texts = {"Lot 1.", "Lot 2.", "Lot 3.", "On, 1.", "On, 2.", "On, 3.", "Off."}
    assert {face.text for face in exploration.faces} == texts
    assert exploration.shown == {"Start", "On", "Off"}


@pytest.mark.parametrize(
    "draws",
    ["$x + 1", "random(1, 100000000)", "random(1, 1000) * random(1, 1000) * random(1, 1000)"],
)
def test_exploring_a_draw_with_many_outcomes_stops_at_the_limit(story, draws):
    game = story(f":: Start\n<<set $x = {draws}>>Lot <<$x>>.\n\n[[Again|Start]]\n")
    exploration = game.explore(limit=10)
    assert not exploration.complete
    assert len(exploration.visited) < 30


def test_unseeded_games_differ(story):
    game = story(":: Start\n<<set $x = random(1, 1000000)>>Lot <<$x>>.\n")
    assert len({game.another().reset().text for _ in range(5)}) > 1
