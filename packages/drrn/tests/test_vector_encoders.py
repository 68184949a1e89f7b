"""Encoders of word vectors: vectors of texts, unknown words, learning, runs, invalid files."""

import json

import numpy as np
import pytest
import torch

import drrn
from drrn.models import Pages, TextVectors
from drrn.models.encoders.bag import BagOfWords
from drrn.models.encoders.vectors import BagAndVectors, MeanOfVectors
from drrn.playing.stepped_rollouts import pages_of as ask_pages
from drrn.settings import PAPER, Settings, settings_for
from drrn.text import Lexicon, Vocabulary
from drrn.vectors import open_vectors
from tests.bags import bag_of
from tests.commands import main
from tests.models import check_gradient, model
from tests.runs import results_of, resume_command, same_results, train
from tests.stories import FORK
from tests.trainings import SMALL, Stepped
from tests.vector_files import WORDS, matrix, vector_file

ENCODERS = {"vectors": MeanOfVectors, "bag+vectors": BagAndVectors}


@pytest.fixture
def file(tmp_path):
    return vector_file(tmp_path)


@pytest.fixture
def vectors(file):
    return TextVectors(open_vectors(file), 3.0)


def expected_vector(text, scale=3.0):
    """Return the SIF-weighted mean of the known words, scaled to a length."""
    total = sum(1 / rank for rank in range(1, len(WORDS) + 1))
    ranks = [WORDS.index(word) for word in text.split() if word in WORDS]
    weights = [1e-3 / (1e-3 + 1 / ((rank + 1) * total)) for rank in ranks]
    mean = np.average(matrix()[ranks].astype(np.float64), axis=0, weights=weights)
    return scale * mean / np.linalg.norm(mean)


def lexicon_of(*texts):
    lexicon = Lexicon(Vocabulary())
    for text in texts:
        lexicon.id(text)
    return lexicon


def assert_features(vectors, lexicon, *texts):
    """Compare the features of a lexicon with the expected vectors of these texts."""
    expected = [expected_vector(text) for text in texts]
    assert np.allclose(vectors.features(lexicon).numpy(), expected, atol=1e-5)


# --- vectors of texts


def test_the_vector_of_a_text_is_the_scaled_weighted_mean_of_its_words(vectors):
    lexicon = lexicon_of("the sea is grey", "go go to the lamp zeppelin", "zeppelin", "")
    features = vectors.features(lexicon).numpy()
    assert features.shape == (4, 6)
    assert np.allclose(features[0], expected_vector("the sea is grey"), atol=1e-5)
    assert np.allclose(features[1], expected_vector("go go to the lamp"), atol=1e-5)
    assert not features[2:].any()


def test_features_follow_a_lexicon_that_grows_drops_texts_and_is_restored(vectors):
    lexicon = lexicon_of("the sea", "a lamp")
    first = vectors.features(lexicon)
    lexicon.id("go home")
    assert torch.equal(vectors.features(lexicon)[:2], first)
    assert np.allclose(vectors.features(lexicon)[2], expected_vector("go home"), atol=1e-5)
    lexicon.keep(np.array([2, 0]))
    assert_features(vectors, lexicon, "go home", "the sea")
    lexicon.vocabulary.restore(["lamp"])
    lexicon.forget()
    lexicon.id("lamp")
    assert_features(vectors, lexicon, "lamp")


def test_the_encoding_is_the_vector_times_a_matrix_plus_the_bag(vectors):
    for encoder in (MeanOfVectors, BagAndVectors):
        built = model(seeds=(0, 1), action_encoder=encoder, vectors=vectors)
        pages = Pages(np.array([[[0], [0]]]), np.array([[[[1]], [[0]]]]))
        encodings, index = built.encode(built.read(pages)[0], "action")
        for replica, text in ((0, "go to the lamp"), (1, "wait")):
            expected = expected_vector(text) @ built.weights["action vectors"][replica].numpy()
            if encoder is BagAndVectors:
                ids = built.store.actions.vocabulary.read(text.split(), grow=False)
                expected = expected + built.tables["action"].weight[replica, ids].sum(0).numpy()
            encoding = encodings.reshape(-1, 5)[index[replica, 0]]
            assert np.allclose(encoding, expected, atol=1e-5)
        assert type(built.encoders["state"]) is BagOfWords
        assert ("action" in built.tables) == (encoder is BagAndVectors)


# --- unknown words


@pytest.mark.parametrize("keeps_unknown", [True, False])
def test_bags_do_not_depend_on_whether_unknown_words_are_stored(keeps_unknown):
    lexicon = lexicon_of("go to the lamp")
    lexicon.keeps_unknown = keeps_unknown
    scratch = lexicon.scratch()
    assert [scratch.id(text) for text in ("zeppelin to the to", "row", "go")] == [0, 1, 2]
    assert [bag_of(scratch, text) for text in range(3)] == [{1: 2.0, 2: 1.0}, {}, {0: 1.0}]
    assert scratch.sequence.tolist() == [1, 2, 1, 0]
    assert scratch.unknown == ({0: ["zeppelin"], 1: ["row"]} if keeps_unknown else {})
    assert lexicon.unknown == {}


@pytest.mark.parametrize("encoder", ENCODERS)
def test_an_unknown_word_changes_q_with_vectors_but_not_with_a_bag(vectors, encoder):
    menus = [["go to the lamp"], ["go to the lamp swim"], ["go to the lamp zeppelin"]]

    def q(**shape):
        built = model(**shape)
        store = built.store.scratch()
        ids = [store.page("the sea", menu) for menu in menus]
        return built.q(ask_pages([ids], store))[0, :, 0].tolist()

    plain, with_vector, without_vector = q(action_encoder=ENCODERS[encoder], vectors=vectors)
    assert plain != with_vector and plain == without_vector
    assert len(set(q())) == 1


# --- learning


@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize(
    ("interaction", "shared"), [("inner", True), ("bilinear", False), ("network", False)]
)
def test_the_matrix_of_vectors_follows_the_gradient(vectors, encoder, interaction, shared):
    shape = {"interaction": interaction, "shared": shared, "vectors": vectors}
    built = model(seeds=(0, 1), encoder=ENCODERS[encoder], **shape)
    check_gradient(built, [built.weights["text vectors" if shared else "action vectors"]])


# --- settings


@pytest.mark.parametrize(
    ("settings", "encoders"),
    [
        ({}, ("bag", "vectors")),
        ({"shared": True}, ("bag+vectors", "bag+vectors")),
        ({"action_encoder": "vectors"}, ("bag", "vectors")),
        ({"encoder": "bag+vectors", "action_encoder": "bag"}, ("bag+vectors", "bag")),
    ],
)
def test_vectors_encode_the_actions_by_default(settings, encoders):
    assert settings_for({}, {"vectors": "v.txt", **settings}).model.encoders == encoders
    assert PAPER.model.encoders == ("bag", "bag")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"encoder": "vectors"}, 'encoder "vectors" needs word vectors'),
        ({"vectors_scale": 2.0}, "vectors_scale has an effect only with vectors"),
        ({"vectors": "v", "action_encoder": "vectors", "shared": True}, "leave out action_encoder"),
        ({"action_encoder": "vector"}, 'Did you mean "vectors"?'),
    ],
)
def test_settings_of_vectors_without_effect_are_rejected(settings, message):
    with pytest.raises(drrn.InputError) as error:
        settings_for({}, settings)
    assert message in str(error.value)


def test_the_path_of_the_vectors_is_stored_as_absolute(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert Settings.from_flat(vectors="v.txt").model.vectors == str(tmp_path.resolve() / "v.txt")


# --- the command


@pytest.fixture
def tale(tmp_path):
    path = tmp_path / "tale.twee"
    path.write_text(FORK, encoding="utf-8")
    return path


def read_error(capfd):
    """Return the error, which is one line."""
    lines = capfd.readouterr().err.strip().splitlines()
    assert len(lines) == 1
    return lines[0]


def test_a_run_stores_the_digest_of_its_vectors_and_resumes_to_the_same_results(
    tmp_path, tale, file, capfd
):
    options = ("--vectors", str(file), "--optimiser", "adam")
    assert train(tale, tmp_path / "whole", *options) == 0
    assert train(tale, tmp_path / "run", *options, "--rounds", "1") == 0
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    assert config["vectors"] == {"sha256": open_vectors(file).digest}
    assert config["settings"]["vectors"] == str(file)
    assert main([*resume_command(tmp_path / "run"), "--rounds", "3"]) == 0
    assert same_results(results_of(tmp_path / "run"), results_of(tmp_path / "whole"))
    assert main(["evaluate", str(tmp_path / "run"), "--episodes", "3"]) == 0


def test_the_error_for_missing_or_changed_vectors_names_file_and_run(tmp_path, tale, file, capfd):
    run = tmp_path / "run"
    assert train(tale, run, "--vectors", str(file)) == 0
    file.rename(tmp_path / "away.txt")
    commands = (
        resume_command(run),
        ["evaluate", str(run)],
        ["ask", str(run), "--state", "x", "--action", "y"],
    )
    for command in commands:
        capfd.readouterr()
        assert main(command) == 2
        message = read_error(capfd)
        assert f"{file}: missing" in message and '"vectors" in config.json' in message
    vector_file(tmp_path, vectors=matrix(seed=1))
    for command in commands:
        assert main(command) == 2
        assert f"{file}: not the vectors that the run {run}" in read_error(capfd)


CASES = {
    "not a number": (b"sea 1 2 3\ngo 1 nan 3\nout 1 2 3\n", "not finite"),
    "no known word": (b"zeppelin 1 2 3\nMeer 1 2 3\n", "(go, out, stay …)"),
    "missing": (None, "cannot be read"),
}


@pytest.mark.parametrize("case", CASES)
def test_invalid_vectors_are_rejected_by_the_command(tmp_path, tale, capfd, case):
    content, part = CASES[case]
    if content:
        (tmp_path / "v").write_bytes(content)
    assert train(tale, tmp_path / "run", "--vectors", str(tmp_path / "v")) == 2
    assert part in (sentence := read_error(capfd)) and str(tmp_path / "v") in sentence
    assert not (tmp_path / "run").exists()


def test_vectors_without_any_word_of_a_growing_vocabulary_are_rejected(fork, tmp_path):
    (tmp_path / "v").write_bytes(b"zeppelin 1 2 3\nmeer 1 2 3\n")
    path = str(tmp_path / "v")
    settings = {**SMALL, "encoder": "vectors", "vectors": path}
    trainer = drrn.trainer(Stepped(fork), paper=True, **settings)
    with pytest.raises(drrn.InputError, match="contains none of the"):
        list(trainer.train())
