"""Action elimination: which steps change nothing, and that optimism skips such commands."""

from functools import partial

import numpy as np

import drrn
from drrn.learning.elimination import idle_steps, words_on_page
from drrn.learning.episode_memory import EpisodeMemory
from drrn.learning.exploration import Optimism
from drrn.models import Pages
from drrn.settings import Settings
from drrn.text import Store
from tests.episodes import steps_of

MENU = [0, 1, 2, 3, 4]
END: tuple[int, list[int]] = (9, [])


def episode(*steps):
    """An episode of steps (page, action, reward, next page) that are one after another."""
    *_, last = steps
    pages = [(page, MENU, action, reward) for page, action, reward, _ in steps]
    return pages, (END if last[3] == END[0] else (last[3], MENU))


def idle(*episodes):
    memory = EpisodeMemory(1000)
    memory.add(steps_of(*episodes))
    return idle_steps(memory)[0].tolist()


def test_steps_are_idle_where_several_commands_lead_back():
    stay = [(0, action, 0.0, 0) for action in (0, 1, 2)]
    assert idle(episode(*stay, (0, 3, 0.0, 1))) == [True] * 3 + [False]
    assert idle(episode(*stay[:2], (0, 3, 0.0, 1))) == [False] * 3, "only two lead back"
    assert idle(episode(*stay, (0, 3, 1.0, 0))) == [True] * 3 + [False], "a reward is a change"


def test_a_page_that_is_drawn_again_counts_as_the_same():
    same = [(0, action, -0.1, 0) for action in (0, 1, 2)]
    redrawn = [episode((0, action, -0.1, 5)) for action in (0, 1, 3)]
    move = episode((0, 4, -0.1, 6))
    assert idle(episode(*same), *redrawn, move) == [True] * 6 + [False]
    ends = [episode((0, action, -0.1, END[0])) for action in (0, 1, 3)]
    assert idle(episode(*same), *ends) == [True] * 3 + [False] * 3, "an ending is a change"


def test_words_of_the_action_on_the_page_are_counted():
    store = Store.of_words()
    store.read(["A lamp, a chest.", "Take care."], ["take lamp", "lamp lamp", "go"])
    counts = words_on_page(store, np.array([0, 0, 0, 1]), np.array([0, 1, 2, 0]))
    assert counts.tolist() == [1, 1, 0, 1]


def test_a_command_that_did_nothing_elsewhere_is_skipped():
    store = Store.of_words()
    store.read(["here", "there"], "abcde")
    settings = Settings.from_flat(exploration="optimism", replicas=1)
    optimism = Optimism(settings, store, np.ones(1))
    stay = [(0, action, -1.0, 0) for action in (0, 1, 2, 3)]
    for _ in range(30):
        optimism.tell(0, steps_of(episode(*stay, (0, 4, 5.0, 1), (1, 4, 5.0, 9))))
    pages = Pages(np.array([0]), np.array([MENU]))
    probabilities = optimism.probabilities(0, np.zeros((1, 5)), pages)
    assert probabilities.tolist() == [[0.0, 0.0, 0.0, 0.0, 1.0]]


def test_a_resumed_run_of_a_parser_game_equals_an_uninterrupted_one(tmp_path):
    few = partial(drrn.trainer, rounds=3, episodes_per_round=60, updates=2, hidden=4)
    build = partial(few, "diagnostic:parser/1", replicas=2, optimism_share=1.0)
    whole = build()
    list(whole.train())
    half = build()
    next(iter(half.train()))
    half.save(tmp_path / "run")
    resumed = drrn.resume(tmp_path / "run")
    list(resumed.train())
    assert resumed.rows == whole.rows
    assert resumed.explorer is not None
    assert all(each.cost == 0.0 for each in resumed.explorer.eliminations)
