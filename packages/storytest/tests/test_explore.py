"""Exploration of stories: every choice and every random outcome, up to a limit."""


def test_every_random_outcome_and_every_choice_is_visited(story):
    twee = ":: Start\n<<set $x = random(1, 3)>>Lot <<$x>>.\n\n[[On.|On]]\n[[Off.|Off]]\n\n"
    twee += ":: On\nOn, <<$x>>.\n\n:: Off\nOff.\n\n:: Attic\nNever.\n"
    exploration = story(twee).explore()
    assert exploration.complete and exploration.stochastic
    texts = {"Lot 1.", "Lot 2.", "Lot 3.", "On, 1.", "On, 2.", "On, 3.", "Off."}
    assert {face.text for face in exploration.faces} == texts
    assert exploration.shown == {"Start", "On", "Off"}


def test_two_passages_with_the_same_text_are_both_visited(story):
    twee = ":: Start\nFork.\n\n[[a]]\n[[b]]\n\n:: a\nThe end.\n\n:: b\nThe end.\n"
    assert story(twee).explore().shown == {"Start", "a", "b"}


def test_an_endless_counter_stops_at_the_limit(story):
    exploration = story(":: Start\n<<set $n += 1>>Round.\n\n[[Again.|Start]]\n").explore(limit=50)
    assert not exploration.complete and len(exploration.visited) == 50


def test_a_back_link_undoes_assignments(story):
    twee = ":: Start\nGold: <<$g>>.\n\n[[Take it.|Take][$g = 1]]\n\n"
    twee += ":: Take\nYou have <<$g>>.\n\n<<back>>\n[[Leave.|Out]]\n\n:: Out\nOut.\n"
    exploration = story(twee).explore()
    assert {face.text for face in exploration.faces} == {"Gold: 0.", "You have 1.", "Out."}
