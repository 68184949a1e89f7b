"""The Comet House: commands, chance and light; both worlds at the terminal and in training."""

import itertools
from typing import Any

import numpy as np
import pytest

import textgames
from lab.reports.agents import BAG_REACHES
from tests.commands import main
from tests.game_checks import check_outcomes
from textgames.compiled.compile import compile_game
from textgames.compiled.solve import best, one_slot, policy_score, random_play
from textgames.game.contract import check_game, fingerprint_of
from textgames.openers import WORLDS
from textgames.play import matching_actions
from textgames.worlds.errand_world import MISSED, SEEN, ErrandEnd, ErrandState


@pytest.fixture(scope="module")
def house():
    return textgames.make("comet-house", shuffle=False)


@pytest.fixture(scope="module")
def compiled(house):
    return compile_game(house)


def outcomes(house, command, room, errand, *, lit=False):
    """Return the probabilities of the states after a command, over all descriptions of a room."""
    probabilities: dict[Any, float] = {}
    start = ErrandState(room, 0, errand, lit, 0.0)
    for chance, state in house.outcomes(start, house.commands.index(command)):
        if not isinstance(state, ErrandEnd):
            state = ErrandState(state.room, 0, *state[2:])
        probabilities[state] = probabilities.get(state, 0) + chance
    return {state: pytest.approx(chance) for state, chance in probabilities.items()}


@pytest.mark.parametrize("name", WORLDS)
def test_worlds_follow_the_contract_and_list_their_outcomes(name):
    for game in (
        textgames.make(name),
        textgames.make(name, shuffle=False),
        compile_game(textgames.make(name)),
    ):
        check_game(game, episodes=3, max_steps=60)
    check_outcomes(textgames.make(name), episodes=2, max_steps=40)


def test_every_page_has_6_verbs_times_37_objects(house, compiled):
    assert len(set(house.commands)) == 222 == compiled.page_actions.shape[1]
    assert len({command.split()[0] for command in house.commands}) == 6
    assert all(len(command.split()) == 2 for command in house.commands)
    assert ((compiled.page_actions >= 0).sum(axis=1) % 222 == 0).all()


def test_the_best_play_sees_the_comet_and_returns_9_80(compiled):
    solution = best(compiled, 1.0)
    score = policy_score(compiled, one_slot(compiled, solution.slot), 100)
    assert solution.score == pytest.approx(9.802, abs=0.0005)
    assert comet_odds(compiled, score) > 0.999


def comet_odds(compiled, score):
    """Return the probability of the ending in which the comet is seen."""
    names = [ending.passage for ending in compiled.endings]
    return score.endings[names.index("the comet seen")]


def test_random_play_sees_no_comet(compiled):
    score = random_play(compiled, 100)
    assert score.endings.sum() < 1e-9 and score.total == pytest.approx(-9.67, abs=0.005)


BAG_COMMANDS = {  # for each description of a room in which the errand is ambiguous
    "landing": ["go east", "go east", "go west", "go west"],
    "clock room": ["turn clock", "go west", "go west", "go west"],
    "library": ["turn globe", "go east", "go east", "go east"],
}


def test_the_score_that_a_bag_of_words_can_reach(house, compiled):
    """It turns clock and globe on one description in four of their rooms, and always turns east."""
    slot = best(compiled, 1.0).slot
    command = {}
    for state in range(len(compiled)):
        if compiled.first[state] < compiled.first[state + 1]:
            action = compiled.action[slot[state]]
            command[compiled.texts[compiled.text[state]]] = compiled.actions[action]
    errands = ("clock, then globe", "globe, then clock")
    for lit, description in itertools.product((False, True), range(4)):
        for errand, (room, commands) in itertools.product(errands, BAG_COMMANDS.items()):
            page = house.look(ErrandState(room, description, errand, lit, 0.0))
            command[page.text] = commands[description]
        page = house.look(ErrandState("dome", description, "west", lit, 0.0))
        command[page.text] = "turn east"
    pairs = zip(compiled.text[compiled.slot_state], compiled.action, strict=True)
    policy = np.array(
        [command[compiled.texts[text]] == compiled.actions[action] for text, action in pairs], float
    )
    score = policy_score(compiled, policy, 100)
    assert score.total == pytest.approx(5.95, abs=0.001)
    odds = comet_odds(compiled, score)
    assert odds == pytest.approx(0.494, abs=0.0005)
    assert BAG_REACHES["comet-house"] == (round(odds, 2), 5.95)


def test_an_errand_pays_a_half_and_the_next_is_random(house):
    assert outcomes(house, "take lantern", "gate", "lantern") == {
        ErrandState("gate", 0, "fire", False, 0.5): 1
    }
    assert outcomes(house, "take crank", "workshop", "crank", lit=True) == {
        ErrandState("workshop", 0, "clock, then globe", True, 0.5): 0.5,
        ErrandState("workshop", 0, "globe, then clock", True, 0.5): 0.5,
    }


def test_doing_the_later_of_two_errands_first_costs_a_half(house):
    assert outcomes(house, "turn globe", "library", "clock, then globe") == {
        ErrandState("library", 0, "clock, then globe", False, -0.5): 1
    }


def test_wind_blows_the_lantern_out_in_the_open_one_time_in_four(house):
    assert outcomes(house, "go south", "hall", "crank", lit=True) == {
        ErrandState("courtyard", 0, "crank", True, -0.01): 0.75,
        ErrandState("courtyard", 0, "crank", False, -0.01): 0.25,
    }
    assert outcomes(house, "light lantern", "kitchen", "crank") == {
        ErrandState("kitchen", 0, "crank", True, -0.01): 1
    }


def test_errands_cannot_be_done_in_the_dark(house):
    dark = ErrandState("workshop", 0, "crank", False, -0.01)
    assert outcomes(house, "take crank", "workshop", "crank") == {dark: 1}
    assert house.look(dark).text.startswith(house.rooms["workshop"]["unlit"][0])


def test_the_cat_blocks_the_stair_until_its_errand_is_done(house):
    assert outcomes(house, "go up", "hall", "cat") == {
        ErrandState("hall", 0, "cat", False, -0.01): 1
    }
    assert outcomes(house, "go up", "hall", "crank") == {
        ErrandState("landing", 0, "crank", False, -0.01): 1
    }
    assert "Kepler" in house.look(ErrandState("hall", 0, "cat", False, 0.0)).text
    assert "Kepler" not in house.look(ErrandState("hall", 0, "crank", False, 0.0)).text


def test_the_crank_slips_one_time_in_three(house):
    assert outcomes(house, "turn crank", "dome", "dome") == {
        ErrandState("dome", 0, "dome", False, -0.01): 1 / 3,
        ErrandState("dome", 0, "east", False, 0.5): 1 / 3,
        ErrandState("dome", 0, "west", False, 0.5): 1 / 3,
    }


def test_the_last_errand_ends_the_episode(house):
    assert outcomes(house, "turn west", "dome", "west") == {ErrandEnd(SEEN, 6.0): 1}
    assert outcomes(house, "turn east", "dome", "west") == {ErrandEnd(MISSED, 0.0): 1}


def test_a_nonsensical_command_costs_a_tenth_and_a_harmless_one_a_hundredth(house):
    assert outcomes(house, "read pump", "hall", "cat") == {
        ErrandState("hall", 0, "cat", False, -0.1): 1
    }
    assert outcomes(house, "read portrait", "hall", "cat") == {
        ErrandState("hall", 0, "cat", False, -0.01): 1
    }


# --- at the terminal and in training


@pytest.mark.parametrize(
    ("text", "commands"),
    [
        ("go north", ["go north"]),
        ("g n", ["go north", "go notice"]),
        ("g nor", ["go north"]),
        ("n", ["go north"]),
        ("south", ["go south"]),
        ("ta bel", ["take bell"]),
        ("bell", ["go bell", "take bell"]),
        ("take bell!", ["take bell"]),
        ("i", []),
        ("fly", []),
        ("", []),
    ],
)
def test_a_command_matches_by_prefixes_of_its_words(text, commands):
    menu = ["go north", "go notice", "go south", "go bell", "take bell", "take notice"]
    assert [menu[index] for index in matching_actions(text, menu)] == commands


def test_a_person_types_commands(capsys, monkeypatch, home):
    answers = iter(["g", "fly", "5", "look", "help", "go nor", "u", "q"])
    monkeypatch.setattr("rich.console.Console.input", lambda *arguments, **options: next(answers))
    assert main(["play", "home-world", "--seed", "3"]) == 0
    output = capsys.readouterr().out
    assert "verbs: eat, exercise, go, sleep, watch" in output and "  1 " not in output
    assert '"g" could mean go apple, go bed' in output and 'No command "fly".' in output
    assert 'No command "5".' in output
    assert output.count("paid") == 1  # look and help are not commands of the game
    # the menu: on the first page, by look, by help, and on the first page again
    assert output.count("verbs: eat") == 4
    assert "Your last command paid -0.01." in output and "Undid one step." in output


@pytest.mark.parametrize(
    ("name", "fingerprint"),
    [
        ("home-world", "d431bb20b20fb459fda0dea36d13c7ac6e5d564e924817c22f514683f62e9fd8"),
        ("comet-house", "e3cb1062b2de0df897affd203d9dc1514853e70374f4e8c21350e09b8f5241e7"),
    ],
)
def test_the_fingerprints_of_the_worlds_are_those_of_the_recorded_results(name, fingerprint):
    assert fingerprint_of(textgames.make(name)) == fingerprint
