"""Noise in texts while learning: words left out and put in, vectors blurred; by hand, of a batch, of all texts."""

import numpy as np
import pytest
import torch

from drrn.learning.fast.return_learning import FastReturnLearning, Tower
from drrn.learning.return_learning import ReturnLearning
from drrn.learning.text_noise import Noise, noise_of, noisy
from drrn.models import Pages
from drrn.models.encoders.text_vectors import TextVectors
from drrn.models.encoders.vectors import BagAndVectors
from drrn.runs.trainer import torch_threads
from drrn.settings import Settings
from drrn.text import Lexicon, Vocabulary
from drrn.vectors import open_vectors
from tests.bags import bag_of
from tests.episodes import return_learner, steps_of
from tests.models import ACTIONS, STATES, model
from tests.vector_files import vector_file


@pytest.fixture(autouse=True)
def one_thread():
    with torch_threads(1):
        yield


@pytest.fixture
def with_vectors(tmp_path):
    """A model that reads actions by their words and by vectors; of the word "turn" the file has none."""
    return model(
        seeds=(0, 1),
        action_encoder=BagAndVectors,
        vectors=TextVectors(open_vectors(vector_file(tmp_path)), 5.0),
    )


def generators(count, seed=0):
    return [np.random.default_rng([seed, replica]) for replica in range(count)]


def texts_of(lexicon):
    """The words of each text."""
    ends = zip(lexicon.starts[:-1], lexicon.starts[1:], strict=True)
    return [
        " ".join(lexicon.vocabulary.spelled[word] for word in lexicon.sequence[a:b])
        for a, b in ends
    ]


# --- by hand


@pytest.fixture
def lexicon():
    """row: 0, on: 1, wait: 2, go: 3, home: 4."""
    found = Lexicon(Vocabulary())
    for text in ("row on row", "wait", "go home"):
        found.id(text)
    return found


def test_a_thinned_text_keeps_the_words_that_stay_in_their_order(lexicon):
    texts = np.array([0, 2, -1, 0, 1])
    kept = np.array(
        [False, True, *[True, True], *[True, False], False]
    )  # a word's mark holds wherever it stands
    thinned = lexicon.thinned(texts, kept)
    assert texts_of(thinned) == ["on", "go home", "", "row row", ""]
    assert [bag_of(thinned, text) for text in (0, 3, 4)] == [{1: 1}, {0: 2}, {}]
    assert texts_of(lexicon) == ["row on row", "wait", "go home"]


def test_words_put_in_stand_at_the_end_of_their_text(lexicon):
    kept = np.array([True, False, True, False, True])
    thinned = lexicon.thinned(np.array([0, 1, 2]), kept, (np.array([0, 2, 2]), np.array([4, 0, 0])))
    assert texts_of(thinned) == ["row row home", "wait", "home row row"]


def test_a_thinned_text_knows_where_it_stands_whole(lexicon):
    texts = np.array([2, -1])
    whole, found = lexicon.thinned(texts, np.zeros(2, bool)).whole
    assert whole is lexicon and found is texts


# --- of a batch


def batch(replicas=1):
    """Every state with all actions, twice; then a page with one action."""
    states = np.array([0, 1, 2, 0, 1, 2, 1])
    menus = np.array([[0, 1, 2, 3]] * 6 + [[1, -1, -1, -1]])
    return Pages(np.tile(states, (1, replicas, 1)), np.tile(menus, (1, replicas, 1, 1)))


def test_without_noise_pages_stay_as_they_are():
    pages = batch()
    assert noisy(model(), pages, Noise(), Noise(), generators(1)) is pages
    table = model("table", shared=False)  # it does not read words
    assert noisy(table, pages, Noise(0.5), Noise(0.5), generators(1)) is pages


def test_every_text_of_a_batch_is_altered_once_for_each_replica():
    built = model(seeds=(0, 1))
    pages = batch(2)
    altered = noisy(built, pages, Noise(0.5), Noise(0.5), generators(2))
    store = altered.store
    for side, ids, whole in (
        ("states", altered.states, pages.states),
        ("actions", altered.actions, pages.actions),
    ):
        texts = getattr(store, side)
        at = ids[ids >= 0]
        assert np.array_equal(ids < 0, whole < 0)
        assert np.array_equal(texts.whole[1][at], whole[ids >= 0])
        first, second = (set(ids[0, replica][ids[0, replica] >= 0].tolist()) for replica in (0, 1))
        assert not first & second and len(first) == len(second) == len(getattr(built.store, side))
    half = len(store.states) // 2
    assert texts_of(store.states)[:half] != texts_of(store.states)[half:]


def test_each_side_has_its_own_share():
    store = noisy(model(), batch(), Noise(), Noise(drop=1.0), generators(1)).store
    assert texts_of(store.states) == STATES and set(texts_of(store.actions)) == {""}
    store = noisy(model(), batch(), Noise(drop=1.0), Noise(), generators(1)).store
    assert (
        set(texts_of(store.states)) == {""}
        and [text for text in texts_of(store.actions) if text] == ACTIONS
    )


def test_words_put_in_are_words_of_the_batch():
    store = noisy(model(), batch(), Noise(), Noise(drop=1.0, add=1.0), generators(1)).store
    found = sorted(text.split() for text in texts_of(store.actions) if text)
    assert sorted(map(len, found)) == [1, 1, 1, 4]  # "wait wait" has one word, twice
    assert {word for text in found for word in text} <= set(" ".join(ACTIONS).split())


@pytest.mark.parametrize(
    "sides", [(Noise(drop=1.0), Noise()), (Noise(), Noise(drop=1.0))], ids=["states", "actions"]
)
def test_in_a_shared_embedding_all_texts_have_the_larger_noise(sides):
    built = model(shared=True)
    altered = noisy(built, batch(), *sides, generators(1))
    store = altered.store
    assert store.shared and set(texts_of(store.states)) == {""}
    assert np.array_equal(altered.actions < 0, batch().actions < 0)
    assert np.array_equal(store.states.whole[1][altered.states], batch().states)


def test_vectors_are_blurred_only_where_there_are_some():
    given = {"learner": "returns", "state_dropout": 0.1, "action_dropout": 0.3, "action_noise": 0.2}
    assert noise_of(Settings.from_flat(**given)) == (Noise(0.1), Noise(0.3, 0.2))


def test_a_blurred_vector_keeps_its_length_and_an_unknown_text_is_zero(with_vectors):
    altered = noisy(with_vectors, batch(2), Noise(), Noise(blur=1.5), generators(2))
    store = altered.store
    # [R, 4]
    ids = altered.actions[0, :, 0]
    whole = batch(2).actions[0, :, 0]
    found, plain = (
        table[torch.from_numpy(rows)]
        for table, rows in (
            with_vectors.shape.vectors.rows_of(store.actions, ids),
            with_vectors.shape.vectors.rows_of(with_vectors.store.actions, whole),
        )
    )
    check_blurred(found, plain)
    table, rows = with_vectors.shape.vectors.rows_of(store.actions, np.array([-1]))
    assert not table[rows[0]].any()


def check_blurred(found, plain):
    """Vectors [R, 4, D] of the actions, with and without noise."""
    assert torch.allclose(found.norm(dim=-1), torch.tensor([5.0, 5.0, 5.0, 0.0]).expand(2, 4))
    assert (found - plain).norm(dim=-1)[:, :3].min() > 0.1 and (found[0] - found[1]).norm(dim=-1)[
        :3
    ].min() > 0.1


# --- of all texts at once


def test_all_texts_at_once_are_blurred_alike(with_vectors):
    tower = Tower(with_vectors, "action")
    plain = tower.inputs.clone()
    tower.add_noise(Noise(blur=1.5), generators(2))
    check_blurred(tower.inputs, plain)


def test_about_the_asked_share_is_left_out_and_put_in():
    tower = Tower(model(seeds=(0, 1)), "state")
    by = generators(2)
    out = 0
    put_in = 0
    words = 0
    for _ in range(300):
        tower.add_noise(Noise(drop=0.3, add=0.2), by)
        out = out + int((tower.weights == 0).sum())
        put_in = put_in + len(tower.extra[0])
        words = words + len(tower.weights)
    assert out / words == pytest.approx(0.3, abs=0.03) and put_in / words == pytest.approx(
        0.2, abs=0.03
    )


def test_a_share_of_zero_alters_nothing(with_vectors):
    tower = Tower(with_vectors, "action")
    tower.add_noise(Noise(), generators(2))
    plain = tower.forward().clone()
    tower.add_noise(Noise(0.5, 0.5, 1.0), generators(2))
    assert not torch.allclose(tower.forward(), plain)
    tower.add_noise(Noise(), generators(2))
    assert torch.equal(tower.forward(), plain)


def test_texts_that_are_not_asked_for_leave_no_trace():
    built = model(seeds=(0, 1))
    asked = np.array([[2], [0]])
    found = []
    for tower in (Tower(built, "action"), Tower(built, "action", asked)):
        tower.add_noise(Noise(0.3, 0.5), generators(2))
        hidden = tower.forward()
        rows = tower.rows(np.array([[[0, 2], [2, 0]]]))[0]
        read = hidden.view(-1, hidden.shape[2])[rows]
        back = torch.zeros_like(hidden)
        back.view(-1, hidden.shape[2])[rows] = 1 - read
        found.append({"read": read, **tower.backward(back)})
    assert found[1]["read"].any() and all(
        torch.equal(found[0][name], found[1][name]) for name in found[0]
    )


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
        found = tower.backward(back)
    assert found.keys() == weights.keys()
    assert all(
        torch.allclose(found[name], by, atol=1e-5)
        for name, by in zip(weights, derivatives, strict=True)
    )


# --- what it is for


def lost(built):
    """How far Q of "go to the lamp" is from Q of the same without one of its words, at most."""
    store = built.store.scratch()
    texts = ["go to the lamp", "to the lamp", "go the lamp", "go to lamp", "go to the"]
    state, actions = store.page(STATES[0], texts)
    q = built.q(Pages(np.array([[state]]), np.array([[actions]]), store))[0, 0]
    assert q[0] == pytest.approx(
        1.0, abs=0.6
    )  # trained on fewer words, it overshoots on all of them
    return float((q[1:] - q[0]).abs().max())


@pytest.mark.parametrize("kind", [ReturnLearning, FastReturnLearning])
def test_with_words_left_out_a_text_that_lacks_one_is_read_nearly_as_the_whole(kind):
    episodes = [
        ([(0, [0, 1, 2, 3], place, reward)], (2, []))
        for place, reward in enumerate((-1.0, 1.0, -1.0, -1.0))
    ]
    found = []
    for share in (0.0, 0.4):
        learning = return_learner(kind, model(), updates=200, action_dropout=share)
        learning.tell(0, steps_of(*episodes))
        learning.learn(generators(1))
        found.append(lost(learning.model))
    assert found[1] < 0.75 * found[0]
