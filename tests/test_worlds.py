"""The Comet House: its 222 commands, chance and light; the two worlds by name, at the terminal, and in training."""

import itertools

import numpy as np
import pytest

import drrn
from drrn.cli import main
from drrn.cli.play import matching_actions, menu_lines
from drrn.compiled.compile import compile_game
from drrn.compiled.solve import best, one_slot, policy_score, random_play
from drrn.game.contract import check_game
from drrn.game.make import WORLDS
from drrn.lab.reports.beyond import BAG_REACHES
from drrn.worlds.errand_world import MISSED, SEEN, ErrandEnd, ErrandState
from drrn.writing import words
from tests.game_checks import check_outcomes


@pytest.fixture(scope="module")
def house():
    return drrn.make("comet-house", shuffle=False)


@pytest.fixture(scope="module")
def compiled(house):
    return compile_game(house)


def after(house, command, room, errand, *, lit=False):
    """What a command leads to: (chance, state), the descriptions of a room taken together as the first of them."""
    found = {}
    for chance, state in house.outcomes(
        ErrandState(room, 0, errand, lit, 0.0), house.commands.index(command)
    ):
        one = state if isinstance(state, ErrandEnd) else ErrandState(state.room, 0, *state[2:])
        found[one] = found.get(one, 0) + chance
    return {state: pytest.approx(chance) for state, chance in found.items()}


@pytest.mark.parametrize("name", WORLDS)
@pytest.mark.slow
def test_worlds_keep_the_contract_and_list_their_outcomes(name):
    for game in (drrn.make(name), drrn.make(name, shuffle=False), compile_game(drrn.make(name))):
        check_game(game, episodes=3, max_steps=60)
    check_outcomes(drrn.make(name), episodes=2, max_steps=40)


def test_every_page_has_6_verbs_times_37_objects(house, compiled):
    assert len(set(house.commands)) == 222 == compiled.page_actions.shape[1]
    assert len({command.split()[0] for command in house.commands}) == 6
    assert all(len(command.split()) == 2 for command in house.commands)
    assert ((compiled.page_actions >= 0).sum(axis=1) % 222 == 0).all()


def test_it_has_more_underlying_states_than_fantasy_world_and_is_small_enough_to_solve(compiled):
    told_apart = {text.partition("\n\n")[2] for text in compiled.texts}  # all but the description
    assert len(told_apart) >= 56 and len(compiled) < 20_000


def test_rooms_have_four_long_descriptions_of_many_words(house, compiled):
    lengths = [len(words(text)) for room in house.rooms.values() for text in room["descriptions"]]
    assert (
        len(lengths)
        == 48
        == len({text for room in house.rooms.values() for text in room["descriptions"]})
    )
    assert 65 <= np.mean(lengths) <= 76 and min(lengths) >= 60
    assert len({word for text in compiled.texts for word in words(text)}) > 1_000


def test_every_command_of_the_rules_is_one_that_can_be_given(house):
    wrong = [e["wrong"]["command"] for e in house.errands.values() if "wrong" in e]
    ways = [f"go {way}" for room in house.rooms.values() for way in room["exits"]]
    known = [command for room in house.rooms.values() for command in room["harmless"]]
    wanted = [errand["command"] for errand in house.errands.values()]
    assert {*wrong, *ways, *known, *wanted, house.table["fire"]["command"]} <= set(house.commands)


def test_exits_lead_back(house):
    back = {
        "north": "south",
        "south": "north",
        "east": "west",
        "west": "east",
        "up": "down",
        "down": "up",
    }
    for room in house.rooms.values():
        for way, there in room["exits"].items():
            assert house.rooms[there]["exits"][back[way]] == room["name"]


def test_the_best_play_sees_the_comet_and_returns_9_80(compiled):
    solution = best(compiled, 1.0)
    score = policy_score(compiled, one_slot(compiled, solution.slot), 100)
    assert solution.score == pytest.approx(9.802, abs=0.0005)
    assert (
        score.endings[[place.passage for place in compiled.endings].index("the comet seen")] > 0.999
    )


def test_random_play_sees_no_comet(compiled):
    score = random_play(compiled, 100)
    assert score.endings.sum() < 1e-9 and score.total == pytest.approx(-9.67, abs=0.005)


def test_a_player_who_loses_the_order_of_words_cannot_tell_east_from_west(house):
    for one, other in (("east", "west"), ("clock, then globe", "globe, then clock")):
        texts = [
            house.look(ErrandState("dome", 0, errand, True, 0.0)).text for errand in (one, other)
        ]
        assert texts[0] != texts[1] and sorted(words(texts[0])) == sorted(words(texts[1]))


def test_what_a_bag_of_words_can_reach_by_one_command_for_each_page(house, compiled):
    """It sees to the clock on one description in four of its room, to the globe likewise, and always turns east."""
    slot = best(compiled, 1.0).slot
    taken = {}
    for state, first, end in zip(
        range(len(compiled)), compiled.first[:-1], compiled.first[1:], strict=True
    ):
        if first < end:
            taken[compiled.texts[compiled.text[state]]] = compiled.actions[
                compiled.action[slot[state]]
            ]
    by_chance = {"landing": ["go east"] * 2 + ["go west"] * 2, "clock room": ["turn clock"] + ["go west"] * 3,
                 "library": ["turn globe"] + ["go east"] * 3}  # fmt: skip
    for lit, place in itertools.product((False, True), range(4)):
        for errand, (room, commands) in itertools.product(
            ("clock, then globe", "globe, then clock"), by_chance.items()
        ):
            taken[house.look(ErrandState(room, place, errand, lit, 0.0)).text] = commands[place]
        taken[house.look(ErrandState("dome", place, "west", lit, 0.0)).text] = "turn east"
    pairs = zip(compiled.text[compiled.slot_state], compiled.action, strict=True)
    policy = np.array(
        [taken[compiled.texts[text]] == compiled.actions[action] for text, action in pairs], float
    )
    score = policy_score(compiled, policy, 100)
    assert score.total == pytest.approx(5.95, abs=0.001)
    seen = score.endings[[place.passage for place in compiled.endings].index("the comet seen")]
    assert seen == pytest.approx(0.494, abs=0.0005) and BAG_REACHES["comet-house"] == (
        round(seen, 2),
        5.95,
    )


def test_an_errand_pays_a_half_and_the_next_is_drawn(house):
    assert after(house, "take lantern", "gate", "lantern") == {
        ErrandState("gate", 0, "fire", False, 0.5): 1
    }
    assert after(house, "take crank", "workshop", "crank", lit=True) == {
        ErrandState("workshop", 0, "clock, then globe", True, 0.5): 0.5,
        ErrandState("workshop", 0, "globe, then clock", True, 0.5): 0.5,
    }


def test_the_later_of_two_errands_costs_a_half_if_it_is_done_first(house):
    assert after(house, "turn globe", "library", "clock, then globe") == {
        ErrandState("library", 0, "clock, then globe", False, -0.5): 1
    }


def test_wind_blows_the_lantern_out_in_the_open_one_time_in_four(house):
    assert after(house, "go south", "hall", "crank", lit=True) == {
        ErrandState("courtyard", 0, "crank", True, -0.01): 0.75,
        ErrandState("courtyard", 0, "crank", False, -0.01): 0.25,
    }
    assert after(house, "light lantern", "kitchen", "crank") == {
        ErrandState("kitchen", 0, "crank", True, -0.01): 1
    }


def test_errands_cannot_be_done_in_the_dark(house):
    dark = ErrandState("workshop", 0, "crank", False, -0.01)
    assert after(house, "take crank", "workshop", "crank") == {dark: 1}
    assert house.look(dark).text.startswith(house.rooms["workshop"]["unlit"][0])


def test_the_cat_lies_on_the_stair_until_it_is_paid(house):
    assert after(house, "go up", "hall", "cat") == {ErrandState("hall", 0, "cat", False, -0.01): 1}
    assert after(house, "go up", "hall", "crank") == {
        ErrandState("landing", 0, "crank", False, -0.01): 1
    }
    assert "Kepler" in house.look(ErrandState("hall", 0, "cat", False, 0.0)).text
    assert "Kepler" not in house.look(ErrandState("hall", 0, "crank", False, 0.0)).text


def test_the_crank_slips_one_time_in_three(house):
    led = after(house, "turn crank", "dome", "dome")
    assert led[ErrandState("dome", 0, "dome", False, -0.01)] == 1 / 3
    assert (
        led[ErrandState("dome", 0, "east", False, 0.5)]
        == led[ErrandState("dome", 0, "west", False, 0.5)]
        == 1 / 3
    )


def test_the_last_errand_ends_the_episode(house):
    assert after(house, "turn west", "dome", "west") == {ErrandEnd(SEEN, 6.0): 1}
    assert after(house, "turn east", "dome", "west") == {ErrandEnd(MISSED, 0.0): 1}


def test_what_makes_no_sense_costs_a_tenth_and_what_is_in_vain_a_hundredth(house):
    assert after(house, "read pump", "hall", "cat") == {
        ErrandState("hall", 0, "cat", False, -0.1): 1
    }
    assert after(house, "read portrait", "hall", "cat") == {
        ErrandState("hall", 0, "cat", False, -0.01): 1
    }


# --- by name, at the terminal, in training


@pytest.mark.slow
def test_games_lists_the_worlds(capsys, shared_compile_cache):
    assert main(["games"]) == 0
    told = capsys.readouterr().out
    assert "Home World" in told and "The Comet House" in told


@pytest.mark.parametrize(
    ("typed", "means"),
    [
        ("go north", ["go north"]),
        ("g n", ["go north", "go notice"]),
        ("g nor", ["go north"]),
        ("n", ["go north"]),
        ("south", ["go south"]),
        ("ta bel", ["take bell"]),
        ("bell", ["go bell", "take bell"]),
        ("take the bell!", ["take bell"]),
        ("get bell", ["take bell"]),
        ("walk n", ["go north"]),
        ("i", []),
        ("fly", []),
        ("", []),
    ],
)
def test_a_command_matches_by_prefixes_of_its_words(typed, means):
    menu = ["go north", "go notice", "go south", "go bell", "take bell", "take notice"]
    assert [menu[place] for place in matching_actions(typed, menu)] == means


def test_articles_count_where_they_alone_tell_two_actions_apart():
    menu = ["Open the door.", "Open a door."]
    assert [matching_actions(typed, menu) for typed in ("open a door.", "open door", "o d")] == [
        [1],
        [0, 1],
        [0, 1],
    ]


def test_a_long_menu_is_shown_as_verbs_and_objects_if_it_is_their_product():
    assert menu_lines(["go up", "take up", "take cat", "go cat"]) == [
        "verbs: go, take",
        "objects: cat, up",
    ]
    assert menu_lines(["go up", "wait"]) == ["go up, wait"]


def test_a_person_types_commands(capsys, monkeypatch, home):
    answers = iter(["g", "fly", "5", "look", "help", "go nor", "u", "q"])
    monkeypatch.setattr("rich.console.Console.input", lambda *given, **options: next(answers))
    assert main(["play", "home-world", "--seed", "3"]) == 0
    told = capsys.readouterr().out
    assert "verbs: eat, exercise, go, sleep, watch" in told and "  1 " not in told
    assert '"g" could mean go apple, go bed' in told and 'No command "fly".' in told
    assert (
        'No command "5".' in told and told.count("paid") == 1
    )  # no number, no look and no help is a command
    assert (
        told.count("verbs: eat") == 4
    )  # on the first page, by look, by help, and on the first page again
    assert "Your last command paid -0.01." in told and "Undid one step." in told


def test_a_replay_shows_only_the_chosen_command_of_a_long_menu(capsys, home):
    assert (
        main(
            ["play", "home-world", "--policy", "random", "--episodes", "1", "--show", "--seed", "1"]
        )
        == 0
    )
    lines = [
        line
        for line in capsys.readouterr().out.splitlines()
        if line.startswith("  ") and "reward" not in line
    ]
    assert 1 <= len(lines) <= 20 and all(line.startswith("  → ") for line in lines)


@pytest.mark.slow
def test_a_run_reports_the_share_of_quests_done(capsys, tmp_path, home):
    run = str(tmp_path / "run")
    few = [
        "--rounds",
        "1",
        "--episodes-per-round",
        "5",
        "--replicas",
        "2",
        "--hidden",
        "5",
        "--evaluation-episodes",
        "5",
    ]
    assert main(["train", "home-world", "--paper", *few, "--out", run]) == 0
    capsys.readouterr()
    assert main(["evaluate", run, "--exact", "--policy", "softmax"]) == 0
    told = capsys.readouterr().out
    assert "quest done" in told and "out of time" in told


@pytest.mark.parametrize(
    ("name", "fingerprint"),
    [
        ("home-world", "d431bb20b20fb459fda0dea36d13c7ac6e5d564e924817c22f514683f62e9fd8"),
        ("comet-house", "e3cb1062b2de0df897affd203d9dc1514853e70374f4e8c21350e09b8f5241e7"),
    ],
)
def test_the_fingerprints_of_the_worlds_that_results_were_recorded_with(name, fingerprint):
    assert drrn.make(name).fingerprint == fingerprint
