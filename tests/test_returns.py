"""Returns of whole episodes by hand: Monte Carlo, λ-returns with Retrace's cut, episodes that were stopped."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drrn.learning.equations import BackwardOrder, monte_carlo, retrace, trace_coefficients


def floats(*numbers):
    return np.array(numbers, np.float64)


def episodes(*lengths):
    """Of so many steps each, one after the other."""
    last = np.concatenate([np.arange(length) == length - 1 for length in lengths])
    return BackwardOrder.of(last)


def test_what_follows_an_ended_episode_is_its_rewards_discounted():
    found = monte_carlo(episodes(3), floats(1, 2, 4), floats(0, 0, 0), discount=0.5)
    assert found.tolist() == [3.0, 4.0, 4.0]


def test_a_stopped_episode_bootstraps_from_the_page_it_stands_on():
    found = monte_carlo(episodes(2), floats(1, 2), floats(9, 8), discount=0.5)
    assert found.tolist() == [4.0, 6.0]  # 2 + ½ 8, and 1 + ½ of that; the 9 lies within the episode
    found = retrace(
        episodes(2), floats(1, 2), floats(0, 8), floats(0, 0), floats(1, 1), discount=0.5
    )
    assert found.tolist() == [4.0, 6.0]


def test_an_episode_of_one_step_has_its_reward_and_what_it_came_to():
    one = episodes(1)
    assert monte_carlo(one, floats(3), floats(0), discount=0.9).tolist() == [3.0]
    assert retrace(one, floats(3), floats(2), floats(7), floats(1), discount=0.5).tolist() == [4.0]


def test_retrace_corrects_the_next_value_by_as_much_as_it_trusts_the_next_action():
    rewards = floats(1, 2, 4)
    value = floats(6, 10, 0)
    q = floats(99, 8, 2)
    trust = floats(99, 0.5, 0.25)
    found = retrace(episodes(3), rewards, value, q, trust, discount=0.5)
    # 4; then 2 + ½ (10 + ¼ (4 - 2)) = 7.25; then 1 + ½ (6 + ½ (7.25 - 8)) = 3.8125
    assert found.tolist() == [3.8125, 7.25, 4.0]


def test_the_cut_is_lambda_times_the_ratio_and_never_above_lambda():
    found = trace_coefficients(floats(0.2, 0.9, 0.5), floats(0.4, 0.3, 0.5), trace=0.8)
    assert found == pytest.approx(floats(0.4, 0.8, 0.8))


def test_an_action_whose_noted_probability_is_zero_is_trusted_unless_the_policy_never_takes_it():
    assert trace_coefficients(floats(0.3, 0.0, 0.0), floats(0.0, 0.0, 0.5), trace=0.5).tolist() == [
        0.5,
        0.0,
        0.0,
    ]
    trust = trace_coefficients(floats(1.0, 0.5), floats(1.0, 0.0), trace=1.0)
    found = retrace(episodes(2), floats(0, 4), floats(3, 0), floats(0, 1), trust, discount=1.0)
    assert found.tolist() == [6.0, 4.0]


def test_lambda_0_is_the_target_of_one_step_expected_sarsa():
    rewards = floats(1, 2, 4)
    value = floats(6, 10, 0)
    trust = trace_coefficients(floats(1, 1, 1), floats(0.5, 0.5, 0.5), trace=0.0)
    found = retrace(episodes(3), rewards, value, floats(5, 5, 5), trust, discount=0.5)
    assert found.tolist() == (rewards + 0.5 * value).tolist() == [4.0, 7.0, 4.0]


def test_on_policy_lambda_1_is_monte_carlo_once_the_value_is_that_of_the_action_taken():
    rewards = floats(1, 2, 4)
    q = floats(3, 5, 7)
    after = np.append(q[1:], 0)  # V(s') = Q(s', a') where only a' is ever taken
    found = retrace(
        episodes(3),
        rewards,
        after,
        q,
        trace_coefficients(floats(1, 1, 1), floats(1, 1, 1), 1.0),
        discount=0.5,
    )
    assert found == pytest.approx(monte_carlo(episodes(3), rewards, floats(0, 0, 0), 0.5))


def test_no_steps_have_no_returns():
    none = BackwardOrder.of(np.zeros(0, bool))
    assert (
        len(monte_carlo(none, floats(), floats(), 0.9))
        == len(retrace(none, *[floats()] * 4, 0.9))
        == 0
    )


def one_by_one(rewards, value, q, trust, discount):
    """Retrace of one episode, as its equation has it."""
    if len(rewards) == 1:
        return [rewards[0] + discount * value[0]]
    then = one_by_one(rewards[1:], value[1:], q[1:], trust[1:], discount)
    return [rewards[0] + discount * (value[0] + trust[1] * (then[0] - q[1])), *then]


@given(
    st.lists(st.integers(1, 7), min_size=1, max_size=6),
    st.sampled_from([0.0, 0.5, 0.98, 1.0]),
    st.integers(0, 2**32 - 1),
)
def test_episodes_of_any_lengths_together_have_the_returns_of_each_alone(lengths, discount, seed):
    chance = np.random.default_rng(seed)
    count = sum(lengths)
    cuts = np.cumsum(lengths)[:-1]
    columns = [*chance.normal(size=(3, count)), chance.random(count)]
    rewards, value = columns[:2]
    alone = zip(*(np.split(column, cuts) for column in columns), strict=True)
    expected = [number for episode in alone for number in one_by_one(*map(list, episode), discount)]
    assert np.allclose(retrace(episodes(*lengths), *columns, discount), expected)

    plain = []
    for some, end in zip(np.split(rewards, cuts), np.split(value, cuts), strict=True):
        total = end[-1]
        found = []
        for reward in some[::-1]:
            total = reward + discount * total
            found.append(total)
        plain += found[::-1]
    assert np.allclose(monte_carlo(episodes(*lengths), rewards, value, discount), plain)
