"""LSTM and GRU read words in order: they are PyTorch's own, with a replica axis, whatever else is in the batch."""

import dataclasses

import numpy as np
import pytest
import torch
from torch import nn

from drrn.learning.learner import differentiable
from drrn.learning.q_learning import Batches, QLearning
from drrn.models import Pages, pick
from drrn.models.encoders.recurrent import RecurrentEncoder
from drrn.models.encodings import EncodingCache
from drrn.settings import Settings
from tests.models import TEXTS, encoder_model, random_batches

ORDER = {"gru": ("r", "z", "n"), "lstm": ("i", "f", "o", "g")}
GAIN = 3.0
OURS_IN_THEIRS = {"gru": [0, 1, 2], "lstm": [0, 1, 3, 2]}  # PyTorch's LSTM has i, f, g, o


def vectors(model, ids, leaves=None):
    """What the state encoder gives for texts [R, N]: [R, N, H]."""
    batch = model.encoders["state"].gather(model, model.store.states, np.asarray(ids)[None])[0]
    return pick(batch.encode(model, leaves), batch.index)


def torchs_own(model, encoder, replica):
    """PyTorch's module with the replica's weights."""
    w, width = {name: weight[replica].detach().clone() for name, weight in model.weights.items()}, 5
    order = np.concatenate([np.arange(width) + gate * width for gate in OURS_IN_THEIRS[encoder]])
    module = (nn.GRU if encoder == "gru" else nn.LSTM)(
        w["state in"].shape[0], width, batch_first=True
    )
    with torch.no_grad():
        module.weight_ih_l0.copy_(w["state in"].T[order])
        module.weight_hh_l0.copy_(w["state on"].T[order])
        module.bias_ih_l0.copy_(w["state in b"][0][order])
        module.bias_hh_l0.zero_()
        if encoder == "gru":
            module.bias_hh_l0[2 * width :] = w["state on b"][0]
    return module, order


def their_vector(module, words):
    out = module(words[None])[0][0]
    return out[-1] if isinstance(module, nn.GRU) else GAIN * out.mean(0)


@pytest.mark.parametrize("encoder", ["lstm", "gru"])
@pytest.mark.parametrize(
    ("embedding", "seeds", "pieces"), [(None, (3, 4), False), (3, (3, 4), True), (3, (3,), True)]
)
def test_vectors_and_gradients_are_those_of_pytorchs_own_modules(
    encoder, embedding, seeds, pieces, monkeypatch
):
    if pieces:  # the way back is gone in several, as with many words
        monkeypatch.setattr("drrn.models.encoders.recurrent.GRU_PIECE", 3)
        monkeypatch.setattr("drrn.models.encoders.recurrent.LSTM_PIECE", 3)
    model = encoder_model(encoder, seeds=seeds, embedding=embedding, lstm_gain=GAIN)
    ids, weights = [[0, 2, 5, 0], [4, 3, 1, 0]][: len(seeds)], list(model.weights.values())
    direction = torch.randn(len(seeds), 4, 5, generator=torch.Generator().manual_seed(1))
    leaves = []
    with differentiable(weights):
        found = vectors(model, ids, leaves)
        ours = torch.autograd.grad(
            (found * direction).sum(),
            [*weights, *[vectors for _, vectors in leaves]],
            allow_unused=True,
        )
    ours = dict(zip([*model.weights, "words"], ours, strict=True))
    table, rows, values = leaves[0][0].gradient(model, ours["words"])
    to_words = (
        torch.zeros_like(table.weight)
        .view(-1, table.width)
        .index_add(0, rows, values)
        .view_as(table.weight)
    )
    for replica in range(len(seeds)):
        module, order = torchs_own(model, encoder, replica)
        words = table.weight[replica].clone().requires_grad_()
        spelled = [model.store.states.words_of(np.array([text])) for text in ids[replica]]
        expected = [
            their_vector(module, words[each]) if len(each) else torch.zeros(5) for each in spelled
        ]
        assert torch.allclose(torch.stack(expected), found[replica], atol=1e-6)
        loss = (torch.stack(expected) * direction[replica]).sum()
        theirs = torch.autograd.grad(loss, [words, *module.parameters()])
        assert torch.allclose(theirs[0], to_words[replica], atol=1e-5)
        for name, their in zip(("state in", "state on"), theirs[1:3], strict=True):
            assert torch.allclose(their, ours[name][replica].T[order], atol=1e-5)
        assert torch.allclose(theirs[3], ours["state in b"][replica, 0][order], atol=1e-5)
        if encoder == "gru":
            assert torch.allclose(theirs[4][10:], ours["state on b"][replica, 0], atol=1e-5)


@pytest.mark.parametrize("encoder", ["lstm", "gru"])
def test_a_texts_vector_depends_on_nothing_else_in_the_batch(encoder):
    model, chance = encoder_model(encoder, seeds=(0, 1, 2)), np.random.default_rng(0)
    alone = {text: vectors(model, np.full((3, 1), text))[:, 0] for text in range(-1, len(TEXTS))}
    for _ in range(20):
        ids = chance.integers(-1, len(TEXTS), (3, int(chance.integers(1, 9))))
        for replica, found in enumerate(vectors(model, ids)):
            expected = torch.stack([alone[text][replica] for text in ids[replica].tolist()])
            assert torch.allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize("encoder", ["lstm", "gru"])
def test_the_order_of_words_counts_and_an_empty_text_is_zero(encoder):
    found = vectors(encoder_model(encoder), [[0, 4, 1]])[0]
    assert not torch.allclose(found[0], found[1], atol=1e-3) and not found[2].any()


@pytest.mark.parametrize("encoder", ["lstm", "gru"])
def test_first_weights_depend_on_the_replicas_own_seed(encoder):
    both, alone = encoder_model(encoder, seeds=(7, 8)), encoder_model(encoder, seeds=(8,))
    assert all(
        torch.equal(weight[1:], alone.weights[name]) for name, weight in both.weights.items()
    )
    assert torch.equal(both.tables["state"].weight[1:], alone.tables["state"].weight)
    assert float(both.weights["state on"].abs().max()) <= 5**-0.5


@pytest.mark.parametrize("encoder", ["lstm", "gru"])
def test_a_pass_is_differentiated_once(encoder):
    model, leaves = encoder_model(encoder), []
    found = vectors(model, [[0, 2]], leaves).sum()
    torch.autograd.grad(found, [vectors for _, vectors in leaves], retain_graph=True)
    with pytest.raises(RuntimeError, match="once"):
        torch.autograd.grad(found, [vectors for _, vectors in leaves])


@pytest.mark.parametrize("encoder", ["lstm", "gru", "attention", "bag"])
@pytest.mark.parametrize("shape", [{}, {"shared": True}, {"interaction": "bilinear", "action_hidden": 3},
                                   {"interaction": "network"}])  # fmt: skip
def test_a_replica_learns_what_it_would_learn_alone(encoder, shape):
    both, alone = (
        encoder_model(encoder, seeds=(5, 6), **shape),
        encoder_model(encoder, seeds=(6,), **shape),
    )
    batches = random_batches(both, 4)
    settings = {"learning_rate": 0.05, "optimiser": "adam"}
    QLearning(both, Settings.from_flat(replicas=2, **settings)).update(batches)
    picked = {field.name: getattr(batches, field.name) for field in dataclasses.fields(batches)}
    picked = {
        name: Pages(value.states[:, 1:], value.actions[:, 1:])
        if isinstance(value, Pages)
        else value[:, 1:]
        for name, value in picked.items()
    }
    QLearning(alone, Settings.from_flat(replicas=1, **settings)).update(type(batches)(**picked))
    for name, weight in both.weights.items():
        assert torch.allclose(weight[1:], alone.weights[name], atol=1e-4), name
    for name, table in both.tables.items():
        assert torch.allclose(table.weight[1:], alone.tables[name].weight, atol=1e-4)


@pytest.mark.parametrize("encoder", ["lstm", "gru"])
@pytest.mark.parametrize("shape", [{}, {"shared": True}, {"name": "per-action"}])
def test_reading_pages_and_next_pages_at_once_changes_nothing(encoder, shape, monkeypatch):
    at_once, apart = (
        encoder_model(encoder, seeds=(5, 6), **shape),
        encoder_model(encoder, seeds=(5, 6), **shape),
    )
    batches = random_batches(at_once, 3)
    errors = QLearning(at_once, Settings.from_flat(learning_rate=0.05, replicas=2)).update(batches)
    monkeypatch.setattr(RecurrentEncoder, "reads_at_once", False)
    other = QLearning(apart, Settings.from_flat(learning_rate=0.05, replicas=2)).update(batches)
    assert np.allclose(errors, other, atol=1e-5)
    for name, weight in at_once.weights.items():
        assert torch.allclose(weight, apart.weights[name], atol=1e-5), name


def error_after_learning(encoder, name):
    """Two states of the same words with opposite rewards: what is left of the error of 1 on both."""
    model = encoder_model(encoder, hidden=8, name=name, seeds=(0, 1))
    states = np.tile(np.array([0, 4]), (8, 2, 1))  # "the sea is grey", "grey is the sea"
    rewards = np.where(states == 0, 1, -1).astype(np.float32)
    pages, none = Pages(states, np.full((*states.shape, 1), 3)), np.zeros_like(rewards)
    batch = Batches(pages, np.zeros_like(states), rewards, none, pages, none + 1)
    learner = QLearning(model, Settings.from_flat(learning_rate=0.02, optimiser="adam", replicas=2))
    for _ in range(25):
        errors = np.abs(learner.update(batch)[-1])
        if errors.max() < 0.1:
            break
    return errors


@pytest.mark.parametrize("name", ["drrn", "per-action", "max-action", "linear"])
def test_what_a_bag_cannot_tell_apart_is_learned_from_the_order_of_words(name):
    assert error_after_learning("bag", name).min() > 0.9
    for encoder in ("lstm", "gru", "attention"):
        assert error_after_learning(encoder, name).max() < 0.1, encoder


@pytest.mark.parametrize("encoder", ["lstm", "gru"])
def test_encodings_that_are_kept_give_the_same_q_values(encoder):
    model, chance = encoder_model(encoder, seeds=(0, 1)), np.random.default_rng(0)
    kept, texts = EncodingCache(model), len(model.store.states)
    for _ in range(4):
        states, actions = chance.integers(-1, texts, (2, 3)), chance.integers(-1, texts, (2, 3, 2))
        pages = Pages(states, actions)
        assert torch.allclose(kept.q(pages), model.q(pages), atol=1e-6)
