"""The parts of Q-learning, each by hand: targets, losses, exploration, transitions, the replay buffer, mini-batches."""

import numpy as np
import pytest
import torch

from drrn.learning.equations import (
    draw_actions,
    greedy,
    n_step_rewards,
    q_targets,
    softmax,
    squared,
)
from drrn.learning.experience import Transitions
from drrn.learning.menus import Menus
from drrn.learning.q_learning import ReplayBuffer, batches_of
from drrn.playing.stepped_rollouts import Trajectory, transitions_of
from drrn.runs.trainer import Trainer
from drrn.settings import Settings


def test_an_ending_bootstraps_nothing():
    reward = torch.tensor([1.0, 1.0])
    next_q = torch.tensor([[2.0, 9.0], [5.0, 5.0]])
    next_mask = torch.tensor([[True, False], [False, False]])
    assert q_targets(reward, next_q, next_mask, discount=0.5).tolist() == [2.0, 1.0]


def test_the_error_is_the_slope_of_the_loss():
    error = torch.tensor([0.5, 3.0], requires_grad=True)
    assert torch.autograd.grad(squared(error).sum(), error)[0].tolist() == [0.5, 3.0]


def test_softmax_is_the_papers_equation_and_skips_what_does_not_exist():
    q = np.array([[0.0, np.log(3) / 2, 99.0]])
    mask = np.array([[True, True, False]])
    assert softmax(q, mask, alpha=2.0) == pytest.approx(np.array([[0.25, 0.75, 0.0]]))
    assert softmax(q, mask, alpha=0.0) == pytest.approx(np.array([[0.5, 0.5, 0.0]]))
    assert softmax(np.array([[1e4, -1e4]]), np.ones((1, 2), bool), 1.0).tolist() == [[1.0, 0.0]]


def test_greedy_takes_the_best_available_action():
    q, mask = np.array([[1.0, 2.0, 9.0]]), np.array([[True, True, False]])
    assert greedy(q, mask).tolist() == [[0.0, 1.0, 0.0]]


def test_a_draw_falls_into_the_share_of_its_number():
    shares = np.array([[0.25, 0.75, 0.0]] * 4)
    assert draw_actions(shares, np.array([0.0, 0.24, 0.25, 0.999])).tolist() == [0, 0, 1, 1]


def trajectory(rewards, ended):
    steps = len(rewards)
    menus = [[0, 1]] * steps + [[] if ended else [0, 1]]
    return Trajectory(list(range(steps + 1)), menus, [1] * steps, list(rewards))


def test_one_step_transitions_tell_an_ending_from_a_stop():
    ended = transitions_of([(trajectory([1.0, 2.0], ended=True), t) for t in (0, 1)], 0.5, 1)
    assert ended.rewards.tolist() == [1.0, 2.0] and ended.discounts.tolist() == [0.5, 0.5]
    assert ended.next_actions.padded().tolist() == [[0, 1], [-1, -1]]
    stopped = transitions_of([(trajectory([1.0, 2.0], ended=False), t) for t in (0, 1)], 0.5, 1)
    assert stopped.next_actions.padded().tolist() == [[0, 1], [0, 1]]


def test_n_step_rewards_are_discounted_and_cut_at_the_end():
    found = transitions_of(
        [(trajectory([1.0, 2.0, 4.0], ended=False), t) for t in range(3)], 0.5, 2
    )
    assert found.rewards.tolist() == [2.0, 4.0, 4.0]
    assert found.discounts.tolist() == [0.25, 0.25, 0.5]
    assert found.next_states.tolist() == [2, 3, 3]


def some(count, width=2, start=0):
    ids = np.arange(start, start + count)
    menu = Menus.of_padded(np.tile(np.arange(width), (count, 1)))
    numbers = ids.astype(np.float32)
    return Transitions(
        ids, menu, np.zeros(count, np.int64), numbers, np.ones(count, np.float32), ids + 1, menu
    )


def test_a_full_replay_buffer_overwrites_the_oldest():
    buffer = ReplayBuffer(capacity=4)
    buffer.add(some(3))
    buffer.add(some(3, width=3, start=3))
    assert len(buffer) == 4
    assert sorted(buffer.at(np.arange(4)).states.tolist()) == [2, 3, 4, 5]
    assert buffer.at(np.array([2])).actions.padded().tolist() == [[0, 1, -1]]
    assert buffer.at(np.array([0])).actions.padded().tolist() == [[0, 1, 2]]


def test_a_million_transitions_with_five_actions_take_under_64_megabytes():
    buffer = ReplayBuffer(capacity=1_000_000)
    for start in range(0, 1_000_000, 250_000):
        buffer.add(some(250_000, width=5, start=start))
    assert len(buffer) == 1_000_000 and buffer.nbytes < 64e6


def test_the_online_form_learns_after_every_step_the_last_one_of_a_round_too(story):
    game = story(":: Start\nA door.\n\n[[Go in.|In]]\n\n:: In\nA room.\n")
    settings = Settings.from_flat(
        form="online", episodes_per_round=1, rounds=3, replicas=1, hidden=4, batch_size=2
    )
    trainer = Trainer(game, settings, torch.device("cpu"))
    assert [done.transitions for done in trainer.train()] == [
        2,
        2,
        2,
    ]  # a step a round, a mini-batch a step
    assert trainer.learner.updates == [3]


def test_batches_are_cut_row_by_row_and_padded_with_weights_of_0():
    buffers = [ReplayBuffer(capacity=9), ReplayBuffer(capacity=9)]
    buffers[0].add(some(5))
    buffers[1].add(some(3, width=3, start=5))
    cut = batches_of(buffers, [np.arange(5), np.arange(3)], size=2)
    assert cut.weights.tolist() == [[[1, 1], [1, 1]], [[1, 1], [1, 0]], [[1, 0], [0, 0]]]
    assert cut.pages.states[:, 0].tolist() == [[0, 1], [2, 3], [4, 0]]
    assert cut.pages.states[:2, 1].tolist() == [[5, 6], [7, 5]]
    assert cut.pages.actions[0, :, 0].tolist() == [[0, 1, -1], [0, 1, 2]]


def test_a_replay_buffer_without_transitions_fills_its_row_with_nothing():
    buffers = [ReplayBuffer(capacity=9), ReplayBuffer(capacity=9)]
    buffers[0].add(some(2))
    cut = batches_of(buffers, [np.arange(2), np.arange(0)], size=2)
    assert cut.weights.tolist() == [[[1, 1], [0, 0]]] and not cut.pages.mask[0, 1].any()


def test_a_batch_is_no_larger_than_what_there_is_to_learn_from():
    buffer = ReplayBuffer(capacity=9)
    buffer.add(some(3))
    assert batches_of([buffer], [np.arange(3)], size=1_000_000).weights.shape == (1, 1, 3)


class CountedPowers(float):
    """A discount that counts its powers: one for each step that the rewards look ahead."""

    taken = 0

    def __pow__(self, steps):
        self.taken += 1
        return float(self) ** steps


def test_more_steps_than_any_episode_has_take_no_longer_than_its_length():
    episode, reward = np.array([0, 0, 0, 1]), np.array([1.0, 2.0, 4.0, 8.0])
    discount = CountedPowers(0.5)
    rewards, end, steps = n_step_rewards(episode, reward, discount, n_steps=1_000_000)
    assert discount.taken == 3
    assert rewards.tolist() == [3.0, 4.0, 4.0, 8.0]
    assert end.tolist() == [2, 2, 2, 3] and steps.tolist() == [3, 2, 1, 1]
