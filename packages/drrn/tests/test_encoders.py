"""Encoders of users: a small one with learned gates, in every model, learner and command."""

import numpy as np
import pytest
import torch

import drrn
from drrn.models import Encoder, Pages, Shape, TextVectors, build_model, encoder_of
from drrn.runs.agent import Agent
from drrn.settings import ENCODERS, Settings
from drrn.text import Store
from drrn.vectors import open_vectors
from tests.commands import main
from tests.models import CPU, STATES, check_gradient
from tests.models import model as model_of_texts
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


def gated_model(**shape):
    return model_of_texts(seeds=(0, 1), encoder=GatedMean, **shape)


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


@pytest.mark.parametrize(
    ("interaction", "shared"), [("inner", True), ("bilinear", False), ("network", False)]
)
def test_words_and_gates_move_along_the_numerical_gradient(interaction, shared):
    model = gated_model(interaction=interaction, shared=shared)
    name = "text" if shared else "state"
    check_gradient(model, [model.weights[f"{name} gate"], model.tables[name].weight])


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
