"""Sentence models in folders: BERT against PyTorch's layers, the saved vectors, fetched models."""

from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

import drrn
from drrn import sentences
from drrn.files import home
from drrn.sentences import Bert, SavedVectors, SentenceVectors, open_sentences

CACHE = home() / "encoders"  # before a test sets another home
HIDDEN = 12
HEADS = 3
WORDS = ("attention.self.query", "attention.self.key", "attention.self.value")
NAMES = {  # of BERT, by the name in PyTorch's layer
    "self_attn.out_proj": "attention.output.dense",
    "linear1": "intermediate.dense",
    "linear2": "output.dense",
    "norm1": "attention.output.LayerNorm",
    "norm2": "output.LayerNorm",
}


class CountLetters:
    """A tokeniser: a token for each letter, its number in the alphabet; 0 is padding."""

    def __init__(self, folder):
        pass

    def __call__(self, texts):
        ids = np.zeros((len(texts), max(map(len, texts))), np.int64)
        for row, text in zip(ids, texts, strict=True):
            row[: len(text)] = [ord(letter) - 96 for letter in text]
        return ids, (ids > 0).astype(np.int64)


def random_layer(seed):
    torch.manual_seed(seed)
    options: dict[str, Any] = {"activation": "gelu", "batch_first": True, "dropout": 0.0}
    return torch.nn.TransformerEncoderLayer(HIDDEN, HEADS, 20, **options).eval()


def weights_of(layer, prefix):
    state = layer.state_dict()
    weights: dict[str, torch.Tensor] = {}
    for kind in ("weight", "bias"):
        parts = state[f"self_attn.in_proj_{kind}"].chunk(3)
        weights |= {f"{prefix}.{word}.{kind}": p for word, p in zip(WORDS, parts, strict=True)}
        weights |= {f"{prefix}.{new}.{kind}": state[f"{old}.{kind}"] for old, new in NAMES.items()}
    return {name: weight.clone() for name, weight in weights.items()}


def test_bert_equals_the_layers_of_pytorch(tmp_path, monkeypatch):
    monkeypatch.setattr(sentences, "Tokens", CountLetters)
    layers = [random_layer(1), random_layer(2)]
    tables = {kind: torch.randn(30, HIDDEN) for kind in ("word", "position", "token_type")}
    norm = torch.nn.LayerNorm(HIDDEN, eps=1e-5)
    weights = {f"embeddings.{kind}_embeddings.weight": table for kind, table in tables.items()}
    weights |= {f"embeddings.LayerNorm.{k}": v for k, v in norm.state_dict().items()}
    for number, layer in enumerate(layers):
        weights |= weights_of(layer, f"encoder.layer.{number}")
    save_file(
        {f"bert.{name}": weight for name, weight in weights.items()}, tmp_path / "model.safetensors"
    )
    sizes = {"num_hidden_layers": 2, "num_attention_heads": HEADS, "layer_norm_eps": 1e-5}
    vectors = Bert(tmp_path, sizes)(["abcde", "xy"])
    for text, vector in zip(["abcde", "xy"], vectors, strict=True):  # each alone, without padding
        ids = torch.tensor([[ord(letter) - 96 for letter in text]])
        x = tables["word"][ids] + tables["position"][: len(text)] + tables["token_type"][0]
        with torch.no_grad():
            x = norm(x)
            for layer in layers:
                x = layer(x)
        expected = torch.nn.functional.normalize(x[0].mean(dim=0), dim=0)
        np.testing.assert_allclose(vector, expected, atol=1e-5)


def test_vectors_of_a_model_are_saved_on_disk(tmp_path, monkeypatch):
    monkeypatch.setenv("DRRN_HOME", str(tmp_path))
    calls: list[str] = []

    def lengths(texts):
        calls.extend(texts)
        return [[len(text), 1.0] for text in texts]

    first = SentenceVectors("lengths", lengths, digest="a1")(["One", "Three", "One"])
    assert first.tolist() == [[3, 1], [5, 1], [3, 1]]
    calls.clear()
    again = SentenceVectors("lengths", lengths, digest="a1")
    assert again(["Three", "Eleven"]).tolist() == [[5, 1], [6, 1]]
    assert calls == ["One text.", "Eleven"]
    assert SavedVectors("b2")["Eleven"] is None
    (tmp_path / "cache" / "sentences-c3.sqlite").write_text("no database")
    assert SentenceVectors("lengths", lengths, digest="c3")(["One"]).tolist() == [[3, 1]]


def by_letters(texts):
    return [[len(text), text.count("e"), 1.0] for text in texts]


def test_noise_applies_to_sentence_vectors(fork):
    def weights(noise):
        settings = {
            "rounds": 2,
            "replicas": 1,
            "updates": 5,
            "action_encoder": "sentence",
            "vectors_noise": noise,
        }
        source = "tests.test_sentence_models:by_letters"
        trainer = drrn.trainer(fork, sentences=source, **settings)
        list(trainer.train())
        return trainer.model.weights["action sentence"]

    assert not torch.equal(weights(0.0), weights(1.0))


@pytest.mark.parametrize("name", ["all-minilm-l6", "paraphrase-minilm-l3", "use-multilingual"])
def test_a_fetched_model_knows_paraphrases(name):
    pytest.importorskip("tokenizers")
    pytest.importorskip("onnxruntime")
    pytest.importorskip("sentencepiece")
    folder = CACHE / name
    if not folder.is_dir():
        pytest.skip(f"{name} is not in the cache; run scripts/encoders")
    texts = ["Make tea.", "Say nothing.", "Light the big lamp."]
    others = ["Brew yourself a hot drink.", "Remain silent.", "Shine the great signal."]
    vectors = open_sentences(str(folder))
    cosines = vectors(texts) @ vectors(others).T
    assert cosines.argmax(axis=1).tolist() == [0, 1, 2]
