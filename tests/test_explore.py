def test_every_outcome_of_chance_and_every_choice_is_visited(story):
    twee = ":: Start\n<<set $x = random(1, 3)>>Lot <<$x>>.\n\n[[On.|On]]\n[[Off.|Off]]\n\n"
    twee += ":: On\nOn, <<$x>>.\n\n:: Off\nOff.\n\n:: Attic\nNever.\n"
    found = story(twee).explore()
    assert found.complete and found.stochastic
    assert {face.text for face in found.faces} == {
        "Lot 1.",
        "Lot 2.",
        "Lot 3.",
        "On, 1.",
        "On, 2.",
        "On, 3.",
        "Off.",
    }
    assert found.shown == {"Start", "On", "Off"}


def test_two_passages_that_look_alike_are_both_shown(story):
    twee = ":: Start\nFork.\n\n[[a]]\n[[b]]\n\n:: a\nThe end.\n\n:: b\nThe end.\n"
    assert story(twee).explore().shown == {"Start", "a", "b"}


def test_a_counter_that_grows_for_ever_stops_at_the_limit(story):
    found = story(":: Start\n<<set $n += 1>>Round.\n\n[[Again.|Start]]\n").explore(limit=50)
    assert not found.complete and len(found.visited) == 50


def test_going_back_undoes_what_was_set_and_the_way_is_still_explored(story):
    twee = ":: Start\nGold: <<$g>>.\n\n[[Take it.|Take][$g = 1]]\n\n"
    twee += ":: Take\nYou have <<$g>>.\n\n<<back>>\n[[Leave.|Out]]\n\n:: Out\nOut.\n"
    found = story(twee).explore()
    assert {face.text for face in found.faces} == {"Gold: 0.", "You have 1.", "Out."}
