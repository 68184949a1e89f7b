"""Gymnasium environments of texts as games."""

import contextlib

import gymnasium
import numpy as np
import pytest

import drrn
import drrn.gym
import textgames
from tests.sample_games import CommandsEnv, FixedEnv
from textgames.game.contract import (
    THE_END,
    another,
    ending_of,
    fingerprint_of,
    is_stopped,
    step_limit_of,
)
from textgames.game.gymnasium_game import GymnasiumGame
from textgames.openers import BUILT_IN, make


def episodes_of(game, seeds):
    """Return the pages of one episode per seed; the actions are taken in turn."""
    episodes = []
    for seed in seeds:
        pages = [game.reset(seed)]
        step = 0
        while pages[-1].actions and step < step_limit_of(game) and not is_stopped(game):
            pages.append(game.step(step % len(pages[-1].actions)))
            step += 1
        episodes.append(pages)
    return episodes


@pytest.mark.parametrize("name", BUILT_IN)
def test_the_environment_of_a_story_plays_the_episodes_of_the_story(name):
    game = GymnasiumGame(drrn.gym.StoryEnv(name))
    assert episodes_of(game, [0, 1, None, 2]) == episodes_of(make(name), [0, 1, None, 2])


def test_an_environment_with_text_commands_ends_where_it_terminates():
    game = GymnasiumGame(CommandsEnv())
    first = game.reset(1)
    assert first.actions == ("go to the cellar", "go to the attic") and first.reward == 0
    for command in first.actions:
        game.reset(1)
        page = game.step(first.actions.index(command))
        if "take the lamp" in page.actions:
            last = game.step(page.actions.index("take the lamp"))
    assert (last.text, last.actions, last.reward) == ("You have the lamp.", (), 5.0)
    assert not game.stopped
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


def test_an_environment_with_a_fixed_list_is_stepped_by_number():
    for game in (
        GymnasiumGame(FixedEnv()),
        GymnasiumGame(FixedEnv(), ["count on", "begin again"], "counting"),
    ):
        assert game.reset(0).actions == ("count on", "begin again")
        texts = [game.step(index).text for index in (0, 1, 0, 0, 0)]
        assert texts == ["One.", "Zero.", "One.", "Two.", "Three."]
    assert game.name == "counting"


def test_a_registered_environment_has_its_limit_and_copies():
    with contextlib.suppress(gymnasium.error.Error):
        gymnasium.register(
            "tests/Commands-v0", entry_point="tests.sample_games:CommandsEnv", max_episode_steps=7
        )
    game = GymnasiumGame(gymnasium.make("tests/Commands-v0", disable_env_checker=True))
    assert (game.name, step_limit_of(game)) == ("Commands-v0", 7)
    twin = another(game)
    assert twin is not None
    assert twin.reset(5) == game.reset(5) and fingerprint_of(twin) == fingerprint_of(game)


def test_an_environment_without_texts_or_actions_is_rejected():
    class Numbers(FixedEnv):
        def reset(self, *, seed=None, options=None):
            return np.zeros(3), {}

    class Silent(FixedEnv):
        actions = None  # type: ignore[assignment]

    with pytest.raises(textgames.InputError, match="an observation is a ndarray"):
        GymnasiumGame(Numbers()).reset(0)
    with pytest.raises(textgames.InputError, match=r'no info\["admissible_commands"\]'):
        GymnasiumGame(Silent()).reset(0)
    with pytest.raises(textgames.InputError, match="must be a list of"):
        GymnasiumGame(FixedEnv(), "one")
