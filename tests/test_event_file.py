"""Event files for TensorBoard: bytes worked out by hand, and TensorBoard's own reader where it is installed."""

import struct

import pytest

from drrn.cli import main
from drrn.runs.event_file import EventFile, crc32c, event, record, records
from tests.runs import resuming, train


def row(number, replica):
    scores = {
        "softmax_final_reward": str(number + replica / 2),
        "softmax_return": "2.5",
        "best_return": "",
    }
    return {"replica": str(replica), "round": str(number), **scores}


def test_the_check_sum_is_that_of_the_standard():
    assert crc32c(b"123456789") == 0xE3069283  # the check value of every table of CRCs
    assert crc32c(b"\0" * 32) == 0x8A9136AA and crc32c(b"\xff" * 32) == 0x62A8AB43  # RFC 3720, B.4


def test_an_event_has_the_bytes_of_its_fields():
    version = event(1.0, version="brain.Event:2")
    assert version == b"\x09" + struct.pack("<d", 1.0) + b"\x1a\x0dbrain.Event:2"
    scalar = event(1.0, step=300, tag="a", value=0.5)
    value = b"\x0a\x01a" + b"\x15" + struct.pack("<f", 0.5)  # tag, number: 8 bytes
    summary = b"\x0a\x08" + value
    assert scalar == b"\x09" + struct.pack("<d", 1.0) + b"\x10\xac\x02" + b"\x2a\x0a" + summary


def test_a_record_is_framed_by_its_length_and_masked_check_sums():
    framed = record(b"123456789")
    masked = ((0xE3069283 >> 15 | 0xE3069283 << 17) + 0xA282EAD8) & 0xFFFFFFFF
    assert framed[:8] == b"\x09" + b"\0" * 7 and framed[12:21] == b"123456789"
    assert struct.unpack("<I", framed[21:]) == (masked,)
    assert list(records(framed + framed[:-1])) == [framed]
    assert list(records(framed[:14] + b"x" + framed[15:])) == []


def test_each_round_stands_in_the_file_once_however_the_run_was_cut(tmp_path):
    file, rounds = EventFile(tmp_path), [[row(1, 0), row(1, 1)], [row(2, 0), row(2, 1)]]
    file.begin([])
    for rows in rounds:
        file.add(rows)
    size, whole = file.path.stat().st_size, list(records(file.path.read_bytes()))
    assert len(whole) == 1 + 2 * 2 * 2
    with file.path.open("ab") as cut:
        cut.write(whole[-1][:-3])  # a kill in the middle of a record
    file.begin(rounds[0])  # and before the checkpoint of round 2
    assert list(records(file.path.read_bytes())) == whole[:5]
    file.add(rounds[1])
    assert file.path.stat().st_size == size
    before = file.path.read_bytes()
    file.begin(rounds[0] + rounds[1])
    assert file.path.read_bytes() == before
    file.path.write_bytes(b"something else")
    file.begin(rounds[0] + rounds[1])
    assert len(list(records(file.path.read_bytes()))) == len(whole)


def test_a_run_writes_its_scalars_and_goes_on_with_them(tale, tmp_path, monkeypatch):
    train(tale, tmp_path / "run", "--rounds", "1")
    assert main([*resuming(tmp_path / "run"), "--rounds", "2", "--tensorboard"]) == 0
    (path,) = (tmp_path / "run/tensorboard").iterdir()
    found = list(records(path.read_bytes()))
    assert len(found) == 1 + 2 * 2 * 3 * 2  # rounds, replicas, policies, measures
    assert b"final reward/softmax/replica 0" in found[1]


def test_tensorboard_reads_the_file(tale, tmp_path):
    reading = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    train(tale, tmp_path / "run", "--rounds", "2", "--tensorboard")
    found = reading.EventAccumulator(str(tmp_path / "run/tensorboard"))
    found.Reload()
    assert len(found.Tags()["scalars"]) == 2 * 3 * 2
    assert [one.step for one in found.Scalars("return/best/replica 1")] == [1, 2]
