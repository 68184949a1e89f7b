"""Models: equations by hand and by finite differences, and replicas that learn independently."""

import dataclasses
from typing import Any

import numpy as np
import pytest
import torch

import drrn
from drrn.learning.fast import q_learning as fast
from drrn.learning.q_learning import Batches
from drrn.models import MODELS, Pages
from drrn.models.drrn import DRRN
from drrn.models.encoders.base import distinct_texts
from drrn.models.word_table import small_random
from tests.bags import bag_of
from tests.documentation import blocks_of
from tests.models import (
    ACTIONS,
    STATES,
    learner,
    model,
    pages,
    pages_of,
    random_batches,
    taken_pages,
)
from tests.source_code import ROOT
from textgames.errors import InputError


def bag(texts, text):
    vector = np.zeros(len(texts.vocabulary))
    number = texts.id(text)
    for word, count in bag_of(texts, number).items():
        vector[word] = count
    return vector


def tower(built, side, text, layers):
    """h_1 = tanh(W_1 x + b_1), h_l = tanh(W_l h_{l-1} + b_l), for every layer l."""
    table = built.tables[side]
    texts = getattr(built.store, built.encoders[side].side)
    w1 = table.weight[0, : len(table.vocabulary)].numpy()
    hidden = [np.tanh(bag(texts, text) @ w1 + built.weights[f"{side} b1"][0, 0].numpy())]
    for layer in range(2, layers + 1):
        w = built.weights[f"{side} W{layer}"][0].numpy()
        b = built.weights[f"{side} b{layer}"][0, 0].numpy()
        hidden.append(np.tanh(hidden[-1] @ w + b))
    return hidden


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_drrn_is_the_inner_product_of_two_towers(layers):
    built = model(layers=layers)
    q = built.q(pages_of(built))[0].numpy()
    for b, (state, menu) in enumerate(zip(pages().states[0], pages().actions[0], strict=True)):
        for a, action in enumerate(menu):
            if action >= 0:
                s = tower(built, "state", STATES[state], layers)[-1]
                t = tower(built, "action", ACTIONS[action], layers)[-1]
                assert q[b, a] == pytest.approx(s @ t, abs=1e-5)


def test_the_other_interactions_follow_their_formulas():
    built = model(interaction="bilinear", action_hidden=3)
    s = tower(built, "state", STATES[0], 2)[-1]
    a = tower(built, "action", ACTIONS[1], 2)[-1]
    assert s.shape == (5,) and a.shape == (3,)
    expected = s @ built.weights["interaction"][0].numpy() @ a
    assert built.q(pages_of(built))[0, 0, 1].item() == pytest.approx(expected, abs=1e-5)
    built = model(interaction="network")
    w = {name: weight[0].numpy() for name, weight in built.weights.items()}
    s = tower(built, "state", STATES[0], 2)[-1]
    a = tower(built, "action", ACTIONS[1], 2)[-1]
    hidden = np.tanh(s @ w["interaction s"] + a @ w["interaction a"] + w["interaction b"][0])
    expected = (hidden @ w["interaction out"]).item()
    assert built.q(pages_of(built))[0, 0, 1].item() == pytest.approx(expected, abs=1e-5)


def test_a_shared_embedding_reads_both_sides_with_one_table():
    built = model(shared=True)
    assert list(built.tables) == ["text"]
    s = tower(built, "text", STATES[0], 2)[-1]
    a = tower(built, "text", ACTIONS[1], 2)[-1]
    assert built.q(pages_of(built))[0, 0, 1].item() == pytest.approx(s @ a, abs=1e-5)


def batches(built, reward=1.0, indices=(1, 0, 0, 2)):
    now = pages_of(built)
    replicas = len(built.seeds)
    ending = Pages(now.states[None], np.full_like(now.actions[None], -1))
    ones = np.ones((1, replicas, 4), np.float32)
    index = np.tile(np.array(indices), (1, replicas, 1))
    pages = now[None] if built.sees_menu else taken_pages(now[None], index)
    return Batches(pages, index, reward * ones, ones, ending, ones)


def state_of(built):
    weights = {name: weight.clone() for name, weight in built.weights.items()}
    tables = {f"table {name}": table.weight.clone() for name, table in built.tables.items()}
    return weights | tables


@pytest.mark.parametrize(
    ("name", "interaction"),
    # relu has kinks: test_verb_object compares that model's gradients with PyTorch's own
    [
        *((name, "inner") for name in MODELS if name not in ("table", "verb-object")),
        ("drrn", "bilinear"),
        ("drrn", "network"),
    ],
)
def test_the_update_of_every_model_agrees_with_finite_differences(name, interaction):
    built = model(name, interaction=interaction, hidden=3)
    before = state_of(built)
    rate = 1e-2
    whole = batches(built)

    def loss():
        q = built.q(pages_of(built)).gather(2, torch.from_numpy(whole.taken[0]).unsqueeze(2))
        return 0.5 * ((1.0 - q.double()) ** 2).sum().item()

    tables = {f"table {key}": table.weight for key, table in built.tables.items()}
    tensors = dict(built.weights) | tables
    numeric = {}
    generator = np.random.default_rng(0)
    for key, tensor in tensors.items():
        indices = [tuple(generator.integers(n) for n in tensor.shape) for _ in range(4)]
        for index in indices:
            value = tensor[index].item()
            losses = []
            for step in (1e-2, -1e-2):
                tensor[index] = value + step
                losses.append(loss())
            tensor[index] = value
            numeric[key, index] = (losses[0] - losses[1]) / 2e-2
    learner(built, rate).update(whole)
    after = state_of(built)
    for (key, index), gradient in numeric.items():
        change = (before[key] - after[key])[index].item() / rate
        assert change == pytest.approx(gradient, abs=2e-3, rel=2e-2), (key, index)


@pytest.mark.parametrize("name", ["linear", "max-action"])
def test_a_max_action_model_rejects_more_actions_than_it_has_outputs(name):
    built = model(name, most_actions=2)
    with pytest.raises(InputError, match="2 outputs"):
        built.q(pages_of(built))


def test_the_linear_model_is_linear_in_the_counts():
    built = model("linear")
    page = pages_of(built)
    w = {key: table.weight[0].numpy() for key, table in built.tables.items()}
    x = bag(built.store.states, STATES[1]) @ w["state"][: len(built.store.states.vocabulary)]
    for column, action in enumerate(["turn", "wait"]):
        rows = w[f"action {column}"][: len(built.store.actions.vocabulary)]
        x = x + bag(built.store.actions, action) @ rows
    assert np.allclose(built.q(page)[0, 1].numpy(), x, atol=1e-5)


@pytest.mark.parametrize("name", MODELS)
def test_a_replica_among_five_learns_the_same_as_alone(name):
    together = model(name, seeds=range(5))
    alone = model(name, seeds=[3])
    for built in (together, alone):
        learn = learner(built, 0.05)
        for _ in range(5):
            learn.update(batches(built))
    assert torch.allclose(together.q(pages_of(together))[3], alone.q(pages_of(alone))[0], atol=1e-6)
    if name != "table":
        assert not torch.allclose(
            together.q(pages_of(together))[2], alone.q(pages_of(alone))[0], atol=1e-3
        )


def test_first_weights_are_small_and_depend_on_word_and_seed_only():
    rows = small_random(["sea", "wind"], 1000, seed=1)
    assert np.abs(rows).max() <= 0.1 and abs(rows.mean()) < 0.01
    assert rows.std() == pytest.approx(0.1 / 3**0.5, rel=0.05)
    assert np.array_equal(small_random(["wind"], 1000, seed=1)[0], rows[1])
    assert not np.array_equal(small_random(["wind"], 1000, seed=2)[0], rows[1])


def test_a_word_that_a_replica_has_not_met_does_not_change_its_q_values():
    built = model(seeds=(0, 1))
    new = built.store.states.id("the sea is grey zeppelin")
    built.meet(0, np.array([new]), np.arange(0))
    page = Pages(
        np.array([[built.store.states.id(STATES[0]), new]] * 2), np.zeros((2, 2, 1), np.int64)
    )
    q = built.q(page)[:, :, 0]
    assert q[0, 0] != q[0, 1] and q[1, 0] == q[1, 1]


def test_distinct_texts_returns_the_index_of_each_id():
    ids = np.array([[3, 1, 3, -1], [2, 2, 2, 2]])
    unique, index = distinct_texts(ids[None], torch.device("cpu"))
    assert np.array_equal(unique.ravel()[index[0]], ids)
    assert unique.tolist() == [[-1, 1, 3], [2, -1, -1]]


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ({"name": "drn"}, 'Did you mean "drrn"'),
        ({"interaction": "bilinar"}, 'Did you mean "bilinear"'),
        ({"action_hidden": 3}, "use the bilinear"),
    ],
)
def test_errors_of_names_and_sizes_suggest_a_cure(shape, message):
    with pytest.raises(InputError, match=message):
        model(**shape)


def test_the_model_in_the_docs_learns(monkeypatch, tmp_path):
    blocks = blocks_of(ROOT / "docs/drrn/own-model.md")
    code = "\n".join(block.text for block in blocks if block.title.startswith("mine.py"))
    (tmp_path / "additive.py").write_text(code, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    drrn.trust("additive:Additive")
    built = model("additive:Additive")
    learn = learner(built, 0.05)
    first = np.abs(learn.update(batches(built))).sum()
    for _ in range(50):
        last = np.abs(learn.update(batches(built))).sum()
    assert last < first / 3


# --- the same update by three implementations

CASES: dict[str, dict[str, Any]] = {
    "drrn": {},
    "drrn, 1 layer": {"layers": 1},
    "drrn, 3 layers": {"layers": 3},
    "bilinear": {"interaction": "bilinear", "action_hidden": 4},
    "network": {"interaction": "network"},
    "shared": {"shared": True},
    "per-action": {"name": "per-action"},
    "max-action": {"name": "max-action"},
    "linear": {"name": "linear"},
    "a subclass with another tower": {"name": "louder"},
}


class Louder(DRRN):
    def embeddings(self, pages):
        s, a = super().embeddings(pages)
        return 2 * s, a


def weights_after_update(case, size, monkeypatch, *, by_texts, by_hand):
    with monkeypatch.context() as patch:
        patch.setitem(MODELS, "louder", Louder)
        if not by_hand:
            patch.setattr(fast, "DRRN", None)
        built = model(**{"seeds": (3, 4), **CASES[case]})
        learn = learner(built, 0.05)
        learn.most_texts = 100 if by_texts else 0
        errors = learn.update(random_batches(built, size))
        tables = {name: table.weight for name, table in built.tables.items()}
        return {"errors": torch.from_numpy(errors), **built.weights, **tables}


@pytest.mark.parametrize("size", [1, 8])
@pytest.mark.parametrize("case", CASES)
def test_updates_by_text_and_by_hand_written_gradients_equal_plain_updates(case, size, monkeypatch):
    plain = weights_after_update(case, size, monkeypatch, by_texts=False, by_hand=False)
    by_texts = weights_after_update(case, size, monkeypatch, by_texts=True, by_hand=False)
    by_hand = weights_after_update(case, size, monkeypatch, by_texts=True, by_hand=True)
    for name, value in plain.items():
        torch.testing.assert_close(by_texts[name], value, rtol=1e-4, atol=1e-6)
        torch.testing.assert_close(by_hand[name], value, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", ["drrn", "max-action"])
def test_texts_without_words_give_finite_errors(name, monkeypatch):
    monkeypatch.setattr("tests.models.STATES", ["…", "?", "!"])
    monkeypatch.setattr("tests.models.ACTIONS", [".", "..", "-", "--"])
    built = model(name)
    errors = learner(built, 0.05).update(random_batches(built, 4))
    assert np.isfinite(errors).all()


def test_diverging_q_values_raise_an_error_that_names_the_learning_rate():
    built = model("linear")
    learn = learner(built, 1e9)
    with pytest.raises(InputError, match="1e\\+09"):
        for _ in range(5):
            learn.update(random_batches(built, 8))


@pytest.mark.parametrize("case", ["drrn", "max-action"])
def test_after_an_interrupt_word_tables_and_other_weights_have_the_same_number_of_updates(
    case, monkeypatch
):
    interrupted = model(**CASES[case])
    few = model(**CASES[case])
    some = random_batches(interrupted, 8)
    first = {field.name: getattr(some, field.name)[:3] for field in dataclasses.fields(some)}
    learner(few, 0.05).update(Batches(**first))
    # forward is called for the next page and for this one at each update
    owner, times = (fast.TextView, 6) if case == "drrn" else (type(interrupted), 7)
    forward = owner.forward
    calls = 0

    def interrupt(*arguments):
        nonlocal calls
        calls += 1
        if calls > times:
            raise KeyboardInterrupt
        return forward(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(owner, "forward", interrupt)
        learn = learner(interrupted, 0.05)
        with pytest.raises(KeyboardInterrupt):
            learn.update(some)
    assert not learn.readers
    assert not any(weight.requires_grad for weight in interrupted.weights.values())
    torch.testing.assert_close(
        interrupted.q(pages_of(interrupted)), few.q(pages_of(few)), rtol=1e-4, atol=1e-6
    )
