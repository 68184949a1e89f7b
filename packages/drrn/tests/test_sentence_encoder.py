"""Sentence encoders: each text is encoded once; models in folders; invalid vectors are rejected."""

import hashlib
import sys
from typing import Any
from unittest import mock

import numpy as np
import pytest

import drrn
from drrn import sentences
from drrn.sentences import open_sentences
from tests.commands import main
from tests.runs import resume_command, train
from tests.trainings import SMALL as SMALL_TRAINING
from textgames.files import home

CACHE = home() / "encoders"  # before a test sets another home
SOURCE = "packages.drrn.tests.test_sentence_encoder:"

CALLS: list[str] = []


def count_letters(texts):
    CALLS.extend(texts)
    return np.array([[len(text), text.count("e"), 1.0] for text in texts])


def flat(texts):
    return np.zeros(len(texts))


def too_few(texts):
    return np.zeros((len(texts) + 1, 3))


def infinite(texts):
    return np.full((len(texts), 3), np.nan)


def uneven(texts):
    return np.ones((len(texts), 2 + len(texts)))


def failing(texts):
    raise KeyError("no model")


def test_the_function_gets_each_text_once(fork):
    CALLS.clear()
    settings: dict[str, Any] = {
        **SMALL_TRAINING,
        "encoder": "sentence",
        "sentences": f"{SOURCE}count_letters",
    }
    trainer = drrn.trainer(fork, paper=True, **settings)
    list(trainer.train())
    trainer.agent.ask("A new text.", ["Go out."])
    trainer.agent.ask("A new text.", ["Go out."])
    assert "A new text." in CALLS and "Go out." in CALLS and len(CALLS) == len(set(CALLS))


def open_trusted(name):
    drrn.trust(name)
    return open_sentences(name)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("flat", "returned an array"),
        ("too_few", "returned an array"),
        ("infinite", "not finite"),
        ("uneven", r"\[2, 4\] instead of \[2, 3\]"),
        ("failing", "KeyError"),
        ("CALLS", "must be a function"),
        ("nowhere", "has no nowhere"),
    ],
)
def test_a_function_that_returns_invalid_vectors_is_rejected(name, why):
    with pytest.raises(drrn.InputError, match=why):
        open_trusted(f"{SOURCE}{name}")(["One.", "Two."])


def test_a_folder_is_opened_by_sentence_transformers(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    (tmp_path / "model.safetensors").touch()
    with pytest.raises(drrn.InputError, match=r"pip install sentence-transformers"):
        open_sentences(str(tmp_path))

    fake = mock.Mock()
    fake.SentenceTransformer().encode = lambda texts, **_: np.ones((len(texts), 7))
    monkeypatch.setitem(sys.modules, "sentence_transformers", fake)
    assert open_sentences(str(tmp_path)).dimensions == 7
    (tmp_path / "model.safetensors").rename(tmp_path / "pytorch_model.bin")
    sentences._open_model.cache_clear()
    with pytest.raises(drrn.InputError, match=r"no \.safetensors"):  # a pickle can run code
        open_sentences(str(tmp_path))
    with pytest.raises(drrn.InputError, match="or give a folder or module:function"):
        open_sentences(str(tmp_path / "nowhere"))


def test_the_encoder_and_its_source_need_each_other(fork):
    with pytest.raises(drrn.InputError, match="set sentences to"):
        drrn.trainer(fork, paper=True, encoder="sentence")
    with pytest.raises(drrn.InputError, match="effect only with recall, or encoder sentence"):
        source = f"{SOURCE}count_letters"
        drrn.trainer(fork, paper=True, sentences=source, recall=False)


def test_a_resumed_run_imports_the_function(tale, import_folder, capsys):
    (import_folder / "mine.py").write_text(
        "def read(texts):\n    return [[len(text), 1.0] for text in texts]\n"
    )
    run = import_folder / "run"
    assert train(tale, run, "--encoder", "sentence", "--sentences", "mine:read") == 0
    assert main(resume_command(run)) == 0
    assert main(["ask", str(run), "--state", "The sea.", "--action", "Go out."]) == 0
    assert "Go out." in capsys.readouterr().out


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
        with pytest.raises(drrn.InputError, match=r"one\+two: not the sentences that"):
            opens(run)


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
