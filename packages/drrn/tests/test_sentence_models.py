"""Sentence models in folders: the saved vectors, the recorded hash, fetched models."""

import hashlib
import json
import sys
from typing import Any
from unittest import mock

import numpy as np
import pytest
import torch

import drrn
from drrn import sentences
from drrn.sentences import SentenceVectors, open_sentences
from textgames.errors import InputError
from textgames.files import home

CACHE = home() / "encoders"  # before a test sets another home


def test_vectors_of_a_model_are_saved_on_disk(tmp_path, monkeypatch):
    monkeypatch.setenv("TEXTGAMES_HOME", str(tmp_path))
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
    monkeypatch.setenv("TEXTGAMES_HOME", str(tmp_path))
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
        with pytest.raises(drrn.InputError, match=r"one\+two: not the sentences"):
            opens(run)


def test_noise_applies_to_sentence_vectors(fork):
    def weights(noise):
        settings: dict[str, Any] = {"rounds": 2, "updates": 5, "action_encoder": "sentence"}
        source = "packages.drrn.tests.test_sentence_encoder:count_letters"
        trainer = drrn.trainer(fork, sentences=source, vectors_noise=noise, **settings)
        list(trainer.train())
        return trainer.model.weights["action sentence"]

    assert not torch.equal(weights(0.0), weights(1.0))


MODEL = {"modules.json": [{"type": "sentence_transformers.models.Transformer"}]}
HOSTILE: dict[str, dict[str, Any]] = {
    "a pickle": {**MODEL, "pytorch_model.bin": 0},
    "a module that imports others": {"modules.json": [{"type": "sentence_transformers.Router"}]},
    "an activation": {"modules.json": [{"type": "sentence_transformers.models.Dense"}]},
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_sentence_model_calls_no_code_that_its_files_name(what, tmp_path, monkeypatch):
    fake = mock.Mock()
    monkeypatch.setitem(sys.modules, "sentence_transformers", fake)
    for name, content in HOSTILE[what].items():
        (tmp_path / name).write_text(json.dumps(content))
    with pytest.raises(InputError, match=r"names code outside|no \.safetensors"):
        open_sentences(str(tmp_path))
    assert not fake.mock_calls


def test_a_sentence_model_in_subfolders_is_opened(tmp_path, monkeypatch):
    fake = mock.Mock()
    fake.SentenceTransformer().encode = lambda texts, **_: np.ones((len(texts), 3))
    monkeypatch.setitem(sys.modules, "sentence_transformers", fake)
    files = {"config.json": [1], "0_Transformer/model.safetensors": 0, **MODEL}
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(json.dumps(content))
    open_sentences(str(tmp_path))
    options = fake.SentenceTransformer.call_args.kwargs
    assert options["model_kwargs"] == {"use_safetensors": True}  # never a pickle next to it


PACKAGES = {
    "all-minilm-l6": "sentence_transformers",
    "paraphrase-minilm-l3": "onnxruntime",
    "use-multilingual": "sentencepiece",
}


@pytest.mark.parametrize("name", PACKAGES)
def test_a_fetched_model_knows_paraphrases(name):
    pytest.importorskip(PACKAGES[name])
    if not (CACHE / name).is_dir():
        pytest.skip(f"{name} is not in the cache; run scripts/encoders")
    texts = ["Make tea.", "Say nothing.", "Light the big lamp."]
    others = ["Brew yourself a hot drink.", "Remain silent.", "Shine the great signal."]
    vectors = open_sentences(str(CACHE / name))
    assert (vectors(texts) @ vectors(others).T).argmax(axis=1).tolist() == [0, 1, 2]
