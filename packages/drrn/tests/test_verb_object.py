"""The verb-object model: equation by hand, gradients compared with PyTorch, replicas."""

import dataclasses
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from drrn.learning.learner import differentiable
from drrn.models import Pages, Shape, build_model
from drrn.text import Store
from textgames.wording import words

CPU = torch.device("cpu")
TEXTS = ["the sea is grey", "the wind and the sea", "a lamp"]
COMMANDS = ["go north", "go lamp", "light lamp", "wait", "give old lamp"]
MENUS = np.array([[0, 1, 2], [3, 4, -1], [2, -1, -1]])


def build(seeds=(0,), **shape):
    store = Store.of_words()
    model = build_model("verb-object", Shape(**{"hidden": 6, **shape}), store, list(seeds), CPU)
    for number, text in enumerate(TEXTS):
        assert store.states.id(text) == number
    for number, text in enumerate(COMMANDS):
        assert store.actions.id(text) == number
    for replica in range(len(seeds)):
        model.meet(replica, np.arange(len(TEXTS)), np.arange(len(COMMANDS)))
    return model


def pages(replicas=1):
    return Pages(np.tile(np.arange(3), (replicas, 1)), np.tile(MENUS, (replicas, 1, 1)))


def row(model, table, side, word, replica=0):
    """Return a word's row of a table."""
    return model.tables[table].weight[replica, getattr(model.store, side).vocabulary.numbers[word]]


class Plain(nn.Module):
    """The same model with PyTorch's modules: linear layers, the first over counts, two heads."""

    def __init__(self, model, replica=0):
        super().__init__()
        state = model.store.states.vocabulary
        action = model.store.actions.vocabulary
        width = model.shape.hidden
        weights = model.weights
        self.first = nn.Linear(len(state), width)
        self.second = nn.Linear(width, width)
        self.verb = nn.Linear(width, len(action))
        self.object = nn.Linear(width, len(action))
        with torch.no_grad():
            self.first.weight.copy_(model.tables["state"].weight[replica, : len(state)].T)
            self.first.bias.copy_(weights["b1"][replica, 0])
            self.second.weight.copy_(weights["W2"][replica].T)
            self.second.bias.copy_(weights["b2"][replica, 0])
            for part, head in self.heads().items():
                rows = model.tables[part].weight[replica, : len(action)]
                head.weight.copy_(rows[:, :-1])
                head.bias.copy_(rows[:, -1])
        self.numbers = state.numbers, action.numbers

    def heads(self):
        return {"verb": self.verb, "object": self.object}

    def forward(self, text, command):
        states, actions = self.numbers
        counts = torch.zeros(len(states))
        for word in words(text):
            counts[states[word]] += 1
        h = torch.relu(self.second(torch.relu(self.first(counts))))
        verb, *rest = words(command)
        verbs = self.verb(h)
        objects = self.object(h)
        return (verbs[actions[verb]] + sum(objects[actions[word]] for word in rest)) / 2


def test_q_is_the_mean_of_the_values_of_verb_and_object():
    model = build(hidden=2, layers=1)
    numbers = {
        ("state", "states", "a"): [0.0, 0.0],
        ("state", "states", "lamp"): [3.0, -1.0],
        ("verb", "actions", "light"): [2.0, 5.0, 0.5],
        ("object", "actions", "lamp"): [1.0, 7.0, -0.5],
    }
    for (table, side, word), values in numbers.items():
        row(model, table, side, word)[:] = torch.tensor(values)
    model.weights["b1"][:] = torch.tensor([1.0, 0.5])
    # h = relu([3, -1] + [1, 0.5]) = [4, 0]; verb 8 + 0.5, object 4 - 0.5; the mean is 6
    page = Pages(np.array([[2]]), np.array([[[2]]]))
    assert model.q(page).item() == 6.0


def test_commands_of_one_and_three_words_equal_the_plain_model():
    model = build()
    plain = Plain(model)
    q = model.q(pages())[0]
    for b, a in np.argwhere(MENUS >= 0):
        expected = plain(TEXTS[b], COMMANDS[MENUS[b, a]]).item()
        assert q[b, a].item() == pytest.approx(expected, abs=1e-6)


def gradient_of(weight):
    """Return the gradient of a weight that has one."""
    assert weight.grad is not None
    return weight.grad


def test_gradients_equal_those_of_pytorch():
    model = build()
    leaves: list[Any] = []
    plain = Plain(model)
    weights = list(model.weights.values())
    read = dataclasses.replace(model.read(pages()[None])[0], leaves=leaves)
    scale = torch.tensor([[[1.0, 2.0, -1.0], [0.5, 3.0, 0.0], [1.5, 0.0, 0.0]]])
    with differentiable(weights):
        loss = (model.forward(read) * scale).sum()
        gradients = torch.autograd.grad(loss, [*weights, *[vectors for _, vectors in leaves]])
    ours = dict(zip(model.weights, gradients[: len(weights)], strict=True))
    for b, a in np.argwhere(MENUS >= 0):
        (plain(TEXTS[b], COMMANDS[MENUS[b, a]]) * scale[0, b, a]).backward()
    assert torch.allclose(ours["W2"][0], gradient_of(plain.second.weight).T, atol=1e-6)
    assert torch.allclose(ours["b2"][0, 0], gradient_of(plain.second.bias), atol=1e-6)
    assert torch.allclose(ours["b1"][0, 0], gradient_of(plain.first.bias), atol=1e-6)
    tables = {}
    for (gradient, _), back in zip(leaves, gradients[len(weights) :], strict=True):
        table, rows, values = gradient(model, back)
        whole = torch.zeros(table.weight.shape[1], table.width).index_add(0, rows, values)
        tables[table.name] = whole[: len(table.vocabulary)]
    assert torch.allclose(tables["state"], gradient_of(plain.first.weight).T, atol=1e-6)
    for part, head in plain.heads().items():
        assert torch.allclose(tables[part][:, :-1], gradient_of(head.weight), atol=1e-6)
        assert torch.allclose(tables[part][:, -1], gradient_of(head.bias), atol=1e-6)
