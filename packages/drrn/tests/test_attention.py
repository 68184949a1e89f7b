"""Attention weighs the words of one text by the other text of the pair."""

import numpy as np
import pytest
import torch

from drrn.models import Pages, encoder_of
from drrn.models.attention import positions, q_by_pairs
from tests.models import TEXTS, encoder_model


def by_hand(model, side, text, other_side, other):
    """Apply the equation of `AttentionEncoder` to one pair of texts of replica 0."""
    w = {name: weight[0] for name, weight in model.weights.items()}
    words = model.tables[side].weight[0][model.store.states.words_of(np.array([text]))]
    m = model.tables[other_side].weight[0][model.store.actions.words_of(np.array([other]))].mean(0)
    q = m @ w[f"{side} query"] + w[f"{side} query b"][0]
    p = m @ w[f"{side} place"] + w[f"{side} place b"][0]
    indices = positions(words[None, None])
    weights = (words @ q / words.shape[1] ** 0.5 + indices @ p).softmax(0)
    return weights @ words @ w[f"{side} value"]


def test_q_equals_the_equation():
    model = encoder_model("attention", layers=1)
    model.weights["state place b"] += 0.5
    pages = Pages(np.array([[2]]), np.array([[[0, 3]]]))
    for index, action in enumerate((0, 3)):
        state = by_hand(model, "state", 2, "action", action)
        vector = by_hand(model, "action", action, "state", 2)
        q = torch.tanh(state) @ torch.tanh(vector)
        assert model.q(pages)[0, 0, index].item() == pytest.approx(q.item(), abs=1e-5)


@pytest.mark.parametrize("name", ["drrn", "per-action", "max-action", "linear"])
@pytest.mark.parametrize(
    "encoders", [("attention", None), ("gru", "attention"), ("attention", "bag")]
)
def test_q_of_a_pair_does_not_depend_on_the_rest_of_the_batch(name, encoders):
    other = encoders[1] and encoder_of(encoders[1])
    model = encoder_model(encoders[0], seeds=(0, 1), name=name, action_encoder=other)
    random = np.random.default_rng(0)
    states = random.integers(0, len(TEXTS), (2, 40))
    actions = random.integers(0, len(TEXTS), (2, 40, 3))
    whole = model.q(Pages(states, actions))
    for page in range(0, 40, 8):
        some = slice(page, page + 1)
        part = model.q(Pages(states[:, some], actions[:, some]))
        assert torch.allclose(part, whole[:, some], atol=1e-5)


def test_q_does_not_depend_on_how_many_pairs_are_read_at_once():
    model = encoder_model("attention")
    random = np.random.default_rng(0)
    states = random.integers(0, len(TEXTS), (1, 30))
    pages = Pages(states, random.integers(-1, len(TEXTS), (1, 30, 3)))
    whole = model.q(pages)
    with torch.no_grad():
        by_pairs = q_by_pairs(model, model.read(pages[None])[0], model.of_pairs, most_pairs=12)
    assert torch.allclose(by_pairs, whole, atol=1e-5)
    sizes = []
    of_pairs = model.of_pairs

    def record_size(states, actions):
        sizes.append(states.shape[1])
        return of_pairs(states, actions)

    room = 7 * 3 * 4  # for four pages of the longest texts
    with torch.no_grad():
        by_words = q_by_pairs(model, model.read(pages[None])[0], record_size, most_words=room)
    assert torch.allclose(by_words, whole, atol=1e-5)
    assert max(sizes) == 4
