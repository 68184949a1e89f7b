"""LSTM and GRU encoders equal PyTorch's modules, for each replica and text of a batch."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from drrn.learning.learner import differentiable
from drrn.learning.q_learning import Batches, QLearning
from drrn.models import Pages, pick
from drrn.models.encoders.recurrent import GRUEncoder, LSTMEncoder, RecurrentEncoder, _plan_steps
from drrn.models.encodings import encoding_caches
from drrn.settings import Settings
from tests.models import TEXTS, batches_of_second, encoder_model, random_batches

ORDER = {"gru": ("r", "z", "n"), "lstm": ("i", "f", "o", "g")}
GAIN = 3.0
GATE_ORDER = {"gru": [0, 1, 2], "lstm": [0, 1, 3, 2]}  # PyTorch's LSTM has i, f, g, o


def vectors(model, ids, leaves=None):
    """Return the state encodings of texts [R, N]: [R, N, H]."""
    batch = model.encoders["state"].gather(model, model.store.states, np.asarray(ids)[None])[0]
    return pick(batch.encode(model, leaves), batch.index)


def torch_module(model, encoder, replica):
    """Return PyTorch's module with the replica's weights, and the order of its gates."""
    w = {name: weight[replica].detach().clone() for name, weight in model.weights.items()}
    width = 5
    order = np.concatenate([np.arange(width) + gate * width for gate in GATE_ORDER[encoder]])
    inputs = w["state in"].shape[0]
    module: Any
    if encoder == "gru":
        module = nn.GRU(inputs, width, batch_first=True)
    else:
        module = nn.LSTM(inputs, width, batch_first=True)
    with torch.no_grad():
        module.weight_ih_l0.copy_(w["state in"].T[order])
        module.weight_hh_l0.copy_(w["state on"].T[order])
        module.bias_ih_l0.copy_(w["state in b"][0][order])
        module.bias_hh_l0.zero_()
        if encoder == "gru":
            module.bias_hh_l0[2 * width :] = w["state on b"][0]
    return module, order


def torch_vector(module, words):
    out = module(words[None])[0][0]
    return out[-1] if isinstance(module, nn.GRU) else GAIN * out.mean(0)


@pytest.mark.parametrize("encoder", ["lstm", "gru"])
@pytest.mark.parametrize(
    ("embedding", "seeds", "pieces"), [(None, (3, 4), False), (3, (3, 4), True), (3, (3,), True)]
)
def test_vectors_and_gradients_equal_those_of_pytorch(
    encoder, embedding, seeds, pieces, monkeypatch
):
    if pieces:  # backward in several pieces, as for many words
        monkeypatch.setattr(GRUEncoder, "piece", 3)
        monkeypatch.setattr(LSTMEncoder, "piece", 3)
    model = encoder_model(encoder, seeds=seeds, embedding=embedding, lstm_gain=GAIN)
    ids = [[0, 2, 5, 0], [4, 3, 1, 0]][: len(seeds)]
    weights = list(model.weights.values())
    direction = torch.randn(len(seeds), 4, 5, generator=torch.Generator().manual_seed(1))
    leaves: list[Any] = []
    with differentiable(weights):
        encodings = vectors(model, ids, leaves)
        gradients = torch.autograd.grad(
            (encodings * direction).sum(),
            [*weights, *[vectors for _, vectors in leaves]],
            allow_unused=True,
        )
    ours = dict(zip([*model.weights, "words"], gradients, strict=True))
    table, rows, values = leaves[0][0](model, ours["words"])
    flat = torch.zeros_like(table.weight).view(-1, table.width)
    word_gradients = flat.index_add(0, rows, values).view_as(table.weight)
    for replica in range(len(seeds)):
        module, order = torch_module(model, encoder, replica)
        words = table.weight[replica].clone().requires_grad_()
        texts = [model.store.states.words_of(np.array([text])) for text in ids[replica]]
        expected = torch.stack(
            [torch_vector(module, words[text]) if len(text) else torch.zeros(5) for text in texts]
        )
        assert torch.allclose(expected, encodings[replica], atol=1e-6)
        loss = (expected * direction[replica]).sum()
        theirs = torch.autograd.grad(loss, [words, *module.parameters()])
        assert torch.allclose(theirs[0], word_gradients[replica], atol=1e-5)
        for name, gradient in zip(("state in", "state on"), theirs[1:3], strict=True):
            assert torch.allclose(gradient, ours[name][replica].T[order], atol=1e-5)
        assert torch.allclose(theirs[3], ours["state in b"][replica, 0][order], atol=1e-5)
        if encoder == "gru":
            assert torch.allclose(theirs[4][10:], ours["state on b"][replica, 0], atol=1e-5)


@pytest.mark.parametrize("encoder", ["lstm", "gru"])
def test_the_vector_of_a_text_does_not_depend_on_the_batch(encoder):
    model = encoder_model(encoder, seeds=(0, 1, 2))
    chance = np.random.default_rng(0)
    alone = {text: vectors(model, np.full((3, 1), text))[:, 0] for text in range(-1, len(TEXTS))}
    for _ in range(20):
        ids = chance.integers(-1, len(TEXTS), (3, int(chance.integers(1, 9))))
        for replica, encodings in enumerate(vectors(model, ids)):
            expected = torch.stack([alone[text][replica] for text in ids[replica].tolist()])
            assert torch.allclose(encodings, expected, atol=1e-6)


@pytest.mark.parametrize("encoder", ["lstm", "gru"])
def test_a_pass_can_be_differentiated_only_once(encoder):
    model = encoder_model(encoder)
    leaves: list[Any] = []
    total = vectors(model, [[0, 2]], leaves).sum()
    torch.autograd.grad(total, [vectors for _, vectors in leaves], retain_graph=True)
    with pytest.raises(RuntimeError, match="once"):
        torch.autograd.grad(total, [vectors for _, vectors in leaves])


@pytest.mark.parametrize("encoder", ["lstm", "gru", "attention", "bag"])
@pytest.mark.parametrize("shape", [{"shared": True}, {"interaction": "network"}])
def test_a_replica_among_others_learns_the_same_as_alone(encoder, shape):
    both = encoder_model(encoder, seeds=(5, 6), **shape)
    alone = encoder_model(encoder, seeds=(6,), **shape)
    batches = random_batches(both, 4)
    settings = {"learning_rate": 0.05, "optimiser": "adam"}
    QLearning(both, Settings.from_flat(replicas=2, **settings)).update(batches)
    alone_settings = Settings.from_flat(replicas=1, **settings)
    QLearning(alone, alone_settings).update(batches_of_second(batches))
    for name, weight in both.weights.items():
        assert torch.allclose(weight[1:], alone.weights[name], atol=1e-4), name
    for name, table in both.tables.items():
        assert torch.allclose(table.weight[1:], alone.tables[name].weight, atol=1e-4)


@pytest.mark.parametrize("encoder", ["lstm", "gru"])
@pytest.mark.parametrize("shape", [{}, {"shared": True}, {"name": "per-action"}])
def test_encoding_pages_and_next_pages_together_changes_no_result(encoder, shape, monkeypatch):
    together = encoder_model(encoder, seeds=(5, 6), **shape)
    separate = encoder_model(encoder, seeds=(5, 6), **shape)
    batches = random_batches(together, 3)
    errors = QLearning(together, Settings.from_flat(learning_rate=0.05, replicas=2)).update(batches)
    monkeypatch.setattr(RecurrentEncoder, "reads_at_once", False)
    other = QLearning(separate, Settings.from_flat(learning_rate=0.05, replicas=2)).update(batches)
    assert np.allclose(errors, other, atol=1e-5)
    for name, weight in together.weights.items():
        assert torch.allclose(weight, separate.weights[name], atol=1e-5), name


@pytest.mark.parametrize(
    ("name", "encoder"),
    [("drrn", "gru"), ("per-action", "lstm"), ("max-action", "attention"), ("linear", "lstm")],
)
def test_states_of_the_same_words_are_distinguished_by_their_order(name, encoder):
    model = encoder_model(encoder, hidden=8, name=name, seeds=(0, 1))
    states = np.tile(np.array([0, 4]), (8, 2, 1))  # "the sea is grey", "grey is the sea"
    rewards = np.where(states == 0, 1, -1).astype(np.float32)
    pages = Pages(states, np.full((*states.shape, 1), 3))
    none = np.zeros_like(rewards)
    batch = Batches(pages, np.zeros_like(states), rewards, none, pages, none + 1)
    learner = QLearning(model, Settings.from_flat(learning_rate=0.02, optimiser="adam", replicas=2))
    assert any(np.abs(learner.update(batch)[-1]).max() < 0.1 for _ in range(25))


def test_a_step_reads_only_the_texts_that_still_have_a_word():
    words = np.array([5, 7, 5, 9])
    rows, steps = _plan_steps(words, np.array([[2, 1], [1, 0]]), room=10, group=1)
    assert rows.tolist() == [5, 7, 19, 10] and steps.counts == [2, 1]
    assert steps.words.tolist() == [[0, 0, 1], [3, 5, 5]]  # 5 is the idle word of the second


@pytest.mark.parametrize("encoder", ["lstm", "gru"])
def test_cached_encodings_give_the_same_q_values(encoder):
    model = encoder_model(encoder, seeds=(0, 1))
    chance = np.random.default_rng(0)
    caches = encoding_caches(model)
    assert caches
    texts = len(model.store.states)
    for _ in range(4):
        states = chance.integers(-1, texts, (2, 3))
        actions = chance.integers(-1, texts, (2, 3, 2))
        pages = Pages(states, actions)
        assert torch.allclose(model.q(pages, caches), model.q(pages), atol=1e-6)
