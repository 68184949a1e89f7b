"""Noise in texts: dropped and added words, blurred vectors; by hand, in a batch, in all texts."""

import numpy as np
import pytest
import torch

from drrn.learning.fast.return_learning import Tower
from drrn.learning.text_noise import Noise, noisy
from drrn.models import Pages
from drrn.models.encoders.text_vectors import TextVectors
from drrn.models.encoders.vectors import BagAndVectors
from drrn.text import Lexicon, Vocabulary
from drrn.vectors import open_vectors
from tests.bags import bag_of
from tests.models import ACTIONS, STATES, model
from tests.vector_files import vector_file

pytestmark = pytest.mark.usefixtures("one_thread")

NONE = np.zeros(0, np.int64)


@pytest.fixture
def with_vectors(tmp_path):
    """A model that reads actions by words and by vectors; the word "turn" has no vector."""
    return model(
        seeds=(0, 1),
        action_encoder=BagAndVectors,
        vectors=TextVectors(open_vectors(vector_file(tmp_path)), 5.0),
    )


def generators(count, seed=0):
    return [np.random.default_rng([seed, replica]) for replica in range(count)]


def texts_of(lexicon):
    """Return the words of each text."""
    ends = zip(lexicon.starts[:-1], lexicon.starts[1:], strict=True)
    return [
        " ".join(lexicon.vocabulary.spelled[word] for word in lexicon.sequence[a:b])
        for a, b in ends
    ]


# --- by hand


@pytest.fixture
def lexicon():
    """row: 0, on: 1, wait: 2, go: 3, home: 4."""
    lexicon = Lexicon(Vocabulary())
    for text in ("row on row", "wait", "go home"):
        lexicon.id(text)
    return lexicon


def test_a_thinned_text_has_the_remaining_words_in_order(lexicon):
    texts = np.array([0, 2, -1, 0, 1])
    # one flag for each distinct word of a text
    remains = np.array([False, True, *[True, True], *[True, False], False])
    thinned = lexicon.thinned(texts, remains, NONE, NONE)
    assert texts_of(thinned) == ["on", "go home", "", "row row", ""]
    assert [bag_of(thinned, text) for text in (0, 3, 4)] == [{1: 1}, {0: 2}, {}]
    assert texts_of(lexicon) == ["row on row", "wait", "go home"]


def test_added_words_are_at_the_end_of_their_text(lexicon):
    remains = np.array([True, False, True, False, True])
    additions = (np.array([0, 2, 2]), np.array([4, 0, 0]))
    thinned = lexicon.thinned(np.array([0, 1, 2]), remains, *additions)
    assert texts_of(thinned) == ["row row home", "wait", "home row row"]


# --- in a batch


def batch(replicas=1):
    """Return every state with all actions, twice, and a page with one action."""
    states = np.array([0, 1, 2, 0, 1, 2, 1])
    menus = np.array([[0, 1, 2, 3]] * 6 + [[1, -1, -1, -1]])
    return Pages(np.tile(states, (1, replicas, 1)), np.tile(menus, (1, replicas, 1, 1)))


def add_noise(built, pages, states, actions, replicas=1):
    """Return the altered pages and their store, which exists."""
    altered = noisy(built, pages, states, actions, generators(replicas))
    store = altered.store
    assert store is not None
    return altered, store


def test_without_noise_pages_are_unchanged():
    pages = batch()
    assert noisy(model(), pages, Noise(), Noise(), generators(1)) is pages
    table = model("table", shared=False)  # reads no words
    assert noisy(table, pages, Noise(0.5), Noise(0.5), generators(1)) is pages


def test_every_text_of_a_batch_is_altered_once_for_each_replica():
    built = model(seeds=(0, 1))
    pages = batch(2)
    altered, store = add_noise(built, pages, Noise(0.5), Noise(0.5), replicas=2)
    for side, ids, whole in (
        ("states", altered.states, pages.states),
        ("actions", altered.actions, pages.actions),
    ):
        texts = getattr(store, side)
        assert np.array_equal(ids < 0, whole < 0)
        assert np.array_equal(texts.whole[1][ids[ids >= 0]], whole[ids >= 0])
        first, second = (set(ids[0, replica][ids[0, replica] >= 0].tolist()) for replica in (0, 1))
        assert not first & second and len(first) == len(second) == len(getattr(built.store, side))
    half = len(store.states) // 2
    assert texts_of(store.states)[:half] != texts_of(store.states)[half:]


def test_states_and_actions_have_separate_noise():
    _, store = add_noise(model(), batch(), Noise(), Noise(drop=1.0))
    assert texts_of(store.states) == STATES and set(texts_of(store.actions)) == {""}
    _, store = add_noise(model(), batch(), Noise(drop=1.0), Noise())
    assert set(texts_of(store.states)) == {""}
    assert [text for text in texts_of(store.actions) if text] == ACTIONS


def test_added_words_are_words_of_the_batch():
    _, store = add_noise(model(), batch(), Noise(), Noise(drop=1.0, add=1.0))
    texts = [text.split() for text in texts_of(store.actions) if text]
    assert sorted(map(len, texts)) == [1, 1, 1, 4]  # "wait wait" has one distinct word
    assert {word for text in texts for word in text} <= set(" ".join(ACTIONS).split())


def test_in_a_shared_embedding_all_texts_have_the_larger_noise():
    altered, store = add_noise(model(shared=True), batch(), Noise(), Noise(drop=1.0))
    assert store.shared and set(texts_of(store.states)) == {""}
    assert np.array_equal(altered.actions < 0, batch().actions < 0)
    assert store.states.whole is not None
    assert np.array_equal(store.states.whole[1][altered.states], batch().states)


def test_a_blurred_vector_keeps_its_length_and_an_unknown_text_is_zero(with_vectors):
    altered, store = add_noise(with_vectors, batch(2), Noise(), Noise(blur=1.5), replicas=2)
    vectors = with_vectors.shape.vectors
    table, rows = vectors.rows_of(store.actions, altered.actions[0, :, 0])  # [R, 4]
    blurred = table[torch.from_numpy(rows)]
    table, rows = vectors.rows_of(with_vectors.store.actions, batch(2).actions[0, :, 0])
    check_blurred(blurred, table[torch.from_numpy(rows)])
    table, rows = vectors.rows_of(store.actions, np.array([-1]))
    assert not table[rows[0]].any()


def check_blurred(blurred, plain):
    """Compare the vectors [R, 4, D] of the actions with and without noise."""
    assert torch.allclose(blurred.norm(dim=-1), torch.tensor([5.0, 5.0, 5.0, 0.0]).expand(2, 4))
    assert (blurred - plain).norm(dim=-1)[:, :3].min() > 0.1
    assert (blurred[0] - blurred[1]).norm(dim=-1)[:3].min() > 0.1


# --- in all texts at once


def test_all_texts_at_once_are_blurred_like_a_batch(with_vectors):
    tower = Tower(with_vectors, "action")
    assert tower.inputs is not None
    plain = tower.inputs.clone()
    tower.add_noise(Noise(blur=1.5), generators(2))
    check_blurred(tower.inputs, plain)


def test_the_shares_of_dropped_and_added_words_are_those_of_the_noise():
    tower = Tower(model(seeds=(0, 1)), "state")
    by = generators(2)
    drops = 0
    additions = 0
    words = 0
    for _ in range(300):
        tower.add_noise(Noise(drop=0.3, add=0.2), by)
        assert tower.extra is not None
        drops += int((tower.weights == 0).sum())
        additions += len(tower.extra[0])
        words += len(tower.weights)
    assert drops / words == pytest.approx(0.3, abs=0.03)
    assert additions / words == pytest.approx(0.2, abs=0.03)


def test_a_tower_of_some_texts_equals_that_of_all_texts():
    built = model(seeds=(0, 1))
    texts = np.array([[2], [0]])
    results = []
    for tower in (Tower(built, "action"), Tower(built, "action", texts)):
        tower.add_noise(Noise(0.3, 0.5), generators(2))
        hidden = tower.forward()
        rows = tower.rows(np.array([[[0, 2], [2, 0]]]))[0]
        vectors = hidden.view(-1, hidden.shape[2])[rows]
        back = torch.zeros_like(hidden)
        back.view(-1, hidden.shape[2])[rows] = 1 - vectors
        results.append({"vectors": vectors, **tower.backward(back)})
    of_all, of_some = results
    assert of_some["vectors"].any()
    assert all(torch.equal(tensor, of_some[name]) for name, tensor in of_all.items())


def test_the_gradient_with_noise_is_the_derivative(with_vectors):
    tower = Tower(with_vectors, "action")
    tower.add_noise(Noise(0.3, 0.5, 1.0), generators(2))
    weights = {
        name: weight for name, weight in with_vectors.weights.items() if name.startswith("action ")
    }
    weights["table action"] = with_vectors.tables["action"].weight
    for weight in weights.values():
        weight.requires_grad_()
    hidden = tower.forward()
    back = torch.from_numpy(np.random.default_rng(0).normal(size=hidden.shape).astype(np.float32))
    derivatives = torch.autograd.grad((hidden * back).sum(), list(weights.values()))
    with torch.no_grad():
        gradients = tower.backward(back)
    assert gradients.keys() == weights.keys()
    for name, derivative in zip(weights, derivatives, strict=True):
        assert torch.allclose(gradients[name], derivative, atol=1e-5), name


# --- the effect of word dropout
