"""Any encoder can read for any model: a small one, which weighs each word by a learned gate, proves it."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import torch

import drrn
from drrn.cli import main
from drrn.learning.fast.q_learning import FastQLearning
from drrn.learning.q_learning import QLearning
from drrn.models import Encoder, Pages, Shape, TextVectors, build_model, encoder_of
from drrn.runs.agent import Agent
from drrn.settings import ENCODERS, Settings
from drrn.text import Store
from drrn.vectors import open_vectors
from tests.models import ACTIONS, CPU, STATES, error_falls, random_batches, taken_pages
from tests.runs import train
from tests.trainings import SMALL
from tests.vector_files import vector_file


class GatedMean(Encoder):
    """The mean of a text's word vectors, each times a learned gate σ(wᵀv): [R, U, L, H] → [R, U, H]."""

    def __init__(self, model, name, side, width):
        super().__init__(model, name, side, width)
        model.add_weight(f"{name} gate", width, 1)

    def encode(self, model, words, mask):
        gates = torch.sigmoid(
            torch.einsum("rulh,rhk->rulk", words, model.weights[f"{self.name} gate"])
        )
        return (gates * words).sum(2) / mask.sum(2, keepdim=True).clamp(min=1)


def gated(name="drrn", seeds=(0, 1), **shape):
    store = Store.of_words(shared=shape.get("shared", False))
    for text in STATES:
        store.states.id(text)
    for text in ACTIONS:
        store.actions.id(text)
    built = build_model(
        name, Shape(hidden=5, encoder=GatedMean, **shape), store, list(seeds), torch.device("cpu")
    )
    for replica in range(len(seeds)):
        built.meet(replica, np.arange(len(store.states)), np.arange(len(store.actions)))
    return built


def test_a_text_is_read_as_the_gated_mean_of_its_words():
    model = gated()
    pages = model.read(Pages(np.array([[[1], [2]]]), np.array([[[[1]], [[1]]]])))[0]
    vectors, places = model.encode(pages, "state")
    for replica, text in ((0, STATES[1]), (1, STATES[2])):
        ids = model.store.states.vocabulary.read(text.split(), grow=False)
        words = model.tables["state"].weight[replica, ids]
        gate = torch.sigmoid(words @ model.weights["state gate"][replica])
        expected = (gate * words).mean(0)
        assert torch.allclose(vectors.reshape(-1, 5)[places[replica, 0]], expected, atol=1e-6)


def test_each_distinct_text_of_a_batch_is_encoded_once():
    model = gated()
    pages = Pages(np.array([[[1, 1, 1], [2, 0, 2]]]), np.zeros((1, 2, 3, 1), np.int64))
    vectors, places = model.encode(model.read(pages)[0], "state")
    assert vectors.shape[:2] == (2, 2) and places.shape == (2, 3)


def test_a_page_without_actions_reads_nothing():
    model = gated()
    assert model.q(Pages(np.array([[2], [2]]), np.full((2, 1, 2), -1))).shape == (2, 1, 2)


@pytest.mark.parametrize("interaction", ["inner", "bilinear", "network"])
@pytest.mark.parametrize("shared", [False, True])
def test_its_words_and_gates_move_down_the_gradient(interaction, shared):
    """What comes back by way of the word table is what the loss changes by, along a direction drawn by chance."""
    model = gated(interaction=interaction, shared=shared)
    name = "text" if shared else "state"
    batches = random_batches(model, 4, updates=1)
    batches = dataclasses.replace(
        batches, discounts=0 * batches.discounts
    )  # so that targets stand still
    pages = batches.pages
    parts = {"gate": model.weights[f"{name} gate"], "words": model.tables[name].weight}
    before = {part: tensor.clone() for part, tensor in parts.items()}

    def loss():
        q = model.forward(model.read(pages)[0]).squeeze(2).double().numpy()
        return (0.5 * (batches.rewards[0] - q) ** 2 * batches.weights[0]).sum()

    numeric, directions = {}, {}
    for part, tensor in parts.items():
        known = torch.from_numpy(model.tables[name].known).unsqueeze(2) if part == "words" else 1.0
        directions[part] = (
            torch.randn(tensor.shape, generator=torch.Generator().manual_seed(0)) * known
        )
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


@pytest.mark.parametrize("name", ["drrn", "per-action", "max-action", "linear"])
@pytest.mark.parametrize(("optimiser", "updates"), [("sgd", 200), ("adam", 60)])
def test_errors_fall_with_every_model_and_optimiser(name, optimiser, updates):
    model = gated(name, most_actions=3)
    batches = random_batches(model, 4, updates=8)
    taken = taken_pages(batches.pages, batches.taken).actions[..., 0]
    rewards = ((batches.pages.states + taken) % 2).astype(np.float32)  # follow from the texts alone
    batches = dataclasses.replace(batches, rewards=rewards, discounts=0 * batches.discounts)
    learn = FastQLearning(model, Settings.from_flat(learning_rate=0.05, optimiser=optimiser))
    assert error_falls(lambda: np.abs(learn.update(batches)).mean(), to=0.75, within=updates)


def test_a_run_with_it_is_trained_saved_loaded_and_resumed(fork, tmp_path):
    settings = {
        "encoder": "tests.test_encoders:GatedMean",
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


def test_vectors_of_a_wrong_shape_are_refused_with_both_shapes(fork):
    trainer = drrn.trainer(
        fork, paper=True, **{**SMALL, "hidden": 7}, encoder=f"{__name__}:SumOverUnits"
    )
    with pytest.raises(drrn.InputError, match=r"SumOverUnits.*\[replicas, texts, width\].*, 7\]"):
        next(trainer.train())


def test_what_is_no_encoder_is_refused_in_a_sentence(fork):
    with pytest.raises(drrn.InputError, match="must be a subclass of drrn"):
        drrn.trainer(fork, paper=True, encoder="tests.test_encoders:gated")


def after_reading(encoder, vectors, read, **shape):
    """An agent whose replica of seed i has read `read[i]` alone, states and actions alike."""
    store = Store.of_words()
    kind = encoder_of(encoder)
    name = shape.pop("name", "drrn")
    sizes = Shape(hidden=5, encoder=kind, vectors=vectors, most_actions=2, **shape)
    model = build_model(name, sizes, store, sorted(read), CPU)
    for replica, seed in enumerate(sorted(read)):
        states, actions = zip(*(store.page(text, [text]) for text in read[seed]), strict=True)
        model.meet(replica, np.array(states), np.array(actions).ravel())
    return Agent(model, Settings.from_flat(replicas=len(read)))


@pytest.mark.parametrize("name", ["drrn", "verb-object", "max-action"])
@pytest.mark.parametrize("encoder", sorted(set(ENCODERS) - {"vectors", "sentence"}))
def test_a_word_that_another_replica_alone_has_met_counts_for_nothing(tmp_path, encoder, name):
    """So a replica reads as it would if it had learned alone."""
    vectors = TextVectors(open_vectors(vector_file(tmp_path)))
    read = {3: ["light the lamp", "row the boat out"], 4: ["the sea is grey", "go home"]}
    both = after_reading(encoder, vectors, read, name=name)
    alone = after_reading(encoder, vectors, {4: read[4]}, name=name)
    question = ("light is the grey lamp", ["row home", "the boat"])
    assert np.allclose(both.ask(*question)[1], alone.ask(*question)[0], atol=1e-6)


def test_the_encoder_of_the_docs_trains_by_the_command(tale, import_folder):
    text = (Path(__file__).parents[1] / "docs/encoders.md").read_text(encoding="utf-8")
    code = text.split("## Add an encoder")[1].split("```python\n")[1].split("```")[0]
    (import_folder / "mine.py").write_text(code, encoding="utf-8")
    assert train(tale, import_folder / "run", "--encoder", "mine:GatedMean") == 0
    assert main(["ask", str(import_folder / "run"), "--state", "The sea.", "--action", "Go."]) == 0
