"""The model of verbs and objects: its equation by hand, its gradients by PyTorch's own modules, replicas."""

import dataclasses

import numpy as np
import pytest
import torch
from torch import nn

import drrn
from drrn.learning.learner import differentiable
from drrn.models import Encoder, Pages, Shape, build_model
from drrn.text import Store
from drrn.writing import words

CPU = torch.device("cpu")
TEXTS = ["the sea is grey", "the wind and the sea", "a lamp"]
COMMANDS = ["go north", "go lamp", "light lamp", "wait", "give old lamp"]
MENUS = np.array([[0, 1, 2], [3, 4, -1], [2, -1, -1]])


class MeanOfStates(Encoder):
    """Stands for any encoder that is no matrix product."""

    linear = False

    def encode(self, model, words, mask):
        return torch.tanh(words).sum(dim=2) / mask.sum(dim=2, keepdim=True).clamp(min=1)


def built(seeds=(0,), **shape):
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
    """A word's row of a table."""
    return model.tables[table].weight[replica, getattr(model.store, side).vocabulary.numbers[word]]


class Plain(nn.Module):
    """The same with PyTorch's own modules: linear layers, the first over counts, and two heads."""

    def __init__(self, model, replica=0):
        super().__init__()
        state = model.store.states.vocabulary
        action = model.store.actions.vocabulary
        width = model.shape.hidden
        weights = model.weights
        self.first = nn.Linear(len(state), width)
        self.second = nn.Linear(width, width)
        self.heads = nn.ModuleDict(
            {part: nn.Linear(width, len(action)) for part in ("verb", "object")}
        )
        with torch.no_grad():
            self.first.weight.copy_(model.tables["state"].weight[replica, : len(state)].T)
            self.first.bias.copy_(weights["b1"][replica, 0])
            self.second.weight.copy_(weights["W2"][replica].T)
            self.second.bias.copy_(weights["b2"][replica, 0])
            for part, head in self.heads.items():
                rows = model.tables[part].weight[replica, : len(action)]
                head.weight.copy_(rows[:, :-1])
                head.bias.copy_(rows[:, -1])
        self.numbers = state.numbers, action.numbers

    def forward(self, text, command):
        states, actions = self.numbers
        counts = torch.zeros(len(states))
        for word in words(text):
            counts[states[word]] += 1
        h = torch.relu(self.second(torch.relu(self.first(counts))))
        verb, *rest = words(command)
        verbs = self.heads["verb"](h)
        objects = self.heads["object"](h)
        return (verbs[actions[verb]] + sum(objects[actions[word]] for word in rest)) / 2


def test_q_is_the_mean_of_the_verbs_and_the_objects():
    model = built(hidden=2, layers=1)
    numbers = {
        ("state", "states", "a"): [0.0, 0.0],
        ("state", "states", "lamp"): [3.0, -1.0],
        ("verb", "actions", "light"): [2.0, 5.0, 0.5],
        ("object", "actions", "lamp"): [1.0, 7.0, -0.5],
    }
    for place, values in numbers.items():
        row(model, *place)[:] = torch.tensor(values)
    model.weights["b1"][:] = torch.tensor([1.0, 0.5])
    # h = relu([3, -1] + [1, 0.5]) = [4, 0]; verb 8 + 0.5, object 4 - 0.5; the mean is 6
    page = Pages(np.array([[2]]), np.array([[[2]]]))
    assert model.q(page).item() == 6.0


def test_a_state_whose_encoder_is_no_product_goes_into_the_next_layer_as_it_is():
    model = built(hidden=2, encoder=MeanOfStates)
    assert "b1" not in model.weights
    row(model, "state", "states", "a")[:] = torch.tensor([0.5, -2.0])
    row(model, "state", "states", "lamp")[:] = torch.tensor([1.0, 0.0])
    model.weights["W2"][0] = torch.tensor([[1.0, -1.0], [0.0, 1.0]])
    model.weights["b2"][:] = 0.25
    pooled = np.tanh([[0.5, -2.0], [1.0, 0.0]]).mean(axis=0)
    h = np.maximum([pooled[0] + 0.25, pooled[1] - pooled[0] + 0.25], 0)
    parts = [
        row(model, "verb", "actions", "light").numpy(),
        row(model, "object", "actions", "lamp").numpy(),
    ]
    expected = sum(part[:2] @ h + part[2] for part in parts) / 2
    assert model.q(Pages(np.array([[2]]), np.array([[[2]]]))).item() == pytest.approx(
        expected, abs=1e-6
    )


def test_a_command_of_one_word_has_no_object_and_one_of_three_has_the_sum():
    model = built()
    plain = Plain(model)
    q = model.q(pages())[0]
    for b, menu in enumerate(MENUS):
        for a, command in enumerate(menu):
            if command >= 0:
                assert q[b, a].item() == pytest.approx(
                    plain(TEXTS[b], COMMANDS[command]).item(), abs=1e-6
                )


def test_gradients_are_those_of_pytorchs_own_modules():
    model = built()
    leaves = []
    plain = Plain(model)
    weights = list(model.weights.values())
    read = dataclasses.replace(model.read(pages()[None])[0], leaves=leaves)
    scale = torch.tensor([[[1.0, 2.0, -1.0], [0.5, 3.0, 0.0], [1.5, 0.0, 0.0]]])
    with differentiable(weights):
        loss = (model.forward(read) * scale).sum()
        gradients = torch.autograd.grad(loss, [*weights, *[vectors for _, vectors in leaves]])
    own = dict(zip(model.weights, gradients[: len(weights)], strict=True))
    asked = [
        (b, a, command)
        for b, menu in enumerate(MENUS)
        for a, command in enumerate(menu)
        if command >= 0
    ]
    sum(plain(TEXTS[b], COMMANDS[command]) * scale[0, b, a] for b, a, command in asked).backward()
    assert torch.allclose(own["W2"][0], plain.second.weight.grad.T, atol=1e-6)
    assert torch.allclose(own["b2"][0, 0], plain.second.bias.grad, atol=1e-6)
    assert torch.allclose(own["b1"][0, 0], plain.first.bias.grad, atol=1e-6)
    carried = {}
    for (look, _), back in zip(leaves, gradients[len(weights) :], strict=True):
        table, rows, values = look.gradient(model, back)
        whole = torch.zeros(table.weight.shape[1], table.width).index_add(0, rows, values)
        carried[table.name] = whole[: len(table.vocabulary)]
    assert torch.allclose(carried["state"], plain.first.weight.grad.T, atol=1e-6)
    for part, head in plain.heads.items():
        assert torch.allclose(carried[part][:, :-1], head.weight.grad, atol=1e-6)
        assert torch.allclose(carried[part][:, -1], head.bias.grad, atol=1e-6)


@pytest.mark.parametrize("shape", [{}, {"encoder": MeanOfStates}], ids=["bag", "sequence"])
def test_a_replica_is_what_it_is_alone(shape):
    both = built(seeds=(3, 8), **shape)
    second = built(seeds=(8,), **shape)
    assert torch.allclose(both.q(pages(2))[1], second.q(pages())[0], atol=1e-6)
    with torch.no_grad():
        for table in both.tables.values():
            table.weight[0] += 1
    assert torch.allclose(both.q(pages(2))[1], second.q(pages())[0], atol=1e-6)


def test_many_distinct_commands_and_few_give_the_same_q():
    model = built()
    alone = model.q(Pages(np.zeros((1, 5), int), np.arange(5).reshape(1, 5, 1)))[
        0, :, 0
    ]  # five menus of one
    together = model.q(Pages(np.zeros((1, 1), int), np.arange(5).reshape(1, 1, 5)))[0, 0]
    assert torch.allclose(alone, together, atol=1e-6)


def test_what_it_learned_comes_back_out_of_a_folder(tmp_path):
    trainer = drrn.trainer(
        "home-world", paper=True, model="verb-object", rounds=1, episodes_per_round=5, replicas=2, hidden=4,
        evaluation_episodes=2,
    )  # fmt: skip
    list(trainer.train())
    trainer.save(tmp_path / "run")
    page = drrn.make("home-world").reset(seed=0)
    q = drrn.load(tmp_path / "run").ask(page.text, page.actions)
    assert q.shape == (2, 40)
    assert np.array_equal(q, trainer.agent.ask(page.text, page.actions))
