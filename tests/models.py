"""Small models with some short texts, and pages and batches for them."""

import dataclasses

import numpy as np
import pytest
import torch

from drrn.learning.fast.q_learning import FastQLearning
from drrn.learning.q_learning import Batches, QLearning
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


def model(name="drrn", seeds=(0,), **options):
    """Return a small model that knows STATES and ACTIONS; `options` are fields of its shape."""
    store = Store.of_words(shared=options.get("shared", False))
    for text in STATES:
        store.states.id(text)
    for text in ACTIONS:
        store.actions.id(text)
    shape = Shape(**{"hidden": 5, "layers": 2, "most_actions": 3, **options})
    return _build(name, shape, store, seeds)


def encoder_model(encoder, seeds=(0,), hidden=5, name="drrn", **options):
    """Return a small model with this encoder that knows TEXTS, STATES and ACTIONS."""
    store = Store.of_words(shared=options.get("shared", False))
    for text in (*TEXTS, *STATES, *ACTIONS):
        store.states.id(text)
        store.actions.id(text)
    fields = {"hidden": hidden, "most_actions": 3, "encoder": encoder_of(encoder), **options}
    return _build(name, Shape(**fields), store, seeds)


def _build(name, shape, store, seeds):
    result = build_model(name, shape, store, list(seeds), CPU)
    for replica in range(len(seeds)):
        result.meet(replica, np.arange(len(store.states)), np.arange(len(store.actions)))
    return result


def learner(model, rate=0.05, **settings):
    """Return Q-learning with the settings of a run."""
    flat = {"learning_rate": rate, "replicas": len(model.seeds), **settings}
    return FastQLearning(model, Settings.from_flat(**flat))


def pages(replicas=1):
    """Return four pages of STATES and ACTIONS by index, for each replica."""
    states = np.tile(np.array([0, 1, 2, 0]), (replicas, 1))
    actions = np.tile(np.array([[0, 1, 2], [3, 0, -1], [1, -1, -1], [2, 1, 0]]), (replicas, 1, 1))
    return Pages(states, actions)


def pages_of(model):
    """Return the same pages with the ids of the model's store."""
    states, actions = _ids(model)
    indices = pages(len(model.seeds))
    return Pages(states[indices.states], actions[indices.actions])


def _ids(model):
    """Return the ids of STATES and of ACTIONS in the model's store; -1 is the last, for none."""
    states = [model.store.states.id(text) for text in STATES]
    actions = [model.store.actions.id(text) for text in ACTIONS]
    return np.array(states), np.array([*actions, -1])


def random_batches(model, size, updates=6):
    """Return batches with endings and missing actions; one replica has fewer transitions."""
    generator = np.random.default_rng(1)
    shape = (updates, len(model.seeds), size)
    states, actions = _ids(model)

    def random_pages(endings):
        menus = actions[generator.integers(0, 4, (*shape, 3))]
        menus[generator.random(shape) < 0.3, 1:] = -1
        menus[generator.random(shape) < endings] = -1
        return Pages(states[generator.integers(0, 3, shape)], menus)

    current = random_pages(endings=0)
    indices = np.where(current.actions[..., 1] >= 0, generator.integers(0, 3, shape), 0)
    rewards = generator.normal(size=shape).astype(np.float32)
    weights = np.ones(shape, np.float32)
    weights[-1, -1, size // 2 :] = 0
    discounts = np.full(shape, 0.9, np.float32)
    now = current if model.sees_menu else taken_pages(current, indices)
    return Batches(now, indices, rewards, discounts, random_pages(endings=0.3), weights)


def taken_pages(pages, indices):
    """Return pages with the taken action alone."""
    if pages.actions.shape[-1] == 1:
        return pages
    return Pages(pages.states, np.take_along_axis(pages.actions, indices[..., None], axis=-1))


def batches_of_second(batches):
    """Return the batches of the second replica."""

    def second(value):
        if isinstance(value, Pages):
            return Pages(value.states[:, 1:], value.actions[:, 1:])
        return value[:, 1:]

    return Batches(
        **{f.name: second(getattr(batches, f.name)) for f in dataclasses.fields(batches)}
    )


def check_gradient(model, weights):
    """Compare an update along a random direction with the central difference of the loss.

    Rows of words that a replica does not know must be zero.
    """
    batches = random_batches(model, 4, updates=1)
    # without a discount the targets do not change
    batches = dataclasses.replace(batches, discounts=0 * batches.discounts)
    before = [weight.clone() for weight in weights]
    chance = torch.Generator().manual_seed(0)
    directions = [torch.randn(weight.shape, generator=chance) * (weight != 0) for weight in weights]

    def loss():
        q = model.forward(model.read(batches.pages)[0]).squeeze(2).double().numpy()
        return (0.5 * (batches.rewards[0] - q) ** 2 * batches.weights[0]).sum()

    numeric = []
    for weight, start, direction in zip(weights, before, directions, strict=True):
        losses = []
        for step in (1e-2, -1e-2):
            weight.copy_(start + step * direction)
            losses.append(loss())
        weight.copy_(start)
        numeric.append((losses[0] - losses[1]) / 2e-2)
    QLearning(model, Settings.from_flat(learning_rate=0.1)).update(batches)
    for weight, start, direction, slope in zip(weights, before, directions, numeric, strict=True):
        moved = ((start - weight) * direction).sum().item() / 0.1
        assert moved == pytest.approx(slope, rel=2e-2, abs=1e-4) and moved != 0
