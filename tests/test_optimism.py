"""Exploring by optimism: what was never tried is tried, what is best is followed, pages alike are counted."""

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

END = (9, [])
PAGE = Pages(np.array([0]), np.array([[5, 6, 7]]))
NO_Q = np.zeros((1, 3), np.float32)


def explorer(store=None, **settings):
    return Optimism(
        Settings.from_flat(exploration="optimism", alpha=5.0, **{"replicas": 1, **settings}),
        store or Store.of_words(),
    )


def taken(place, reward, times=1):
    """Episodes of one step, on the page."""
    return steps_of(*[([(0, [5, 6, 7], place, reward)], END)] * times)


def test_before_anything_was_played_every_action_is_as_good():
    assert explorer().probabilities(0, NO_Q, PAGE).tolist() == [[1 / 3] * 3]


def test_what_was_never_tried_is_chosen_however_much_the_network_thinks_of_the_rest():
    played = explorer()
    played.tell(0, taken(0, 4.0, times=30))
    played.tell(0, taken(2, 1.0, times=30))
    assert played.probabilities(0, np.array([[50.0, -50.0, 50.0]]), PAGE)[0, 1] > 0.99


def test_once_everything_was_tried_often_the_best_return_is_followed():
    played = explorer()
    for place, reward in enumerate((1.0, 3.0, 2.0)):
        played.tell(0, taken(place, reward, times=200))
    assert (
        played.probabilities(0, NO_Q, PAGE).argmax() == 1
        and played.probabilities(0, NO_Q, PAGE)[0, 1] > 0.98
    )


def test_the_value_is_the_mean_with_a_few_returns_more_of_what_is_hoped_for():
    played = explorer(pseudo_count=0.5, optimism=2.0)
    played.alpha = 1.0
    played.tell(0, taken(0, 4.0, times=4))
    hoped = np.array([(4 * 4.0 + 0.5 * 8.0) / 4.5, 8.0, 8.0])  # V is twice the best return, 4
    assert played.probabilities(0, NO_Q, PAGE)[0] == pytest.approx(
        np.exp(hoped) / np.exp(hoped).sum()
    )


def test_a_way_that_leads_to_something_untried_is_worth_going():
    """0 -5-> 1, where 8 was taken and 9 never; 0 -6-> an end."""
    played = explorer()
    on = ([(0, [5, 6], 0, 0.0), (1, [8, 9], 0, 1.0)], END)
    off = ([(0, [5, 6], 1, 2.0)], END)
    played.tell(0, steps_of(*[on] * 20, *[off] * 20))
    assert (
        played.probabilities(0, NO_Q[:, :2], Pages(np.array([0]), np.array([[5, 6]])))[0, 0] > 0.9
    )


def test_each_replica_explores_by_what_it_played_itself():
    played = explorer(replicas=2)
    played.tell(0, taken(0, 1.0, times=20))
    assert (
        played.probabilities(1, NO_Q, PAGE).tolist() == [[1 / 3] * 3]
        and played.probabilities(0, NO_Q, PAGE)[0, 0] < 0.1
    )


def test_a_restored_explorer_chooses_as_the_one_it_was_taken_from_and_one_that_forgot_as_a_new_one():
    played = explorer()
    other = explorer()
    played.tell(0, taken(0, 4.0, times=6))
    other.restore(played.state())
    for each in (played, other):
        each.tell(0, taken(1, 2.0))
    assert (
        other.probabilities(0, NO_Q, PAGE).tolist() == played.probabilities(0, NO_Q, PAGE).tolist()
    )
    assert [ids.tolist() for ids in played.texts_in_use()] == [[0, 9], [5, 6, 7]]
    played.start(20)  # of twenty rounds, in the last of which it does not explore
    assert played.probabilities(0, NO_Q, PAGE).tolist() == [[1 / 3] * 3]
    assert [len(ids) for ids in played.texts_in_use()] == [0, 0]


def test_a_round_that_begins_again_was_told_nothing_yet():
    played = explorer()
    for _ in range(2):
        played.start(1)
        played.tell(0, taken(0, 4.0, times=6))
    assert len(played.memories[0]) == 6
    played.start(2)
    played.tell(0, taken(0, 4.0))
    assert len(played.memories[0]) == 7


# --- a prize that is far away

SMALL = {
    "hidden": 16,
    "rounds": 10,
    "episodes_per_round": 20,
    "evaluation_episodes": 20,
    "replicas": 3,
}


def trained(game, exploration, **settings):
    replan = {"replan": 5} if exploration == "optimism" else {}
    trainer = drrn.trainer(game, exploration=exploration, **SMALL, **replan, **settings)
    return trainer, list(trainer.train())[-1]


@pytest.mark.parametrize(
    "learner", [{"updates": 20, "batch_size": 64}, {"learner": "q-learning"}], ids=str
)
def test_optimism_finds_the_far_prize_with_either_learner_and_softmax_does_not(learner):
    _, by_softmax = trained(Corridor(), "softmax", **learner)
    trainer, by_optimism = trained(Corridor(), "optimism", **learner)
    assert set(by_softmax.values("softmax_final_reward")) == {5.0}
    assert set(by_optimism.values("greedy_final_reward")) == {20.0}
    assert [len(memory) for memory in trainer.explorer.memories] == [
        0
    ] * 3  # exploring is over, nothing is kept for it


def test_the_explorer_remembers_until_its_rounds_are_over():
    trainer = drrn.trainer(
        Corridor(), **{**SMALL, "rounds": 4}, optimism_share=0.5, updates=1, batch_size=4
    )
    kept = [bool(len(trainer.explorer.memories[0])) for _ in trainer.train()]
    assert kept == [True, True, False, False]


def test_where_no_page_is_shown_twice_texts_are_forgotten_on_the_way_and_exploring_goes_on(
    monkeypatch,
):
    monkeypatch.setattr("drrn.runs.trainer.FEW_TEXTS", 50)
    settings = {
        **SMALL,
        "rounds": 4,
        "optimism_share": 1.0,
        "capacity": 100,
        "updates": 2,
        "batch_size": 8,
    }
    trainer = drrn.trainer(Unrepeated(), **settings)
    for _ in trainer.train():
        assert (
            not any(recurs(memory) for memory in trainer.learner.memories)
            and len(trainer.store.states) < 700
        )
    memory = trainer.learner.memories[0]
    doors = memory.menus(memory.steps["page"]).at(memory.steps["taken"])
    assert len(memory) <= 100 and set(doors.tolist()) == {0, 1, 2}


# --- which texts are alike


def sentences(count, words, seed=0):
    """Texts of so many words, drawn as often as in speech; and the same with one word exchanged."""
    chance = np.random.default_rng(seed)
    shares = 1 / np.arange(1, 2001)
    drawn = chance.choice(2000, (count, words + 1), p=shares / shares.sum())
    other = drawn[:, :words].copy()
    other[np.arange(count), chance.integers(words, size=count)] = drawn[:, words]
    return [
        [" ".join(f"w{word}" for word in row) for row in each] for each in (drawn[:, :words], other)
    ]


def test_texts_that_differ_in_one_of_many_words_mostly_share_their_bits_and_others_do_not():
    store = Store.of_words()
    ids = np.array([[store.states.id(text) for text in texts] for texts in sentences(400, 30)])
    bits = explorer(store).state_hash.of(ids)
    assert np.mean(bits[0] == bits[1]) > 0.5
    assert np.mean(bits[0] == np.roll(bits[0], 1)) < 0.1


def test_short_actions_that_differ_in_one_word_are_other_actions():
    store = Store.of_words()
    ids = np.array([[store.actions.id(text) for text in texts] for texts in sentences(200, 4)])
    bits = explorer(store).action_hash.of(ids)
    assert np.mean(bits[0] == bits[1], where=ids[0] != ids[1]) < 0.1


def known_texts():
    """A store of a page in three forms, of which one word differs and the bits do not; another page; three actions."""
    store = Store.of_words()
    page = "the rain falls on the old roof and the cat sleeps by the stove while someone reads"
    for text in (
        f"{page} one",
        f"{page} two",
        f"{page} three",
        "Market day, with many stalls and much noise.",
    ):
        store.states.id(text)
    for text in ("wait here", "go out", "sing"):
        store.actions.id(text)
    return store


def test_an_action_is_counted_and_valued_on_all_pages_that_are_alike():
    optimism = explorer(known_texts())
    memory = EpisodeMemory(100)
    bits = optimism.state_hash.of(np.arange(4)).tolist()
    assert bits[0] == bits[1] == bits[2] != bits[3]
    steps = steps_of(([(0, [0, 1], 0, 1.0), (1, [0, 1], 0, 1.0), (1, [1, 0], 0, 1.0)], (3, [])))
    memory.add(steps.renumbered(optimism.state_hash.of, optimism.action_hash.of))
    memory.evaluate(np.zeros(len(memory.links)), 1.0, 1.0, None)
    states = optimism.state_hash.of(np.array([2, 3]))
    actions = optimism.action_hash.of(np.array([[0, 1, 2], [1, 0, -1]]))
    counts, means = memory.lookup(Pages(states, actions))
    assert counts.tolist() == [[2.0, 1.0, 0.0], [0.0, 0.0, 0.0]]
    assert means[0].tolist() == [2.5, 1.0, 0.0]  # what followed the action on either page: 3 and 2


def test_on_a_page_that_is_new_what_was_not_tried_on_pages_like_it_is_chosen():
    played = explorer(known_texts())
    for state in (0, 1):
        played.tell(0, steps_of(([(state, [0, 1], 0, 1.0)], (3, []))))
    assert not recurs(played.memories[0])
    alike, another = (Pages(np.array([state]), np.array([[0, 1]])) for state in (2, 3))
    assert played.probabilities(0, NO_Q[:, :2], alike)[0, 1] > 0.9
    assert played.probabilities(0, NO_Q[:, :2], another).tolist() == [[0.5, 0.5]]


def test_what_was_met_on_pages_alike_stays_when_texts_are_forgotten_and_have_new_numbers():
    store = known_texts()
    optimism = explorer(store)
    memory = EpisodeMemory(100)
    steps = steps_of(([(1, [1, 2], 0, 1.0)], (3, [])))
    memory.add(steps.renumbered(optimism.state_hash.of, optimism.action_hash.of))
    store.states.keep(np.array([1, 3])), store.actions.keep(np.array([1, 2]))
    actions = optimism.action_hash.of(np.array([[0, 1]]))
    asked = Pages(optimism.state_hash.of(np.array([0])), actions)
    assert memory.lookup(asked)[0].tolist() == [[1.0, 0.0]]


def test_optimism_finds_a_far_prize_where_no_page_is_shown_twice_and_softmax_does_not():
    found = {}
    for exploration in ("softmax", "optimism"):
        trainer, _ = trained(
            Unrepeated(), exploration, updates=20, batch_size=64, alpha_relative=False
        )
        found[exploration] = sum(
            int((memory.steps["reward"] == 20).sum()) for memory in trainer.learner.memories
        )
    assert found["softmax"] == 0 < found["optimism"]
