"""A memory of episodes: pages and pairs once each, counts and means by hand, a bound, new numbers, states."""

import numpy as np
import pytest

from drrn.learning.episode_memory import EpisodeMemory, Snapshot
from drrn.models import Pages
from tests.episodes import steps_of


def remembered(*episodes, capacity=1000, ordered=False):
    memory = EpisodeMemory(capacity, ordered=ordered)
    for episode in episodes:
        memory.add(steps_of(episode))
    return memory


def valued(memory, discount=1.0):
    """The memory with Monte Carlo returns."""
    memory.evaluate(np.zeros(len(memory.links)), 1.0, discount, None)
    return memory


def by_pair(memory):
    """(state, action) → how often it was taken, and the mean of its returns."""
    states, places = memory.examples_of_pairs()
    names = zip(
        memory.states[states].tolist(), memory.menus(states).at(places).tolist(), strict=True
    )
    return dict(
        zip(names, zip(memory.counts.tolist(), memory.means.tolist(), strict=True), strict=True)
    )


END = (9, [])
WEST = ([(0, [5, 6], 0, 1.0), (1, [7], 0, 2.0)], END)  # by action 5
EAST = ([(0, [6, 5], 0, 10.0)], END)  # the same page, its actions in another order; by action 6
WEST_AGAIN = ([(0, [6, 5], 1, 5.0)], END)


def test_a_page_is_the_same_in_any_order_of_its_actions():
    memory = remembered(WEST, EAST, WEST_AGAIN)
    assert len(memory) == 4 and len(memory.states) == 3
    assert by_pair(valued(memory)) == {(0, 5): (2, 4.0), (0, 6): (1, 10.0), (1, 7): (1, 2.0)}


def test_a_model_that_sees_the_menu_has_another_page_for_another_order():
    memory = valued(remembered(WEST, EAST, WEST_AGAIN, ordered=True))
    assert sorted(memory.states.tolist()) == [0, 0, 1, 9]
    page = memory.steps["page"]
    assert (
        memory.means[memory.pair_of_step].tolist() == [3.0, 2.0, 10.0, 5.0]
        and page[2] == page[3] != page[0]
    )


def test_all_at_once_or_one_after_the_other_is_the_same():
    together = EpisodeMemory(1000)
    together.add(steps_of(WEST, EAST, WEST_AGAIN))
    assert by_pair(valued(together)) == by_pair(valued(remembered(WEST, EAST, WEST_AGAIN)))


@pytest.mark.parametrize("ordered", [False, True])
def test_a_wider_menu_leaves_every_pair_its_mean(ordered):
    memory = valued(remembered(WEST, EAST, ordered=ordered))
    before = {pair: found for pair, found in by_pair(memory).items() if found[0]}
    memory.add(steps_of(([(3, [5, 6, 7, 8], 3, 4.0)], END)))
    assert before.items() <= by_pair(memory).items() and by_pair(memory)[3, 8] == (1, 0.0)


def test_returns_rest_on_how_a_stopped_episode_could_go_on():
    memory = remembered(([(0, [5], 0, 1.0)], (1, [7, 8])))
    q = np.where(memory.links == 5, 0.0, np.where(memory.links == 7, 2.0, 4.0))
    memory.evaluate(q, alpha=0.0, discount=0.5, trace=1.0)
    assert by_pair(memory)[0, 5] == (1, 2.5)  # 1 + ½ · 3, the mean of 2 and 4


def test_the_fewer_returns_a_pair_has_the_more_counts_the_prior():
    memory = valued(remembered(WEST, EAST, WEST_AGAIN))
    mixed = memory.mixed(7.0, 2.0)
    assert mixed[memory.states[memory.page_of_link] == 0].tolist() == [
        (2 * 4.0 + 14) / 4,
        (10.0 + 14) / 3,
    ]
    counts, means = memory.lookup(Pages(np.array([0, 4]), np.array([[6, 8, 5], [5, -1, -1]])))
    assert counts.tolist() == [[1, 0, 2], [0, 0, 0]] and means.tolist() == [
        [10.0, 0, 4.0],
        [0, 0, 0],
    ]


def test_the_best_return_is_the_largest_sum_of_rewards():
    assert remembered(WEST).best_return == 3.0 and remembered(WEST, EAST).best_return == 10.0
    assert EpisodeMemory(10).best_return == -np.inf


@pytest.mark.parametrize("ordered", [False, True])
def test_a_full_memory_forgets_the_oldest_episodes_and_pages_that_no_other_shows(ordered):
    memory = valued(remembered(WEST, EAST, ordered=ordered, capacity=3))
    memory.add(steps_of(([(4, [5, 6, 7], 2, 8.0)], END)))
    assert len(memory) == 2 and sorted(set(memory.states.tolist())) == [0, 4, 9]
    assert by_pair(memory)[0, 6] == (1, 10.0)  # its mean is still its own
    assert by_pair(valued(memory)) == {(0, 5): by_pair(memory)[0, 5], (0, 6): (1, 10.0), (4, 5): (0, 0.0),
                                       (4, 6): (0, 0.0), (4, 7): (1, 8.0)}  # fmt: skip


def test_the_newest_episode_stays_however_long_it_is():
    long = ([(state, [5], 0, 1.0) for state in range(8)], END)
    memory = remembered(long, capacity=3)
    assert len(memory) == 8
    memory.add(steps_of(WEST))
    assert len(memory) == 2 and by_pair(valued(memory))[0, 5] == (1, 3.0)
    roomy = remembered(WEST, long, capacity=9)
    assert len(roomy) == 8  # what a tenth of the room would ask for beyond is not taken from it


@pytest.mark.parametrize("ordered", [False, True])
def test_new_numbers_of_texts_leave_counts_and_means(ordered):
    memory = valued(remembered(WEST, EAST, WEST_AGAIN, ordered=ordered))
    before, of_steps = by_pair(memory), memory.means[memory.pair_of_step].tolist()
    states, actions = (
        np.arange(100, 111),
        np.arange(200, 190, -1),
    )  # the order of actions is turned round
    states[-1] = actions[-1] = -1
    memory.renumber(states, actions)
    assert by_pair(memory) == {
        (state + 100, 200 - action): found for (state, action), found in before.items()
    }
    assert memory.means[memory.pair_of_step].tolist() == of_steps
    assert by_pair(valued(memory)) == {
        (s + 100, 200 - a): found for (s, a), found in before.items()
    }
    assert [ids.tolist() for ids in memory.texts_in_use()] == [[100, 101, 109], [193, 194, 195]]


@pytest.mark.parametrize("kind", [np.float32, np.int64, None])
def test_a_restored_memory_goes_on_as_the_one_it_was_taken_from(kind):
    memory = valued(remembered(WEST, EAST))
    kept = {name: array.astype(kind or array.dtype) for name, array in memory.state().items()}
    for array in kept.values():
        array.flags.writeable = False
    other = EpisodeMemory(1000)
    other.restore(kept)
    for each in (memory, other):
        each.add(steps_of(WEST_AGAIN))
        valued(each)
        each.renumber(np.arange(12), np.arange(12))
    assert by_pair(memory) == by_pair(other)
    assert {name: array.dtype for name, array in memory.state().items()} == {
        name: array.dtype for name, array in other.state().items()
    }


def test_nothing_can_be_remembered_valued_renumbered_and_kept():
    memory = EpisodeMemory(10)
    memory.add(steps_of(WEST))
    memory.clear()
    valued(memory).renumber(np.array([-1]), np.array([-1]))
    other = EpisodeMemory(10)
    other.restore(memory.state())
    assert len(other) == 0 and other.mixed(1.0, 0.3).shape == (0,) and [len(ids) for ids in other.texts_in_use()] == [
        0, 0]  # fmt: skip


def test_a_round_that_begins_again_finds_the_memories_as_they_were():
    memory = valued(remembered(WEST))
    before, marked = by_pair(memory), Snapshot([memory])
    marked.start(1)
    memory.add(steps_of(EAST))
    marked.start(1)
    assert by_pair(memory) == before
    memory.add(steps_of(EAST))
    marked.start(2)
    assert len(memory) == 3
    marked.discard()
    memory.add(steps_of(EAST))
    marked.start(2)
    assert len(memory) == 4
