"""Memory of episodes: distinct pages and pairs, counts and means, capacity, renumbering, saving."""

from __future__ import annotations

import numpy as np
import pytest

from drrn.learning.episode_memory import EpisodeMemory
from drrn.learning.memory import Memory, drop_unused_texts
from drrn.models import Pages
from drrn.settings import Settings
from drrn.text import Store
from tests.episodes import steps_of


def memory_of(*episodes, capacity=1000, ordered=False):
    memory = EpisodeMemory(capacity, ordered=ordered)
    for episode in episodes:
        memory.add(steps_of(episode))
    return memory


def evaluate(memory, discount=1.0):
    """Compute Monte Carlo returns; return the memory."""
    memory.evaluate(np.zeros(len(memory.links)), 1.0, discount, None)
    return memory


def by_pair(memory):
    """Return the number of returns and their mean, by (state, action)."""
    states, indices = memory.examples_of_pairs()
    actions = memory.links[memory.first[states] + indices]
    pairs = zip(memory.states[states].tolist(), actions.tolist(), strict=True)
    statistics = zip(memory.counts.tolist(), memory.means.tolist(), strict=True)
    return dict(zip(pairs, statistics, strict=True))


END: tuple[int, list[int]] = (9, [])
WEST = ([(0, [5, 6], 0, 1.0), (1, [7], 0, 2.0)], END)  # by action 5
EAST = ([(0, [6, 5], 0, 10.0)], END)  # the same page with its actions in another order; by action 6
WEST_AGAIN = ([(0, [6, 5], 1, 5.0)], END)


def test_a_page_is_the_same_in_any_order_of_its_actions():
    memory = memory_of(WEST, EAST, WEST_AGAIN)
    assert len(memory) == 4 and len(memory.states) == 3
    assert by_pair(evaluate(memory)) == {(0, 5): (2, 4.0), (0, 6): (1, 10.0), (1, 7): (1, 2.0)}


def test_a_model_that_sees_the_menu_has_another_page_for_another_order():
    memory = evaluate(memory_of(WEST, EAST, WEST_AGAIN, ordered=True))
    assert sorted(memory.states.tolist()) == [0, 0, 1, 9]
    page = memory.steps["page"]
    assert memory.means[memory.pair_of_step].tolist() == [3.0, 2.0, 10.0, 5.0]
    assert page[2] == page[3] != page[0]


def test_the_return_of_a_stopped_episode_bootstraps_from_its_last_page():
    memory = memory_of(([(0, [5], 0, 1.0)], (1, [7, 8])))
    q = np.where(memory.links == 5, 0.0, np.where(memory.links == 7, 2.0, 4.0))
    memory.evaluate(q, alpha=0.0, discount=0.5, trace=1.0)
    assert by_pair(memory)[0, 5] == (1, 2.5)  # 1 + ½ · 3, the mean of 2 and 4


def test_the_prior_counts_more_for_pairs_with_fewer_returns():
    memory = evaluate(memory_of(WEST, EAST, WEST_AGAIN))
    mixed = memory.mixed(7.0, 2.0)
    expected = [(2 * 4.0 + 14) / 4, (10.0 + 14) / 3]
    assert mixed[memory.states[memory.page_of_link] == 0].tolist() == expected
    pages = Pages(np.array([0, 4]), np.array([[6, 8, 5], [5, -1, -1]]))
    counts, means = (memory.of_pages(pages, each, 0.0) for each in (memory.counts, memory.means))
    assert counts.tolist() == [[1, 0, 2], [0, 0, 0]]
    assert means.tolist() == [[10.0, 0, 4.0], [0, 0, 0]]


def test_the_baseline_of_a_page_is_its_mean_return_shrunk_to_that_of_all_steps():
    memory = evaluate(memory_of(WEST, EAST))  # two steps of 13 on page 0, one of 2 on page 1
    means = dict(zip(memory.states.tolist(), memory.baseline(memory.means), strict=True))
    assert means == pytest.approx({0: (13 + 3 * 5) / 5, 1: (2 + 3 * 5) / 4, 9: 5.0})


def test_the_best_return_is_the_largest_sum_of_rewards():
    assert memory_of(WEST).best_return == 3.0 and memory_of(WEST, EAST).best_return == 10.0
    assert EpisodeMemory(10).best_return == -np.inf


@pytest.mark.parametrize("ordered", [False, True])
def test_a_full_memory_forgets_the_oldest_episodes_and_unused_pages(ordered):
    memory = evaluate(memory_of(WEST, EAST, ordered=ordered, capacity=3))
    memory.add(steps_of(([(4, [5, 6, 7], 2, 8.0)], END)))
    assert len(memory) == 2 and sorted(set(memory.states.tolist())) == [0, 4, 9]
    assert by_pair(memory)[0, 6] == (1, 10.0)  # before the means are computed again
    assert by_pair(evaluate(memory)) == {
        (0, 5): by_pair(memory)[0, 5],
        (0, 6): (1, 10.0),
        (4, 5): (0, 0.0),
        (4, 6): (0, 0.0),
        (4, 7): (1, 8.0),
    }


def test_the_newest_episode_is_never_forgotten():
    long = ([(state, [5], 0, 1.0) for state in range(8)], END)
    memory = memory_of(long, capacity=3)
    assert len(memory) == 8
    memory.add(steps_of(WEST))
    assert len(memory) == 2 and by_pair(evaluate(memory))[0, 5] == (1, 3.0)
    roomy = memory_of(WEST, long, capacity=9)
    assert len(roomy) == 8  # a full memory drops a tenth more, but not of the newest episode


@pytest.mark.parametrize("ordered", [False, True])
def test_renumbering_texts_does_not_change_counts_and_means(ordered):
    memory = evaluate(memory_of(WEST, EAST, WEST_AGAIN, ordered=ordered))
    before = by_pair(memory)
    means = memory.means[memory.pair_of_step].tolist()
    states = np.arange(100, 111)
    actions = np.arange(200, 190, -1)  # in reverse order
    states[-1] = actions[-1] = -1
    memory.renumber(states, actions)
    expected = {(state + 100, 200 - action): value for (state, action), value in before.items()}
    assert by_pair(memory) == expected
    assert memory.means[memory.pair_of_step].tolist() == means
    assert by_pair(evaluate(memory)) == expected
    assert [ids.tolist() for ids in memory.texts_in_use()] == [[100, 101, 109], [193, 194, 195]]


def test_a_restored_memory_continues_as_the_original():
    memory = evaluate(memory_of(WEST, EAST))
    state = memory.state()
    for value in state.values():
        if isinstance(value, np.ndarray):
            value.flags.writeable = False
    other = EpisodeMemory(1000)
    other.restore(state)
    for each in (memory, other):
        each.add(steps_of(WEST_AGAIN))
        evaluate(each)
        each.renumber(np.arange(12), np.arange(12))
    assert by_pair(memory) == by_pair(other)


def test_an_empty_memory_can_be_evaluated_renumbered_and_restored():
    memory = EpisodeMemory(10)
    memory.add(steps_of(WEST))
    memory.clear()
    evaluate(memory).renumber(np.array([-1]), np.array([-1]))
    other = EpisodeMemory(10)
    other.restore(memory.state())
    assert len(other) == 0 and other.mixed(1.0, 0.3).shape == (0,)
    assert [len(ids) for ids in other.texts_in_use()] == [0, 0]


def test_a_repeated_round_starts_with_the_same_memories():
    memory = evaluate(memory_of(WEST))
    before = by_pair(memory)
    memory.begin(1)
    memory.add(steps_of(EAST))
    memory.begin(1)
    assert by_pair(memory) == before
    memory.add(steps_of(EAST))
    memory.begin(2)
    memory.renumber(np.arange(10) + 1, np.arange(10))  # texts get new ids between two rounds
    memory.add(steps_of(EAST))
    memory.begin(2)
    assert len(memory) == 3 and set(memory.states.tolist()) == {1, 2, 10}


def test_joined_episodes_are_those_that_were_added():
    added = steps_of(WEST, EAST, ([(0, [6, 5], 1, 5.0)], (1, [7])))
    memory = Memory()
    memory.add(added)
    joined = memory.joined()
    for name in ("page_states", "taken", "probabilities", "rewards", "last", "states"):
        assert getattr(joined, name).tolist() == getattr(added, name).tolist(), name
    assert joined.page_actions.padded(2).tolist() == added.page_actions.padded(2).tolist()
    memory.rescale(0.5)
    assert memory.joined().returns == [1.5, 5.0, 2.5]
    memory.clear()
    assert len(memory.joined()) == 0


def test_texts_that_no_memory_uses_are_dropped():
    store = Store.of_words()
    store.read(("unused", "here", "there"), ("go", "idle", "wait"))
    memories = (Memory(), EpisodeMemory(9))
    memories[0].add(steps_of(([(1, [2, 0], 0, 1.0)], (2, []))))
    memories[1].add(steps_of(([(2, [2, 0], 0, 1.0)], (2, []))))
    drop_unused_texts(store, memories)
    assert len(store.states) == len(store.actions) == 2
    assert store.page("here", ["wait", "go"]) == (0, [1, 0])
    assert memories[0].joined().page_states.tolist() == [0, 1]
    assert memories[0].joined().actions.padded(2).tolist() == [[1, 0]]
    assert memories[1].links.tolist() == [0, 1] and memories[1].steps["taken"].tolist() == [1]


def test_advantages_are_relative_to_the_page_and_do_not_depend_on_the_time_left():
    """The same page comes one to four times; action 5 pays 1 more than 6, and each page pays 10."""
    episodes = []
    for number in range(200):
        actions = [(number >> k) % 2 for k in range(4)]
        episodes.append(([(0, [5, 6], at, 11.0 - at) for at in actions], END))
    memory = EpisodeMemory(10_000)
    memory.add(steps_of(*episodes))
    evaluate(memory)
    one, other = memory.advantages()
    assert one - other == pytest.approx(1.0, abs=0.2)
    assert abs(one + other) < 0.2
    assert memory.returns.std() > 10  # the time left changes the return more than the action


def test_planning_finds_the_values_of_a_chain_of_which_no_episode_saw_the_whole():
    """Page 0 leads to page 1 by action 5, page 1 pays 10 by action 6; elsewhere nothing happens."""
    memory = memory_of(
        ([(0, [5, 6, 7], 1, 0.0), (0, [5, 6, 7], 0, 0.0)], (1, [5, 6, 7])),
        ([(1, [5, 6, 7], 0, 0.0), (1, [5, 6, 7], 1, 10.0)], END),
    )
    settings = Settings.from_flat(trace=0.0, sweeps=50, discount=0.5).learner
    memory.estimate(memory.pessimistic, settings, alpha=100.0)
    values = dict(zip(((0, 5), (0, 6), (1, 5), (1, 6)), (5.0, 2.5, 5.0, 10.0), strict=True))
    means = by_pair(memory)
    assert {pair: round(means[pair][1], 3) for pair in values} == values
    assert memory.pessimistic().round(3).tolist() == [5.0, 2.5, 2.5, 5.0, 10.0, 5.0]


def test_without_traces_returns_are_those_of_retrace_with_a_vanishing_trace():
    returns = []
    for trace in (0.0, 1e-300):
        memory = memory_of(WEST, EAST, WEST_AGAIN)
        memory.evaluate(np.arange(len(memory.links)) / 3, 0.7, 0.9, trace)
        returns.append(memory.returns)
    assert np.abs(returns[0] - returns[1]).max() < 1e-12
