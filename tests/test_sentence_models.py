"""Sentence models in folders: BERT against PyTorch's layers, the saved vectors, fetched models."""

import hashlib
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch.nn import LayerNorm, TransformerEncoderLayer

import drrn
from drrn import sentences
from drrn.files import home
from drrn.sentences import Bert, SentenceVectors, open_sentences

CACHE = home() / "encoders"  # before a test sets another home
NAMES = {  # of BERT, by the name in PyTorch's layer
    "self_attn.out_proj": "attention.output.dense",
    "linear1": "intermediate.dense",
    "linear2": "output.dense",
    "norm1": "attention.output.LayerNorm",
    "norm2": "output.LayerNorm",
}


def letters(texts):
    """Tokenise: a token for each letter, its number in the alphabet; 0 is padding."""
    ids = np.zeros((len(texts), max(map(len, texts))), np.int64)
    for row, text in zip(ids, texts, strict=True):
        row[: len(text)] = [ord(letter) - 96 for letter in text]
    return ids, (ids > 0).astype(np.int64)


def weights_of(layer, prefix):
    state = layer.state_dict()
    weights = {}
    for kind in ("weight", "bias"):
        parts = state[f"self_attn.in_proj_{kind}"].clone().chunk(3)
        for name, part in zip(("query", "key", "value"), parts, strict=True):
            weights[f"{prefix}.attention.self.{name}.{kind}"] = part.clone()
        weights |= {f"{prefix}.{new}.{kind}": state[f"{old}.{kind}"] for old, new in NAMES.items()}
    return weights


def test_bert_equals_the_layers_of_pytorch(tmp_path, monkeypatch):
    monkeypatch.setattr(sentences, "Tokens", lambda folder: letters)
    torch.manual_seed(1)
    layers = [TransformerEncoderLayer(12, 3, 20, 0.0, "gelu", batch_first=True) for _ in range(2)]
    tables = {kind: torch.randn(30, 12) for kind in ("word", "position", "token_type")}
    norm = LayerNorm(12)
    weights = {f"embeddings.{kind}_embeddings.weight": table for kind, table in tables.items()}
    weights |= {f"embeddings.LayerNorm.{k}": v for k, v in norm.state_dict().items()}
    for number, layer in enumerate(layers):
        weights |= weights_of(layer, f"encoder.layer.{number}")
    named = {f"bert.{name}": weight for name, weight in weights.items()}
    save_file(named, tmp_path / "model.safetensors")
    sizes = {"num_hidden_layers": 2, "num_attention_heads": 3, "layer_norm_eps": 1e-5}
    texts = ["abcde", "xy"]
    for text, vector in zip(texts, Bert(tmp_path, sizes)(texts), strict=True):
        ids = torch.from_numpy(letters([text])[0])  # each alone, without padding
        x = tables["word"][ids] + tables["position"][: len(text)] + tables["token_type"][0]
        with torch.no_grad():
            x = layers[1](layers[0](norm(x)))[0].mean(dim=0)
        np.testing.assert_allclose(vector, torch.nn.functional.normalize(x, dim=0), atol=1e-5)


def test_vectors_of_a_model_are_saved_on_disk(tmp_path, monkeypatch):
    monkeypatch.setenv("DRRN_HOME", str(tmp_path))
    calls: list[str] = []

    def lengths(texts):
        calls.extend(texts)
        return [[len(text), 1.0] for text in texts]

    first = SentenceVectors("lengths", lengths, digest="a1")(["One", "Three\ud800", "One"])
    assert first.tolist() == [[3, 1], [6, 1], [3, 1]]
    calls.clear()
    again = SentenceVectors("lengths", lengths, digest="a1")
    assert again(["Three\ud800", "Eleven!"]).tolist() == [[6, 1], [7, 1]]
    assert calls == ["One text.", "Eleven!"]
    (tmp_path / "cache" / "sentences-c3.sqlite").write_text("no database")
    assert SentenceVectors("lengths", lengths, digest="c3")(["One"]).tolist() == [[3, 1]]


def test_a_run_refuses_another_sentence_model(tmp_path, monkeypatch):
    monkeypatch.setenv("DRRN_HOME", str(tmp_path))
    models = {name: tmp_path / "encoders" / name for name in ("one", "two")}
    for name, folder in models.items():
        folder.mkdir(parents=True)
        (folder / "file").write_text(name)
    monkeypatch.setattr(
        sentences, "_open_folder", lambda folder: lambda texts: [[1.0]] * len(texts)
    )
    small: dict[str, Any] = {"rounds": 1, "episodes_per_round": 2, "replicas": 1, "updates": 1}
    trainer = drrn.trainer("long-watch", sentences="one+two", evaluation_episodes=1, **small)
    digests = [hashlib.sha256(name.encode()).hexdigest() for name in models]
    assert trainer.config()["sentences"] == {"sha256": "+".join(digests)}
    list(trainer.train())
    trainer.save(run := tmp_path / "run")
    assert drrn.load(run).recall and drrn.resume(run).round == 1
    (models["two"] / "file").write_text("new")
    sentences._open_model.cache_clear()
    for opens in (drrn.load, drrn.resume):
        with pytest.raises(drrn.InputError, match=r"one\+two: not the sentence model"):
            opens(run)


def test_noise_applies_to_sentence_vectors(fork):
    def weights(noise):
        settings: dict[str, Any] = {"rounds": 2, "updates": 5, "action_encoder": "sentence"}
        source = "tests.test_sentence_encoder:count_letters"
        trainer = drrn.trainer(fork, sentences=source, vectors_noise=noise, **settings)
        list(trainer.train())
        return trainer.model.weights["action sentence"]

    assert not torch.equal(weights(0.0), weights(1.0))


@pytest.mark.parametrize("name", ["all-minilm-l6", "paraphrase-minilm-l3", "use-multilingual"])
def test_a_fetched_model_knows_paraphrases(name):
    for package in ("tokenizers", "onnxruntime", "sentencepiece"):
        pytest.importorskip(package)
    if not (CACHE / name).is_dir():
        pytest.skip(f"{name} is not in the cache; run scripts/encoders")
    texts = ["Make tea.", "Say nothing.", "Light the big lamp."]
    others = ["Brew yourself a hot drink.", "Remain silent.", "Shine the great signal."]
    vectors = open_sentences(str(CACHE / name))
    assert (vectors(texts) @ vectors(others).T).argmax(axis=1).tolist() == [0, 1, 2]
