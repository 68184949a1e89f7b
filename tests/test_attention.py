"""Attention weighs the words of one text by the other text of the pair."""

import numpy as np
import pytest
import torch

from drrn.models import Pages
from drrn.models.attention import positions
from tests.models import TEXTS, encoder_model


def by_hand(model, side, text, other_side, other):
    """The equation of `AttentionEncoder` for one pair of texts of replica 0."""
    w = {name: weight[0] for name, weight in model.weights.items()}
    words = model.tables[side].weight[0][model.store.states.words_of(np.array([text]))]
    m = model.tables[other_side].weight[0][model.store.actions.words_of(np.array([other]))].mean(0)
    q, p = (
        m @ w[f"{side} query"] + w[f"{side} query b"][0],
        m @ w[f"{side} place"] + w[f"{side} place b"][0],
    )
    places = positions(words[None, None])
    weights = (words @ q / words.shape[1] ** 0.5 + places @ p).softmax(0)
    return weights @ words @ w[f"{side} value"]


def test_q_is_that_of_the_equation():
    model = encoder_model("attention", layers=1)
    model.weights["state place b"] += 0.5
    for place, action in enumerate((0, 3)):
        state = by_hand(model, "state", 2, "action", action)
        vector = by_hand(model, "action", action, "state", 2)
        q = torch.tanh(state) @ torch.tanh(vector)
        shown = Pages(np.array([[2]]), np.array([[[0, 3]]]))
        assert model.q(shown)[0, 0, place].item() == pytest.approx(q.item(), abs=1e-5)


@pytest.mark.parametrize("name", ["drrn", "per-action", "max-action", "linear"])
@pytest.mark.parametrize(
    "encoders", [("attention", None), ("gru", "attention"), ("attention", "bag")]
)
def test_q_of_a_pair_does_not_depend_on_what_else_is_in_the_batch(name, encoders):
    from drrn.models import encoder_of

    other = encoders[1] and encoder_of(encoders[1])
    model, chance = (
        encoder_model(encoders[0], seeds=(0, 1), name=name, action_encoder=other),
        np.random.default_rng(0),
    )
    states = chance.integers(0, len(TEXTS), (2, 40))
    actions = chance.integers(0, len(TEXTS), (2, 40, 3))
    whole = model.q(Pages(states, actions))
    for page in range(0, 40, 8):
        some = slice(page, page + 1)
        assert torch.allclose(
            model.q(Pages(states[:, some], actions[:, some])), whole[:, some], atol=1e-5
        )


def test_pairs_are_read_in_pieces_with_the_same_result(monkeypatch):
    model, chance = encoder_model("attention"), np.random.default_rng(0)
    pages = Pages(
        chance.integers(0, len(TEXTS), (1, 30)), chance.integers(-1, len(TEXTS), (1, 30, 3))
    )
    whole = model.q(pages)
    with monkeypatch.context() as patch:
        patch.setattr("drrn.models.attention.PAIRS_AT_ONCE", 12)
        assert torch.allclose(model.q(pages), whole, atol=1e-5)
    most = []
    monkeypatch.setattr(
        "drrn.models.attention.WORDS_AT_ONCE", 7 * 3 * 4
    )  # room for four pages of the longest texts
    monkeypatch.setattr(
        model, "of_pairs", lambda s, a, q=model.of_pairs: most.append(s.shape[1]) or q(s, a)
    )
    assert torch.allclose(model.q(pages), whole, atol=1e-5) and max(most) == 4
