"""Compiled Ink as a game: seeded, under rules, and compiled where it draws no lots."""

import copy
import json
import sys

import pytest

import drrn
from drrn.compiled.compile import can_be_compiled
from drrn.errors import InputError
from drrn.game.contract import another, ending_of, fingerprint_of, title_of
from drrn.stories.ink import open_ink, read_ink
from drrn.stories.twine.rules import read_rules
from tests.game_checks import check_markup, check_outcomes
from tests.ink_stories import STALL, TOWER

BUY, TOSS, WALK = "Buy the brass key.", "Toss a coin into the well.", "Walk on."


@pytest.fixture
def ink(tmp_path):
    """A game from compiled Ink (and, if given, a TOML), with the actions in the story's order unless asked."""
    pytest.importorskip("bink", reason="needs the extra ink")

    def opened(table, toml=None, *, shuffle=False, **options):
        path = tmp_path / "tale.json"
        path.write_text(json.dumps(table), encoding="utf-8-sig")  # as inklecate writes it
        if toml is None:
            return open_ink(path, shuffle=shuffle, **options)
        rules = tmp_path / "tale.toml"
        rules.write_text(f'story = "tale.json"\n{toml}', encoding="utf-8")
        return open_ink(path, read_rules(rules), rules, shuffle=shuffle, **options)

    return opened


def play(game, *words, seed=0):
    """The last page after some actions, by their words."""
    shown = game.reset(seed)
    for action in words:
        shown = game.step(shown.actions.index(action))
    return shown


def test_a_page_is_the_text_up_to_the_next_choice_without_markup(ink):
    game = ink(STALL)
    first = game.reset(0)
    assert first.text == "A stall of lost keys. You have 2 coins."
    assert first.actions == (BUY, TOSS, WALK) and first.reward == 0
    assert (
        play(game, TOSS).text == "It falls for a long time.\nA stall of lost keys. You have 1 coin."
    )
    assert title_of(game) == "The Stall of Keys" and game.name == "tale"


@pytest.mark.parametrize("shuffle", [True, False])
@pytest.mark.parametrize("table", [STALL, TOWER], ids=["stall", "tower"])
def test_ink_games_keep_the_contract(ink, table, shuffle):
    game = ink(table, shuffle=shuffle)
    drrn.check_game(game, episodes=10)
    check_markup(game)
    drrn.check_game(another(game), episodes=2)


def test_a_story_ends_where_ink_has_no_choice_left_and_is_named_by_its_knot(ink):
    game = ink(STALL)
    last = play(game, BUY, WALK)
    assert (
        last.ended
        and last.text == "The key opens the attic."
        and ending_of(game, last) == "home.attic"
    )
    with pytest.raises(RuntimeError, match="has ended"):
        game.step(0)
    with pytest.raises(IndexError, match="action 3 is out of range"):
        game.reset(0) and game.step(3)


def test_a_seed_makes_the_lots_and_other_seeds_make_others(ink):
    game = ink(TOWER)
    episodes = [
        tuple(play(game, *["Ring the bell."] * n, seed=s).text for n in range(2)) for s in range(40)
    ]
    again = [
        tuple(play(another(game), *["Ring the bell."] * n, seed=s).text for n in range(2))
        for s in range(40)
    ]
    assert episodes == again and len({first for first, _ in episodes}) == 2
    assert {"The whole town looks up."} < {second for _, second in episodes}


def test_actions_are_shown_in_a_new_order_each_time(ink):
    game = ink(STALL, shuffle=True)
    assert len({game.reset(seed).actions for seed in range(20)}) > 2


RULES = """
step_reward = -0.5
max_steps = 9
default_reward = 1
[[ending]]
passage = "home.attic"
where = "$coins gte 1 and $bag is 'heavy'"
reward = 10
[[ending]]
tag = "prize"
reward = 5
[[event]]
contains = "falls"
reward = 2
"""


def test_rules_pay_by_knot_tag_text_and_variable(ink):
    game = ink(STALL, RULES)
    assert game.max_steps == 9
    assert play(game, BUY).reward == -0.5 and play(game, BUY, WALK).reward == 10
    assert play(game, TOSS).reward == 1.5 and play(game, TOSS, TOSS).reward == -0.5
    assert play(game, BUY, TOSS, WALK).reward == 5 and play(game, WALK).reward == 1


def test_a_rule_can_end_the_game_and_drop_choices(ink):
    game = ink(STALL, 'ends = { where = "$coins is 0" }\ndrop = ["brass"]\n')
    assert game.reset(0).actions == (TOSS, WALK)
    assert play(game, TOSS).actions and play(game, TOSS, TOSS).ended


@pytest.mark.parametrize(
    ("rule", "sentence"),
    [
        ('passage = "cellar"', 'no passage "cellar"'),
        ('tag = "price"', 'no tag "price". Did you mean "prize"'),
        ('where = "$coin gt 1"', r"no passage sets \$coin"),
        ('contains = "dragon"', '"dragon"'),
    ],
)
def test_rules_that_can_never_match_are_refused(ink, rule, sentence):
    with pytest.raises(InputError, match=sentence):
        ink(STALL, f"[[ending]]\n{rule}\nreward = 1\n")


def test_actions_can_be_paraphrased(ink):
    assert ink(STALL, paraphrases={WALK: "Go."}).reset(0).actions == (BUY, TOSS, "Go.")


def test_a_story_without_chance_is_compiled_and_solved(ink):
    game = ink(STALL, RULES)
    check_outcomes(game, episodes=5)
    compiled = drrn.compile_game(game, cache=False)
    assert drrn.best(compiled).score == 10  # buy, then walk
    assert len(compiled) == 9  # six at the stall, and three endings


def test_states_with_equal_continuations_are_one_even_if_visits_differ(ink):
    table = copy.deepcopy(STALL)
    loop = table["root"][2]["stall"][0][-1]["c-1"]
    loop[loop.index(1)] = 0  # the coin comes back
    assert len(drrn.compile_game(ink(table), cache=False)) < 20


def test_a_story_with_chance_does_not_claim_to_know_its_odds(ink):
    assert can_be_compiled(ink(STALL)) and not can_be_compiled(ink(TOWER))


def test_results_belong_to_the_story_and_its_rewards(ink):
    prints = [
        fingerprint_of(game) for game in (ink(STALL), ink(STALL), ink(STALL, RULES), ink(TOWER))
    ]
    assert prints[0] == prints[1] and len(set(prints)) == 3


# --- what is wrong is one sentence


def test_the_error_for_ink_source_says_how_to_compile_it(tmp_path):
    path = tmp_path / "tale.ink"
    path.write_text("Hello. -> END")
    with pytest.raises(
        InputError, match=r"compile it first: inklecate -o 'tale\.json' 'tale\.ink', or in Inky"
    ):
        read_ink(path)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "not valid JSON"),
        ("[" * 100_000, "not valid JSON|without end"),
        ("{}", 'no "inkVersion"'),
        ('{"inkVersion": 21, "root": []}', "a container has no end"),
        ('{"inkVersion": 21, "root": [["^Hi"], "done", null]}', "a container has no end"),
    ],
)
def test_a_file_that_is_not_compiled_ink_is_refused(tmp_path, text, sentence):
    path = tmp_path / "tale.json"
    path.write_text(text)
    with pytest.raises(InputError, match=sentence):
        read_ink(path)


def tiny(*parts, version=20, **knots):
    return {"inkVersion": version, "root": [[*parts, None], "done", knots or None], "listDefs": {}}


def choice(words, knot):
    return ["ev", "str", f"^{words}", "/str", "/ev", {"*": knot, "flg": 4}]


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        (tiny("^Hi", "\n", "end", version=999), "the Ink runtime cannot play it: .*newer"),
        (tiny("^Hi", "\n", {"->": "nowhere"}), "no choice and no end on its first page"),
        (tiny("^Hi", "\n", "end"), "offers no choice on its first page"),
        (tiny("ev", {"x()": "shine", "exArgs": 0}, "out", "/ev", "\n", "end"), "external: 'shine'"),
    ],
)
def test_a_story_that_the_runtime_cannot_play_is_refused(ink, table, sentence):
    with pytest.raises(InputError, match=sentence) as error:
        ink(table).reset(0)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "loop",
    [
        [{"->": "round"}, None],
        ["^On ", {"->": "round"}, None],
        ["^On", "\n", {"->": "round"}, None],
    ],
)
def test_a_story_that_never_reaches_a_choice_is_stopped_and_can_be_reset(ink, loop, monkeypatch):
    monkeypatch.setattr("drrn.stories.ink.MAX_LINE_MILLISECONDS", 50.0)
    game = ink(tiny("^Here.", "\n", *choice("Go.", "round"), round=loop))
    first = game.reset(0)
    with pytest.raises(InputError, match=r"reaches no choice and no end after 'Here\.'"):
        game.step(0)
    assert game.reset(0) == first


def test_a_runtime_error_ends_the_story_and_is_recorded(ink):
    game = ink(tiny("^Here.", "\n", *choice("Go.", "gap"), gap=["^Into nothing.", "\n", None]))
    assert play(game, "Go.").ended and "ran out of content" in game.errors[0]


def test_without_the_runtime_the_cure_is_named(ink, monkeypatch):
    monkeypatch.setitem(sys.modules, "bink.story", None)
    with pytest.raises(InputError, match=r"pip install 'drrn\[ink\]'"):
        ink(STALL)


def test_what_the_runtime_panics_over_is_one_sentence_and_nothing_else(tmp_path, capfd):
    from drrn.cli import main

    path = tmp_path / "tale.json"
    path.write_text(json.dumps(STALL).replace('"nop"', '"npo"', 1))
    assert main(["play", str(path), "--policy", "random", "--episodes", "1"]) == 2
    error = capfd.readouterr().err
    assert "the Ink runtime cannot play it" in error and error.count("\n") == 1
