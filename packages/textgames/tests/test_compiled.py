"""Compiled games: states and their merging, the contract, many episodes at once, the cache."""

from dataclasses import replace

import numpy as np
import pytest

import textgames
from storytest.twine.story_game import TwineGame
from textgames.compiled.chain import softmax_of_slots, uniform
from textgames.compiled.solve import policy_score, random_play
from textgames.errors import InputError
from textgames.game.contract import check_game

COIN = """\
:: Start
<<set $coin = either("heads", "tails")>>A coin is thrown.

[[Heads!|Guess][$guess = "heads"]]
[[Tails!|Guess][$guess = "tails"]]

:: Guess
<<if $coin eq $guess>><<display "Won">><<else>><<display "Lost">><<endif>>

:: Won
Right.

:: Lost
Wrong.
"""
COIN_RULES = (
    '[[ending]]\npassage = "Won"\nreward = 10\n[[ending]]\npassage = "Lost"\nreward = -10\n'
)


def compiled(game, **options):
    return textgames.compile_game(game, cache=False, **options)


@pytest.fixture(scope="module")
def market():
    return textgames.compile_game(textgames.make("night-market"))


def test_a_compiled_game_keeps_the_contract():
    for shuffle in (True, False):
        check_game(
            textgames.compile_game(textgames.make("long-watch", shuffle=shuffle)), episodes=5
        )


def test_a_hidden_coin_makes_two_states_of_one_page(story):
    game = compiled(story(COIN, COIN_RULES))
    assert (len(game), len(game.page_text), game.raw_states) == (4, 3, 6)
    assert game.probability[:2].tolist() == [0.5, 0.5]
    assert sorted(game.reward[game.ended]) == [-10, 10]


def test_a_variable_that_nothing_reads_makes_no_states(story):
    game = compiled(
        story(":: Start\n<<set $x = random(1, 50)>>Here.\n\n[[On.|End]]\n\n:: End\nThere.\n")
    )
    assert (game.raw_states, game.live_states, len(game)) == (100, 2, 2)


def test_a_variable_counts_until_it_is_written_again(story):
    tale = ":: Start\n<<set $x = random(1, 3)>>Here.\n\n[[On.|Mid]]\n\n:: Mid\n<<$x>><<set $x = 0>>\n\n[[On.|End]]\n\n"
    tale += ":: End\n<<$x>>\n"
    game = compiled(story(tale))
    assert game.live_states == 3 + 3 + 1


def test_states_with_the_same_continuations_are_merged(story):
    tale = ":: Start\n<<set $x = random(1, 4)>>Here.\n\n[[On.|End]]\n\n"
    tale += ":: End\n<<if $x gt 1>>Much.<<else>>Little.<<endif>>\n"
    game = compiled(story(tale))
    assert (game.live_states, len(game)) == (6, 4)
    assert sorted(game.probability[:2]) == [0.25, 0.75]


def test_draws_on_one_page_multiply(story):
    tale = ":: Start\n[[Roll.|End]]\n\n:: End\n<<print random(1, 6) + random(1, 6)>>\n"
    game = compiled(story(tale))
    texts = [game.texts[game.text[state]] for state in game.successor[1:]]
    odds = dict(zip(texts, game.probability[1:], strict=True))
    assert len(odds) == 11
    assert odds["7"] == pytest.approx(6 / 36) and odds["2"] == pytest.approx(1 / 36)


def test_true_is_not_one_and_a_list_is_not_its_item(story):
    tale = ':: Start\n<<set $x = either(true, 1, "1")>>Here.\n\n[[On.|End]]\n\n:: End\n<<$x>>\n'
    game = compiled(story(tale))
    assert set(game.texts) == {"Here.", "true", "1"} and game.live_states == 3 + 2


def test_visits_and_turns_are_part_of_the_state_only_if_a_passage_reads_them(story):
    fork = ":: Start\n[[A]]\n[[B]]\n\n:: A\nMeet.\n\n[[On.|End]]\n\n:: B\nMeet.\n\n[[On.|End]]\n\n:: End\n"
    assert len(compiled(story(fork + "Over.\n"))) == 3
    assert len(compiled(story(fork + "<<if visited('A')>>By A.<<else>>By B.<<endif>>\n"))) == 5
    assert len(compiled(story(fork + "<<print turns()>>\n"))) == 3


@pytest.mark.parametrize(
    ("tale", "message"),
    [
        (
            ":: Start\n<<set $gold += 1>><<$gold>>\n\n[[Dig.|Start]]\n[[Go.|End]]\n\n:: End\nOver.\n",
            r"\$gold",
        ),
        (":: Start\nNothing more.\n\n:: Other\n", 'passage "Start", has no links'),
    ],
)
def test_a_story_that_cannot_be_compiled_raises_one_sentence(story, tale, message):
    with pytest.raises(textgames.InputError, match=message) as error:
        compiled(story(tale), limit=2_000)
    assert str(error.value).startswith("tale cannot be compiled: ") and "\n" not in str(error.value)


def test_a_story_without_an_ending_is_compiled_and_never_ends(story):
    game = compiled(
        story(":: Start\nHere.\n\n[[On.|There]]\n\n:: There\nThere.\n\n[[Back.|Start]]\n")
    )
    score = random_play(game)
    assert len(game) == 2 and not game.endings
    assert (score.steps, score.trapped, score.total) == (float("inf"), 1.0, 0.0)
    assert random_play(game, max_steps=7).steps == 7


SWITCHES = "abcdefghijklmnopqrstuvwx"
MANY = (
    ":: Start\nSwitches.\n\n"
    + "".join(f"[[{s}|Start][$v{s} = 1 - $v{s}]]\n" for s in SWITCHES)
    + "[[Look.|End]]\n\n:: End\n"
    + " ".join(f"<<$v{s}>>" for s in SWITCHES)
)


def test_a_story_of_sixteen_million_states_stops_at_the_limit_of_states(story):
    with pytest.raises(textgames.InputError, match="more than 3,000 states; raise the limit"):
        compiled(story(MANY), limit=3_000)


# Many episodes at once


def test_parallel_episodes_score_about_the_exact_score(market):
    game = market
    episodes = game.play(None, 40_000, seed=0)
    exact = random_play(game)
    assert episodes.final_reward.mean() == pytest.approx(exact.final_reward, abs=0.3)
    assert episodes.total.mean() == pytest.approx(exact.total, abs=0.3)
    assert episodes.steps.mean() == pytest.approx(exact.steps, abs=0.5)
    shares = (
        np.bincount(episodes.ending[episodes.ending >= 0], minlength=len(game.endings)) / 40_000
    )
    assert shares == pytest.approx(exact.endings, abs=0.012)


def test_the_seed_determines_all_episodes_and_their_number_is_exact(story):
    game = compiled(story(COIN, COIN_RULES))
    first, same, other = (game.play(None, 1_000, seed=seed, lanes=64) for seed in (1, 1, 2))
    assert (first.total == same.total).all() and (first.total != other.total).any()
    assert len(game.play(None, 67, seed=0, lanes=64).steps) == 67


LOOP = ":: Start\nHere.\n\n[[Round.|Start]]\n[[Out.|End]]\n\n:: End\nOver.\n"


def test_an_episode_that_reaches_the_limit_is_stopped_without_an_ending(story):
    game = compiled(story(LOOP, 'step_reward = -1\n[[ending]]\npassage = "End"\nreward = 5\n'))
    around = (game.action == game.actions.index("Round.")).astype(float)
    episodes = replace(game, max_steps=4).play(around, 10, seed=0)
    assert (episodes.steps == 4).all() and (episodes.ending == -1).all()
    assert (episodes.final_reward == 0).all() and (episodes.total == -4).all()
    half = replace(game, max_steps=2).play(None, 100_000, seed=0)
    assert (half.ending < 0).mean() == pytest.approx(0.25, abs=0.01)  # round and round
    assert half.total.mean() == pytest.approx(0.5 * 5 + 0.25 * 4 - 0.25 * 2, abs=0.05)


def test_play_follows_a_policy_of_probabilities_per_slot(market):
    game = market
    q = np.random.default_rng(0).normal(size=len(game.row))
    policy = softmax_of_slots(game, q, scale=2.0)
    exact = policy_score(game, policy, max_steps=500)
    episodes = replace(game, max_steps=500).play(policy, 40_000, seed=3)
    assert episodes.final_reward.mean() == pytest.approx(exact.final_reward, abs=0.3)
    assert episodes.total.mean() == pytest.approx(exact.total, abs=0.6)
    assert episodes.steps.mean() == pytest.approx(exact.steps, abs=4.0)
    assert (game.play(uniform(game), 100, seed=0).steps > 0).all()


def test_recorded_transitions_are_the_steps_of_the_episodes(story):
    game = compiled(story(COIN, COIN_RULES))
    episodes = game.play(None, 500, seed=0, record=True, lanes=32)
    transitions = episodes.transitions
    assert len(transitions.state) == episodes.steps.sum() == 500
    assert sorted(transitions.episode) == list(range(500))
    assert (game.slot_state[transitions.slot] == transitions.state).all()
    assert (game.reward[transitions.successor] == episodes.final_reward[transitions.episode]).all()


# The cache


def test_a_cached_game_equals_the_compiled_one(home, monkeypatch):
    first = textgames.compile_game(textgames.make("long-watch"))
    (file,) = (home / "cache").iterdir()
    assert file.name.startswith("long-watch-")
    monkeypatch.setattr(TwineGame, "reachable_states", None)  # not to be called again
    again = textgames.compile_game(textgames.make("long-watch"))
    for key, value in vars(first).items():
        if not key.startswith("_"):
            assert np.array_equal(value, vars(again)[key]), key
    assert (first.play(None, 100, seed=0).total == again.play(None, 100, seed=0).total).all()


def test_a_changed_story_or_rule_is_compiled_again(home, story):
    for tale, rules in [
        (COIN, COIN_RULES),
        (COIN + "More.\n", COIN_RULES),
        (COIN, COIN_RULES + "# more\n"),
    ]:
        textgames.compile_game(story(tale, rules))
    textgames.compile_game(story(COIN, "step_reward = -1\n" + COIN_RULES))
    assert len(list((home / "cache").iterdir())) == 3  # a comment changes nothing


@pytest.mark.parametrize(
    "damage",
    [lambda b: b"", lambda b: b"not a zip", lambda b: b[: len(b) // 2], lambda b: b"PK" + b[2:90]],
)
def test_a_damaged_cache_file_is_logged_and_compiled_again(home, story, caplog, damage):
    textgames.compile_game(story(COIN, COIN_RULES))
    (file,) = (home / "cache").iterdir()
    whole = file.read_bytes()
    file.write_bytes(damage(whole))
    assert len(textgames.compile_game(story(COIN, COIN_RULES))) == 4
    assert "compiling again" in caplog.text and len(file.read_bytes()) == len(whole)


def test_a_cache_folder_that_cannot_be_written_is_only_logged(story, tmp_path, caplog):
    (tmp_path / "file").write_text("in the way")
    assert len(textgames.compile_game(story(COIN, COIN_RULES), cache=tmp_path / "file")) == 4
    assert "cannot be written" in caplog.text


@pytest.mark.parametrize("limits", [{"limit": 5}, {"memory": 0}, {"limit": 101}])
@pytest.mark.parametrize("name", ["long-watch", pytest.param("home-world", marks=pytest.mark.full)])
def test_limits_have_the_same_effect_with_and_without_a_cache(tmp_path, name, limits):
    textgames.compile_game(textgames.make(name), cache=tmp_path)
    results: list[object] = []
    for cache in (False, tmp_path):
        try:
            compiled = textgames.compile_game(textgames.make(name), cache=cache, **limits)
            results.append((compiled.raw_states, compiled.raw_complete, compiled.fingerprint))
        except InputError as error:
            results.append(str(error))
    assert results[0] == results[1]


def test_a_search_that_a_small_limit_stopped_is_not_cached_for_larger_limits(tmp_path):
    game = textgames.make("long-watch")
    whole = textgames.compile_game(game, cache=False)
    limited = textgames.compile_game(game, limit=whole.live_states, cache=tmp_path)
    assert not limited.raw_complete and limited.live_states == whole.live_states
    assert textgames.compile_game(game, cache=tmp_path).raw_states == whole.raw_states
