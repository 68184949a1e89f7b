"""Stories as Gymnasium environments, alone and in vectors."""

import contextlib
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import drrn.gym
from tests.stories import open_story
from textgames.openers import BUILT_IN

IDS = [f"drrn/{name.title().replace('-', '')}-v0" for name in BUILT_IN]


@pytest.mark.parametrize("env_id", IDS)
def test_every_built_in_game_passes_the_check_of_gymnasium(env_id):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env = gymnasium.make(env_id)
        check_env(env.unwrapped, skip_render_check=True)


@pytest.mark.parametrize("name", BUILT_IN)
def test_the_action_space_has_the_size_of_the_largest_menu(name):
    faces = open_story(name).explore().faces
    assert drrn.gym.MOST_ACTIONS[name] == max(len(face.actions) for face in faces)


@pytest.mark.parametrize("env_id", IDS)
def test_observations_are_in_the_space_and_the_mask_has_the_admissible_commands(env_id):
    env = gymnasium.make(env_id)
    text, info = env.reset(seed=3)
    generator = np.random.default_rng(0)
    for _ in range(300):
        assert text in env.observation_space
        assert info["action_mask"].sum() == len(info["admissible_commands"]) > 0
        action = env.action_space.sample(mask=info["action_mask"])
        text, _, terminated, truncated, info = env.step(action)
        if terminated or truncated:
            text, info = env.reset(seed=int(generator.integers(1000)))


LOOP = ":: Start\nRound and round.\n\n[[Again.|Start]]\n[[Out.|End]]\n\n:: End\nDone.\n"


@pytest.fixture
def loop(story):
    return story(
        LOOP, "step_reward = -0.5\nmax_steps = 3\n[[ending]]\npassage = 'End'\nreward = 7\n"
    )


def test_the_step_limit_truncates_and_an_ending_terminates(loop):
    env = gymnasium.make("drrn/Story-v0", game=loop)
    env.reset(seed=0)
    assert [env.step("Again.")[1:4] for _ in range(3)] == [
        (-0.5, False, False),
        (-0.5, False, False),
        (-0.5, False, True),
    ]
    env.reset(seed=0)
    env.step("Again.")
    env.step("Again.")
    assert env.step("Out.")[:4] == ("Done.", 7.0, True, False)  # on the last allowed step
    with pytest.raises(RuntimeError, match="ended"):
        env.unwrapped.step(0)


def test_an_action_that_is_not_on_the_page_costs_a_step(loop):
    env = gymnasium.make("drrn/Story-v0", game=loop, most_actions=5)
    text, info = env.reset(seed=0)
    after, reward, terminated, truncated, info_after = env.step(4)
    assert (after, reward, terminated, truncated) == (text, -0.5, False, False)
    assert info_after["admissible_commands"] == info["admissible_commands"]


@pytest.mark.parametrize(
    "options", [{}, {"vectorization_mode": "async", "vector_kwargs": {"shared_memory": False}}]
)
def test_a_vector_of_games_returns_texts(options):
    first = gymnasium.make(IDS[0]).reset(seed=5)[0]
    games = gymnasium.make_vec(IDS[0], num_envs=2, **options)
    with contextlib.closing(games):
        texts, infos = games.reset(seed=5)
        assert texts[0] == first and len(texts) == 2
        assert all(len(commands) > 0 for commands in infos["admissible_commands"])
        texts, *_ = games.step(np.zeros(2, dtype=np.int64))
        assert all(text.strip("0\0 ") for text in texts)


def test_the_error_for_shared_memory_names_the_call_that_works():
    with pytest.raises(ValueError, match="shared_memory=False"):
        gymnasium.make_vec(IDS[0], num_envs=2, vectorization_mode="async")


@pytest.mark.parametrize("env_id", ["drrn/LongWatch-v0", "drrn/Diagnostic-Order-v0"])
def test_regret_and_q_star_are_in_the_info(env_id):
    env = gymnasium.make(env_id, regret=True)
    _, info = env.reset(seed=1)
    assert info["regret"] == 0 and len(info["q_star"]) == len(info["admissible_commands"])
    best = max(info["q_star"])
    total = regret = 0.0
    over = False
    while not over:
        q = info["q_star"]
        _, reward, terminated, truncated, info = env.step(0)
        assert info["regret"] == pytest.approx(max(q) - q[0])
        total += float(reward)
        regret += info["regret"]
        over = terminated or truncated
    assert info["q_star"] == []
    assert total == pytest.approx(best - regret)  # neither game has chance after the first page


def test_the_advantage_is_the_reward_on_request():
    env = gymnasium.make("drrn/LongWatch-v0", rewards="advantage")
    _, info = env.reset(seed=1)
    q = info["q_star"]
    _, reward, *_ = env.step(int(np.argmin(q)))
    assert reward == pytest.approx(min(q) - max(q))
    with pytest.raises(drrn.InputError, match="advantage"):
        gymnasium.make("drrn/LongWatch-v0", rewards="points")


def test_an_unavailable_action_has_the_regret_of_a_lost_step(loop):
    env = drrn.gym.StoryEnv(loop, regret=True)
    _, info = env.reset(seed=0)
    assert max(info["q_star"]) == 7
    assert env.step("Swim.")[4]["regret"] == 0.5
    env.step("Swim.")
    assert env.step("Swim.")[4]["regret"] == 7.5  # the prize is out of reach
