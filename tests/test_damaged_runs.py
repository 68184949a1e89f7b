"""Runs that were killed at their start or whose files were changed afterwards: damage is detected."""

import json
import struct

import numpy as np
import pytest

from drrn.cli import main
from drrn.runs import storage
from tests.runs import rehash, results_of, resume_command, same_results, train


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A finished run, by the bytes of its files."""
    from tests.stories import FORK, REWARDS

    folder = tmp_path_factory.mktemp("finished")
    (folder / "tale.twee").write_text(FORK)
    (folder / "tale.toml").write_text('story = "tale.twee"\n' + REWARDS)
    train(folder / "tale.toml", folder / "run", "--rounds", "2")
    return {path.name: path.read_bytes() for path in (folder / "run").iterdir()}


@pytest.fixture
def run(finished, tmp_path):
    """A copy of it, to be damaged."""
    for name, data in finished.items():
        (tmp_path / name).write_bytes(data)
    return tmp_path


def asking(run):
    return ["ask", str(run), "--state", "x", "--action", "y"]


def flipped(data):
    return data[: len(data) // 2] + bytes([data[len(data) // 2] ^ 1]) + data[len(data) // 2 + 1 :]


def edited(data, change):
    """A safetensors file with another header, or with other numbers."""
    (length,) = struct.unpack("<Q", data[:8])
    header, body = json.loads(data[8 : 8 + length]), bytearray(data[8 + length :])
    change(header, body)
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + bytes(body)


def first(header):
    return next(entry for name, entry in header.items() if name != "__metadata__")


def absurd(*shape):
    return lambda data: edited(data, lambda header, _: first(header).update(shape=list(shape)))


def not_a_number(data):
    def change(header, body):
        entry = next(e for n, e in header.items() if n != "__metadata__" and e["dtype"] == "F32")
        body[entry["data_offsets"][0] : entry["data_offsets"][0] + 4] = np.float32(np.nan).tobytes()

    return edited(data, change)


def stated(**values):
    """A checkpoint that says otherwise where the run stands."""

    def change(header, _):
        state = json.loads(header["__metadata__"]["state"])
        header["__metadata__"]["state"] = json.dumps({**state, **values})

    return lambda data: edited(data, change)


def line(number, change):
    def damaged(data):
        lines = data.decode().splitlines()
        lines[number - 1 : number] = change(lines[number - 1])
        return "".join(f"{each}\n" for each in lines).encode()

    return damaged


ROWS = {
    "an extra row": line(3, lambda row: [row, row]),
    "an extra cell": line(3, lambda row: [row + ",1"]),
    "a short row": line(3, lambda row: ["0,0,1"]),
    "words for a number": line(
        3, lambda row: [",".join([*row.split(",")[:4], "high", *row.split(",")[5:]])]
    ),
    "a nan": line(3, lambda row: [",".join([*row.split(",")[:4], "nan", *row.split(",")[5:]])]),
    "a negative round": line(3, lambda row: [row.replace(",1,", ",-1,", 1)]),
    "endings that are none": line(3, lambda row: [row[: row.index('"')] + "5"]),
    "cut at a line's end": line(5, lambda row: []),
}
STATE = {
    "words for a round": stated(round="two"),
    "a later round": stated(round=99),
    "an earlier game": stated(game="0"),
    "no store": stated(store=[]),
    "no learner": stated(learner={"replay": 1, "memory": 2}),
    "shapes below nothing": absurd(-1, -4),
    "shapes beyond all": absurd(2**40, 2**40),
    "a shape of words": absurd("2"),
    "numbers that are none": not_a_number,
}
WEIGHTS = {what: change for what, change in STATE.items() if "shape" in what or "numbers" in what}
DAMAGES = [
    *(("evaluations.csv", what, change) for what, change in ROWS.items()),
    *(("checkpoint.safetensors", what, change) for what, change in STATE.items()),
    *(("model.safetensors", what, change) for what, change in WEIGHTS.items()),
]


@pytest.mark.parametrize("hashes", ["old", "new"])
@pytest.mark.parametrize(
    ("name", "what", "change"), DAMAGES, ids=[f"{name}: {what}" for name, what, _ in DAMAGES]
)
def test_damage_is_one_sentence_that_names_the_file(run, name, what, change, hashes, capsys):
    before = (run / name).read_bytes()
    (run / name).write_bytes(change(before))
    assert (run / name).read_bytes() != before
    if hashes == "new":
        rehash(run)
    assert main(asking(run) if name == "model.safetensors" else resume_command(run)) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"drrn: {run}/") and name in error and error.count("\n") == 1
    assert "learning" not in error  # the file is to blame


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("evaluations.csv", resume_command),
        ("checkpoint.safetensors", resume_command),
        ("config.json", resume_command),
        ("hashes.json", resume_command),
        ("model.safetensors", asking),
        ("vocabulary.json", asking),
    ],
)
def test_one_flipped_bit_anywhere_is_seen(run, name, command, capsys):
    (run / name).write_bytes(flipped((run / name).read_bytes()))
    assert main(command(run)) == 2
    error = capsys.readouterr().err
    assert f"{run / name}" in error and error.count("\n") == 1


def test_what_was_damaged_of_the_weights_is_made_anew_by_going_on(run, finished, capsys):
    (run / "model.safetensors").write_bytes(b"")
    assert main(asking(run)) == 2 and f"drrn train --resume {run}" in capsys.readouterr().err
    assert (
        main(resume_command(run)) == 0
        and (run / "model.safetensors").read_bytes() == finished["model.safetensors"]
    )


def test_more_rounds_may_be_written_into_the_config_of_a_run(run):
    config = json.loads((run / "config.json").read_text())
    config["settings"]["rounds"] = 3
    (run / "config.json").write_text(json.dumps(config))
    assert main(resume_command(run)) == 0 and results_of(run)[0].count("\n") == 1 + 3 * 2


@pytest.mark.parametrize("last", ["hashes.json", "config.json"])
def test_a_run_killed_as_it_was_first_written_can_be_begun_again(
    last, tale, tmp_path, monkeypatch, capsys
):
    write_atomically = storage.write_atomically

    def die(path, data):
        if path.name != last:
            return write_atomically(path, data)
        path.with_name(f".{path.name}.123").write_bytes(data[:10])
        raise KeyboardInterrupt

    train(tale, tmp_path / "whole", "--rounds", "1")
    with monkeypatch.context() as patch:
        patch.setattr(storage, "write_atomically", die)
        assert train(tale, tmp_path / "cut", "--rounds", "1") == 130
    assert (tmp_path / f"cut/.{last}.123").exists() and not (tmp_path / "cut/config.json").exists()
    capsys.readouterr()
    assert main(resume_command(tmp_path / "cut")) == 2 and "not a run" in capsys.readouterr().err
    assert train(tale, tmp_path / "cut", "--rounds", "1") == 0
    assert same_results(results_of(tmp_path / "cut"), results_of(tmp_path / "whole"))


def test_going_on_clears_what_killed_runs_left_half_written_and_nothing_else(run):
    left, others = (
        [".config.json.77", ".model.safetensors.4242"],
        [".model.safetensors.bak", ".notes.7", "mine.txt"],
    )
    for name in (*left, *others):
        (run / name).write_text("x")
    assert main(resume_command(run)) == 0
    assert not any((run / name).exists() for name in left) and all(
        (run / name).exists() for name in others
    )
    assert not (run / ".lock").exists()
