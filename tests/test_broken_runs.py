"""Runs with truncated, foreign or missing files, and disks that fail: one error, and no data loss."""

import os
from pathlib import Path

import numpy as np
import pytest

from drrn.cli import main
from drrn.errors import InputError
from drrn.runs import storage
from tests.runs import rehash, results_of, resume_command, same_results, train
from tests.stories import FORK, REWARDS


def errors_with_files_of(mine, theirs, capsys):
    """Copy the files of another run into a run; yield the errors of `ask` and of resuming."""
    for name in ("model.safetensors", "checkpoint.safetensors"):
        (mine / name).write_bytes((theirs / name).read_bytes())
    rehash(mine)
    for command in (["ask", str(mine), "--state", "x", "--action", "y"], resume_command(mine)):
        capsys.readouterr()
        assert main(command) == 2
        yield capsys.readouterr().err


def test_a_full_disk_leaves_the_last_good_checkpoint(tale, tmp_path, monkeypatch, capsys):
    train(tale, tmp_path / "run", "--rounds", "1")
    path = tmp_path / "run/checkpoint.safetensors"
    before = path.read_bytes()

    def fail(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(InputError, match="No space left on device; the old file is unchanged"):
        storage.write_atomically(path, storage.tensor_bytes({"x": np.zeros(3)}))
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir() if p.name.startswith(".")] == []


def test_a_read_only_disk_is_named_in_the_error(tmp_path, monkeypatch):
    def fail(*_, **__):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(Path, "open", fail)
    monkeypatch.setattr(Path, "unlink", fail)  # fails even if the file does not exist
    with pytest.raises(
        InputError, match="x: cannot be written: Read-only file system; the old file is unchanged"
    ):
        storage.write_atomically(tmp_path / "x", b"1")


@pytest.mark.parametrize(
    "damage",
    [lambda b: b[: len(b) // 2], lambda b: b"PK\x03\x04" + b, lambda b: b"", lambda b: b[:8]],
)
def test_a_truncated_or_foreign_weight_file_is_rejected(tale, tmp_path, damage, capsys):
    train(tale, tmp_path / "run")
    path = tmp_path / "run/model.safetensors"
    path.write_bytes(damage(path.read_bytes()))
    rehash(tmp_path / "run")
    assert main(["ask", str(tmp_path / "run"), "--state", "x", "--action", "y"]) == 2
    assert "not a complete safetensors file" in capsys.readouterr().err


def test_weights_of_another_model_are_rejected(tale, tmp_path, capsys):
    train(tale, tmp_path / "one")
    train(tale, tmp_path / "two", "--model", "per-action")
    (tmp_path / "one/model.safetensors").write_bytes(
        (tmp_path / "two/model.safetensors").read_bytes()
    )
    rehash(tmp_path / "one")
    assert main(["ask", str(tmp_path / "one"), "--state", "x", "--action", "y"]) == 2
    assert "another model" in capsys.readouterr().err


FOREIGN = [
    ([], ["--layers", "1"], "another model"),
    (["--layers", "1"], [], "another model"),
    ([], ["--interaction", "network"], "another model"),
    (["--interaction", "network"], [], "another model"),
    ([], ["--hidden", "5"], "another run"),
    ([], ["--replicas", "3"], "another run"),
    (["--model", "table"], ["--model", "table", "--replicas", "3"], "another run"),
    (["--grow"], ["--grow", "--replicas", "3"], "another run"),
]


@pytest.mark.parametrize(("mine", "theirs", "message"), FOREIGN, ids=str)
def test_weights_of_another_run_are_rejected(tale, tmp_path, mine, theirs, message, capsys):
    train(tale, tmp_path / "one", "--rounds", "1", *mine)
    train(tale, tmp_path / "two", "--rounds", "1", *theirs)
    for error in errors_with_files_of(tmp_path / "one", tmp_path / "two", capsys):
        assert message in error and ".safetensors: " in error and error.count("\n") == 1


@pytest.mark.parametrize(
    "more", [[], ["--grow"], ["--model", "table"]], ids=lambda words: " ".join(words) or "plain"
)
def test_weights_of_another_story_are_rejected(tale, tmp_path, more, capsys):
    other = tmp_path / "other.toml"
    other.write_text('story = "other.twee"\n' + REWARDS)
    other.with_suffix(".twee").write_text(FORK.replace("grey", "green"))  # as many words and texts
    train(tale, tmp_path / "one", "--rounds", "1", *more)
    train(other, tmp_path / "two", "--rounds", "1", *more)
    for error in errors_with_files_of(tmp_path / "one", tmp_path / "two", capsys):
        assert ".safetensors: these are the weights of another game" in error


@pytest.mark.parametrize("rounds", ["1", "2"])
def test_a_run_without_its_checkpoint_does_not_start_again(tale, tmp_path, rounds, capsys):
    train(tale, tmp_path / "run", "--rounds", rounds)
    (tmp_path / "run/checkpoint.safetensors").unlink()
    before = results_of(tmp_path / "run")
    capsys.readouterr()
    assert main(resume_command(tmp_path / "run")) == 2
    assert f"cannot be resumed after round {rounds}" in capsys.readouterr().err
    assert same_results(results_of(tmp_path / "run"), before)


@pytest.mark.parametrize(
    ("name", "damaged", "message"),
    [
        ("config.json", b"{}", "not the settings of a run"),
        ("config.json", b"[]", "not the settings of a run"),
        ("config.json", b'{"settings": {"hidden": "x"}}', "hidden is"),
        ("config.json", b'{"settings": {}, "game": {}}', "not the settings of a run"),
        ("evaluations.csv", b"", "the header must be"),
        ("evaluations.csv", b"\xff\xfe\n", "is not utf-8"),
        ("evaluations.csv", None, "line 2: not a row: 2 cells, but the header has 17"),
    ],
)
def test_a_run_with_a_damaged_file_cannot_be_resumed(
    tale, tmp_path, name, damaged, message, capsys
):
    train(tale, tmp_path / "run", "--rounds", "1")
    path = tmp_path / "run" / name
    path.write_bytes(
        path.read_bytes().splitlines(keepends=True)[0] + b"0,0\n" if damaged is None else damaged
    )
    capsys.readouterr()
    assert main(resume_command(tmp_path / "run")) == 2
    error = capsys.readouterr().err
    assert message in error and name in error and error.count("\n") == 1


def test_a_run_cannot_be_resumed_on_a_changed_story(tale, tmp_path, capsys):
    train(tale, tmp_path / "run")
    tale.with_suffix(".twee").write_text(FORK.replace("grey", "green"))
    assert main(["train", "--resume", str(tmp_path / "run")]) == 2
    assert "the game has changed" in capsys.readouterr().err
