"""Action elimination: which steps change nothing, and that optimism skips such commands."""

from functools import partial

import numpy as np

import drrn
from drrn.learning.elimination import Elimination, idle_steps, words_on_page
from drrn.learning.episode_memory import EpisodeMemory
from drrn.learning.exploration import Optimism
from drrn.models import Pages
from drrn.settings import Settings
from drrn.text import Store
from tests.episodes import steps_of

MENU = [0, 1, 2, 3, 4]
END = 9
STAY = [(0, action, -1.0, 0) for action in (0, 1, 2)]


def episode(*steps):  # of steps (page, action, reward, next page)
    pages = [(page, MENU, action, reward) for page, action, reward, _ in steps]
    return pages, (steps[-1][3], [] if steps[-1][3] == END else MENU)


def idle(*episodes):
    memory = EpisodeMemory(1000)
    memory.add(steps_of(*episodes))
    return idle_steps(memory)[0].tolist()


def test_steps_are_idle_where_several_commands_lead_back():
    assert idle(episode(*STAY, (0, 3, -1.0, 1))) == [True] * 3 + [False]
    assert not any(idle(episode(*STAY[:2], (0, 3, -1.0, 1)))), "only two lead back"
    assert idle(episode(*STAY, (0, 3, 1.0, 0))) == [True] * 3 + [False], "a reward is a change"
    others = [episode((0, action, -1.0, page)) for page in (5, END) for action in (0, 1, 3)]
    assert idle(episode(*STAY), *others, episode((0, 4, -1.0, 6))) == [True] * 6 + [False] * 4


def test_a_command_that_did_nothing_is_skipped():
    store = Store.of_words()
    store.read(["A lamp, a chest.", "Take care."], ["take lamp", "lamp lamp", "go", "eat", "see"])
    assert words_on_page(store, *np.array([[0, 0, 1], [0, 1, 0]])).tolist() == [1, 1, 1]
    optimism = Optimism(Settings.from_flat(replicas=1), store, np.ones(1))
    steps = episode(*STAY, (0, 3, -1.0, 0), (0, 4, 5.0, 1), (1, 4, 5.0, END))
    optimism.observe(0, steps_of(*[steps] * 30))
    pages = Pages(np.array([0]), np.array([MENU]))
    assert optimism.probabilities(0, np.zeros((1, 5)), pages).tolist() == [[0, 0, 0, 0, 1]]


def test_the_words_of_known_pairs_are_counted_again_if_texts_get_new_ids():
    store = Store.of_words()
    store.read(["Unused.", "Lamp.", "Take a lamp."], ["take lamp", "lamp", "go", "eat", "see"])
    memory = EpisodeMemory(1000)
    elimination = Elimination(memory, store, 0.9)
    for page in (1, 2):
        memory.add(steps_of(episode(*[(page, action, -1.0, page) for action in (0, 1, 2)])))
    for _ in range(2):
        elimination.skip(np.zeros(len(memory.pair_keys)), 1.0)
        words = words_on_page(store, memory.pair_keys >> 32, memory.pair_keys & 0xFFFFFFFF)
        assert elimination.classes.tolist() == np.minimum(words, 2).tolist()
        if len(store.states) == 3:
            memory.renumber(store.states.keep(np.array([1, 2])), np.arange(5))


def test_a_resumed_run_of_a_parser_game_equals_an_uninterrupted_one(tmp_path):
    few = partial(drrn.trainer, "diagnostic:parser/1", replicas=2, rounds=2, optimism_share=1.0)
    whole, half = (few(episodes_per_round=60, updates=2) for _ in range(2))
    next(iter(half.train()))
    half.save(tmp_path / "run")
    resumed = drrn.resume(tmp_path / "run")
    assert len(list(resumed.train())) == len(list(whole.train())) - 1
    assert resumed.rows == whole.rows and resumed.explorer is not None
    assert all(each.cost == 0.0 for each in resumed.explorer.eliminations)
