"""Menus of very different width: stored as ragged arrays, scored in pieces, learned from."""

from typing import Any

import numpy as np
import pytest
import torch

import drrn
from drrn.learning import menus as ragged
from drrn.learning.episode_memory import EpisodeMemory
from drrn.learning.menus import Menus
from drrn.learning.q_learning import ReplayBuffer
from drrn.models import Pages
from tests.episodes import bytes_of, single_steps, steps_of
from tests.models import learner, model
from tests.trainings import Stepped
from textgames.game.contract import Observation

LISTS = [[3, 1], [], list(range(200)), [7], [3, 1]]


def narrow(monkeypatch, most):
    """Treat menus of more actions than this as wide."""
    modules = ["models.base", "learning.menus", "learning.q_learning"]
    for module in (*modules, "learning.return_learning", "playing.stepped_rollouts"):
        monkeypatch.setattr(f"drrn.{module}.NARROW", most)
    monkeypatch.setattr("textgames.compiled.game.WIDE", most)


class Hall:
    """A hall of many doors, one of which is right, and a small room before it."""

    name = "hall"

    def __init__(self, doors=150):
        self.doors = doors

    def opening(self):
        return [(1.0, "room")]

    def outcomes(self, state, index):
        return [(1.0, ("hall", "out")[index] if state == "room" else index)]

    def look(self, state):
        if state == "room":
            return Observation("A room.", ("enter the hall", "go home"))
        if state == "hall":
            doors = (f"door {n % 10} of row {n // 10}" for n in range(self.doors))
            return Observation("A hall.", tuple(doors))
        if state == "out":
            return Observation("Home.", (), 1.0)
        return Observation("Inside.", (), 9.0 * (state % 10 == 3))

    def reset(self, seed=None):
        self.state = "room"
        return self.look(self.state)

    def step(self, index):
        if index not in range(len(self.look(self.state).actions)):
            raise IndexError(index)
        self.state = self.outcomes(self.state, index)[0][1]
        return self.look(self.state)

    def another(self):
        return Hall(self.doors)


def test_ragged_menus_contain_the_lists_they_are_built_from():
    menus = Menus.of(LISTS)
    assert len(menus) == 5 and menus.widest == 200 and menus.counts.tolist() == [2, 0, 200, 1, 2]
    assert [row[row >= 0].tolist() for row in menus.padded()] == LISTS
    assert menus[np.array([3, 0])].padded(2).tolist() == [[7, -1], [3, 1]]
    assert Menus.of_padded(menus.padded()).flat().tolist() == menus.flat().tolist()
    few = menus[:2]
    assert few.padded(2).tolist() == [[3, 1], [-1, -1]] and len(few.used().actions) == 2


def transitions(count, wide, start=0):
    """Return steps; every tenth page is wide, each other page has a separate action."""
    lists = [
        list(range(wide)) if n % 10 == 0 else [n % 50, 1] for n in range(start, start + count + 1)
    ]
    menus = Menus.of(lists)
    ids = np.arange(start, start + count)
    zeros = np.zeros(count, np.int64)
    return single_steps(ids, menus[:count], zeros, zeros, ids + 1, menus[1:])


def test_a_full_buffer_drops_the_pages_of_overwritten_transitions():
    buffer = ReplayBuffer(capacity=50)
    for start in range(0, 20_000, 40):
        buffer.add(transitions(40, 100, start))
    assert len(buffer.states) == 51 and bytes_of(buffer) < 10_000
    rows = buffer.at(np.arange(50), 100, menus=True)
    expected = [list(range(100)) if n % 10 == 0 else [n % 50, 1] for n in rows["states"].tolist()]
    assert [row[row >= 0].tolist() for row in rows["actions"]] == expected
    other = ReplayBuffer(capacity=50)
    other.restore(buffer.state())
    restored = other.at(np.arange(50), 100, menus=True)
    assert np.array_equal(restored["next_actions"], rows["next_actions"])


def test_a_model_scores_a_wide_page_in_pieces_like_the_whole_page(monkeypatch):
    built = model(seeds=(0, 1))
    chance = np.random.default_rng(0)
    pages = Pages(
        chance.integers(3, size=(2, 5)),
        np.where(chance.random((2, 5, 9)) < 0.6, chance.integers(4, size=(2, 5, 9)), -1),
    )
    whole = built.q(pages)
    narrow(monkeypatch, 4)
    monkeypatch.setattr(built, "most_pairs", 6)
    mask = torch.from_numpy(pages.mask)
    assert torch.allclose(built.q(pages)[mask], whole[mask])


@pytest.mark.parametrize(
    ("name", "settings"), [("drrn", {}), ("per-action", {}), ("table", {"n_steps": 2})]
)
def test_learning_from_ragged_menus_equals_learning_from_padded_ones(monkeypatch, name, settings):
    def train():
        built = model(name, seeds=(0, 1))
        learning = learner(built, batch_size=8, **settings)
        chance = np.random.default_rng(3)
        for buffer in learning.memories:
            lists = [chance.permutation(4)[: chance.integers(0, 5)].tolist() for _ in range(60)]
            menu_lists = [menu or [0] for menu in lists]
            menus = Menus.of([*menu_lists, *lists])
            rewards = chance.normal(size=60)
            choices = np.array([int(chance.integers(len(menu))) for menu in menu_lists])
            states, then = chance.integers(3, size=(2, 60))
            buffer.add(single_steps(states, menus[:60], choices, rewards, then, menus[60:]))
        learning.learn([np.random.default_rng(r) for r in range(2)])
        return built.state()

    padded = train()
    narrow(monkeypatch, 2)
    ragged_state = train()
    for key, array in padded.items():
        assert np.allclose(array, ragged_state[key], atol=1e-5), key


def test_values_of_episode_memory_do_not_depend_on_the_width_limit(monkeypatch):
    episodes: list[Any] = [
        ([(n % 3, list(range(n + 1)), n, float(n)), (5, [1, 2], 1, 1.0)], (9, []))
        for n in range(12)
    ]

    def means():
        memory = EpisodeMemory(1000)
        memory.add(steps_of(*episodes))
        memory.evaluate(np.arange(len(memory.links), dtype=float) % 5, 0.7, 0.9, 0.8)
        return memory.means, memory.widest

    one, widest = means()
    narrow(monkeypatch, 3)
    assert widest == 12 and means()[0] == pytest.approx(one)


@pytest.mark.parametrize("paper", [True, False])
@pytest.mark.parametrize("wrap", [Hall, lambda: Stepped(Hall())], ids=["compiled", "stepped"])
def test_a_game_with_a_wide_page_is_trained_by_every_kind_of_play(wrap, paper):
    small: dict[str, Any] = {"rounds": 2, "episodes_per_round": 30, "replicas": 2, "hidden": 8}
    trainer = drrn.trainer(wrap(), paper=paper, evaluation_episodes=5, **small)
    assert [len(result.evaluations) for result in trainer.train()] == [6, 6]
    state = trainer.state()
    trainer.restore(state, "itself")


def test_wide_and_narrow_compiled_play_have_the_same_mean_reward(monkeypatch):
    graph = drrn.compile_game(Hall(20), cache=False)
    shares = np.random.default_rng(1).random(len(graph.row))
    shares /= np.bincount(graph.slot_state, shares)[graph.slot_state]
    one = graph.play(shares, 20_000, seed=0).final_reward.mean()
    narrow(monkeypatch, 4)
    assert graph.play(shares, 20_000, seed=0).final_reward.mean() == pytest.approx(one, abs=0.1)
    again = graph.play(shares, 20_000, seed=0, again=shares).final_reward.mean()
    assert again == pytest.approx(one, abs=0.1)


def test_padding_of_a_group_is_less_than_its_actions():
    counts = np.array([1, 3, 65, 2000, 1900, 64, 0, 130])
    groups = list(ragged.groups_by_width(counts, 2000))
    assert sorted(np.concatenate([rows for rows, _ in groups]).tolist()) == list(range(8))
    assert all(width <= max(64, 2 * counts[rows].min()) for rows, width in groups)
    assert [width for _, width in ragged.groups_by_width(counts[:2], 3)] == [3]
