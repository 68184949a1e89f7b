"""A small model, the texts it knows, and pages and batches to show it."""

import numpy as np
import torch

from drrn.learning.fast.q_learning import FastQLearning
from drrn.learning.q_learning import Batches
from drrn.models import Pages, Shape, build_model, encoder_of
from drrn.settings import Settings
from drrn.text import Store

STATES = ["the sea is grey", "the wind and the sea", "a lamp"]
ACTIONS = ["wait", "go to the lamp", "wait wait", "turn"]
CPU = torch.device("cpu")

# Texts for encoders: an empty one, the same words in another order, a repeated word.
TEXTS = [
    "the sea is grey",
    "",
    "the wind and the sea",
    "a lamp",
    "grey is the sea",
    "the the the the the the a",
]


def model(name="drrn", seeds=(0,), **shape):
    store = Store.of_words(shared=shape.get("shared", False))
    shape = Shape(**{"hidden": 5, "layers": 2, "most_actions": 3, **shape})
    for text in STATES:
        store.states.id(text)
    for text in ACTIONS:
        store.actions.id(text)
    built = build_model(name, shape, store, list(seeds), CPU)
    for replica in range(len(seeds)):
        built.meet(replica, np.arange(len(store.states)), np.arange(len(store.actions)))
    return built


def encoder_model(encoder, seeds=(0,), hidden=5, name="drrn", **shape):
    store = Store.of_words(shared=shape.get("shared", False))
    for text in (*TEXTS, *STATES, *ACTIONS):
        store.states.id(text)
        store.actions.id(text)
    shape = Shape(**{"hidden": hidden, "most_actions": 3, "encoder": encoder_of(encoder), **shape})
    built = build_model(name, shape, store, list(seeds), CPU)
    for replica in range(len(seeds)):
        built.meet(replica, np.arange(len(store.states)), np.arange(len(store.actions)))
    return built


def learner(built, rate=0.05, **settings):
    """Q-learning, as a run would have it."""
    return FastQLearning(
        built, Settings.from_flat(learning_rate=rate, replicas=len(built.seeds), **settings)
    )


def pages(replicas=1):
    states = np.tile(np.array([0, 1, 2, 0]), (replicas, 1))
    actions = np.tile(np.array([[0, 1, 2], [3, 0, -1], [1, -1, -1], [2, 1, 0]]), (replicas, 1, 1))
    return Pages(states, actions)


def pages_of(built):
    """The pages with the ids that the model's own store give."""
    state = [built.store.states.id(text) for text in STATES]
    action = [*(built.store.actions.id(text) for text in ACTIONS), -1]
    plain = pages(len(built.seeds))
    return Pages(np.array(state)[plain.states], np.array(action)[plain.actions])


def error_falls(error, to, within):
    """Whether the error that each call gives falls to that share of the first one, within so many calls more."""
    first = error()
    return any(error() < to * first for _ in range(within))


def random_batches(built, size, updates=6):
    """Batches with endings, missing actions, and a replica that has less than the others."""
    chance = np.random.default_rng(1)
    shape = (updates, len(built.seeds), size)
    state = np.array([built.store.states.id(text) for text in STATES])
    action = np.array([*(built.store.actions.id(text) for text in ACTIONS), -1])

    def drawn(endings):
        menus = action[chance.integers(0, 4, (*shape, 3))]
        menus[chance.random(shape) < 0.3, 1:] = -1
        menus[chance.random(shape) < endings] = -1
        return Pages(state[chance.integers(0, 3, shape)], menus)

    now = drawn(endings=0)
    taken = np.where(now.actions[..., 1] >= 0, chance.integers(0, 3, shape), 0)
    rewards = chance.normal(size=shape).astype(np.float32)
    weights = np.ones(shape, np.float32)
    weights[-1, -1, size // 2 :] = 0
    return Batches(
        now, taken, rewards, np.full(shape, 0.9, np.float32), drawn(endings=0.3), weights
    )
