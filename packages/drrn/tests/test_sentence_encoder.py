"""Sentence encoders: each text is encoded once; invalid vectors are rejected."""

import sys
import types
from typing import Any

import numpy as np
import pytest

import drrn
from drrn.models.encoders.text_vectors import SentenceTexts
from drrn.sentences import open_sentences
from drrn.text import Store
from tests.commands import main
from tests.runs import resume_command, train
from tests.trainings import SMALL as SMALL_TRAINING

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
        "sentences": "packages.drrn.tests.test_sentence_encoder:count_letters",
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
        ("failing", "KeyError"),
        ("CALLS", "must be a function"),
        ("nowhere", "has no nowhere"),
    ],
)
def test_a_function_that_returns_invalid_vectors_is_rejected(name, why):
    with pytest.raises(drrn.InputError, match=why):
        open_trusted(f"packages.drrn.tests.test_sentence_encoder:{name}")


def test_vectors_of_another_width_are_rejected():
    encode = open_trusted("packages.drrn.tests.test_sentence_encoder:uneven")
    with pytest.raises(drrn.InputError, match="3 numbers before, and now of 4"):
        encode(["One.", "Two."])


def test_a_folder_is_opened_by_sentence_transformers(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    (tmp_path / "model.safetensors").touch()
    with pytest.raises(drrn.InputError, match=r"pip install sentence-transformers"):
        open_sentences(str(tmp_path))

    class SentenceTransformer:
        def __init__(self, folder, device, model_kwargs):
            self.folder = folder

        def encode(self, texts, show_progress_bar):
            return np.ones((len(texts), 7), np.float32)

    fake = types.SimpleNamespace(SentenceTransformer=SentenceTransformer)
    monkeypatch.setitem(sys.modules, "sentence_transformers", fake)
    assert open_sentences(str(tmp_path)).dimensions == 7
    with pytest.raises(drrn.InputError, match="or give a folder or module:function"):
        open_sentences(str(tmp_path / "nowhere"))


def test_the_encoder_and_its_source_need_each_other(fork):
    with pytest.raises(drrn.InputError, match="set sentences to"):
        drrn.trainer(fork, paper=True, encoder="sentence")
    with pytest.raises(drrn.InputError, match="has an effect only with recall or encoder sentence"):
        source = "packages.drrn.tests.test_sentence_encoder:count_letters"
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


def unit_vector(text):
    """Return the vector of `count_letters` scaled to length 1."""
    vector = count_letters([text])[0]
    CALLS.pop()
    return vector / np.linalg.norm(vector)


def test_texts_beyond_the_size_of_the_cache_are_still_encoded_once(monkeypatch):
    monkeypatch.setattr(SentenceTexts, "most_recent", 10)
    CALLS.clear()
    texts = SentenceTexts(open_trusted("packages.drrn.tests.test_sentence_encoder:count_letters"))
    states, actions = Store.of_words(keep_texts=True).sides.values()
    for number in range(60):
        table, rows = texts.rows_of(states, np.array([states.id(f"page {number}"), 0, -1]))
        texts.rows_of(actions, np.array([actions.id("go on")]))
        assert np.allclose(
            table[rows], [unit_vector(f"page {number}"), unit_vector("page 0"), [0, 0, 0]]
        )
    assert len(CALLS) == 1 + 60 + 1  # the first is a trial
    for number in range(60):  # questions are not stored
        scratch = states.scratch()
        texts.rows_of(scratch, np.array([scratch.id(f"question {number}")]))
    assert len(texts._recent) <= 10
