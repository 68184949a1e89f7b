"""Runs with truncated, changed, foreign or missing files: damage is detected, and nothing is lost."""

import json
import os
import shutil
import struct
from pathlib import Path

import numpy as np
import pytest

from drrn.cli import main
from drrn.errors import InputError
from drrn.files import write_atomically
from drrn.runs import storage, tensors
from drrn.runs.agent import Agent
from tests.runs import rehash, results_of, resume_command, same_results, train
from tests.stories import FORK, REWARDS


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The files of a finished run: name → bytes."""
    folder = tmp_path_factory.mktemp("files")
    (folder / "tale.twee").write_text(FORK)
    (folder / "tale.toml").write_text('story = "tale.twee"\n' + REWARDS)
    train(folder / "tale.toml", folder / "run", "--rounds", "2")
    return {path.name: path.read_bytes() for path in (folder / "run").iterdir()}


@pytest.fixture
def run(files, tmp_path):
    """Folder of a copy of the finished run, to be damaged."""
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    return tmp_path


def ask_command(run):
    return ["ask", str(run), "--state", "x", "--action", "y"]


def flip_a_bit(data):
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]


def edit(data, change):
    """Return a safetensors file after a change of its header and its numbers."""
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    body = bytearray(data[8 + length :])
    change(header, body)
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + bytes(body)


def first_tensor(header):
    return next(entry for name, entry in header.items() if name != "__metadata__")


def with_shape(*shape):
    """Return a function that gives the first tensor another shape."""
    return lambda data: edit(data, lambda header, _: first_tensor(header).update(shape=list(shape)))


def with_nan(data):
    def change(header, body):
        entry = next(e for n, e in header.items() if n != "__metadata__" and e["dtype"] == "F32")
        body[entry["data_offsets"][0] : entry["data_offsets"][0] + 4] = np.float32(np.nan).tobytes()

    return edit(data, change)


def with_state(**values):
    """Return a function that changes the recorded state of a checkpoint."""

    def change(header, _):
        state = json.loads(header["__metadata__"]["state"])
        header["__metadata__"]["state"] = json.dumps({**state, **values})

    return lambda data: edit(data, change)


def with_line(number, change):
    """Return a function that replaces a with_line of a CSV file."""

    def damage(data):
        lines = data.decode().splitlines()
        lines[number - 1 : number] = change(lines[number - 1])
        return "".join(f"{each}\n" for each in lines).encode()

    return damage


DAMAGED_ROWS = {
    "an extra row": with_line(3, lambda row: [row, row]),
    "an extra cell": with_line(3, lambda row: [row + ",1"]),
    "a short row": with_line(3, lambda row: ["0,0,1"]),
    "words for a number": with_line(
        3, lambda row: [",".join([*row.split(",")[:4], "high", *row.split(",")[5:]])]
    ),
    "a nan": with_line(
        3, lambda row: [",".join([*row.split(",")[:4], "nan", *row.split(",")[5:]])]
    ),
    "a negative round": with_line(3, lambda row: [row.replace(",1,", ",-1,", 1)]),
    "invalid endings": with_line(3, lambda row: [row[: row.index('"')] + "5"]),
    "a missing row": with_line(5, lambda row: []),
}
DAMAGED_STATE = {
    "words for a round": with_state(round="two"),
    "a later round": with_state(round=99),
    "an earlier game": with_state(game="0"),
    "no store": with_state(store=[]),
    "no learner": with_state(learner={"replay": 1, "memory": 2}),
    "a negative shape": with_shape(-1, -4),
    "a huge shape": with_shape(2**40, 2**40),
    "a shape of words": with_shape("2"),
    "numbers that are NaN": with_nan,
}
DAMAGED_WEIGHTS = {
    what: change for what, change in DAMAGED_STATE.items() if "shape" in what or "numbers" in what
}
DAMAGES = [
    *(("evaluations.csv", what, change) for what, change in DAMAGED_ROWS.items()),
    *(("checkpoint.safetensors", what, change) for what, change in DAMAGED_STATE.items()),
    *(("model.safetensors", what, change) for what, change in DAMAGED_WEIGHTS.items()),
]


@pytest.mark.parametrize("hashes", ["old", "new"])
@pytest.mark.parametrize(
    ("name", "what", "change"), DAMAGES, ids=[f"{name}: {what}" for name, what, _ in DAMAGES]
)
def test_the_error_for_damage_is_one_sentence_with_the_file(
    run, name, what, change, hashes, capsys
):
    before = (run / name).read_bytes()
    (run / name).write_bytes(change(before))
    assert (run / name).read_bytes() != before
    if hashes == "new":
        rehash(run)
    assert main(ask_command(run) if name == "model.safetensors" else resume_command(run)) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"drrn: {run}/") and name in error and error.count("\n") == 1
    assert "learning" not in error  # the file is the cause


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("evaluations.csv", resume_command),
        ("checkpoint.safetensors", resume_command),
        ("config.json", resume_command),
        ("hashes.json", resume_command),
        ("model.safetensors", ask_command),
        ("vocabulary.json", ask_command),
    ],
)
def test_one_flipped_bit_is_detected(run, name, command, capsys):
    (run / name).write_bytes(flip_a_bit((run / name).read_bytes()))
    assert main(command(run)) == 2
    error = capsys.readouterr().err
    assert f"{run / name}" in error and error.count("\n") == 1


def test_resuming_writes_damaged_weights_again(run, files, capsys):
    (run / "model.safetensors").write_bytes(b"")
    assert main(ask_command(run)) == 2
    assert f"drrn train --resume {run}" in capsys.readouterr().err
    assert main(resume_command(run)) == 0
    assert (run / "model.safetensors").read_bytes() == files["model.safetensors"]


def test_a_larger_number_of_rounds_in_the_config_extends_the_run(run):
    config = json.loads((run / "config.json").read_text())
    config["settings"]["rounds"] = 3
    (run / "config.json").write_text(json.dumps(config))
    assert main(resume_command(run)) == 0 and results_of(run)[0].count("\n") == 1 + 3 * 2


@pytest.mark.parametrize("last", ["hashes.json", "config.json"])
def test_a_run_killed_at_its_first_save_can_be_started_again(
    last, tale, tmp_path, monkeypatch, capsys
):
    def die(path, data):
        if path.name != last:
            return write_atomically(path, data)
        path.with_name(f".{path.name}.123").write_bytes(data[:10])
        raise KeyboardInterrupt

    train(tale, tmp_path / "whole", "--rounds", "1")
    with monkeypatch.context() as patch:
        patch.setattr("drrn.runs.storage.write_atomically", die)
        assert train(tale, tmp_path / "cut", "--rounds", "1") == 130
    assert (tmp_path / f"cut/.{last}.123").exists() and not (tmp_path / "cut/config.json").exists()
    capsys.readouterr()
    assert main(resume_command(tmp_path / "cut")) == 2 and "not a run" in capsys.readouterr().err
    assert train(tale, tmp_path / "cut", "--rounds", "1") == 0
    assert same_results(results_of(tmp_path / "cut"), results_of(tmp_path / "whole"))


def test_resuming_deletes_only_partial_files_of_killed_runs(run):
    partial = [".config.json.77", ".model.safetensors.4242"]
    others = [".model.safetensors.bak", ".notes.7", "mine.txt"]
    for name in (*partial, *others):
        (run / name).write_text("x")
    assert main(resume_command(run)) == 0
    assert not any((run / name).exists() for name in partial)
    assert all((run / name).exists() for name in others)
    assert not (run / ".lock").exists()


# Foreign files and failing disks


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
        write_atomically(path, tensors.tensor_bytes({"x": np.zeros(3)}))
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
        write_atomically(tmp_path / "x", b"1")


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
    (["--matches"], ["--matches", "--replicas", "3"], "another run"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("mine", "theirs", "message"), FOREIGN, ids=str)
def test_weights_of_another_run_are_rejected(tale, tmp_path, mine, theirs, message, capsys):
    train(tale, tmp_path / "one", "--rounds", "1", *mine)
    train(tale, tmp_path / "two", "--rounds", "1", *theirs)
    for error in errors_with_files_of(tmp_path / "one", tmp_path / "two", capsys):
        assert message in error and ".safetensors: " in error and error.count("\n") == 1


@pytest.mark.parametrize(
    "more", [[], ["--matches"], ["--model", "table"]], ids=lambda words: " ".join(words) or "plain"
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


# Missing hashes, surrogates, folders in place of files


def commands_of(run):
    """Return every command that opens a run."""
    few = ["--episodes", "2"]
    tale = json.loads((run / "config.json").read_text())["game"]["source"]
    return {
        "ask": ask_command(run),
        "evaluate": ["evaluate", str(run), *few],
        "play": ["play", tale, "--agent", str(run), "--policy", "greedy", *few],
        "watch": ["watch", str(run), "--seconds", "0"],
        "resume": [*resume_command(run), "--rounds", "3"],
        "compare": ["compare", str(run), str(run)],
        "push": ["push", str(run), "ann/tale"],
    }


@pytest.mark.parametrize("command", ["ask", "evaluate", "play", "watch", "resume", "compare"])
def test_a_run_without_hashes_is_refused(run, command, capsys):
    words = commands_of(run)[command]
    (run / "hashes.json").unlink()
    assert main(words) == 2
    error = capsys.readouterr().err
    assert "hashes.json: missing" in error and "--unverified" in error and error.count("\n") == 1
    assert main([*words, "--unverified"]) == 0


def test_the_list_reports_missing_hashes(run, capsys):
    (run / "hashes.json").unlink()
    assert main(["runs", str(run)]) == 0
    captured = capsys.readouterr()
    assert "damaged" in captured.out and "hashes.json: missing" in captured.err
    assert main(["runs", str(run), "--unverified"]) == 0
    assert "damaged" not in capsys.readouterr().out


def test_resuming_refuses_changed_reference_scores(run, capsys):
    scores = json.loads((run / "reference_scores.json").read_text())
    (run / "reference_scores.json").write_text(json.dumps({**scores, "best": 99.0}))
    for _ in range(2):
        assert main([*resume_command(run), "--rounds", "3"]) == 2
        assert "reference_scores.json: damaged" in capsys.readouterr().err


@pytest.mark.parametrize("is_folder", [True, False])
def test_the_list_has_runs_without_their_settings(run, is_folder, capsys):
    (run / "config.json").unlink()
    if is_folder:
        (run / "config.json").mkdir()
    assert main(["runs", str(run)]) == 0
    captured = capsys.readouterr()
    assert "damaged" in captured.out and "config.json" in captured.err


@pytest.mark.parametrize("scores", [[], None, {"greedy": 1}, {"greedy": ["x", 0]}])
def test_scores_of_policies_with_another_type_are_one_sentence(run, scores, capsys):
    config = json.loads((run / "config.json").read_text())
    config["deployment"] = {"policy": "greedy", "scores": scores}
    (run / "config.json").write_text(json.dumps(config))
    rehash(run)
    assert main(["ask", str(run), "--state", "x", "--action", "y"]) == 2
    error = capsys.readouterr().err
    assert "config.json" in error and error.count("\n") == 1


@pytest.mark.parametrize("hashes", ["old", "new"])
@pytest.mark.parametrize("place", ["title", "setting", "policy", "name"])
def test_half_a_character_in_the_config_is_one_sentence(run, place, hashes, capsys):
    words = commands_of(run)
    config = json.loads((run / "config.json").read_text())
    if place == "title":
        config["game"]["title"] = "\ud800"
    elif place == "setting":
        config["settings"]["model"] = "\udfff"
    elif place == "policy":
        config["deployment"] = {"policy": "\ud800"}
    else:
        config["\ud800"] = 1
    (run / "config.json").write_text(json.dumps(config))
    if hashes == "new":
        rehash(run)
    for command in words.values():
        assert main(command) == 2, command
        error = capsys.readouterr().err
        assert "config.json" in error and error.count("\n") == 1
        error.encode()
    for more in ([], ["--json"]):
        assert main(["runs", str(run), *more]) == 0
        captured = capsys.readouterr()
        (captured.out + captured.err).encode()


@pytest.mark.parametrize("name", storage.FILES)
def test_a_folder_in_place_of_a_file_is_one_sentence(run, name, capsys):
    words = commands_of(run)
    (run / name).unlink(missing_ok=True)
    (run / name).mkdir()
    for command in words.values():
        code = main(command)
        error = capsys.readouterr().err
        assert code in (0, 2) and "Traceback" not in error
        assert code == 0 or error.count("drrn: ") == 1, error
    assert main(["runs", str(run)]) == 0
    if name != "config.json":
        assert name in capsys.readouterr().err


@pytest.mark.parametrize("name", ["checkpoint.safetensors", "metrics.jsonl", "model.safetensors"])
@pytest.mark.parametrize("how", ["changed", "missing"])
def test_damage_is_reported_even_if_the_file_is_not_needed(run, name, how, capsys):
    words = commands_of(run)
    if how == "missing":
        (run / name).unlink()
    else:
        (run / name).write_bytes(flip_a_bit((run / name).read_bytes()))
    for command in (words["compare"], words["play"], ["runs", str(run)]):
        assert main(command) in (0, 2)
        assert str(run / name) in capsys.readouterr().err


def test_a_large_file_is_hashed_only_if_it_is_newer_than_the_hashes(run, monkeypatch):
    monkeypatch.setattr(storage, "LARGE", 0)
    weights = run / "model.safetensors"
    assert storage.damage_of(run) is None
    moment = (run / "hashes.json").stat().st_mtime
    weights.write_bytes(flip_a_bit(weights.read_bytes()))
    os.utime(weights, (moment, moment - 1))
    assert storage.damage_of(run) is None
    os.utime(weights, (moment, moment + 1))
    assert str(weights) in (storage.damage_of(run) or "")
    with pytest.raises(InputError, match="damaged"):
        Agent.load(run)


@pytest.mark.parametrize("last", [*range(2, 12), 20, 25])
def test_a_deleted_folder_is_named_in_the_error(tale, tmp_path, monkeypatch, capsys, last):
    count = 0

    def write(path, data):
        nonlocal count
        count += 1
        if count == last:
            shutil.rmtree(path.parent)
        write_atomically(path, data)

    monkeypatch.setattr("drrn.runs.storage.write_atomically", write)
    assert train(tale, tmp_path / "gone") == 2
    error = capsys.readouterr().err
    assert str(tmp_path / "gone") in error and error.count("\n") == 1


@pytest.mark.slow
def test_resuming_drops_hashes_of_cut_rounds(tale, tmp_path, monkeypatch):
    train(tale, tmp_path / "whole")
    for last in range(1, 40):
        folder = tmp_path / f"cut-{last}"
        count = 0

        def write(path, data):
            nonlocal count
            count += 1
            if count == last:  # noqa: B023
                raise KeyboardInterrupt
            write_atomically(path, data)

        with monkeypatch.context() as patch:
            patch.setattr("drrn.runs.storage.write_atomically", write)
            train(tale, folder)
        if (folder / "config.json").exists():
            assert main(resume_command(folder)) == 0
            whole = (tmp_path / "whole/hashes.json").read_text()
            assert (folder / "hashes.json").read_text() == whole, last
