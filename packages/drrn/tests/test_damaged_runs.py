"""Runs with truncated, changed, foreign or missing files: damage is detected, and nothing is lost."""

import json
import os
import shutil
import signal
import sys

import numpy as np
import pytest

from drrn.runs import storage, tensors
from drrn.runs.run import Run
from tests.commands import main
from tests.runs import rehash, results_of, resume_command, train
from tests.stories import FORK, REWARDS
from textgames.errors import InputError
from textgames.files import write_atomically

LINKS = pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """The folder of a finished run, which no test changes."""
    folder = tmp_path_factory.mktemp("trained")
    (folder / "tale.twee").write_text(FORK)
    (folder / "tale.toml").write_text('story = "tale.twee"\n' + REWARDS)
    assert train(folder / "tale.toml", folder / "run", "--rounds", "2") == 0
    return folder / "run"


@pytest.fixture
def run(trained, tmp_path):
    """A copy of the finished run, to be damaged."""
    shutil.copytree(trained, tmp_path / "run")
    return tmp_path / "run"


def ask_command(run):
    return ["ask", str(run), "--state", "x", "--action", "y"]


def commands_of(run):
    """Every command that opens a run, and the files that it needs."""
    few = ["--episodes", "2"]
    tale = json.loads((run / "config.json").read_text())["game"]["source"]
    agent = {"config.json", "hashes.json", "vocabulary.json", "model.safetensors"}
    rows = {"config.json", "hashes.json", "evaluations.csv"}
    scores = {*rows, "reference_scores.json"}
    state = {"checkpoint.safetensors", "learning.json"}
    new = str(run.parent / "new")
    return {
        "ask": (ask_command(run), agent),
        "evaluate": (["evaluate", str(run), *few], agent),
        "play": (["play", tale, "--agent", str(run), "--policy", "greedy", *few], agent),
        "watch": (["watch", str(run), "--seconds", "0"], agent),
        "resume": ([*resume_command(run), "--rounds", "3"], scores | state),
        "compare": (["compare", str(run), str(run)], scores),
        "train": (
            ["train", tale, "--config", str(run), "--rounds", "1", "--out", new],
            rows - {"evaluations.csv"},
        ),
    }


def flip_a_bit(path):
    data = path.read_bytes()
    middle = len(data) // 2
    path.write_bytes(data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :])


def truncate(path):
    path.write_bytes(path.read_bytes()[:-9])


def remove(path):
    path.unlink()


def make_folder(path):
    path.unlink()
    path.mkdir()


def make_pipe(path):
    path.unlink()
    os.mkfifo(path)


def make_device(path):
    path.unlink()
    path.symlink_to("/dev/zero")


def make_foreign(path):
    path.write_bytes(b"PK\x03\x04")


FILES = [name for name in storage.FILES if name not in ("memory.json", "progress.csv", "curve.svg")]
DAMAGES = [flip_a_bit, truncate, remove, make_folder, make_foreign]
PAIRS = [(name, DAMAGES[number % len(DAMAGES)]) for number, name in enumerate(FILES)]
PAIRS += [
    ("config.json", make_pipe),
    ("hashes.json", make_device),
    ("model.safetensors", flip_a_bit),
    ("checkpoint.safetensors", truncate),
]


@LINKS
@pytest.mark.parametrize(
    ("name", "damage"), PAIRS, ids=lambda each: getattr(each, "__name__", each)
)
def test_a_damaged_file_is_one_sentence_of_the_commands_that_need_it(run, name, damage, capsys):
    commands = commands_of(run)
    damage(run / name)
    deleted = (*storage.REMOVABLE, "hashes.json") if damage is remove else ()
    is_hidden = name == "hashes.json" and damage is flip_a_bit  # the hash of a file, not of each
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.alarm(100)
    try:
        for what, (words, needed) in commands.items():
            code = main(words)
            errors = [line for line in capsys.readouterr().err.splitlines() if "drrn: " in line]
            assert code in (0, 2) and len(errors) == (code == 2), (what, errors)
            assert code == 0 or str(run / name) in errors[0] or is_hidden, errors
            assert (code == 2) == (name in needed and name not in deleted), (what, errors)
        assert main(["runs", str(run)]) == 0
        listed = "".join(capsys.readouterr())
    finally:
        signal.alarm(0)
    if name in {"config.json", "hashes.json"} - set(deleted):
        assert "damaged" in listed and name in listed


def test_a_run_without_its_checkpoint_does_not_start_again(run, capsys):
    for name in ("checkpoint.safetensors", "hashes.json"):
        (run / name).unlink()
        assert main(resume_command(run)) == 2
        error = capsys.readouterr().err
        assert "checkpoint.safetensors: missing" in error and error.count("\n") == 1


def test_resuming_writes_damaged_weights_again(run, trained, capsys):
    (run / "model.safetensors").write_bytes(b"")
    assert main(ask_command(run)) == 2
    assert f"drrn train --resume {run}" in capsys.readouterr().err
    assert main(resume_command(run)) == 0
    for name in ("model.safetensors", "hashes.json"):
        assert (run / name).read_bytes() == (trained / name).read_bytes()


def test_a_file_may_be_edited_if_the_manifest_is_deleted(run, capsys):
    config = json.loads((run / "config.json").read_text())
    config["settings"]["rounds"] = 3
    (run / "config.json").write_text(json.dumps(config))
    assert main(resume_command(run)) == 2
    assert "delete hashes.json" in capsys.readouterr().err
    (run / "hashes.json").unlink()
    assert main(resume_command(run)) == 0 and results_of(run)[0].count("\n") == 1 + 3 * 2
    assert json.loads((run / "hashes.json").read_text())["files"].keys() >= {"config.json"}


# --- interrupted at any moment


def interrupt_write(monkeypatch, last):
    """Raise a KeyboardInterrupt in place of the write with this number, from 1."""
    count = 0

    def write(path, data):
        nonlocal count
        count += 1
        if count == last:
            path.with_name(f".{path.name}.77").write_bytes(data[:10])
            raise KeyboardInterrupt
        write_atomically(path, data)

    monkeypatch.setattr(storage, "write_atomically", write)


WRITES = [*range(1, 20)]


@pytest.mark.parametrize(
    "last",
    [n if n in (1, 2, 3, 7, 12, 14) else pytest.param(n, marks=pytest.mark.full) for n in WRITES],
)
def test_a_run_interrupted_at_a_write_ends_with_the_same_bytes(tale, tmp_path, monkeypatch, last):
    train(tale, tmp_path / "whole", "--rounds", "2")
    expected = {path.name: path.read_bytes() for path in (tmp_path / "whole").iterdir()}
    folder = tmp_path / "cut"
    with monkeypatch.context() as patch:
        interrupt_write(patch, last)
        assert train(tale, folder, "--rounds", "2") == 130
    if (folder / "config.json").exists():
        with monkeypatch.context() as patch:
            interrupt_write(patch, last // 3 + 1)  # again
            main(resume_command(folder))
        assert main(resume_command(folder)) == 0
    else:
        assert train(tale, folder, "--rounds", "2") == 0
    for name in expected.keys() - {"progress.csv"}:  # it has seconds
        assert (folder / name).read_bytes() == expected[name], name
    assert {path.name for path in folder.iterdir()} == set(expected)


def test_an_interrupted_save_can_be_read_at_once(tale, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        interrupt_write(patch, 14)  # between two files of the second round
        assert train(tale, tmp_path / "run", "--rounds", "3") == 130
    assert not (tmp_path / "run/hashes.json").exists()
    assert main(ask_command(tmp_path / "run")) == 0
    assert main(["compare", str(tmp_path / "run"), str(tmp_path / "run")]) == 0


def test_resuming_deletes_only_partial_files_of_killed_runs(run):
    partial = [".config.json.77", ".model.safetensors.4242"]
    others = [".model.safetensors.bak", ".notes.7", "mine.txt"]
    for name in (*partial, *others):
        (run / name).write_text("x")
    assert main(resume_command(run)) == 0
    assert not any((run / name).exists() for name in partial)
    assert all((run / name).exists() for name in others)
    assert not (run / ".lock").exists()


# --- failing disks


def test_a_full_disk_leaves_the_last_good_file(run, monkeypatch):
    path = run / "checkpoint.safetensors"
    before = path.read_bytes()

    def fail(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(InputError, match="No space left on device; the old file is unchanged"):
        write_atomically(path, tensors.tensor_bytes({"x": np.zeros(3)}))
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir() if p.name.startswith(".")] == []


# --- files of other runs and of strangers

FOREIGN = [
    ("grey", [], ["--layers", "1"], "another model"),
    ("grey", [], ["--hidden", "5"], "another run"),
    ("grey", ["--matches"], ["--matches", "--replicas", "3"], "another run"),
    ("green", [], [], "another game"),  # as many words and texts
]


@pytest.mark.parametrize(("colour", "mine", "theirs", "message"), FOREIGN, ids=str)
def test_weights_of_another_run_are_refused(tale, tmp_path, colour, mine, theirs, message, capsys):
    other = tmp_path / "other.toml"
    other.write_text('story = "other.twee"\n' + REWARDS)
    other.with_suffix(".twee").write_text(FORK.replace("grey", colour))
    train(tale, tmp_path / "one", "--rounds", "1", *mine)
    train(other if colour == "green" else tale, tmp_path / "two", "--rounds", "1", *theirs)
    for name in ("model.safetensors", "checkpoint.safetensors"):
        (tmp_path / "one" / name).write_bytes((tmp_path / "two" / name).read_bytes())
    rehash(tmp_path / "one")
    for command in (ask_command(tmp_path / "one"), resume_command(tmp_path / "one")):
        capsys.readouterr()
        assert main(command) == 2
        error = capsys.readouterr().err
        assert message in error and ".safetensors: " in error and error.count("\n") == 1


def test_a_run_cannot_be_resumed_on_a_changed_story(tale, tmp_path, capsys):
    train(tale, tmp_path / "run", "--rounds", "1")
    tale.with_suffix(".twee").write_text(FORK.replace("grey", "green"))
    assert main(resume_command(tmp_path / "run")) == 2
    assert "the game has changed" in capsys.readouterr().err


@LINKS
def test_files_of_a_run_that_are_links_are_not_written(run, tmp_path, capsys):
    secret = tmp_path / "secret"
    secret.write_text("a private key")
    (run / ".lock").symlink_to(secret)
    assert main([*resume_command(run), "--rounds", "4"]) == 2
    assert ".lock: cannot be locked" in capsys.readouterr().err
    (run / f".config.json.{os.getpid()}").symlink_to(secret)
    write_atomically(run / "config.json", b"{}")
    assert (secret.read_text(), (run / "config.json").read_text()) == ("a private key", "{}")


def test_runs_are_found_by_their_files(run, tmp_path):
    (tmp_path / "other").mkdir()
    (tmp_path / "other/config.json").write_text("{}")
    (tmp_path / "a/b/c/d").mkdir(parents=True)
    shutil.copytree(run, tmp_path / "a/run")
    shutil.copytree(run, tmp_path / "a/b/c/d/run")
    assert {each.folder for each in Run.find(tmp_path)} == {run, tmp_path / "a/run"}
