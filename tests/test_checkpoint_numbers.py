"""Checkpoints with changed numbers and without hashes: one sentence, and never an index error."""

import json
import shutil

import numpy as np
import pytest

from drrn.cli import main
from drrn.runs import tensors
from tests.runs import SMALL_STRONG, resume_command, train
from tests.stories import FORK, REWARDS

FAR = 67_108_958
KEPT = ["--keep", "--no-compile"]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Return a run that learned by Q-learning from a kept memory, and one of the strong recipe."""
    folder = tmp_path_factory.mktemp("runs")
    tale = folder / "tale.toml"
    tale.write_text('story = "tale.twee"\n' + REWARDS)
    tale.with_suffix(".twee").write_text(FORK)
    assert train(tale, folder / "kept", "--rounds", "1", *KEPT) == 0
    strong = [*SMALL_STRONG, *"--rounds 1 --no-compile --exploration optimism".split()]
    strong += "--optimism-share 1 --alpha-relative --alpha-spread".split()
    assert main(["train", str(tale), "--out", str(folder / "strong"), *strong]) == 0
    return folder


def copy_without_hashes(run, folder):
    shutil.copytree(run, folder)
    (folder / "hashes.json").unlink()
    return folder


def error_of(run, capsys):
    """Resume an unverified run, which must fail with one sentence; return it."""
    capsys.readouterr()
    assert main([*resume_command(run), "--rounds", "2", "--unverified"]) == 2
    errors = [each for each in capsys.readouterr().err.splitlines() if each.startswith("drrn: ")]
    assert len(errors) == 1
    return errors[0]


MEMORY = "learner/memories/0"
NUMBERS = [
    ("kept", f"{MEMORY}/actions", FAR),
    ("kept", f"{MEMORY}/states", FAR),
    ("kept", f"{MEMORY}/menus", FAR),
    ("kept", f"{MEMORY}/next_states", -1),
    ("kept", f"{MEMORY}/taken", 9),
    ("kept", f"{MEMORY}/first", FAR),
    ("kept", f"{MEMORY}/discounts", 2.0),
    ("kept", "store/states/starts", -2),
    ("kept", "store/states/sequence", FAR),
    ("kept", "store/actions/keys", "equal"),
    ("strong", f"{MEMORY}/links", FAR),
    ("strong", f"{MEMORY}/page", FAR),
    ("strong", f"{MEMORY}/after", -1),
    ("strong", f"{MEMORY}/taken", 9),
    ("strong", f"{MEMORY}/first", -2),
    ("strong", f"{MEMORY}/widest", 2**40),
    ("strong", f"{MEMORY}/probability", 1.5),
    ("strong", f"{MEMORY}/means", "short"),
    ("strong", f"{MEMORY}/last", "short"),
    ("strong", f"{MEMORY}/best", np.inf),
    ("strong", "explorer/memories/0/states", FAR),
    ("strong", "learner/alpha_factor", -1.0),
]


@pytest.mark.parametrize(("kind", "name", "value"), NUMBERS, ids=str)
def test_a_changed_number_is_one_sentence(runs, tmp_path, kind, name, value, capsys):
    run = copy_without_hashes(runs / kind, tmp_path / "run")
    path = run / "checkpoint.safetensors"
    arrays, metadata = tensors.load_tensors(path)
    array = arrays[name].copy()
    if value == "short":
        array = array[:-1]
    elif value == "equal":
        array[:] = array[0]
    else:
        array.reshape(-1)[-1] = value
    path.write_bytes(tensors.tensor_bytes({**arrays, name: array}, metadata))
    assert "checkpoint.safetensors" in error_of(run, capsys)


VALUES = [
    ("kept", ["round"], True),
    ("kept", ["round"], 10**18),
    ("kept", ["learner", "memories", 0, "count"], 10**18),
    ("kept", ["learner", "memories", 0, "widest"], 10**9),
    ("kept", ["progress", "counts"], [[0], [0]]),
    ("kept", ["progress", "returns"], [["x"], []]),
    ("kept", ["store", "states", "words", 0], "\ud800"),
    ("kept", ["store", "states", "words", 0], 7),
    ("strong", ["learner", "rounds"], -1),
    ("strong", ["learner", "average", "updates"], 1e30),
    ("strong", ["scale", "low"], [float("nan"), 0.0]),
    ("strong", ["scale", "high"], [0.0]),
]


@pytest.mark.parametrize(("kind", "keys", "value"), VALUES, ids=str)
def test_a_changed_value_is_one_sentence(runs, tmp_path, kind, keys, value, capsys):
    run = copy_without_hashes(runs / kind, tmp_path / "run")
    path = run / "checkpoint.safetensors"
    arrays, metadata = tensors.load_tensors(path)
    state = json.loads(metadata["state"])
    node = state
    for key in keys[:-1]:
        node = node[key]
    node[keys[-1]] = value
    path.write_bytes(tensors.tensor_bytes(arrays, {"state": json.dumps(state)}))
    assert str(run) in error_of(run, capsys)


@pytest.mark.parametrize(
    "change",
    [
        lambda record: record.update(texts=[1]),
        lambda record: record["pages"][0].update(actions=[]),
        lambda record: record["rounds"][0].update(y=[[0.5]]),
        lambda record: record["games"][0].update(end=10**9),
    ],
)
def test_a_changed_record_of_learning_is_one_sentence(runs, tmp_path, change, capsys):
    run = copy_without_hashes(runs / "kept", tmp_path / "run")
    record = json.loads((run / "learning.json").read_text())
    change(record)
    (run / "learning.json").write_text(json.dumps(record))
    assert "learning.json" in error_of(run, capsys)


def test_a_run_that_is_not_verified_says_so(runs, tmp_path, caplog):
    run = copy_without_hashes(runs / "kept", tmp_path / "run")
    assert main(["ask", str(run), "--state", "x", "--action", "y", "--unverified"]) == 0
    assert [record.getMessage() for record in caplog.records] == [
        f"{run / 'hashes.json'}: missing; the files of the run are not verified"
    ]


def test_a_run_without_a_kept_memory_can_be_resumed(runs, tmp_path):
    story = str(runs / "tale.toml")
    options = [*SMALL_STRONG, "--no-keep", "--rounds", "1"]
    assert main(["train", story, "--out", str(tmp_path / "run"), *options]) == 0
    assert main([*resume_command(tmp_path / "run"), "--rounds", "2"]) == 0
