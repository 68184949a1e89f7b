"""How actions are chosen and what a rollout records, in stepped, compiled and menu rollouts: policies that remember."""

import numpy as np
import pytest
import torch

import drrn
from drrn.game.episodes import summarise
from drrn.learning.equations import greedy, softmax
from drrn.models import Pages
from drrn.playing.evaluation import evaluate
from drrn.playing.policies import POLICIES, policy_of, probabilities_of
from drrn.playing.stepped_rollouts import SteppedRollouts
from drrn.runs.trainer import Trainer
from drrn.settings import Settings
from tests.stories import FORK, REWARDS
from tests.trainings import CPU, SMALL

CIRCLE = {
    "Go out.": 1.0,
    "Stay in.": 0.0,
    "Row on.": 0.0,
    "Turn back.": 1.0,
}  # the best actions lead round and round
AWAY = 1 / (1 + np.e)  # how probable softmax with α = 1 finds the other action
LEFT = 1 - (1 - AWAY) ** 10  # of 12 steps, 10 are on pages that were shown before
WAYS = ["compiled", "menu", "stepped"]


def fix_q(model, worth=CIRCLE):
    """Let a model give each action a Q of its own, the same in all replicas."""

    def q(pages):
        table = np.zeros(100)
        for action, value in worth.items():
            table[(pages.store or model.store).actions.id(action)] = value
        return torch.from_numpy(table[pages.actions])

    model.q = q


def rollouts_of(game, way, worth=CIRCLE):
    trainer = Trainer(
        game,
        Settings.from_flat(**{**SMALL, "model": "max-action" if way == "menu" else "drrn"}),
        CPU,
    )
    fix_q(trainer.model, worth)
    return SteppedRollouts(trainer.game, trainer.model) if way == "stepped" else trainer.rollouts


def generators(seed=0):
    return [np.random.default_rng([seed, replica]) for replica in range(2)]


def played(rollouts, policy, episodes=3000, seed=0):
    """Return the episodes of replica 0."""
    return rollouts.play(episodes, policy, generators(seed))[0]


def recorded(rollouts, policy, episodes, seed=0):
    return rollouts.record(episodes, policy, generators(seed))


def last_menus(steps):
    """Return the menus of the last pages of the episodes."""
    return steps.page_actions[steps.page[steps.last] + 1]


def seen_in(steps):
    """For each step, whether its episode had shown the state before."""
    seen, shown = [], set()
    for state, last in zip(steps.states.tolist(), steps.last.tolist(), strict=True):
        seen.append(state in shown)
        shown = set() if last else shown | {state}
    return np.array(seen, bool)


@pytest.mark.parametrize("way", WAYS)
def test_greedy_never_leaves_a_circle_and_best_leaves_it_as_softmax_would(fork, way):
    rollouts = rollouts_of(fork, way)
    stuck = summarise(played(rollouts, policy_of("greedy", 1.0), 20))
    assert stuck.endings == {} and stuck.mean_steps == 12
    found = summarise(played(rollouts, policy_of("best", 1.0)))
    home = LEFT / (2 - AWAY)  # the first page is shown again before the second is
    shares = {name: count / found.episodes for name, count in found.endings.items()}
    assert shares == pytest.approx({"Home": home, "Island": LEFT - home}, abs=0.03)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", POLICIES)
def test_the_probabilities_recorded_are_the_policys_own(fork, way, name):
    rollouts = rollouts_of(fork, way)
    policy = policy_of(name, 0.7)
    for replica, steps in enumerate(recorded(rollouts, policy, 50)):
        pages = Pages(steps.states, steps.actions.padded())
        q = rollouts.model.q(pages).numpy()
        shares = probabilities_of(policy, replica, q, pages, seen_in(steps))
        assert shares.sum(axis=1) == pytest.approx(1) and (shares[~pages.mask] == 0).all()
        assert steps.probabilities == pytest.approx(shares[np.arange(len(steps)), steps.taken])
        assert (steps.probabilities > 0).all()


@pytest.mark.parametrize("way", WAYS)
def test_steps_are_whole_episodes_that_lead_from_page_to_page(fork, way):
    rollouts = rollouts_of(fork, way)
    policy = policy_of("best", 1.0)
    steps = recorded(rollouts, policy, 200)[0]
    episodes = played(rollouts, policy, 200)
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


@pytest.mark.parametrize("way", WAYS)
def test_the_same_seed_plays_the_same_and_a_replica_does_not_see_another(fork, way):
    rollouts, policy = rollouts_of(fork, way), policy_of("best", 1.0)
    one, two = (recorded(rollouts, policy, 40, seed=3)[1] for _ in range(2))
    for name in ("states", "taken", "probabilities", "rewards", "last", "page_states"):
        assert np.array_equal(getattr(one, name), getattr(two, name))
    assert np.array_equal(one.actions.flat(), two.actions.flat())
    other = recorded(rollouts, policy, 40, seed=4)[1]
    assert not np.array_equal(one.states, other.states)


@pytest.mark.parametrize("way", WAYS)
def test_an_episode_of_one_step_and_one_of_none(story, way):
    twee = ":: Start\n<<if random(0, 1)>>Alive.\n\n[[go|E]]<<else>>Dead.<<endif>>\n\n:: E\nEnd.\n"
    rules = "[[ending]]\npassage = 'E'\nreward = 10\n[[ending]]\npassage = 'Start'\nreward = -5\n"
    rollouts = rollouts_of(story(twee, rules), way, {})
    steps = recorded(rollouts, policy_of("best", 1.0), 60)[0]
    assert 10 < len(steps) < 50
    assert len(played(rollouts, policy_of("best", 1.0), 60)) == 60
    assert steps.last.all() and (steps.probabilities == 1).all() and (steps.rewards == 10).all()
    assert (last_menus(steps).counts == 0).all() and len(steps.page_states) == 2 * len(steps)
    rollouts = rollouts_of(story(":: Start\nAll is over.\n", ""), way, {})
    nothing = recorded(rollouts, policy_of("best", 1.0), 5)[0]
    assert len(nothing) == len(nothing.page_states) == len(nothing.returns) == 0


def test_lanes_that_play_one_episode_after_another_forget_what_was_shown(fork, monkeypatch):
    rollouts = rollouts_of(fork, "compiled")
    game, (first, again) = rollouts.game, rollouts.tables(policy_of("best", 1.0))[0]
    monkeypatch.setattr(
        "drrn.compiled.game.MAX_SEEN_TABLE", 7 * len(game.texts)
    )  # no more than 7 at once
    taken = game.play(first, 300, seed=0, record=True, again=again).transitions
    assert np.bincount(np.unique(taken.episode)).sum() == 300
    for episode in range(300):
        mine = taken.episode == episode
        texts = game.text[taken.state[mine]].tolist()
        assert taken.again[mine].tolist() == [
            text in texts[:place] for place, text in enumerate(texts)
        ]


def test_a_table_for_pages_shown_before_that_says_the_same_changes_no_draw(fork):
    rollouts = rollouts_of(fork, "compiled")
    ((shares, again), _) = rollouts.tables(policy_of("softmax", 1.0))
    assert again is None
    plain, twice = (
        rollouts.game.play(shares, 500, seed=1, again=table) for table in (None, shares)
    )
    assert np.array_equal(plain.total, twice.total) and np.array_equal(plain.ending, twice.ending)
    with pytest.raises(TypeError, match="probabilities of slots"):
        rollouts.game.play(None, 5, seed=1, again=shares)


def test_a_page_shown_before_is_known_after_a_scratch_store_was_renewed(fork, monkeypatch):
    rollouts = rollouts_of(fork, "stepped")
    usual = evaluate(rollouts, ["best"], 1.0, 40, [1, 2])
    monkeypatch.setattr("drrn.playing.stepped_rollouts.MOST_SCRATCH", 1)
    assert evaluate(rollouts, ["best"], 1.0, 40, [1, 2]) == usual


def test_best_is_greedy_on_new_pages_and_softmax_on_those_shown_before():
    q = np.array([[1.0, 2.0, 9.0], [3.0, 2.0, 0.0]])
    pages = Pages(np.array([4, 5]), np.array([[0, 1, -1], [2, 3, 4]]))
    best = policy_of("best", 0.5)
    assert np.array_equal(best[0](0, q, pages), greedy(q, pages.mask))
    mixed = probabilities_of(best, 0, q, pages, np.array([False, True]))
    assert np.array_equal(mixed, [[0, 1, 0], softmax(q, pages.mask, 0.5)[1]])


def test_softmax_and_greedy_are_measured_as_if_best_were_not(fork):
    rollouts = rollouts_of(fork, "compiled", {"Go out.": 1.0})
    all_three = evaluate(rollouts, POLICIES, 1.0, 30, [1, 2], number=4)
    assert all_three[:4] == evaluate(rollouts, POLICIES[:2], 1.0, 30, [1, 2], number=4)
    assert {e.policy for e in all_three[4:]} == {"best"}


def test_an_agent_that_plays_by_itself_remembers_the_pages_of_one_episode_only(fork):
    agent = Trainer(fork, Settings.from_flat(**SMALL), CPU).agent
    fix_q(agent.model)
    assert all(
        episode.steps > 2 for episode in drrn.play_episodes(fork, agent.policy(), 200, seed=1)
    )  # best
    home = (
        summarise(drrn.play_episodes(fork, agent.policy("best", seed=2), 1500, seed=1)).endings[
            "Home"
        ]
        / 1500
    )
    assert home == pytest.approx(LEFT / (2 - AWAY), abs=0.04)
    assert summarise(drrn.play_episodes(fork, agent.policy("greedy"), 5, seed=1)).endings == {}
    with pytest.raises(drrn.InputError, match="depends on the earlier pages"):
        agent.exact(fork, "best")


def test_play_episodes_tells_a_policy_that_has_a_begin_of_each_episode(fork):
    class Counting:
        begun = 0

        def begin(self):
            self.begun += 1

        def __call__(self, observation):
            return observation.actions.index("Stay in.")

    policy = Counting()
    assert [episode.steps for episode in drrn.play_episodes(fork, policy, 4, seed=0)] == [
        1
    ] * 4 and policy.begun == 4


def test_stepped_and_compiled_play_by_best_agree_where_chance_and_circles_meet(story):
    twee = FORK.replace(
        "You are out on the water.",
        "You are out on <<if random(0, 2)>>the water<<else>>a wave<<endif>>.",
    )
    found = [
        summarise(played(rollouts_of(story(twee, REWARDS), way), policy_of("best", 1.0)))
        for way in WAYS
    ]
    for one in found[1:]:
        assert one.mean_steps == pytest.approx(found[0].mean_steps, abs=0.3)
        assert one.mean_final_reward == pytest.approx(found[0].mean_final_reward, abs=0.7)
