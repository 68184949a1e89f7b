"""Optimistic exploration: untried actions, best returns, counts over similar pages."""

from typing import Any

import numpy as np
import pytest

import drrn
from drrn.learning.episode_memory import EpisodeMemory
from drrn.learning.exploration import Optimism, recurs
from drrn.models import Pages
from drrn.settings import Settings
from drrn.text import Store
from tests.episodes import steps_of
from tests.exploration_games import Corridor, Unrepeated

END: tuple[int, list[int]] = (9, [])
PAGE = Pages(np.array([0]), np.array([[5, 6, 7]]))
NO_Q = np.zeros((1, 3), np.float32)


def explorer(store=None, **settings):
    return Optimism(
        Settings.from_flat(exploration="optimism", alpha=5.0, **{"replicas": 1, **settings}),
        store or Store.of_words(),
        np.ones(1),
    )


def one_step_episodes(index, reward, times=1):
    """Episodes that take this action on PAGE and end."""
    return steps_of(*[([(0, [5, 6, 7], index, reward)], END)] * times)


def test_the_value_is_the_mean_of_returns_and_of_an_optimistic_one_with_weight_0_3():
    optimism = explorer(optimism=2.0)
    optimism.alpha = 1.0
    optimism.observe(0, one_step_episodes(0, 4.0, times=4))
    values = np.array([(4 * 4.0 + 0.3 * 8.0) / 4.3, 8.0, 8.0])  # V is twice the best return, 4
    expected = pytest.approx(np.exp(values) / np.exp(values).sum())
    for q in (NO_Q, np.array([[50.0, -50.0, 50.0]])):
        assert optimism.probabilities(0, q, PAGE)[0] == expected


def test_an_action_that_leads_to_an_untried_one_is_preferred():
    """0 -5-> 1, where 8 was tried and 9 was not; 0 -6-> the end."""
    optimism = explorer()
    deeper = ([(0, [5, 6], 0, 0.0), (1, [8, 9], 0, 1.0)], END)
    ending = ([(0, [5, 6], 1, 2.0)], END)
    optimism.observe(0, steps_of(*[deeper] * 20, *[ending] * 20))
    page = Pages(np.array([0]), np.array([[5, 6]]))
    assert optimism.probabilities(0, NO_Q[:, :2], page)[0, 0] > 0.9


def test_replicas_explore_by_their_own_episodes():
    optimism = explorer(replicas=2)
    optimism.observe(0, one_step_episodes(0, 1.0, times=20))
    assert optimism.probabilities(1, NO_Q, PAGE).tolist() == [[1 / 3] * 3]
    assert optimism.probabilities(0, NO_Q, PAGE)[0, 0] < 0.1


def test_a_restored_explorer_has_the_same_probabilities_and_the_last_round_clears_its_memory():
    optimism = explorer()
    other = explorer()
    optimism.observe(0, one_step_episodes(0, 4.0, times=6))
    other.restore(optimism.state())
    for each in (optimism, other):
        each.observe(0, one_step_episodes(1, 2.0))
    expected = optimism.probabilities(0, NO_Q, PAGE).tolist()
    assert other.probabilities(0, NO_Q, PAGE).tolist() == expected
    assert [ids.tolist() for ids in optimism.memories[0].texts_in_use()] == [[0, 9], [5, 6, 7]]
    optimism.start(20)  # the last of twenty rounds, without exploration
    assert optimism.probabilities(0, NO_Q, PAGE).tolist() == [[1 / 3] * 3]
    assert [len(ids) for ids in optimism.memories[0].texts_in_use()] == [0, 0]


# --- a distant prize

SMALL: dict[str, Any] = {
    "hidden": 16,
    "rounds": 10,
    "episodes_per_round": 20,
    "evaluation_episodes": 20,
    "replicas": 3,
}


def train(game, exploration, **settings):
    if exploration == "optimism":
        settings["replan"] = 5
    trainer = drrn.trainer(game, exploration=exploration, **SMALL, **settings)
    return trainer, list(trainer.train())[-1]


@pytest.mark.full
@pytest.mark.parametrize(
    "learner", [{"updates": 20, "batch_size": 64}, {"learner": "q-learning"}], ids=str
)
def test_optimism_finds_a_distant_prize_with_both_learners_and_softmax_does_not(learner):
    _, by_softmax = train(Corridor(), "softmax", **learner)
    trainer, by_optimism = train(Corridor(), "optimism", **learner)
    assert set(by_softmax.values("softmax_final_reward")) == {5.0}
    assert set(by_optimism.values("greedy_final_reward")) == {20.0}
    assert trainer.explorer is not None
    assert [len(memory) for memory in trainer.explorer.memories] == [0, 0, 0]


# --- after the optimistic rounds, a plan


def planner(**settings):
    """An explorer in a planned round: all rounds are."""
    optimism = explorer(after_optimism="plan", optimism_share=0.0, **settings)
    optimism.start(1)
    return optimism


EVEN = [1 / 3] * 3
PLANS = {
    "the best tried action, whatever Q says": (
        [one_step_episodes(0, 1.0, times=2), one_step_episodes(2, 3.0)],
        [50.0, 90.0, -50.0],
        [0.0, 0.0, 1.0],
    ),
    "a bad action, if no other was tried": (
        [one_step_episodes(1, -1.0)],
        [0.0, 0.0, 0.0],
        [0.0, 1.0, 0.0],
    ),
    "none on a page that only ended a truncated episode": (
        [steps_of(([(3, [5, 6], 0, 1.0)], (0, [5, 6, 7])))],
        [0.0, 0.0, 0.0],
        EVEN,
    ),
    "none without episodes": ([], [0.0, 0.0, 0.0], EVEN),
}


@pytest.mark.parametrize(("episodes", "q", "expected"), PLANS.values(), ids=PLANS)
def test_a_plan_takes(episodes, q, expected):
    optimism = planner()
    for steps in episodes:
        optimism.observe(0, steps)
    assert optimism.probabilities(0, np.array([q]), PAGE).tolist() == [expected]


def test_on_a_page_without_a_tried_action_a_plan_is_the_softmax_over_q():
    optimism = planner()
    optimism.alpha = 1.0
    optimism.observe(0, one_step_episodes(0, 1.0))
    new = Pages(np.array([3]), PAGE.actions)
    q = np.array([[1.0, 2.0, 3.0]])
    assert optimism.probabilities(0, q, new)[0] == pytest.approx(np.exp(q[0]) / np.exp(q).sum())


def test_a_plan_continues_with_the_best_action_and_not_with_the_softmax():
    """After 0 -5-> 1, actions paid 3 and -5; 0 -6-> the end paid 2."""
    optimism = planner(discount=0.9, trace=0.0)
    optimism.alpha = 0.1
    good, bad = (([(0, [5, 6], 0, 0.0), (1, [8, 9], i, r)], END) for i, r in ((0, 3.0), (1, -5.0)))
    optimism.observe(0, steps_of(good, bad, bad, ([(0, [5, 6], 1, 2.0)], END)))
    page = Pages(np.array([0]), np.array([[5, 6]]))
    assert optimism.probabilities(0, NO_Q[:, :2], page).tolist() == [[1.0, 0.0]]


def test_the_first_plan_does_not_rest_on_optimistic_estimates():
    """0 -5-> 1 -5-> 0 pays nothing, but 7 was never tried on 1; 0 -6-> the end pays 1."""
    settings = {"optimism_share": 0.5, "rounds": 2, "discount": 0.98, "trace": 0.0, "sweeps": 30}
    optimism = explorer(after_optimism="plan", **settings)
    optimism.start(1)
    loop = [(0, [5, 6], 0, 0.0), (1, [5, 7], 0, 0.0)]
    episode = ([*loop, *loop, (0, [5, 6], 1, 1.0)], END)
    optimism.observe(0, steps_of(*[episode] * 20))
    page = Pages(np.array([0]), np.array([[5, 6]]))
    assert optimism.probabilities(0, NO_Q[:, :2], page)[0, 0] > 0.9
    optimism.start(2)
    assert optimism.probabilities(0, NO_Q[:, :2], page).tolist() == [[0.0, 1.0]]


def test_a_planned_round_keeps_what_exploration_found_and_softmax_does_not():
    for policy, size in (("plan", 6), ("softmax", 0)):
        optimism = explorer(after_optimism=policy, optimism_share=0.5, rounds=2)
        assert optimism.start(1)
        optimism.observe(0, one_step_episodes(0, 4.0, times=6))
        assert optimism.start(2) == (policy == "plan")
        assert len(optimism.memories[0]) == size


def test_where_pages_never_repeat_texts_are_dropped_and_exploration_continues(monkeypatch):
    monkeypatch.setattr("drrn.runs.trainer.Trainer.few_texts", 50)
    settings = {**SMALL, "rounds": 4, "optimism_share": 1.0, "updates": 2, "batch_size": 8}
    trainer = drrn.trainer(Unrepeated(), **settings, capacity=100)
    for _ in trainer.train():
        memories: Any = trainer.learner.memories
        assert not any(recurs(memory, memory.texts) for memory in memories)
        assert len(trainer.store.states) < 700
    memory: Any = trainer.learner.memories[0]
    doors = memory.links[memory.link_of_step]
    assert len(memory) <= 100 and set(doors.tolist()) == {0, 1, 2}


# --- hashes of similar texts


def sentences(count, words, seed=0):
    """Texts with word frequencies by Zipf's law, and the same texts with one word replaced."""
    chance = np.random.default_rng(seed)
    shares = 1 / np.arange(1, 2001)
    ids = chance.choice(2000, (count, words + 1), p=shares / shares.sum())
    other = ids[:, :words].copy()
    other[np.arange(count), chance.integers(words, size=count)] = ids[:, words]
    return [
        [" ".join(f"w{word}" for word in row) for row in each] for each in (ids[:, :words], other)
    ]


def test_long_texts_that_differ_in_one_word_mostly_share_their_hash_and_actions_do_not():
    store = Store.of_words()
    ids = np.array([[store.states.id(text) for text in texts] for texts in sentences(400, 30)])
    bits = explorer(store).state_hash.of(ids)
    assert np.mean(bits[0] == bits[1]) > 0.5
    assert np.mean(bits[0] == np.roll(bits[0], 1)) < 0.1
    ids = np.array([[store.actions.id(text) for text in texts] for texts in sentences(200, 4)])
    bits = explorer(store).action_hash.of(ids)
    assert np.mean(bits[0] == bits[1], where=ids[0] != ids[1]) < 0.1


def store_of_similar_pages():
    """Three pages that differ in one word and share their hash, another page, three actions."""
    store = Store.of_words()
    page = "the rain falls on the old roof and the cat sleeps by the stove while someone reads"
    similar = [f"{page} {number}" for number in ("one", "two", "three")]
    other = "Market day, with many stalls and much noise."
    store.read([*similar, other], ["wait here", "go out", "sing"])
    return store


def test_on_a_new_page_an_action_untried_on_similar_pages_is_chosen():
    optimism = explorer(store_of_similar_pages())
    for state in (0, 1):
        optimism.observe(0, steps_of(([(state, [0, 1], 0, 1.0)], (3, []))))
    memory = optimism.memories[0]
    assert not recurs(memory, memory.texts)
    alike, another = (Pages(np.array([state]), np.array([[0, 1]])) for state in (2, 3))
    assert optimism.probabilities(0, NO_Q[:, :2], alike)[0, 1] > 0.9
    assert optimism.probabilities(0, NO_Q[:, :2], another).tolist() == [[0.5, 0.5]]


def test_where_texts_recur_with_new_menus_the_network_chooses_among_untried_actions():
    store = store_of_similar_pages()
    for number in range(5):
        store.actions.id(f"open door {number}")
    optimism = explorer(store)
    for menu in ([0, 1, 3], [0, 1, 4], [0, 1, 5], [0, 1, 6]):
        optimism.observe(0, steps_of(([(0, menu, 0, 1.0)], (3, []))))
    memory = optimism.memories[0]
    assert recurs(memory, memory.texts) and not recurs(memory, len(memory.states))
    page = Pages(np.array([0]), np.array([[0, 2, 7]]))
    q = np.array([[9.0, 0.0, 2.0]], np.float32)
    tried, worse, better = optimism.probabilities(0, q, page)[0]
    assert tried < worse < 0.001 < 0.99 < better


def test_counts_of_similar_pages_survive_the_renumbering_of_texts():
    store = store_of_similar_pages()
    optimism = explorer(store)
    memory = EpisodeMemory(100)
    steps = steps_of(([(1, [1, 2], 0, 1.0)], (3, [])))
    memory.add(steps.renumbered(optimism.state_hash.of, optimism.action_hash.of))
    store.states.keep(np.array([1, 3]))
    store.actions.keep(np.array([1, 2]))
    actions = optimism.action_hash.of(np.array([[0, 1]]))
    page = Pages(optimism.state_hash.of(np.array([0])), actions)
    assert memory.of_pages(page, memory.counts, 0.0).tolist() == [[1.0, 0.0]]


@pytest.mark.full
def test_optimism_finds_a_distant_prize_where_pages_never_repeat_and_softmax_does_not():
    prizes = {}
    for exploration in ("softmax", "optimism"):
        settings = {"updates": 20, "batch_size": 64, "alpha_relative": False}
        trainer, _ = train(Unrepeated(), exploration, **settings)
        found = [memory.steps["reward"] == 20 for memory in trainer.learner.memories]
        prizes[exploration] = int(np.concatenate(found).sum())
    assert prizes["softmax"] == 0 < prizes["optimism"]
