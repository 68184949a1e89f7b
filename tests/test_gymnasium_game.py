"""Gymnasium environments of texts as games."""

import contextlib
import subprocess
import sys

import gymnasium
import numpy as np
import pytest

import drrn
import drrn.gym
from drrn.game.contract import (
    THE_END,
    another,
    ending_of,
    fingerprint_of,
    is_stopped,
    step_limit_of,
)
from drrn.game.gymnasium_game import GymnasiumGame
from drrn.game.make import BUILT_IN, make
from tests import sample_games
from tests.sample_games import CommandsEnv, Doors, FixedEnv


def played(game, seeds, choose=lambda count, step: step % count):
    """Everything shown over some episodes."""
    found = []
    for seed in seeds:
        shown, step = [game.reset(seed)], 0
        while shown[-1].actions and step < step_limit_of(game) and not is_stopped(game):
            shown.append(game.step(choose(len(shown[-1].actions), step)))
            step += 1
        found.append(shown)
    return found


@pytest.mark.parametrize("name", BUILT_IN)
def test_our_own_environment_wrapped_back_plays_the_same_episodes(name):
    wrapped = GymnasiumGame(drrn.gym.StoryEnv(name))
    assert played(wrapped, [0, 1, None, 2]) == played(make(name), [0, 1, None, 2])


def test_an_environment_that_wants_words_gets_them_and_ends_where_it_terminates():
    game = GymnasiumGame(CommandsEnv())
    first = game.reset(1)
    assert first.actions == ("go to the cellar", "go to the attic") and first.reward == 0
    for place in ("go to the cellar", "go to the attic"):
        game.reset(1)
        if "take the lamp" in (shown := game.step(first.actions.index(place))).actions:
            last = game.step(shown.actions.index("take the lamp"))
    assert (last.text, last.actions, last.reward) == (
        "You have the lamp.",
        (),
        5.0,
    ) and not game.stopped
    assert ending_of(game, last) == THE_END
    with pytest.raises(RuntimeError, match="has ended"):
        game.step(0)


def test_a_truncated_episode_still_has_actions_and_must_be_reset():
    game = GymnasiumGame(CommandsEnv(limit=2))
    game.reset(0)
    assert not is_stopped(game) and game.step(0) and not is_stopped(game)
    assert game.step(0).actions and is_stopped(game)
    with pytest.raises(RuntimeError, match="truncated; call reset"):
        game.step(0)
    game.reset()
    assert not is_stopped(game)


def test_a_truncated_episode_without_commands_keeps_those_before():
    class Mute(CommandsEnv):
        def step(self, action):
            text, reward, terminated, truncated, info = super().step(action)
            return text, reward, terminated, truncated, {} if truncated else info

    game = GymnasiumGame(Mute(limit=1))
    before = game.reset(0).actions
    assert game.step(0).actions == before and is_stopped(game)


def test_an_environment_with_a_fixed_list_is_stepped_by_number():
    for game in (
        GymnasiumGame(FixedEnv()),
        GymnasiumGame(FixedEnv(), ["count on", "begin again"], "counting"),
    ):
        assert game.reset(0).actions == ("count on", "begin again")
        assert [game.step(i).text for i in (0, 1, 0, 0, 0)] == [
            "One.",
            "Zero.",
            "One.",
            "Two.",
            "Three.",
        ]
    assert game.name == "counting"


def test_a_registered_environment_has_its_limit_and_copies():
    with contextlib.suppress(gymnasium.error.Error):
        gymnasium.register(
            "tests/Commands-v0", entry_point="tests.sample_games:CommandsEnv", max_episode_steps=7
        )
    game = GymnasiumGame(gymnasium.make("tests/Commands-v0", disable_env_checker=True))
    assert (game.name, step_limit_of(game)) == ("Commands-v0", 7)
    twin = another(game)
    assert twin.reset(5) == game.reset(5) and fingerprint_of(twin) == fingerprint_of(game)
    assert (
        step_limit_of(GymnasiumGame(CommandsEnv())) == 500
        and another(GymnasiumGame(CommandsEnv())) is None
    )


def test_environments_around_two_stories_have_two_fingerprints():
    by_name = [GymnasiumGame(drrn.gym.StoryEnv(name)) for name in BUILT_IN]
    assert fingerprint_of(by_name[0]) != fingerprint_of(by_name[1])
    made = [
        GymnasiumGame(gymnasium.make("drrn/Story-v0", game=make("long-watch"))) for _ in range(2)
    ]
    assert fingerprint_of(made[0]) == fingerprint_of(made[1])


def test_an_environment_in_a_wrapper_that_cannot_be_made_again_is_used_alone():
    class Plain(gymnasium.Wrapper):
        pass

    game = GymnasiumGame(Plain(gymnasium.make("drrn/LongWatch-v0")))
    assert another(game) is None and game.reset(0).actions


def test_an_environment_that_shows_no_texts_or_lists_no_actions_is_told_so():
    class Numbers(FixedEnv):
        def reset(self, *, seed=None, options=None):
            return np.zeros(3), {}

    class Silent(FixedEnv):
        actions = None

    with pytest.raises(drrn.InputError, match="an observation is a ndarray"):
        GymnasiumGame(Numbers()).reset(0)
    with pytest.raises(drrn.InputError, match=r'no info\["admissible_commands"\]'):
        GymnasiumGame(Silent()).reset(0)
    with pytest.raises(drrn.InputError, match="must be a list of"):
        GymnasiumGame(FixedEnv(), "one")


def test_the_core_does_not_import_gymnasium():
    code = (
        "import sys, drrn; drrn.make('long-watch').reset(0); assert 'gymnasium' not in sys.modules"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_any_game_becomes_a_gymnasium_environment():
    env = drrn.gym.StoryEnv(Doors())
    text, info = env.reset(seed=0)
    assert text in env.observation_space and "Straße" in env.observation_space
    assert env.step(0)[0] == "Room 1: two doors." and env.step(7)[1] == 0.0
    assert len(info["admissible_commands"]) == 2 and sample_games.fixed_env()
