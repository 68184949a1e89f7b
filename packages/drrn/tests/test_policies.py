"""Policies and the steps that stepped, compiled and menu rollouts record."""

import numpy as np
import pytest

import drrn
from drrn.learning.equations import greedy, softmax
from drrn.models import Pages
from drrn.playing.evaluation import evaluate
from drrn.playing.policies import policy_of, probabilities_of
from drrn.settings import POLICIES
from tests.trainings import rollouts_of
from textgames.game.episodes import CIRCLE, summarise

OTHER = 1 / (1 + np.e)  # probability of the other action by softmax with α = 1
EXIT = 1 - (1 - OTHER) ** (12 - 2 * CIRCLE)  # probability of an ending within 12 steps
KINDS = ["compiled", "menu", "stepped"]


def generators(seed=0):
    return [np.random.default_rng([seed, replica]) for replica in range(2)]


def play(rollouts, policy, episodes=3000, seed=0):
    """Return the episodes of replica 0."""
    return rollouts.play(episodes, policy, generators(seed))[0]


def record(rollouts, policy, episodes, seed=0):
    return rollouts.record(episodes, policy, generators(seed))


def last_menus(steps):
    """Return the menus of the last pages of the episodes."""
    return steps.page_actions[steps.page[steps.last] + 1]


def circles_of(pages, lasts):
    """For each step, whether its page occurred CIRCLE times earlier in the episode."""
    circles = []
    earlier: list[int] = []
    for page, last in zip(pages.tolist(), lasts.tolist(), strict=True):
        circles.append(earlier.count(page) >= CIRCLE)
        earlier = [] if last else [*earlier, page]
    return np.array(circles, bool)


@pytest.mark.parametrize("kind", KINDS)
def test_greedy_play_stays_in_a_cycle_and_best_play_leaves_it_by_softmax(fork, kind):
    rollouts = rollouts_of(fork, kind)
    stuck = summarise(play(rollouts, policy_of("greedy", 1.0), 20))
    assert stuck.endings == {} and stuck.mean_steps == 12
    summary = summarise(play(rollouts, policy_of("best", 1.0)))
    home = EXIT / (2 - OTHER)  # the first page repeats before the second
    shares = {name: count / summary.episodes for name, count in summary.endings.items()}
    assert shares == pytest.approx({"Home": home, "Island": EXIT - home}, abs=0.03)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", POLICIES)
def test_recorded_probabilities_equal_those_of_the_policy(fork, kind, name):
    rollouts = rollouts_of(fork, kind)
    policy = policy_of(name, 0.7)
    for replica, steps in enumerate(record(rollouts, policy, 50)):
        pages = Pages(steps.states, steps.actions.padded())
        q = rollouts.model.q(pages).numpy()
        shares = probabilities_of(policy, replica, q, pages, circles_of(steps.states, steps.last))
        assert shares.sum(axis=1) == pytest.approx(1) and (shares[~pages.mask] == 0).all()
        assert steps.probabilities == pytest.approx(shares[np.arange(len(steps)), steps.taken])
        assert (steps.probabilities > 0).all()


@pytest.mark.parametrize("kind", KINDS)
def test_recorded_steps_are_whole_episodes(fork, kind):
    rollouts = rollouts_of(fork, kind)
    policy = policy_of("best", 1.0)
    steps = record(rollouts, policy, 200)[0]
    episodes = play(rollouts, policy, 200)
    assert np.diff(np.flatnonzero(steps.last), prepend=-1).tolist() == [
        episode.steps for episode in episodes
    ]
    assert len(steps.page_states) == len(steps.page_actions) == len(steps) + 200
    assert (last_menus(steps).counts > 0).tolist() == [
        episode.ending is None for episode in episodes
    ]
    totals = np.add.reduceat(steps.rewards, np.flatnonzero(np.append(True, steps.last[:-1])))
    assert totals == pytest.approx([episode.total for episode in episodes])
    assert steps.returns == pytest.approx([episode.total for episode in episodes])


@pytest.mark.parametrize("kind", KINDS)
def test_episodes_depend_on_the_seed_only(fork, kind):
    rollouts = rollouts_of(fork, kind)
    policy = policy_of("best", 1.0)
    one, two = (record(rollouts, policy, 40, seed=3)[1] for _ in range(2))
    for name in ("states", "taken", "probabilities", "rewards", "last", "page_states"):
        assert np.array_equal(getattr(one, name), getattr(two, name))
    assert np.array_equal(one.actions.flat(), two.actions.flat())
    other = record(rollouts, policy, 40, seed=4)[1]
    assert not np.array_equal(one.states, other.states)


@pytest.mark.parametrize("kind", KINDS)
def test_episodes_of_one_step_and_of_none(story, kind):
    twee = ":: Start\n<<if random(0, 1)>>Alive.\n\n[[go|E]]<<else>>Dead.<<endif>>\n\n:: E\nEnd.\n"
    rules = "[[ending]]\npassage = 'E'\nreward = 10\n[[ending]]\npassage = 'Start'\nreward = -5\n"
    rollouts = rollouts_of(story(twee, rules), kind, {})
    steps = record(rollouts, policy_of("best", 1.0), 60)[0]
    assert 10 < len(steps) < 50
    assert len(play(rollouts, policy_of("best", 1.0), 60)) == 60
    assert steps.last.all() and (steps.probabilities == 1).all() and (steps.rewards == 10).all()
    assert (last_menus(steps).counts == 0).all() and len(steps.page_states) == 2 * len(steps)
    rollouts = rollouts_of(story(":: Start\nAll is over.\n", ""), kind, {})
    nothing = record(rollouts, policy_of("best", 1.0), 5)[0]
    assert len(nothing) == len(nothing.page_states) == len(nothing.returns) == 0


def test_a_lane_starts_each_episode_without_earlier_pages(fork):
    rollouts = rollouts_of(fork, "compiled")
    game = rollouts.game
    (first, again) = rollouts.tables(policy_of("best", 1.0))[0]
    limits = {"most_visits": 7 * len(game.page_text)}  # seven lanes
    transitions = game.play(first, 300, seed=0, record=True, again=again, **limits).transitions
    assert np.bincount(np.unique(transitions.episode)).sum() == 300
    for episode in range(300):
        rows = transitions.episode == episode
        pages = game.page[transitions.state[rows]]
        circles = circles_of(pages, np.zeros(len(pages), bool))
        assert np.array_equal(transitions.again[rows], circles)


def test_circles_are_recognised_after_the_scratch_store_is_renewed(fork, monkeypatch):
    rollouts = rollouts_of(fork, "stepped")
    usual = evaluate(rollouts, ["best"], 1.0, 40, [1, 2])
    monkeypatch.setattr("drrn.playing.stepped_rollouts.SteppedRollouts.most_scratch", 1)
    assert evaluate(rollouts, ["best"], 1.0, 40, [1, 2]) == usual


def test_best_is_greedy_and_softmax_in_a_circle():
    q = np.array([[1.0, 2.0, 9.0], [3.0, 2.0, 0.0]])
    pages = Pages(np.array([4, 5]), np.array([[0, 1, -1], [2, 3, 4]]))
    best = policy_of("best", 0.5)
    assert np.array_equal(best[0](0, q, pages), greedy(q, pages.mask))
    mixed = probabilities_of(best, 0, q, pages, np.array([False, True]))
    assert np.array_equal(mixed, [[0, 1, 0], softmax(q, pages.mask, 0.5)[1]])


def test_evaluating_best_does_not_change_the_results_of_softmax_and_greedy(fork):
    rollouts = rollouts_of(fork, "compiled", {"Go out.": 1.0})
    all_three = evaluate(rollouts, POLICIES, 1.0, 30, [1, 2], number=4)
    assert all_three[:4] == evaluate(rollouts, POLICIES[:2], 1.0, 30, [1, 2], number=4)
    assert {e.policy for e in all_three[4:]} == {"best"}


@pytest.mark.parametrize("kind", KINDS)
def test_best_is_greedy_where_pages_recur_and_pay(kind):
    rollouts = rollouts_of(drrn.make("diagnostic:recurring/1"), kind, {"Sweep.": 0.1})
    summary = summarise(play(rollouts, policy_of("best", 1.0), 20))
    assert summary.mean_return == 20  # of 100 steps: sweeping pays at dawn
