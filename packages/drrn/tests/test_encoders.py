"""Encoders of users: a small one with learned gates, in every model, learner and command."""

import dataclasses

import numpy as np
import pytest
import torch

import drrn
from drrn.learning.fast.q_learning import FastQLearning
from drrn.learning.q_learning import QLearning
from drrn.models import Encoder, Pages, Shape, TextVectors, build_model, encoder_of
from drrn.runs.agent import Agent
from drrn.settings import ENCODERS, Settings
from drrn.text import Store
from drrn.vectors import open_vectors
from tests.commands import main
from tests.models import ACTIONS, CPU, STATES, error_falls, random_batches, taken_pages
from tests.runs import train
from tests.source_code import ROOT
from tests.trainings import SMALL
from tests.vector_files import vector_file


class GatedMean(Encoder):
    """Mean of a text's word vectors, each times a gate σ(wᵀv): [R, U, L, H] → [R, U, H]."""

    def __init__(self, model, name, side, width):
        super().__init__(model, name, side, width)
        model.add_weight(f"{name} gate", width, 1)

    def encode(self, model, words, mask):
        weights = model.weights[f"{self.name} gate"]
        gates = torch.sigmoid(torch.einsum("rulh,rhk->rulk", words, weights))
        return (gates * words).sum(2) / mask.sum(2, keepdim=True).clamp(min=1)


def gated_model(name="drrn", seeds=(0, 1), **shape):
    """Return a model that has read all texts of the tests."""
    store = Store.of_words(shared=shape.get("shared", False))
    for text in STATES:
        store.states.id(text)
    for text in ACTIONS:
        store.actions.id(text)
    sizes = Shape(hidden=5, encoder=GatedMean, **shape)
    model = build_model(name, sizes, store, list(seeds), CPU)
    for replica in range(len(seeds)):
        model.meet(replica, np.arange(len(store.states)), np.arange(len(store.actions)))
    return model


def test_a_text_is_encoded_as_the_gated_mean_of_its_words():
    model = gated_model()
    pages = model.read(Pages(np.array([[[1], [2]]]), np.array([[[[1]], [[1]]]])))[0]
    vectors, indices = model.encode(pages, "state")
    for replica, text in ((0, STATES[1]), (1, STATES[2])):
        ids = model.store.states.vocabulary.read(text.split(), grow=False)
        words = model.tables["state"].weight[replica, ids]
        gate = torch.sigmoid(words @ model.weights["state gate"][replica])
        expected = (gate * words).mean(0)
        assert torch.allclose(vectors.reshape(-1, 5)[indices[replica, 0]], expected, atol=1e-6)


def test_each_distinct_text_of_a_batch_is_encoded_once():
    model = gated_model()
    pages = Pages(np.array([[[1, 1, 1], [2, 0, 2]]]), np.zeros((1, 2, 3, 1), np.int64))
    vectors, indices = model.encode(model.read(pages)[0], "state")
    assert vectors.shape[:2] == (2, 2) and indices.shape == (2, 3)


def test_a_page_without_actions_has_q_values_of_its_shape():
    model = gated_model()
    assert model.q(Pages(np.array([[2], [2]]), np.full((2, 1, 2), -1))).shape == (2, 1, 2)


@pytest.mark.parametrize("interaction", ["inner", "bilinear", "network"])
@pytest.mark.parametrize("shared", [False, True])
def test_words_and_gates_move_along_the_numerical_gradient(interaction, shared):
    """The update along a random direction equals the central difference of the loss."""
    model = gated_model(interaction=interaction, shared=shared)
    name = "text" if shared else "state"
    batches = random_batches(model, 4, updates=1)
    # Without discounts the targets are constant.
    batches = dataclasses.replace(batches, discounts=0 * batches.discounts)
    pages = batches.pages
    parts = {"gate": model.weights[f"{name} gate"], "words": model.tables[name].weight}
    before = {part: tensor.clone() for part, tensor in parts.items()}

    def loss():
        q = model.forward(model.read(pages)[0]).squeeze(2).double().numpy()
        return (0.5 * (batches.rewards[0] - q) ** 2 * batches.weights[0]).sum()

    numeric = {}
    directions = {}
    for part, tensor in parts.items():
        directions[part] = torch.randn(tensor.shape, generator=torch.Generator().manual_seed(0))
        if part == "words":
            directions[part] *= torch.from_numpy(model.tables[name].known).unsqueeze(2)
        values = []
        for step in (1e-2, -1e-2):
            tensor.copy_(before[part] + step * directions[part])
            values.append(loss())
        tensor.copy_(before[part])
        numeric[part] = (values[0] - values[1]) / 2e-2
    QLearning(model, Settings.from_flat(learning_rate=0.1)).update(batches)
    for part, tensor in parts.items():
        moved = ((before[part] - tensor) * directions[part]).sum().item() / 0.1
        assert moved == pytest.approx(numeric[part], rel=2e-2, abs=1e-4) and moved != 0


@pytest.mark.parametrize(
    ("name", "optimiser", "updates"),
    [
        ("drrn", "adam", 60),
        ("per-action", "adam", 60),
        ("max-action", "adam", 60),
        ("linear", "sgd", 200),
    ],
)
def test_errors_fall_with_every_model_and_optimiser(name, optimiser, updates):
    model = gated_model(name, most_actions=3)
    batches = random_batches(model, 4, updates=8)
    # Rewards follow from the texts alone.
    actions = taken_pages(batches.pages, batches.taken).actions[..., 0]
    parities = (batches.pages.states + actions) % 2
    rewards = parities.astype(np.float32)
    batches = dataclasses.replace(batches, rewards=rewards, discounts=0 * batches.discounts)
    learn = FastQLearning(model, Settings.from_flat(learning_rate=0.05, optimiser=optimiser))
    assert error_falls(lambda: np.abs(learn.update(batches)).mean(), to=0.75, within=updates)


def test_a_run_with_an_own_encoder_is_saved_loaded_and_resumed(fork, tmp_path):
    settings = {
        "encoder": "packages.drrn.tests.test_encoders:GatedMean",
        "optimiser": "adam",
        "learning_rate": 0.01,
        **SMALL,
    }
    trainer = drrn.trainer(fork, paper=True, **settings)
    list(trainer.train())
    trainer.save(tmp_path / "run")
    question = ("The sea is grey.", ["Go out.", "Row on."])
    assert np.array_equal(drrn.load(tmp_path / "run").ask(*question), trainer.agent.ask(*question))
    longer = drrn.resume(tmp_path / "run", fork, rounds=3)
    list(longer.train())
    whole = drrn.trainer(fork, paper=True, **{**settings, "rounds": 3})
    list(whole.train())
    assert np.array_equal(longer.agent.ask(*question), whole.agent.ask(*question))


class SumOverUnits(Encoder):
    """Sums over the wrong axis."""

    def encode(self, model, words, mask):
        return words.sum(3)


def test_the_error_for_vectors_of_a_wrong_shape_has_both_shapes(fork):
    trainer = drrn.trainer(
        fork, paper=True, **{**SMALL, "hidden": 7}, encoder=f"{__name__}:SumOverUnits"
    )
    with pytest.raises(drrn.InputError, match=r"SumOverUnits.*\[replicas, texts, width\].*, 7\]"):
        next(trainer.train())


def test_a_function_is_not_an_encoder(fork):
    with pytest.raises(drrn.InputError, match="must be a subclass of drrn"):
        drrn.trainer(fork, paper=True, encoder="packages.drrn.tests.test_encoders:gated_model")


def agent_that_read(encoder, vectors, texts, **shape):
    """Return an agent whose replica of seed i has read only `texts[i]`, as states and actions."""
    store = Store.of_words()
    kind = encoder_of(encoder)
    name = shape.pop("name", "drrn")
    sizes = Shape(hidden=5, encoder=kind, vectors=vectors, most_actions=2, **shape)
    model = build_model(name, sizes, store, sorted(texts), CPU)
    for replica, seed in enumerate(sorted(texts)):
        states, actions = zip(*(store.page(text, [text]) for text in texts[seed]), strict=True)
        model.meet(replica, np.array(states), np.array(actions).ravel())
    return Agent(model, Settings.from_flat(replicas=len(texts)))


@pytest.mark.parametrize("name", ["drrn", "verb-object", "max-action"])
@pytest.mark.parametrize("encoder", sorted(set(ENCODERS) - {"vectors", "sentence"}))
def test_words_that_only_another_replica_has_read_are_ignored(tmp_path, encoder, name):
    """A replica gives the Q-values that it would give without the others."""
    vectors = TextVectors(open_vectors(vector_file(tmp_path)))
    texts = {3: ["light the lamp", "row the boat out"], 4: ["the sea is grey", "go home"]}
    both = agent_that_read(encoder, vectors, texts, name=name)
    alone = agent_that_read(encoder, vectors, {4: texts[4]}, name=name)
    question = ("light is the grey lamp", ["row home", "the boat"])
    assert np.allclose(both.ask(*question)[1], alone.ask(*question)[0], atol=1e-6)


def test_the_encoder_of_the_docs_trains_by_the_command(tale, import_folder):
    text = (ROOT / "docs/drrn/encoders.md").read_text(encoding="utf-8")
    code = text.split("## Add an encoder")[1].split("```python\n")[1].split("```")[0]
    (import_folder / "mine.py").write_text(code, encoding="utf-8")
    assert train(tale, import_folder / "run", "--encoder", "mine:GatedMean") == 0
    assert main(["ask", str(import_folder / "run"), "--state", "The sea.", "--action", "Go."]) == 0
