"""Q-learning by hand: targets, exploration, the replay buffer, mini-batches."""

from typing import Any

import numpy as np
import pytest
import torch

from drrn.learning.equations import draw_actions, greedy, q_targets, softmax, squared
from drrn.learning.menus import Menus
from drrn.learning.q_learning import ReplayBuffer, batches_of
from tests.episodes import single_steps, steps_of


def test_terminal_states_do_not_bootstrap():
    reward = torch.tensor([1.0, 1.0])
    next_q = torch.tensor([[2.0, 9.0], [5.0, 5.0]])
    next_mask = torch.tensor([[True, False], [False, False]])
    assert q_targets(reward, next_q, next_mask, discount=0.5).tolist() == [2.0, 1.0]


def test_the_error_is_the_slope_of_the_loss():
    error = torch.tensor([0.5, 3.0], requires_grad=True)
    assert torch.autograd.grad(squared(error).sum(), error)[0].tolist() == [0.5, 3.0]


def test_softmax_is_the_equation_of_the_paper_over_available_actions():
    q = np.array([[0.0, np.log(3) / 2, 99.0]])
    mask = np.array([[True, True, False]])
    assert softmax(q, mask, alpha=2.0) == pytest.approx(np.array([[0.25, 0.75, 0.0]]))
    assert softmax(q, mask, alpha=0.0) == pytest.approx(np.array([[0.5, 0.5, 0.0]]))
    assert softmax(np.array([[1e4, -1e4]]), np.ones((1, 2), bool), 1.0).tolist() == [[1.0, 0.0]]


def test_greedy_takes_the_best_available_action():
    q = np.array([[1.0, 2.0, 9.0]])
    mask = np.array([[True, True, False]])
    assert greedy(q, mask).tolist() == [[0.0, 1.0, 0.0]]


def test_a_random_number_selects_the_action_by_cumulative_probability():
    shares = np.array([[0.25, 0.75, 0.0]] * 4)
    assert draw_actions(shares, np.array([0.0, 0.24, 0.25, 0.999])).tolist() == [0, 0, 1, 1]


def transitions(rewards, ended, n_steps):
    """The rows of a buffer after one episode, whose pages are 0, 1, 2 …"""
    pages = [(state, [0, 1], 1, reward) for state, reward in enumerate(rewards)]
    buffer = ReplayBuffer(9, 0.5, n_steps)
    buffer.add(steps_of((pages, (len(rewards), [] if ended else [0, 1]))))
    return buffer.at(np.arange(len(buffer)), 2, menus=True)


def test_a_truncated_episode_has_next_actions_and_an_ended_one_has_none():
    ended = transitions([1.0, 2.0], ended=True, n_steps=1)
    assert ended["rewards"].tolist() == [1.0, 2.0] and ended["discounts"].tolist() == [0.5, 0.5]
    assert ended["next_actions"].tolist() == [[0, 1], [-1, -1]]
    stopped = transitions([1.0, 2.0], ended=False, n_steps=1)
    assert stopped["next_actions"].tolist() == [[0, 1], [0, 1]]


def test_n_step_rewards_are_discounted_up_to_the_end():
    rows = transitions([1.0, 2.0, 4.0], ended=False, n_steps=2)
    assert rows["rewards"].tolist() == [2.0, 4.0, 4.0]
    assert rows["discounts"].tolist() == [0.25, 0.25, 0.5]
    assert rows["next_states"].tolist() == [2, 3, 3]


def steps_from(count, width=2, start=0):
    ids = np.arange(start, start + count)
    menus = Menus.of_padded(np.tile(np.arange(width), (count, 1)))
    return single_steps(ids, menus, np.zeros(count, np.int64), ids, ids + 1, menus)


def buffer_of(*episodes, capacity=9):
    buffer = ReplayBuffer(capacity)
    for steps in episodes:
        buffer.add(steps)
    return buffer


def test_a_full_replay_buffer_overwrites_the_oldest():
    buffer = buffer_of(steps_from(3), steps_from(3, width=3, start=3), capacity=4)
    other = ReplayBuffer(4)
    other.restore(buffer.state())
    for each in (buffer, other):
        rows = each.at(np.arange(len(each)), 3, menus=True)
        assert rows["states"].tolist() == [4, 5, 2, 3]
        assert rows["actions"][[2, 0]].tolist() == [[0, 1, -1], [0, 1, 2]]


def test_a_full_replay_buffer_stores_the_whole_oldest_episode_for_its_n_step_rewards():
    long: Any = ([(state, [0], 0, float(state)) for state in range(5)], (9, []))
    buffer = ReplayBuffer(3, 1.0, n_steps=2)
    for _ in range(3):
        buffer.add(steps_of(long))
    rows = buffer.at(np.arange(3), 1, menus=True)
    assert sorted(rows["states"].tolist()) == [2, 3, 4]
    assert dict(zip(rows["states"].tolist(), rows["rewards"].tolist(), strict=True)) == {
        2: 5.0,
        3: 7.0,
        4: 4.0,
    }
    assert len(buffer.steps["page"]) == 5


def test_texts_of_a_replay_buffer_get_new_ids():
    buffer = buffer_of(steps_from(3))
    buffer.renumber(np.arange(4) + 10, np.array([7, 5]))
    assert [ids.tolist() for ids in buffer.texts_in_use()] == [[10, 11, 12, 13], [5, 7]]
    rows = buffer.at(np.arange(3), 2, menus=False)
    assert rows["states"].tolist() == [10, 11, 12] and rows["actions"].tolist() == [[7]] * 3


def test_batches_are_consecutive_rows_padded_with_weights_of_0():
    buffers = [buffer_of(steps_from(5)), buffer_of(steps_from(3, width=3, start=5))]
    batches = batches_of(buffers, [np.arange(5), np.arange(3)], size=2)
    assert batches.weights.tolist() == [[[1, 1], [1, 1]], [[1, 1], [1, 0]], [[1, 0], [0, 0]]]
    assert batches.pages.states[:, 0].tolist() == [[0, 1], [2, 3], [4, 0]]
    assert batches.pages.states[:2, 1].tolist() == [[5, 6], [7, 5]]
    assert batches.pages.actions[0, :, 0].tolist() == [[0, 1, -1], [0, 1, 2]]


def test_an_empty_replay_buffer_has_weights_of_0():
    buffers = [buffer_of(steps_from(2)), buffer_of()]
    batches = batches_of(buffers, [np.arange(2), np.arange(0)], size=2)
    assert batches.weights.tolist() == [[[1, 1], [0, 0]]]
