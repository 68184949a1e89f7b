"""Returns of whole episodes by hand: Monte Carlo, Retrace, truncated episodes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drrn.learning.equations import BackwardOrder, monte_carlo, retrace, trace_coefficients


def floats(*numbers):
    return np.array(numbers, np.float64)


def episodes(*lengths):
    """Return the order of consecutive episodes of these lengths."""
    last = np.concatenate([np.arange(length) == length - 1 for length in lengths])
    return BackwardOrder.of(last)


def test_a_truncated_episode_bootstraps_from_its_last_page():
    returns = monte_carlo(episodes(2), floats(1, 2), floats(9, 8), discount=0.5)
    assert returns.tolist() == [4.0, 6.0]  # 2 + ½ 8, and 1 + ½ 6; the 9 is within the episode
    returns = retrace(
        episodes(2), floats(1, 2), floats(0, 8), floats(0, 0), floats(1, 1), discount=0.5
    )
    assert returns.tolist() == [4.0, 6.0]


def test_retrace_corrects_the_next_value_in_proportion_to_the_trace_coefficient():
    rewards = floats(1, 2, 4)
    value = floats(6, 10, 0)
    q = floats(99, 8, 2)
    trust = floats(99, 0.5, 0.25)
    returns = retrace(episodes(3), rewards, value, q, trust, discount=0.5)
    # 4; then 2 + ½ (10 + ¼ (4 - 2)) = 7.25; then 1 + ½ (6 + ½ (7.25 - 8)) = 3.8125
    assert returns.tolist() == [3.8125, 7.25, 4.0]


def test_trace_coefficients_are_lambda_times_the_ratio_and_at_most_lambda():
    coefficients = trace_coefficients(floats(0.2, 0.9, 0.5), floats(0.4, 0.3, 0.5), trace=0.8)
    assert coefficients == pytest.approx(floats(0.4, 0.8, 0.8))


def test_a_recorded_probability_of_zero_gives_lambda_unless_the_policy_has_zero_too():
    coefficients = trace_coefficients(floats(0.3, 0.0, 0.0), floats(0.0, 0.0, 0.5), trace=0.5)
    assert coefficients.tolist() == [0.5, 0.0, 0.0]
    trust = trace_coefficients(floats(1.0, 0.5), floats(1.0, 0.0), trace=1.0)
    returns = retrace(episodes(2), floats(0, 4), floats(3, 0), floats(0, 1), trust, discount=1.0)
    assert returns.tolist() == [6.0, 4.0]


def test_no_steps_have_no_returns():
    none = BackwardOrder.of(np.zeros(0, bool))
    empty = floats()
    assert len(monte_carlo(none, empty, empty, 0.9)) == 0
    assert len(retrace(none, empty, empty, empty, empty, 0.9)) == 0


def recursive_retrace(rewards, value, q, trust, discount):
    """Retrace of one episode by its recursive equation."""
    if len(rewards) == 1:
        return [rewards[0] + discount * value[0]]
    then = recursive_retrace(rewards[1:], value[1:], q[1:], trust[1:], discount)
    return [rewards[0] + discount * (value[0] + trust[1] * (then[0] - q[1])), *then]


@given(
    st.lists(st.integers(1, 7), min_size=1, max_size=6),
    st.sampled_from([0.0, 0.5, 0.98, 1.0]),
    st.integers(0, 2**32 - 1),
)
def test_returns_of_several_episodes_equal_those_of_each_alone(lengths, discount, seed):
    chance = np.random.default_rng(seed)
    count = sum(lengths)
    cuts = np.cumsum(lengths)[:-1]
    rewards, value, q = chance.normal(size=(3, count))
    trust = chance.random(count)
    expected: list[float] = []
    plain: list[float] = []
    for rows in np.split(np.arange(count), cuts):
        expected += recursive_retrace(rewards[rows], value[rows], q[rows], trust[rows], discount)
        total = value[rows[-1]]
        returns = []
        for reward in rewards[rows][::-1]:
            total = reward + discount * total
            returns.append(total)
        plain += returns[::-1]
    order = episodes(*lengths)
    assert np.allclose(retrace(order, rewards, value, q, trust, discount), expected)
    assert np.allclose(monte_carlo(order, rewards, value, discount), plain)
